#include "wheel/preloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/hour_world.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kStartMs = StartMs(kTestHour);
constexpr Second kStart = SecondOf(kStartMs);

class PreloaderTest : public testing::Test {
 protected:
  void Open(int64_t now_ms, int64_t ahead_ms = 60'000,
            size_t entries_max = 1000) {
    now_ms_ = now_ms;
    HandOptions options;
    options.entries_max = entries_max;
    options.preload_ahead_ms = ahead_ms;
    hand_.emplace(options, &world_.hours, &world_.ledger);
    hand_->Start(kStart, now_ms);
    preloader_.emplace(&mu_, &*hand_, &world_.table, &wheel_, ahead_ms,
                       [this](uint64_t count, const std::string& why) {
                         lost_.emplace_back(count, why);
                       });
  }

  void Load() {
    for (int i = 0; preloader_->RunOnce(now_ms_); ++i) {
      ASSERT_LT(i, 10'000) << "the preloader gets nowhere";
    }
  }

  std::vector<DueEntry> Deliver() {
    std::vector<DueEntry> got;
    while (true) {
      Load();
      const auto batch = hand_->Take(now_ms_, 1000, 1u << 30);
      if (batch.entries.empty()) return got;
      got.insert(got.end(), batch.entries.begin(), batch.entries.end());
      hand_->marks().Sequenced(batch.token, LogOffset(log_end_),
                               LogOffset(log_end_ + 10));
      log_end_ += 10;
      hand_->Durable(LogOffset(log_end_), now_ms_);
    }
  }

  void DamageIndex(Hour hour, size_t at) {
    const Path path = Path("/hours") / DelayIndexName(hour);
    std::string bytes = world_.fs.Content(path);
    bytes[at] ^= 1;
    world_.fs.SetContent(path, bytes);
  }

  // Closes the hour's files, so that the next look opens them again.
  void Reopen() {
    const auto facts = world_.table.AllFacts();
    ASSERT_TRUE(world_.table.TakeChanges().ok());
    world_.table.~HourTable();
    new (&world_.table)
        HourTable(&world_.fs, "/hours", TestStoreId(), HourTableOptions(),
                  [](Hour) { return absl::StatusOr<std::string>(""); });
    ASSERT_TRUE(world_.table.Restore(facts).ok());
  }

  HourWorld world_;
  Mutex mu_;
  FirstLevelWheel wheel_;
  int64_t now_ms_ = 0;
  uint64_t log_end_ = 1000;
  std::vector<std::pair<uint64_t, std::string>> lost_;
  std::optional<Hand> hand_;
  std::optional<Preloader> preloader_;
};

TEST_F(PreloaderTest, LoadsWhatIsAhead) {
  world_.Put(kStartMs + 10'000);
  Open(kStartMs);
  EXPECT_TRUE(preloader_->RunOnce(now_ms_));
  EXPECT_EQ(hand_->NextDueMs(), kStartMs + 10'000);
  EXPECT_FALSE(preloader_->RunOnce(now_ms_));
  EXPECT_EQ(preloader_->sweeps(), 1u);
  EXPECT_NE(wheel_.SegmentOf(kTestHour), nullptr);
}

TEST_F(PreloaderTest, ReadsWhatIsStillInTheAppendBuffers) {
  const DueEntry entry = world_.Put(kStartMs + 10);
  Open(kStartMs + 10);
  EXPECT_THAT(Deliver(), ElementsAre(entry));
}

TEST_F(PreloaderTest, ReportsADamagedRecordOnceAndDeliversTheRest) {
  for (int i = 0; i < 100; ++i) world_.Put(kStartMs + i);
  ASSERT_TRUE((*world_.table.ForRead(kTestHour))->Flush().ok());
  DamageIndex(kTestHour, kHourHeaderBytes + 50 * kIndexRecordBytes);
  // Room for few entries, so that the hour is swept many times.
  Open(kStartMs + 1000, 60'000, 20);
  EXPECT_EQ(Deliver().size(), 99u);
  EXPECT_GT(preloader_->sweeps(), 5u);
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_EQ(lost_[0].first, 1u);
  EXPECT_THAT(lost_[0].second, HasSubstr(DelayIndexName(kTestHour)));
}

TEST_F(PreloaderTest, AnHourThatCannotBeOpenedDoesNotStopTheNext) {
  for (int i = 0; i < 5; ++i) world_.Put(kStartMs + i);
  const DueEntry next = world_.Put(kStartMs + kMsPerHour);
  Reopen();
  DamageIndex(kTestHour, 3);  // the magic
  Open(kStartMs + 2 * kMsPerHour);
  EXPECT_THAT(Deliver(), ElementsAre(next));
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_EQ(lost_[0].first, 5u);
  EXPECT_THAT(lost_[0].second, HasSubstr(DelayIndexName(kTestHour)));
  Deliver();
  EXPECT_EQ(hand_->cursor(), SecondOf(now_ms_));
}

TEST_F(PreloaderTest, AnHourThatCannotBeReadDoesNotStopTheNext) {
  world_.Put(kStartMs);
  const DueEntry next = world_.Put(kStartMs + kMsPerHour);
  Open(kStartMs + 2 * kMsPerHour);
  ASSERT_TRUE((*world_.table.ForRead(kTestHour))->Flush().ok());
  world_.fs.FailAfter(MemoryOp::kRead, 1, absl::DataLossError("bad block"),
                      true);
  EXPECT_TRUE(preloader_->RunOnce(now_ms_));
  world_.fs.ClearFaults();
  EXPECT_THAT(Deliver(), ElementsAre(next));
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_EQ(lost_[0].first, 1u);
}

// Enough records that a walk is cheaper than a sweep.
// Found by the simulator: the second load met an error where the first had
// rescued the record, and said nothing, because it had been told of it before.
TEST_F(PreloaderTest, ARescuedRecordThatIsLostLaterIsReported) {
  const int64_t due_ms = kStartMs + 1'800'000;
  world_.Put(due_ms);
  world_.Cancel(world_.Put(due_ms));
  Reopen();
  DamageIndex(kTestHour, kHourHeaderBytes + 2 * kIndexRecordBytes);
  // What is due by now is loaded apart from what comes.
  Open(due_ms - 5000);
  ASSERT_TRUE(preloader_->RunOnce(now_ms_));
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_EQ(lost_[0].first, 0u) << "it was rescued";
  // The index is read, and then the cancel's frame.
  world_.fs.FailAfter(MemoryOp::kRead, 2, absl::DataLossError("bad"), true);
  Load();
  ASSERT_EQ(lost_.size(), 2u);
  EXPECT_EQ(lost_[1].first, 1u);
}

class WalkTest : public PreloaderTest,
                 public testing::WithParamInterface<int64_t> {};

TEST_P(WalkTest, WalksTheNearSlotsOfALargeHour) {
  constexpr int kSeconds = 3000;
  constexpr int kPerSecond = 100;
  for (int i = 0; i < kSeconds * kPerSecond; ++i) {
    world_.Put(kStartMs + int64_t{i % kSeconds} * 1000 + i % 1000, 0);
  }
  ASSERT_EQ(ChooseLoad(kSeconds * kPerSecond, 1), LoadMethod::kWalk);
  Open(kStartMs, GetParam(), 1u << 20);
  size_t delivered = 0;
  for (int second = 1; second <= 5; ++second) {
    now_ms_ = kStartMs + second * 1000 - 1;
    delivered += Deliver().size();
    EXPECT_EQ(delivered, static_cast<size_t>(second) * kPerSecond);
  }
  EXPECT_GT(preloader_->walks(), 0u);
  EXPECT_EQ(preloader_->sweeps(), 0u);
}

INSTANTIATE_TEST_SUITE_P(AnyTimeAhead, WalkTest, testing::Values(0, 1, 500));

}  // namespace
}  // namespace hourglass
