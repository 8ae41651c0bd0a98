#include "broker/groups/consumer_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "broker/groups/dead_letter.h"
#include "tests/support/group_world.h"

namespace hourglass {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ConsumerGroupsTest : public testing::Test {
 protected:
  ConsumerGroupsTest() { world_.Open(); }
  void PutMany(int count) {
    for (int i = 0; i < count; ++i) world_.Put("m" + std::to_string(i));
  }
  GroupWorld world_;
};

// --- lease and acknowledge
// -----------------------------------------------------

TEST_F(ConsumerGroupsTest, HandsOutInOrderAndOnce) {
  PutMany(5);
  EXPECT_THAT(Bodies(world_.Receive(2)), ElementsAre("m0", "m1"));
  EXPECT_THAT(Bodies(world_.Receive(10)), ElementsAre("m2", "m3", "m4"));
  EXPECT_THAT(world_.Receive(), IsEmpty());
}

TEST_F(ConsumerGroupsTest, AcknowledgedIsDurableInAnyOrder) {
  PutMany(4);
  const auto leases = world_.Receive();
  EXPECT_TRUE(world_.Ack(leases[2]).ok());
  EXPECT_TRUE(world_.Ack(leases[0]).ok());
  world_.Restart();
  const auto again = world_.Receive();
  EXPECT_THAT(Bodies(again), ElementsAre("m1", "m3"));
  EXPECT_EQ(again[0].attempt, 2);
  EXPECT_EQ(world_.State().next, QueueIndex(1));
}

TEST_F(ConsumerGroupsTest, AnAckIsAnsweredWhenDurable) {
  PutMany(1);
  const auto leases = world_.Receive();
  bool answered = false;
  world_.groups->Ack("t", "g", leases[0].receipt, [&](absl::Status status) {
    EXPECT_TRUE(status.ok());
    answered = true;
  });
  EXPECT_FALSE(answered);
  world_.Settle();
  EXPECT_TRUE(answered);
}

TEST_F(ConsumerGroupsTest, AnAckSaidTwiceIsAnsweredTwice) {
  PutMany(1);
  const auto leases = world_.Receive();
  int answered = 0;
  for (int i = 0; i < 2; ++i) {
    world_.groups->Ack("t", "g", leases[0].receipt, [&](absl::Status status) {
      EXPECT_TRUE(status.ok()) << status;
      ++answered;
    });
  }
  world_.Settle();
  EXPECT_EQ(answered, 2);
  EXPECT_TRUE(absl::IsNotFound(world_.Ack(leases[0])));
}

TEST_F(ConsumerGroupsTest, AnAckThatFailsLeavesTheLease) {
  PutMany(2);
  const auto leases = world_.Receive();
  world_.box.fs->FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad"),
                           true);
  EXPECT_FALSE(world_.Ack(leases[0]).ok());
  EXPECT_EQ(world_.State().leased, 2u);
  world_.Restart();
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("m0", "m1"));
}

