// FIFO groups: one batch out for each message group, and always its first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/group_world.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class FifoTest : public testing::Test {
 protected:
  FifoTest() {
    world_.settings.fifo = true;
    world_.Open();
  }
  std::vector<Lease> Receive(size_t count_max, const std::string& attempt) {
    ReceiveRequest request = world_.Request();
    request.count_max = count_max;
    request.attempt_id = attempt;
    auto leases = world_.TryReceive(request);
    EXPECT_TRUE(leases.ok()) << leases.status();
    return leases.ok() ? *std::move(leases) : std::vector<Lease>();
  }
  GroupWorld world_;
};

TEST_F(FifoTest, OneBatchOfAMessageGroupIsOut) {
  for (const char* body : {"a1", "a2", "b1", "a3", "b2"}) {
    world_.Put(body, std::string(body, 1));
  }
  const auto first = world_.Receive(2);
  EXPECT_THAT(Bodies(first), ElementsAre("a1", "a2"));
  const auto others = world_.Receive();
  EXPECT_THAT(Bodies(others), ElementsAre("b1", "b2")) << "others go on";
  EXPECT_TRUE(world_.Ack(first[1]).ok());
  EXPECT_THAT(world_.Receive(), IsEmpty()) << "a1 is still out";
  EXPECT_TRUE(world_.Ack(first[0]).ok());
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a3"));
}

TEST_F(FifoTest, WhatComesBackIsFirst) {
  for (const char* body : {"a1", "a2", "a3", "b1"}) {
    world_.Put(body, std::string(body, 1));
  }
  const auto first = world_.Receive(1);
  EXPECT_THAT(Bodies(first), ElementsAre("a1"));
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("b1"));
  ASSERT_TRUE(world_.Change(first[0], 0).ok());
  world_.Pass(900);
  EXPECT_THAT(world_.Receive(), IsEmpty()) << "all of it waits";
  world_.Pass(100);
  const auto again = world_.Receive();
  EXPECT_THAT(Bodies(again), ElementsAre("a1", "a2", "a3"));
  EXPECT_EQ(again[0].attempt, 2);
  EXPECT_EQ(again[1].attempt, 1);
}

TEST_F(FifoTest, APartlyFinishedBatchGoesOnWithItsFirstOpenOne) {
  for (const char* body : {"a1", "a2", "a3", "a4"}) world_.Put(body, "a");
  const auto batch = world_.Receive(3);
  EXPECT_TRUE(world_.Ack(batch[0]).ok());
  EXPECT_TRUE(world_.Ack(batch[2]).ok());
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.Pass(10'000);
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a2", "a4"));
}

TEST_F(FifoTest, MessagesWithoutAMessageGroupWaitForNobody) {
  for (const char* body : {"x", "y", "z"}) world_.Put(body);
  EXPECT_THAT(Bodies(world_.Receive(1)), ElementsAre("x"));
  EXPECT_THAT(Bodies(world_.Receive(2)), ElementsAre("y", "z"));
}

TEST_F(FifoTest, TheSameAttemptGetsTheSameBatch) {
  for (const char* body : {"a1", "a2", "b1"}) {
    world_.Put(body, std::string(body, 1));
  }
  const auto first = Receive(2, "attempt 1");
  EXPECT_THAT(Bodies(first), ElementsAre("a1", "a2"));
  world_.Pass(5000);
  const auto again = Receive(2, "attempt 1");
  ASSERT_THAT(Bodies(again), ElementsAre("a1", "a2"));
  EXPECT_EQ(again[0].attempt, 1) << "it is the same attempt";
  EXPECT_EQ(again[0].receipt, first[0].receipt);
  EXPECT_GT(again[0].until_ms, first[0].until_ms);
  EXPECT_TRUE(world_.Ack(first[0]).ok());
  EXPECT_THAT(Bodies(Receive(2, "attempt 1")), ElementsAre("a2"));
  EXPECT_THAT(Bodies(Receive(2, "attempt 2")), ElementsAre("b1"));
  EXPECT_TRUE(world_.Ack(first[1]).ok());
  EXPECT_THAT(Receive(2, "attempt 1"), IsEmpty());
}

TEST_F(FifoTest, AnAttemptThatAsksAgainWaitsOnlyOnce) {
  ReceiveRequest request = world_.Request();
  request.attempt_id = "attempt";
  request.poll_until_ms = world_.box.InMs(20'000);
  absl::Status older;
  std::vector<std::string> got;
  world_.groups->Receive(request, [&](GroupWorld::Received received) {
    older = received.status();
  });
  world_.groups->Receive(request, [&](GroupWorld::Received received) {
    ASSERT_TRUE(received.ok()) << received.status();
    got = Bodies(*received);
  });
  EXPECT_TRUE(absl::IsCancelled(older)) << older;
  world_.Put("a1", "a");
  EXPECT_THAT(got, ElementsAre("a1"));
}

TEST_F(FifoTest, ADeadFirstLetsTheNextGo) {
  world_.settings.attempts_max = 1;
  world_.groups->Configure("g", world_.settings);
  for (const char* body : {"a1", "a2"}) world_.Put(body, "a");
  const auto first = world_.Receive(1);
  EXPECT_TRUE(world_.ToDeadLetter(first[0]).ok());
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a2"));
  world_.Pass(10'000);
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("a1", "a2"));
  EXPECT_EQ(world_.State().next, QueueIndex(2));
}

TEST_F(FifoTest, AfterARestartTheOrderIsTheSame) {
  for (const char* body : {"a1", "a2", "b1", "a3"}) {
    world_.Put(body, std::string(body, 1));
  }
  const auto batch = world_.Receive();
  EXPECT_THAT(batch, SizeIs(4));
  EXPECT_TRUE(world_.Ack(batch[1]).ok());
  world_.Restart();
  EXPECT_THAT(Bodies(world_.Receive(1)), ElementsAre("a1"));
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("b1"));
}

TEST_F(FifoTest, HeldMessagesAreBounded) {
  world_.groups.reset();
  world_.group_options.leased_per_group_max = 10;
  world_.Begin();
  for (int i = 0; i < 50; ++i) world_.Put("a" + std::to_string(i), "a");
  const auto first = world_.Receive(1);
  EXPECT_THAT(first, SizeIs(1));
  const auto full = world_.TryReceive(world_.Request());
  EXPECT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_TRUE(world_.Ack(first[0]).ok());
  EXPECT_THAT(world_.Receive(), SizeIs(9));
}

}  // namespace
}  // namespace hourglass
