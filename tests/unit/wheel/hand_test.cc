#include "wheel/hand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "storage/random.h"
#include "tests/support/hour_world.h"

namespace hourglass {
namespace {

constexpr int64_t kStartMs = StartMs(kTestHour);
constexpr Second kStart = SecondOf(kStartMs);
constexpr size_t kBytesMax = 1u << 30;

// A hand with its disk: does what writer, deliverer and preloader do.
class HandDriver {
 public:
  explicit HandDriver(HandOptions options = {}, Second cursor = kStart)
      : hand(options, &world.hours, &world.ledger) {
    hand.Start(cursor, now_ms);
  }

  DueEntry Put(int64_t due_ms, size_t bytes = 8) {
    const DueEntry entry = world.Put(due_ms, bytes);
    hand.Arrive(entry, LogOffset(log_end));
    offsets[entry.key()] = LogOffset(log_end);
    log_end += 100;
    return entry;
  }

  std::optional<LoadRequest> Begin() {
    const auto want = hand.NextLoad(now_ms);
    if (!want) return std::nullopt;
    LoadRequest request = world.RequestFor(want->hour);
    request.until = DueKey();
    hand.BeginLoad(want->lane, &request);
    return request;
  }

  void LoadAll() {
    while (const auto request = Begin()) {
      hand.FinishLoad(ForwardSweep(*request));
    }
  }

  // Takes a batch and makes it durable.
  std::vector<DueEntry> Deliver(size_t count_max = 1000) {
    const Hand::Batch batch = hand.Take(now_ms, count_max, kBytesMax);
    if (!batch.entries.empty()) {
      Sequence(batch);
      hand.Durable(LogOffset(log_end), now_ms);
    }
    return batch.entries;
  }

  void Sequence(const Hand::Batch& batch) {
    const LogOffset from(log_end);
    for (const DueEntry& entry : batch.entries) {
      delivered[entry.key()] = LogOffset(log_end);
      world.pending.erase(entry.key());
      log_end += 10;
    }
    hand.marks().Sequenced(batch.token, from, LogOffset(log_end));
  }

