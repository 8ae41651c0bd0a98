#include "wheel/due_lane.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "storage/random.h"
#include "tests/support/hour_world.h"

namespace hourglass {
namespace {

constexpr int64_t kStartMs = StartMs(kTestHour);
constexpr Second kStart = SecondOf(kStartMs);
constexpr Second kForEver{int64_t{1} << 40};

// A lane with its disk: what a preloader and the hand do with it.
class LaneDriver {
 public:
  explicit LaneDriver(size_t entries_max, Second end = kForEver)
      : lane(kStart, end, entries_max, 1) {}

  DueEntry Put(int64_t due_ms) {
    const DueEntry entry = world.Put(due_ms);
    if (lane.Owns(due_ms)) lane.Arrive(entry);
    return entry;
  }

  std::optional<LoadRequest> Begin(int64_t horizon_ms) {
    const auto hour = lane.NextHourToLoad(world.hours, horizon_ms);
    if (!hour) return std::nullopt;
    LoadRequest request = world.RequestFor(*hour);
    request.until = DueKey();
    lane.BeginLoad(&request);
    return request;
  }

  void LoadAll(int64_t horizon_ms) {
    while (const auto request = Begin(horizon_ms)) {
      lane.FinishLoad(ForwardSweep(*request));
    }
  }

  std::vector<DueEntry> TakeAll(int64_t now_ms) {
    std::vector<DueEntry> taken;
    while (const auto entry = lane.Pop(now_ms)) taken.push_back(*entry);
    return taken;
  }

