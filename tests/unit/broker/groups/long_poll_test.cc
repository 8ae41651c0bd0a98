// Receives that wait, and leases that a client's heartbeats renew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/group_world.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class LongPollTest : public testing::Test {
 protected:
  LongPollTest() { world_.Open(); }

  struct Poll {
    uint64_t id = 0;
    std::optional<GroupWorld::Received> answer;
  };
  std::shared_ptr<Poll> Start(int64_t wait_ms, ReceiveRequest request) {
    auto poll = std::make_shared<Poll>();
    request.poll_until_ms = world_.box.InMs(wait_ms);
    poll->id = world_.groups->Receive(
        request, [at = poll](GroupWorld::Received received) {
          EXPECT_FALSE(at->answer) << "answered twice";
          at->answer = std::move(received);
        });
    return poll;
  }
  std::shared_ptr<Poll> Start(int64_t wait_ms) {
    return Start(wait_ms, world_.Request());
  }
  ReceiveRequest Push(const std::string& client) {
    ReceiveRequest request = world_.Request();
    request.lease_ms = 0;
    request.client_id = client;
    return request;
  }

  GroupWorld world_;
};

TEST_F(LongPollTest, AnArrivalEndsIt) {
  const auto poll = Start(20'000);
  EXPECT_NE(poll->id, 0u);
  EXPECT_FALSE(poll->answer);
  world_.Put("a");
  ASSERT_TRUE(poll->answer);
  EXPECT_THAT(Bodies(**poll->answer), ElementsAre("a"));
}

TEST_F(LongPollTest, ADelayedMessageEndsItAtItsMillisecond) {
  const auto poll = Start(20'000);
  world_.box.Put("later", world_.box.InMs(1500));
  world_.Pass(1400);
  EXPECT_FALSE(poll->answer);
  world_.Pass(100);
  ASSERT_TRUE(poll->answer);
  EXPECT_THAT(Bodies(**poll->answer), ElementsAre("later"));
}

TEST_F(LongPollTest, NothingAtItsEnd) {
  const auto poll = Start(20'000);
  world_.Pass(19'900);
  EXPECT_FALSE(poll->answer);
  world_.Pass(100);
  ASSERT_TRUE(poll->answer);
  EXPECT_THAT(**poll->answer, IsEmpty());
  world_.Put("a");
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a"));
}

TEST_F(LongPollTest, AnEndedLeaseEndsIt) {
  world_.Put("a");
  EXPECT_THAT(world_.Receive(), SizeIs(1));
  const auto poll = Start(20'000);
  world_.Pass(10'000);
  ASSERT_TRUE(poll->answer);
  EXPECT_EQ((*poll->answer)->at(0).attempt, 2);
}

TEST_F(LongPollTest, ACancelledOneTakesNothing) {
  const auto poll = Start(20'000);
  world_.groups->CancelReceive(poll->id);
  ASSERT_TRUE(poll->answer);
  EXPECT_TRUE(absl::IsCancelled(poll->answer->status()));
  world_.groups->CancelReceive(poll->id);
  world_.groups->CancelReceive(0);
  world_.groups->CancelReceive(UINT64_MAX);
  world_.Put("a");
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a"));
}

TEST_F(LongPollTest, OneThatIsCancelledWhileItIsServedTakesNothing) {
  uint64_t id = 0;
  ReceiveRequest request = world_.Request();
  request.filter = [&](const Message& message) {
    if (message.body == "b") world_.groups->CancelReceive(id);
    return true;
  };
  for (const bool fifo : {false, true}) {
    world_.settings.fifo = fifo;
    world_.groups->Configure("g", world_.settings);
    const auto poll = Start(20'000, request);
    id = poll->id;
    const MessageView a = TestStore::View("a", kDueNow);
    MessageView b = TestStore::View("b", kDueNow);
    b.properties.emplace_back(kMessageGroupProperty, "group");
    for (const auto& put : world_.box.store->PutMany({a, b})) {
      ASSERT_TRUE(put.ok()) << put.status();
    }
    world_.Settle();
    ASSERT_TRUE(poll->answer);
    EXPECT_TRUE(absl::IsCancelled(poll->answer->status()));
    const auto leases = world_.Receive();
    EXPECT_THAT(Bodies(leases), UnorderedElementsAre("a", "b"));
    for (const Lease& lease : leases) {
      EXPECT_EQ(lease.attempt, 1) << "nobody got it before";
      EXPECT_TRUE(world_.Ack(lease).ok());
    }
  }
}

TEST_F(LongPollTest, ServedInTheOrderInWhichTheyCame) {
  ReceiveRequest one = world_.Request();
  one.count_max = 1;
  const auto first = Start(20'000, one);
  const auto second = Start(20'000, one);
  world_.Put("a");
  EXPECT_TRUE(first->answer);
  EXPECT_FALSE(second->answer);
  world_.Put("b");
  EXPECT_TRUE(second->answer);
}

TEST_F(LongPollTest, OnlyGroupsOfTheTopicAreWoken) {
  ReceiveRequest other = world_.Request();
  other.topic = "other";
  const auto poll = Start(20'000, other);
  world_.Put("a");
  EXPECT_FALSE(poll->answer);
}

TEST_F(LongPollTest, TheEndOfTheGroupsAnswersAll) {
  const auto poll = Start(20'000);
  world_.groups.reset();
  ASSERT_TRUE(poll->answer);
  EXPECT_TRUE(absl::IsUnavailable(poll->answer->status()));
}

TEST_F(LongPollTest, ManyThatWaitAreCheap) {
  constexpr int kPolls = 10'000;
  int answered = 0;
  for (int i = 0; i < kPolls; ++i) {
    ReceiveRequest request = world_.Request();
    request.count_max = 1;
    request.topic = "t" + std::to_string(i % 1000);
    request.poll_until_ms = world_.box.InMs(20'000);
    world_.groups->Receive(request, [&](const GroupWorld::Received& received) {
      ASSERT_TRUE(received.ok());
      ++answered;
    });
  }
  MessageView view = TestStore::View("a", kDueNow);
  view.topic = "t7";
  ASSERT_TRUE(world_.box.store->Put(view).ok());
  world_.Settle();
  EXPECT_EQ(answered, 1);
  world_.Pass(20'000);
  EXPECT_EQ(answered, kPolls);
}

TEST_F(LongPollTest, HowManyWaitIsBounded) {
  world_.groups.reset();
  world_.group_options.waiting_receives_max = 2;
  world_.Begin();
  const auto a = Start(20'000);
  const auto b = Start(20'000);
  const auto c = Start(20'000);
  ASSERT_TRUE(c->answer);
  EXPECT_TRUE(absl::IsResourceExhausted(c->answer->status()));
  EXPECT_EQ(c->id, 0u);
  world_.groups->CancelReceive(a->id);
  EXPECT_FALSE(Start(20'000)->answer);
  world_.groups.reset();  // before those that wait
}

TEST_F(LongPollTest, ACallbackMayReceiveAndAck) {
  std::vector<std::string> got;
  std::function<void()> next = [&] {
    ReceiveRequest request = world_.Request();
    request.count_max = 1;
    request.poll_until_ms = world_.box.InMs(20'000);
    world_.groups->Receive(request, [&](GroupWorld::Received received) {
      if (!received.ok() || received->empty()) return;
      got.push_back(Bodies(*received)[0]);
      world_.groups->Ack("t", "g", received->at(0).receipt,
                         [](const absl::Status& status) {
                           EXPECT_TRUE(status.ok()) << status;
                         });
      next();
    });
  };
  next();
  for (const char* body : {"a", "b", "c"}) world_.Put(body);
  EXPECT_THAT(got, ElementsAre("a", "b", "c"));
  EXPECT_EQ(world_.State().next, QueueIndex(3));
  next = [] {};
  world_.groups.reset();
}

// --- renewal
// -------------------------------------------------------------------

TEST_F(LongPollTest, HeartbeatsRenewALease) {
  world_.Put("a");
  const auto leases = world_.TryReceive(Push("c"));
  ASSERT_THAT(*leases, SizeIs(1));
  for (int i = 0; i < 60; ++i) {
    world_.groups->ClientAlive("c");
    world_.Pass(10'000);
    ASSERT_THAT(world_.Receive(), IsEmpty()) << i;
  }
  EXPECT_TRUE(world_.Ack(leases->at(0)).ok());
}

TEST_F(LongPollTest, SilenceEndsIt) {
  world_.Put("a");
  ASSERT_THAT(*world_.TryReceive(Push("c")), SizeIs(1));
  world_.Pass(29'000);
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.Pass(17'000);
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a"));
}

TEST_F(LongPollTest, WhoIsGoneHoldsNothingForLong) {
  world_.Put("a");
  world_.Put("b");
  ReceiveRequest request = Push("c");
  request.count_max = 1;
  ASSERT_THAT(*world_.TryReceive(request), SizeIs(1));
  const auto other = world_.TryReceive(Push("d"));
  ASSERT_THAT(*other, SizeIs(1));
  world_.groups->ClientGone("c");
  world_.groups->ClientGone("nobody");
  world_.Pass(900);
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.Pass(100);
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("a"));
  EXPECT_TRUE(world_.Ack(other->at(0)).ok());
}

TEST_F(LongPollTest, NoLeaseIsRenewedForEver) {
  world_.groups.reset();
  world_.group_options.push_lease_max_ms = 100'000;
  world_.Begin();
  world_.Put("a");
  ASSERT_THAT(*world_.TryReceive(Push("c")), SizeIs(1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(world_.Receive(), IsEmpty());
    world_.groups->ClientAlive("c");
    world_.Pass(10'000);
  }
  world_.Pass(900);
  EXPECT_THAT(world_.Receive(), IsEmpty()) << "the backoff of the group";
  world_.Pass(100);
  EXPECT_THAT(world_.Receive(), SizeIs(1));
}

TEST_F(LongPollTest, WithoutAClientThereIsOnlyTheLease) {
  world_.Put("a");
  ASSERT_THAT(*world_.TryReceive(Push("")), SizeIs(1));
  world_.Pass(59'900);
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.Pass(100);
  EXPECT_THAT(world_.Receive(), SizeIs(1));
}

}  // namespace
}  // namespace hourglass