  HourWorld world;
  int64_t now_ms = kStartMs;
  uint64_t log_end = 1000;
  std::map<DueKey, LogOffset> offsets;    // of the Delayed records
  std::map<DueKey, LogOffset> delivered;  // of the Delivered records
  Hand hand;
};

std::vector<int64_t> Offsets(const std::vector<DueEntry>& entries) {
  std::vector<int64_t> out;
  for (const DueEntry& entry : entries) out.push_back(entry.due_ms - kStartMs);
  return out;
}

TEST(HandTest, GivesOutAtTheMillisecondAndNotBefore) {
  HandDriver driver;
  driver.Put(kStartMs + 1500);
  driver.LoadAll();
  driver.now_ms = kStartMs + 1499;
  EXPECT_EQ(driver.hand.NextDueMs(), kStartMs + 1500);
  EXPECT_TRUE(driver.Deliver().empty());
  driver.now_ms = kStartMs + 1500;
  EXPECT_EQ(driver.Deliver().size(), 1u);
  EXPECT_EQ(driver.hand.NextDueMs(), 0);
}

// Found by the simulator: half of a byte was no byte, so what was due waited
// until all that was overdue was done.
TEST(HandTest, AnOverdueLaneLeavesRoomForWhatIsDueInTheSmallestBatch) {
  HandDriver driver;
  driver.Put(kStartMs + 10'000);
  driver.now_ms = kStartMs + 10'000;
  driver.LoadAll();
  const Hand::Batch batch = driver.hand.Take(driver.now_ms, 2, 1);
  EXPECT_EQ(batch.entries.size(), 1u);
}

// Found by the simulator: after a restart the window was full of what had
// been delivered before, and what was due behind it waited for a timer.
TEST(HandTest, SaysThatItPassedOverWhatWasDelivered) {
  HandDriver driver;
  const DueEntry entry = driver.Put(kStartMs + 10);
  driver.LoadAll();
  driver.world.ledger.Claim(entry.hour(), entry.number);
  driver.now_ms += 10;
  const Hand::Batch batch = driver.hand.Take(driver.now_ms, 10, kBytesMax);
  EXPECT_TRUE(batch.entries.empty());
  EXPECT_TRUE(batch.passed_over);
  EXPECT_FALSE(driver.hand.Take(driver.now_ms, 10, kBytesMax).passed_over);
}

TEST(HandTest, SameMillisecondKeepsTheOrderOfArrival) {
  HandDriver driver;
  driver.Put(kStartMs + 20);
  const DueEntry a = driver.Put(kStartMs + 10);
  const DueEntry b = driver.Put(kStartMs + 10);
  driver.LoadAll();
  driver.now_ms += 100;
  const auto got = driver.Deliver();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0], a);
  EXPECT_EQ(got[1], b);
}

TEST(HandTest, CursorWaitsForWhatIsInFlight) {
  HandDriver driver;
  driver.Put(kStartMs + 2000);
  driver.LoadAll();
  driver.now_ms += 5000;
  const Hand::Batch batch = driver.hand.Take(driver.now_ms, 10, kBytesMax);
  ASSERT_EQ(batch.entries.size(), 1u);
  driver.hand.Durable(LogOffset(driver.log_end), driver.now_ms);
  EXPECT_EQ(driver.hand.cursor(), kStart + 2);
  driver.Sequence(batch);
  driver.hand.Durable(LogOffset(driver.log_end - 1), driver.now_ms);
  EXPECT_EQ(driver.hand.cursor(), kStart + 2);
  driver.hand.Durable(LogOffset(driver.log_end), driver.now_ms);
  EXPECT_EQ(driver.hand.cursor(), kStart + 5);
}

TEST(HandTest, CountAndBytesBoundABatch) {
  HandDriver driver;
  for (int i = 0; i < 10; ++i) driver.Put(kStartMs + i, 1000);
  driver.LoadAll();
  driver.now_ms += 100;
  EXPECT_EQ(driver.hand.Take(driver.now_ms, 3, kBytesMax).entries.size(), 3u);
  EXPECT_EQ(driver.hand.Take(driver.now_ms, 10, 2000).entries.size(), 2u);
  EXPECT_EQ(driver.hand.Take(driver.now_ms, 10, 1).entries.size(), 1u);
}

TEST(HandTest, BytesBoundLateMessagesToo) {
  HandDriver driver;
  driver.now_ms = kStartMs + 100'000;
  driver.LoadAll();
  driver.Deliver();
  ASSERT_EQ(driver.hand.cursor(), kStart + 100);
  driver.now_ms = kStartMs;
  for (int i = 0; i < 10; ++i) driver.Put(kStartMs + 5000 + i, 1000);
  ASSERT_EQ(driver.hand.late(), 10u);
  driver.now_ms = kStartMs + 6000;
  EXPECT_EQ(driver.hand.Take(driver.now_ms, 100, 4000).entries.size(), 2u);
}

TEST(HandTest, WhatIsCancelledIsNotGivenOut) {
  HandDriver driver;
  const DueEntry entry = driver.Put(kStartMs + 10);
  driver.LoadAll();
  driver.world.Cancel(entry);
  driver.now_ms += 100;
  EXPECT_TRUE(driver.Deliver().empty());
}

TEST(HandTest, AfterDowntimeEverythingOverdueComesInDueOrder) {
  HandDriver driver;
  Random random(1);
  std::set<DueKey> expected;
  for (int i = 0; i < 300; ++i) {
    const auto due =
        kStartMs + static_cast<int64_t>(random.Uniform(5 * kMsPerHour));
    expected.insert(driver.world.Put(due).key());
  }
  driver.now_ms = kStartMs + 6 * kMsPerHour;
  driver.hand.Start(kStart, driver.now_ms);
  std::vector<DueKey> got;
  for (int i = 0; i < 100 && got.size() < expected.size(); ++i) {
    driver.LoadAll();
    for (const DueEntry& e : driver.Deliver(20)) got.push_back(e.key());
  }
  EXPECT_EQ(got, std::vector<DueKey>(expected.begin(), expected.end()));
}

TEST(HandTest, NewlyDueMessagesDoNotWaitBehindABacklog) {
  HandDriver driver;
  constexpr int kBacklog = 5000;
  for (int i = 0; i < kBacklog; ++i) driver.world.Put(kStartMs + i);
  driver.now_ms = kStartMs + 2 * kMsPerHour;
  driver.hand.Start(kStart, driver.now_ms);
  driver.LoadAll();
  ASSERT_EQ(driver.Deliver(100).size(), 100u);
  for (int round = 0; round < 20; ++round) {
    const DueEntry fresh = driver.Put(driver.now_ms + 1);
    driver.now_ms += 1;
    driver.LoadAll();
    const auto got = driver.Deliver(100);
    // In the very next batch, which leaves at least half to the backlog.
    EXPECT_EQ(std::count(got.begin(), got.end(), fresh), 1) << round;
    EXPECT_GE(got.size(), 51u);
  }
}

TEST(HandTest, ALargeFreshLoadLeavesHalfToTheBacklog) {
  HandDriver driver;
  for (int i = 0; i < 1000; ++i) driver.world.Put(kStartMs + i);
  driver.now_ms = kStartMs + 2 * kMsPerHour;
  driver.hand.Start(kStart, driver.now_ms);
  for (int i = 0; i < 1000; ++i) driver.Put(driver.now_ms + 1);
  driver.now_ms += 1;
  driver.LoadAll();
  const auto got = driver.Deliver(100);
  const auto overdue = std::count_if(
      got.begin(), got.end(),
      [](const DueEntry& entry) { return entry.due_ms < kStartMs + 1000; });
  EXPECT_EQ(got.size(), 100u);
  EXPECT_EQ(overdue, 50);
}

TEST(HandTest, AStepBackNeverDeliversEarlyAndKeepsTheCursor) {
  HandDriver driver;
  driver.now_ms = kStartMs + 60'000;
  driver.LoadAll();
  driver.Deliver();
  const Second cursor = driver.hand.cursor();
  EXPECT_EQ(cursor, kStart + 60);
  driver.now_ms = kStartMs + 10'000;
  const DueEntry late = driver.Put(kStartMs + 20'000);
  EXPECT_TRUE(driver.hand.IsLate(late.key()));
  EXPECT_TRUE(driver.hand.HasLateIn(kTestHour));
  EXPECT_TRUE(driver.Deliver().empty());
  EXPECT_EQ(driver.hand.NextWakeMs(driver.now_ms), kStartMs + 20'000);
  EXPECT_EQ(driver.hand.cursor(), cursor);
  // Recovery must see its Delayed record until its Delivered one is durable.
  EXPECT_EQ(driver.hand.ReplayFrom(LogOffset(driver.log_end)),
            driver.offsets[late.key()]);
  driver.now_ms = kStartMs + 20'000;
  const Hand::Batch batch = driver.hand.Take(driver.now_ms, 10, kBytesMax);
  EXPECT_EQ(Offsets(batch.entries), std::vector<int64_t>{20'000});
  EXPECT_EQ(driver.hand.ReplayFrom(LogOffset(driver.log_end)),
            driver.offsets[late.key()]);
  driver.Sequence(batch);
  driver.hand.Durable(LogOffset(driver.log_end), driver.now_ms);
  EXPECT_GT(driver.hand.ReplayFrom(LogOffset(driver.log_end)),
            driver.offsets[late.key()]);
  EXPECT_FALSE(driver.hand.HasLateIn(kTestHour));
}

TEST(HandTest, AStepForwardDeliversWhatIsDue) {
  HandDriver driver;
  driver.Put(kStartMs + 3 * kMsPerHour);
  driver.Put(kStartMs + 10 * kMsPerHour);
  driver.LoadAll();
  driver.now_ms += 10 * kMsPerHour;
  driver.LoadAll();
  EXPECT_EQ(driver.Deliver().size(), 2u);
}

TEST(HandTest, WakesInTimeToLoadTheNextHour) {
  HandDriver driver;
  driver.Put(kStartMs + 2 * kMsPerHour);
  driver.LoadAll();
  EXPECT_EQ(driver.hand.NextWakeMs(driver.now_ms),
            kStartMs + 2 * kMsPerHour - 60'000);
}

TEST(HandTest, PassOverGoesToTheLaneWhoseLoadFailed) {
  HandDriver driver;
  driver.Put(kStartMs + 1000);
  const auto request = driver.Begin();
  ASSERT_TRUE(request);
  // While the load runs, the lane becomes the overdue one.
  driver.now_ms += 30'000;
  EXPECT_TRUE(driver.Deliver().empty());
  driver.hand.PassOver(request->generation, kTestHour);
  driver.LoadAll();
  driver.Deliver();
  EXPECT_EQ(driver.hand.cursor(), kStart + 30);
}

TEST(HandTest, ReplayFromCoversDeliveredRecordsBehindTheCursor) {
  HandDriver driver;
  driver.Put(kStartMs + 1000);
  const DueEntry held = driver.Put(kStartMs + 1500);
  driver.LoadAll();
  driver.now_ms += 1200;
  ASSERT_EQ(driver.Deliver().size(), 1u);
  // The second is not over: its Delivered record must be read again.
  const LogOffset first = driver.delivered.begin()->second;
  EXPECT_EQ(driver.hand.ReplayFrom(LogOffset(driver.log_end)), first);
  driver.now_ms += 1000;
  ASSERT_EQ(driver.Deliver(), std::vector<DueEntry>{held});
  driver.now_ms += 1000;
  driver.Deliver();
  EXPECT_EQ(driver.hand.ReplayFrom(LogOffset(driver.log_end)),
            LogOffset(driver.log_end));
}

// Random life with clock steps, against the map of what is pending.
class HandModel {
 public:
  explicit HandModel(uint64_t seed) : random_(seed), driver_(Options(seed)) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      Step();
      Check();
    }
    Drain();
  }

 private:
  static HandOptions Options(uint64_t seed) {
    HandOptions options;
    options.entries_max = 8 + 40 * (seed % 5);
    options.split_after_ms = seed % 2 == 0 ? 3000 : 500;
    return options;
  }

  void Step() {
    switch (random_.Uniform(12)) {
      case 0:
      case 1:
      case 2:
        return Put();
      case 3:
        return Cancel();
      case 4:
        if (!load_) load_ = driver_.Begin();
        return;
      case 5:
      case 6:
        if (load_) driver_.hand.FinishLoad(ForwardSweep(*load_));
        load_.reset();
        return;
      case 7:
        return Step(random_.Uniform(5000));
      case 8:
        return RareStep();
      case 9:
      case 10:
        return Take();
      default:
        return Land();
    }
  }

  void Step(uint64_t ms) { driver_.now_ms += static_cast<int64_t>(ms); }

  void RareStep() {
    const auto far = static_cast<int64_t>(random_.Uniform(kMsPerHour));
    switch (random_.Uniform(12)) {
      case 0:
        driver_.now_ms = std::max(kStartMs, driver_.now_ms - far);
        return;
      case 1:
        driver_.now_ms += far;
        return;
      default:
        return;
    }
  }

  void Put() {
    const uint64_t range = random_.Uniform(3) == 0 ? 2 * kMsPerHour : 3000;
    driver_.Put(driver_.now_ms + 1 +
                static_cast<int64_t>(random_.Uniform(range)));
  }

  void Cancel() {
    if (driver_.world.pending.empty()) return;
    auto at = driver_.world.pending.begin();
    std::advance(at, static_cast<ptrdiff_t>(random_.Uniform(
                         std::min<size_t>(driver_.world.pending.size(), 20))));
    const DueEntry entry = at->second;
    if (driver_.world.ledger.IsClaimed(entry.hour(), entry.number)) return;
    driver_.world.Cancel(entry);
  }

  void Take() {
    const Hand::Batch batch =
        driver_.hand.Take(driver_.now_ms, 2 + random_.Uniform(20), kBytesMax);
    for (const DueEntry& entry : batch.entries) {
      EXPECT_LE(entry.due_ms, driver_.now_ms) << "early";
      EXPECT_EQ(driver_.world.pending.count(entry.key()), 1u) << "twice";
      EXPECT_TRUE(taken_.insert(entry.key()).second) << "twice";
    }
    if (!batch.entries.empty()) in_flight_.push_back(batch);
  }

  // The oldest batch becomes durable.
  void Land() {
    if (in_flight_.empty()) return;
    driver_.Sequence(in_flight_.front());
    in_flight_.pop_front();
    driver_.hand.Durable(LogOffset(driver_.log_end), driver_.now_ms);
  }

  void Check() {
    const Second cursor = driver_.hand.cursor();
    EXPECT_GE(cursor, cursor_) << "the cursor fell";
    cursor_ = cursor;
    const LogOffset replay =
        driver_.hand.ReplayFrom(LogOffset(driver_.log_end));
    for (const auto& [key, entry] : driver_.world.pending) {
      if (SecondOf(key.due_ms) >= cursor) break;
      // Behind the cursor: only late ones, and recovery must meet them.
      EXPECT_LE(replay, driver_.offsets[key]) << "a pending message is lost";
      if (!taken_.contains(key)) {
        EXPECT_TRUE(driver_.hand.IsLate(key)) << "the cursor passed a message";
      }
    }
    for (const auto& [key, offset] : driver_.delivered) {
      if (SecondOf(key.due_ms) >= cursor) {
        EXPECT_LE(replay, offset) << "delivered again after a crash";
      }
    }
  }

  void Drain() {
    driver_.now_ms += 40 * kMsPerHour;
    for (int i = 0; i < 3000 && !driver_.world.pending.empty(); ++i) {
      if (load_) driver_.hand.FinishLoad(ForwardSweep(*load_));
      load_.reset();
      driver_.LoadAll();
      Take();
      Land();
    }
    EXPECT_TRUE(driver_.world.pending.empty())
        << driver_.world.pending.size() << " never came";
  }

  Random random_;
  HandDriver driver_;
  std::optional<LoadRequest> load_;
  std::deque<Hand::Batch> in_flight_;
  std::set<DueKey> taken_;
  Second cursor_;
};

TEST(HandTest, KeepsItsInvariantsThroughARandomLife) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    HandModel(seed).Run(1200);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hourglass