TEST_F(ConsumerGroupsTest, ALeaseThatRanOutComesAgain) {
  PutMany(3);
  const auto first = world_.Receive(1);
  EXPECT_EQ(first[0].until_ms, world_.box.clock.NowMs() + 10'000);
  world_.Pass(9'900);
  EXPECT_THAT(Bodies(world_.Receive(1)), ElementsAre("m1"));
  world_.Pass(100);
  const auto again = world_.Receive(1);
  ASSERT_THAT(Bodies(again), ElementsAre("m0")) << "before what is new";
  EXPECT_EQ(again[0].attempt, 2);
  EXPECT_TRUE(absl::IsNotFound(world_.Ack(first[0])));
  EXPECT_TRUE(world_.Ack(again[0]).ok());
}

TEST_F(ConsumerGroupsTest, TheLeaseEndsOnTimeWhoeverLooks) {
  PutMany(1);
  const auto leases = world_.Receive();
  world_.box.clock.AdvanceMs(10'000);  // nobody steps
  EXPECT_TRUE(absl::IsNotFound(world_.Ack(leases[0])));
}

TEST_F(ConsumerGroupsTest, ASteppedWallClockEndsNoLease) {
  PutMany(1);
  const auto leases = world_.Receive();
  world_.box.clock.StepMs(3'600'000);
  world_.Settle();
  EXPECT_THAT(world_.Receive(), IsEmpty());
  EXPECT_TRUE(world_.Ack(leases[0]).ok());
}

TEST_F(ConsumerGroupsTest, WrongReceipts) {
  PutMany(1);
  const auto leases = world_.Receive();
  EXPECT_TRUE(absl::IsInvalidArgument(world_.Ack("")));
  EXPECT_TRUE(absl::IsInvalidArgument(world_.Ack("no receipt")));
  std::string changed = leases[0].receipt;
  changed[3] = changed[3] == '0' ? '1' : '0';
  EXPECT_TRUE(absl::IsInvalidArgument(world_.Ack(changed)));
  bool answered = false;
  world_.groups->Ack("t", "nobody", leases[0].receipt,
                     [&](absl::Status status) {
                       EXPECT_TRUE(absl::IsNotFound(status)) << status;
                       answered = true;
                     });
  EXPECT_TRUE(answered);
  world_.Restart();
  EXPECT_THAT(world_.Receive(), SizeIs(1));
  EXPECT_TRUE(absl::IsNotFound(world_.Ack(leases[0]))) << "of another life";
}

// --- change
// --------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, ChangeGivesANewReceiptAndTime) {
  PutMany(1);
  const auto leases = world_.Receive();
  const auto changed = world_.Change(leases[0], 30'000);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(absl::IsNotFound(world_.Ack(leases[0])));
  EXPECT_TRUE(absl::IsNotFound(world_.Change(leases[0], 1).status()));
  world_.Pass(29'900);
  EXPECT_THAT(world_.Receive(), IsEmpty());
  EXPECT_TRUE(world_.Ack(*changed).ok());
}

TEST_F(ConsumerGroupsTest, HandedBackComesAfterTheBackoff) {
  PutMany(1);
  for (const int64_t wait_ms : {1000, 5000}) {
    const auto leases = world_.Receive();
    ASSERT_THAT(leases, SizeIs(1));
    ASSERT_TRUE(world_.Change(leases[0], 0).ok());
    world_.Pass(wait_ms - 100);
    EXPECT_THAT(world_.Receive(), IsEmpty());
    world_.Pass(100);
  }
  EXPECT_EQ(world_.Receive()[0].attempt, 3);
}

TEST_F(ConsumerGroupsTest, HandedBackForATimeOfItsOwn) {
  PutMany(1);
  const auto leases = world_.Receive();
  ASSERT_TRUE(world_.Change(leases[0], 300).ok());
  world_.Pass(200);
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.Pass(100);
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("m0"));
}

TEST_F(ConsumerGroupsTest, WhatComesAgainKeepsTheOrderInWhichItBecameReady) {
  PutMany(3);
  const auto leases = world_.Receive();
  for (const int i : {2, 0, 1}) {
    ASSERT_TRUE(world_.Change(leases[i], 100).ok());
    world_.Pass(100);
  }
  world_.Put("new");
  EXPECT_THAT(Bodies(world_.Receive(3)), ElementsAre("m2", "m0", "m1"));
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("new"));
}

// --- dead letters
// ----------------------------------------------------------------

TEST_F(ConsumerGroupsTest, UsedUpAttemptsGoToTheDeadLetters) {
  PutMany(2);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto leases = world_.Receive(1);
    ASSERT_THAT(Bodies(leases), ElementsAre("m0"));
    EXPECT_EQ(leases[0].attempt, attempt);
    world_.Pass(10'000);
  }
  EXPECT_THAT(Bodies(world_.Receive()), ElementsAre("m1"));
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("m0"));
  EXPECT_EQ(world_.State().dead_letters, 1u);
  EXPECT_EQ(world_.State().next, QueueIndex(1));
  const auto dead = world_.box.store->ReadReady("%DLQ%g", QueueIndex(0), 1, 1);
  EXPECT_THAT(dead->at(0).message.properties,
              Contains(testing::Pair(std::string(kOriginTopicProperty), "t")));
}

TEST_F(ConsumerGroupsTest, AttemptsAreKeptOverRestarts) {
  PutMany(1);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto leases = world_.Receive();
    ASSERT_THAT(leases, SizeIs(1));
    EXPECT_EQ(leases[0].attempt, attempt);
    world_.Restart();
  }
  EXPECT_THAT(world_.Receive(), IsEmpty());
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("m0"));
}