  HourWorld world;
  DueLane lane;
};

std::vector<int64_t> Offsets(const std::vector<DueEntry>& entries) {
  std::vector<int64_t> out;
  for (const DueEntry& entry : entries) out.push_back(entry.due_ms - kStartMs);
  return out;
}

TEST(DueLaneTest, WorkedExampleOfTheHeader) {
  LaneDriver driver(6);
  for (const int s : {12, 15, 15, 16}) driver.Put(kStartMs + s * 1000);
  auto request = driver.Begin(kStartMs);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->entries_max, 3u);
  driver.lane.FinishLoad(ForwardSweep(*request));
  EXPECT_EQ(driver.lane.entries(), 3u);
  driver.Put(kStartMs + 13'000);
  driver.Put(kStartMs + 40'000);
  EXPECT_EQ(driver.lane.entries(), 4u);
  EXPECT_EQ(Offsets(driver.TakeAll(kStartMs + 13'000)),
            (std::vector<int64_t>{12'000, 13'000}));
  driver.LoadAll(kStartMs);
  EXPECT_EQ(Offsets(driver.TakeAll(kStartMs + 60'000)),
            (std::vector<int64_t>{15'000, 15'000, 16'000, 40'000}));
}

TEST(DueLaneTest, PopsNothingBeforeItsMillisecond) {
  LaneDriver driver(10);
  driver.Put(kStartMs + 500);
  driver.LoadAll(kStartMs);
  EXPECT_EQ(driver.lane.NextDueMs(), kStartMs + 500);
  EXPECT_EQ(driver.lane.Pop(kStartMs + 499), std::nullopt);
  EXPECT_TRUE(driver.lane.Pop(kStartMs + 500));
}

TEST(DueLaneTest, EmptyHoursNeedNoLoad) {
  LaneDriver driver(10);
  EXPECT_EQ(driver.lane.Position(), kStart);
  EXPECT_FALSE(driver.Begin(kStartMs + 5 * kMsPerHour));
  EXPECT_EQ(driver.lane.Position(), kStart + 6 * 3600);
  // What arrives for a covered second is kept in memory.
  driver.Put(kStartMs + 2 * kMsPerHour);
  EXPECT_EQ(driver.lane.entries(), 1u);
  EXPECT_EQ(driver.lane.Position(), kStart + 2 * 3600);
}

TEST(DueLaneTest, ArrivalsDuringALoadAreNeitherLostNorDoubled) {
  LaneDriver driver(100);
  const DueEntry before = driver.Put(kStartMs + 7);
  const auto request = driver.Begin(kStartMs);
  const DueEntry during = driver.Put(kStartMs + 5);
  driver.lane.FinishLoad(ForwardSweep(*request));
  EXPECT_EQ(driver.TakeAll(kStartMs + 10),
            (std::vector<DueEntry>{during, before}));
}

TEST(DueLaneTest, IgnoresTheAnswerOfALoadThatWasGivenUp) {
  LaneDriver driver(100);
  driver.Put(kStartMs + 7);
  const auto request = driver.Begin(kStartMs);
  driver.lane.PassOver(kTestHour);
  driver.lane.FinishLoad(ForwardSweep(*request));
  EXPECT_EQ(driver.lane.entries(), 0u);
  EXPECT_EQ(driver.lane.Position(), kStart + 3600);
}

TEST(DueLaneTest, PassOverKeepsWhatArrivedMeanwhile) {
  LaneDriver driver(100);
  driver.Put(kStartMs + 7);
  ASSERT_TRUE(driver.Begin(kStartMs));
  const DueEntry during = driver.Put(kStartMs + 5);
  driver.lane.PassOver(kTestHour);
  EXPECT_EQ(driver.TakeAll(kStartMs + 10), std::vector<DueEntry>{during});
}

TEST(DueLaneTest, AFailedLoadIsTriedAgain) {
  LaneDriver driver(100);
  const DueEntry entry = driver.Put(kStartMs + 7);
  const auto request = driver.Begin(kStartMs);
  LoadResult failed;
  failed.status = absl::DataLossError("bad block");
  failed.generation = request->generation;
  driver.lane.FinishLoad(std::move(failed));
  EXPECT_FALSE(driver.lane.loading());
  driver.LoadAll(kStartMs);
  EXPECT_EQ(driver.TakeAll(kStartMs + 10), std::vector<DueEntry>{entry});
}

TEST(DueLaneTest, GivesUpALoadDuringWhichTooMuchArrives) {
  LaneDriver driver(4);
  std::multiset<DueKey> expected;
  expected.insert(driver.Put(kStartMs + 7).key());
  const auto request = driver.Begin(kStartMs);
  for (int i = 0; i < 20; ++i) {
    expected.insert(driver.Put(kStartMs + 100 - i).key());
  }
  EXPECT_FALSE(driver.lane.loading());
  driver.lane.FinishLoad(ForwardSweep(*request));
  std::multiset<DueKey> taken;
  for (int i = 0; i < 50; ++i) {
    driver.LoadAll(kStartMs);
    for (const DueEntry& e : driver.TakeAll(kStartMs + 200)) {
      taken.insert(e.key());
    }
  }
  EXPECT_EQ(taken, expected);
}

TEST(DueLaneTest, CutToGivesAwayTheRest) {
  LaneDriver driver(100);
  const DueEntry kept = driver.Put(kStartMs + 999);
  driver.Put(kStartMs + 1000);
  driver.LoadAll(kStartMs);
  driver.lane.CutTo(kStart + 1);
  EXPECT_EQ(driver.lane.end(), kStart + 1);
  EXPECT_FALSE(driver.lane.Owns(kStartMs + 1000));
  EXPECT_EQ(driver.TakeAll(kStartMs + 5000), std::vector<DueEntry>{kept});
  EXPECT_TRUE(driver.lane.Done());
}

TEST(DueLaneTest, CutDuringALoadDropsWhatLiesBehindTheCut) {
  LaneDriver driver(100);
  const DueEntry kept = driver.Put(kStartMs + 999);
  driver.Put(kStartMs + 1000);
  const auto request = driver.Begin(kStartMs);
  driver.Put(kStartMs + 1001);
  driver.lane.CutTo(kStart + 1);
  driver.lane.FinishLoad(ForwardSweep(*request));
  EXPECT_EQ(driver.TakeAll(kStartMs + 5000), std::vector<DueEntry>{kept});
  EXPECT_TRUE(driver.lane.Done());
}

TEST(DueLaneTest, ASecondThatIsCoveredInPartIsNotDone) {
  LaneDriver driver(4);
  for (int i = 0; i < 6; ++i) driver.Put(kStartMs + 2000 + i);
  const auto request = driver.Begin(kStartMs);
  driver.lane.FinishLoad(ForwardSweep(*request));
  EXPECT_EQ(driver.TakeAll(kStartMs + 9000).size(), 2u);
  EXPECT_EQ(driver.lane.Position(), kStart + 2);
}

// Random arrivals, loads that take their time, takes, cuts: against a set of
// what must come out.
class LaneModel {
 public:
  LaneModel(uint64_t seed, size_t entries_max)
      : random_(seed), entries_max_(entries_max), driver_(entries_max) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) Step();
    // In the end everything comes out.
    load_.reset();
    driver_.lane.PassOver(Hour(0));  // gives up the load that runs
    now_ms_ = kStartMs + 4 * kMsPerHour;
    while (!pending_.empty() && !testing::Test::HasFailure()) {
      driver_.LoadAll(now_ms_);
      ASSERT_GT(Take(1000), 0u) << pending_.size() << " never came";
    }
  }

 private:
  void Step() {
    switch (random_.Uniform(8)) {
      case 0:
      case 1:
      case 2:
        return Arrive();
      case 3:
        if (!load_) load_ = driver_.Begin(now_ms_ + 60'000);
        return;
      case 4:
      case 5:
        if (!load_) return;
        driver_.lane.FinishLoad(random_.Uniform(2) == 0 ? ForwardSweep(*load_)
                                                        : ChainWalk(*load_));
        load_.reset();
        return;
      case 6:
        now_ms_ += static_cast<int64_t>(random_.Uniform(20'000));
        return;
      default:
        Take(random_.Uniform(30));
    }
  }

  void Arrive() {
    // Never for the past: those are not the lane's (Sequencer::Place).
    const int64_t ahead =
        random_.Uniform(3) == 0
            ? static_cast<int64_t>(random_.Uniform(3000))
            : static_cast<int64_t>(random_.Uniform(9'000'000));
    const int64_t due_ms =
        std::min(now_ms_ + 1 + ahead, kStartMs + 4 * kMsPerHour - 1);
    pending_.insert(driver_.Put(due_ms).key());
    // Memory: the bound, and once more beside a load.
    ASSERT_LE(driver_.lane.entries(), entries_max_);
  }

  size_t Take(size_t count) {
    size_t taken = 0;
    for (; taken < count; ++taken) {
      const auto entry = driver_.lane.Pop(now_ms_);
      if (!entry) break;
      EXPECT_LE(entry->due_ms, now_ms_) << "early";
      EXPECT_EQ(pending_.count(entry->key()), 1u) << "taken twice";
      // Nothing earlier may be left behind.
      EXPECT_EQ(*pending_.begin(), entry->key()) << "out of order";
      pending_.erase(entry->key());
      if (testing::Test::HasFailure()) break;
    }
    if (!pending_.empty()) {
      EXPECT_LE(driver_.lane.Position(), SecondOf(pending_.begin()->due_ms));
    }
    return taken;
  }

  Random random_;
  const size_t entries_max_;
  LaneDriver driver_;
  int64_t now_ms_ = kStartMs;
  std::optional<LoadRequest> load_;
  std::set<DueKey> pending_;
};

TEST(DueLaneTest, LosesNothingDoublesNothingAndKeepsTheOrder) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LaneModel model(seed, 2 + seed % 4 * (seed % 7) * 10);
    model.Run(3000);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hourglass
