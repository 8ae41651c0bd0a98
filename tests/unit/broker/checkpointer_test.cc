#include "broker/checkpointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/hour_format.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::SizeIs;

class CheckpointerTest : public testing::Test {
 protected:
  uint64_t Checkpoints() { return box_.store->Stats().checkpoints; }
  bool HasFiles(Hour hour) {
    return *box_.fs->Exists(box_.dir / "hours" / DelayLogName(hour));
  }
  // Something for a checkpoint to write, and the time for it.
  void OneMore() {
    box_.Put("busy", kDueNow);
    box_.Advance(1000);
  }

  TestStore box_;
};

TEST_F(CheckpointerTest, IsDueByTime) {
  box_.Open();
  box_.Put("a", kDueNow);
  box_.Advance(999);
  EXPECT_EQ(Checkpoints(), 0u);
  box_.Advance(1);
  EXPECT_EQ(Checkpoints(), 1u);
}

TEST_F(CheckpointerTest, IsDueByLogWritten) {
  box_.options.checkpoint_log_bytes = 100'000;
  box_.options.checkpoint_interval_ms = 1'000'000;
  box_.Open();
  box_.Put(std::string(20'000, 'x'), kDueNow);
  box_.Step();
  const uint64_t before = Checkpoints();
  for (int i = 0; i < 6; ++i) box_.Put(std::string(20'000, 'x'), kDueNow);
  box_.Step();
  EXPECT_EQ(Checkpoints(), before + 1);
}

TEST_F(CheckpointerTest, WritesNothingWhileNothingChanges) {
  box_.Open();
  OneMore();
  box_.Advance(5000);
  const uint64_t before = Checkpoints();
  const uint64_t bytes = box_.fs->bytes_written();
  box_.Advance(10'000);
  EXPECT_EQ(Checkpoints(), before);
  EXPECT_EQ(box_.fs->bytes_written(), bytes);
}

TEST_F(CheckpointerTest, DeletingLagsOneCheckpointBehind) {
  box_.Open();
  const Hour hour = HourOf(box_.InMs(500));
  box_.Put("a", box_.InMs(500));
  OneMore();
  box_.clock.AdvanceMs(kMsPerHour);
  const uint64_t before = Checkpoints();
  box_.Step();  // the first checkpoint that finds it done
  EXPECT_EQ(Checkpoints(), before + 1);
  EXPECT_TRUE(HasFiles(hour));
  OneMore();
  EXPECT_EQ(Checkpoints(), before + 2);
  EXPECT_FALSE(HasFiles(hour));
}

TEST_F(CheckpointerTest, AnIdleStoreDeletesTheHourThatItFinishedLast) {
  box_.Open();
  const Hour hour = HourOf(box_.InMs(500));
  box_.Put("a", box_.InMs(500));
  box_.Advance(3000);
  EXPECT_TRUE(HasFiles(hour));  // the hour goes on
  box_.clock.AdvanceMs(kMsPerHour);
  box_.Advance(5000);
  EXPECT_FALSE(HasFiles(hour));
  // And then there is peace.
  const uint64_t bytes = box_.fs->bytes_written();
  box_.Advance(10'000);
  EXPECT_EQ(box_.fs->bytes_written(), bytes);
}

TEST_F(CheckpointerTest, AnHourWithAPendingMessageIsKept) {
  box_.Open();
  const Hour hour = HourOf(box_.InMs(500));
  box_.Put("a", box_.InMs(500));
  box_.Put("b", StartMs(hour + 1) - 1);
  box_.Advance(2000);
  for (int i = 0; i < 5; ++i) OneMore();
  EXPECT_TRUE(HasFiles(hour));
}

TEST_F(CheckpointerTest, RetentionCutsTheLogButKeepsWhatAGroupIsOwed) {
  box_.options.retention_bytes = 1;
  box_.Open();
  box_.Put("first", kDueNow);
  ASSERT_TRUE(box_.store->CommitProgress("t", "g", QueueIndex(1)).ok());
  box_.Put("owed", kDueNow);
  const std::string body(30'000, 'x');
  for (int i = 0; i < 60; ++i) box_.Put(body, kDueNow);
  for (int i = 0; i < 5; ++i) OneMore();
  EXPECT_EQ(box_.store->FirstReady("t"), QueueIndex(0));
  EXPECT_THAT(*box_.store->ReadReady("t", QueueIndex(1), 1, 1000), SizeIs(1));
  ASSERT_TRUE(box_.store->CommitProgress("t", "g", QueueIndex(60)).ok());
  for (int i = 0; i < 5; ++i) OneMore();
  EXPECT_GT(box_.store->FirstReady("t"), QueueIndex(1));
  EXPECT_LE(box_.store->FirstReady("t"), QueueIndex(60));
  EXPECT_THAT(*box_.store->ReadReady("t", box_.store->FirstReady("t"), 1, 1000),
              SizeIs(1));
  EXPECT_TRUE(absl::IsOutOfRange(
      box_.store->ReadReady("t", QueueIndex(0), 1, 1000).status()));
  EXPECT_GT(box_.store->Stats().log_start, LogOffset(0));
  // What is left opens again.
  const QueueIndex first = box_.store->FirstReady("t");
  box_.Crash(0);
  box_.Open();
  EXPECT_EQ(box_.store->FirstReady("t"), first);
}

TEST_F(CheckpointerTest, EveryFailedOperationLeavesAStoreThatOpens) {
  for (int n = 1; n < 60; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    TestStore box;
    box.Open();
    box.Put("a", box.InMs(500));
    box.Put("b", box.InMs(20'000));
    box.clock.AdvanceMs(1100);
    box.fs->FailAfter(MemoryOp::kAny, n, absl::DataLossError("bad"), true);
    for (int i = 0; i < 5; ++i) box.store->Step();
    box.Crash(n % 3 * 50, static_cast<uint64_t>(n));
    box.Open();
    if (HasFatalFailure()) return;
    box.Advance(30'000);
    EXPECT_THAT(box.Ready(), testing::ElementsAre("a", "b"));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hourglass