TEST_F(ConsumerGroupsTest, HandedBackAfterTheLastAttemptIsDeadAtOnce) {
  world_.settings.attempts_max = 1;
  world_.groups->Configure("g", world_.settings);
  PutMany(1);
  const auto leases = world_.Receive();
  ASSERT_TRUE(world_.Change(leases[0], 0).ok());
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("m0"));
}

TEST_F(ConsumerGroupsTest, ToDeadLetterOnRequest) {
  PutMany(1);
  const auto leases = world_.Receive();
  EXPECT_TRUE(world_.ToDeadLetter(leases[0]).ok());
  EXPECT_TRUE(absl::IsNotFound(world_.ToDeadLetter(leases[0])));
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("m0"));
  world_.Restart();
  EXPECT_THAT(world_.Receive(), IsEmpty());
}

TEST_F(ConsumerGroupsTest, ADeadLetterThatFailsIsTriedAgain) {
  world_.settings.attempts_max = 1;
  world_.box.options.disk_reserve_bytes = 64u << 20;
  world_.Restart();
  PutMany(1);
  (void)world_.Receive();
  world_.box.fs->SetCapacity(32u << 20);  // no room for puts
  world_.Pass(10'000);
  EXPECT_EQ(world_.box.store->EndOfReady("%DLQ%g"), QueueIndex(0));
  EXPECT_THAT(world_.Receive(), IsEmpty());
  world_.box.fs->SetCapacity(uint64_t{1} << 40);
  world_.Pass(5'000);
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("m0"));
}

TEST_F(ConsumerGroupsTest, AMessageWithFullPropertiesCanDieToo) {
  MessageView view = TestStore::View("big", kDueNow);
  const std::string large(world_.box.options.properties_bytes_max - 30, 'p');
  view.properties.emplace_back("k", large);
  ASSERT_TRUE(world_.box.store->Put(view).ok());
  const auto leases = world_.Receive();
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_TRUE(world_.ToDeadLetter(leases[0]).ok());
  EXPECT_THAT(world_.box.Ready("%DLQ%g"), ElementsAre("big"));
}

// --- filters -----------------------------------------------------------------

TEST_F(ConsumerGroupsTest, UnwantedOnesAreAcknowledgedUnseen) {
  PutMany(300);
  ReceiveRequest request = world_.Request();
  request.filter = [](const Message& message) {
    return message.body == "m250" || message.body == "m7";
  };
  const auto leases = world_.TryReceive(request);
  ASSERT_TRUE(leases.ok());
  EXPECT_THAT(Bodies(*leases), ElementsAre("m7"));
  const auto more = world_.TryReceive(request);
  EXPECT_THAT(Bodies(*more), ElementsAre("m250"));
  EXPECT_THAT(*world_.TryReceive(request), IsEmpty());
  EXPECT_TRUE(world_.Ack((*leases)[0]).ok());
  EXPECT_EQ(world_.State().next, QueueIndex(250));
  EXPECT_EQ(world_.State().lag, 1u);
  world_.Restart();
  EXPECT_THAT(Bodies(*world_.TryReceive(request)), ElementsAre("m250"));
}

// --- where a group begins
// ------------------------------------------------------

TEST_F(ConsumerGroupsTest, ANewGroupBeginsWhereTheOptionsSay) {
  PutMany(3);
  EXPECT_THAT(world_.Receive(), SizeIs(3));
  world_.groups.reset();
  world_.group_options.start = GroupStart::kNewest;
  world_.Begin();
  ReceiveRequest request = world_.Request();
  request.group = "late";
  EXPECT_THAT(*world_.TryReceive(request), IsEmpty());
  world_.Put("after");
  world_.Restart();
  EXPECT_THAT(Bodies(*world_.TryReceive(request)), ElementsAre("after"));
  request.topic = "empty until now";
  EXPECT_THAT(*world_.TryReceive(request), IsEmpty());
  MessageView view = TestStore::View("first", kDueNow);
  view.topic = request.topic;
  ASSERT_TRUE(world_.box.store->Put(view).ok());
  world_.Restart();
  EXPECT_THAT(Bodies(*world_.TryReceive(request)), ElementsAre("first"));
}

TEST_F(ConsumerGroupsTest, GroupsDoNotDisturbEachOther) {
  PutMany(2);
  EXPECT_THAT(world_.Receive(), SizeIs(2));
  ReceiveRequest request = world_.Request();
  request.group = "other";
  EXPECT_THAT(*world_.TryReceive(request), SizeIs(2));
}

TEST_F(ConsumerGroupsTest, WhatRetentionTookIsPassedOver) {
  world_.groups.reset();
  world_.box.store.reset();
  world_.box.options.retention_ms = 1;
  world_.box.options.retain_for_groups = false;
  world_.Open();
  PutMany(1);
  const auto lost = world_.Receive();
  for (int i = 0; i < 40; ++i) world_.Put(std::string(20'000, 'x'));
  for (int i = 0; i < 4; ++i) {
    world_.Pass(2000);
    world_.Put("y" + std::to_string(i));
  }
  const QueueIndex first = world_.box.store->FirstReady("t");
  ASSERT_GT(first, QueueIndex(5));
  const auto leases = world_.Receive(1);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_GE(leases[0].message.index, first);
  EXPECT_GE(world_.State().next, first);
}

// --- limits ------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, WhatIsOutIsBounded) {
  world_.groups.reset();
  world_.group_options.leased_per_group_max = 3;
  world_.Begin();
  PutMany(5);
  const auto leases = world_.Receive();
  EXPECT_THAT(leases, SizeIs(3));
  const auto full = world_.TryReceive(world_.Request());
  EXPECT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_THAT(std::string(full.status().message()),
              HasSubstr("leased_per_group_max"));
  ReceiveRequest request = world_.Request();
  request.poll_until_ms = world_.box.InMs(5000);
  std::vector<std::string> got;
  world_.groups->Receive(request, [&](GroupWorld::Received received) {
    ASSERT_TRUE(received.ok()) << received.status();
    got = Bodies(*received);
  });
  EXPECT_TRUE(world_.Ack(leases[1]).ok());
  EXPECT_THAT(got, ElementsAre("m3")) << "there is room again";
}

TEST_F(ConsumerGroupsTest, NamesMustFit) {
  ReceiveRequest request = world_.Request();
  request.group = std::string(251, 'g');
  EXPECT_TRUE(absl::IsInvalidArgument(world_.TryReceive(request).status()));
  request.group = std::string(250, 'g');
  EXPECT_TRUE(world_.TryReceive(request).ok());
  request.topic = "";
  EXPECT_TRUE(absl::IsInvalidArgument(world_.TryReceive(request).status()));
}

TEST_F(ConsumerGroupsTest, ABatchIsBoundedInBytes) {
  for (int i = 0; i < 4; ++i) world_.Put(std::string(1000, 'x'));
  ReceiveRequest request = world_.Request();
  request.bytes_max = 1500;
  EXPECT_THAT(*world_.TryReceive(request), SizeIs(2));
  world_.Pass(10'000);
  EXPECT_THAT(*world_.TryReceive(request), SizeIs(2)) << "again";
  EXPECT_THAT(*world_.TryReceive(request), SizeIs(2));
}

TEST_F(ConsumerGroupsTest, ADamagedMessageDoesNotStopTheOthers) {
  PutMany(3);
  const auto read = world_.box.store->ReadReady("t", QueueIndex(1), 1, 1);
  const Path log = world_.box.dir / "commitlog" /
                   world_.box.Names(world_.box.dir / "commitlog").front();
  std::string bytes = world_.box.fs->Content(log);
  bytes[read->at(0).offset.value() + 40] ^= 1;
  world_.box.fs->SetContent(log, bytes);
  const auto leases = world_.Receive();
  EXPECT_THAT(Bodies(leases), ElementsAre("m0", "m2"));
  for (const Lease& lease : leases) EXPECT_TRUE(world_.Ack(lease).ok());
  EXPECT_EQ(world_.State().next, QueueIndex(3));
  EXPECT_THAT(world_.box.store->Stats().notices, SizeIs(1));
}

TEST_F(ConsumerGroupsTest, ListSaysHowFarAGroupIs) {
  PutMany(5);
  const auto leases = world_.Receive(3);
  EXPECT_TRUE(world_.Ack(leases[1]).ok());
  ASSERT_TRUE(world_.Change(leases[2], 0).ok());
  GroupState state = world_.State();
  EXPECT_EQ(state.next, QueueIndex(0));
  EXPECT_EQ(state.lag, 4u);
  EXPECT_EQ(state.leased, 2u);
  world_.Restart();
  state = world_.State();
  EXPECT_EQ(state.lag, 4u) << "also of groups that nobody asked for yet";
  EXPECT_EQ(state.leased, 0u);
}

}  // namespace
}  // namespace hourglass
