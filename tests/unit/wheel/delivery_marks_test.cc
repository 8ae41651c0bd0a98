#include "wheel/delivery_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "storage/random.h"

namespace hourglass {
namespace {

constexpr LogOffset kNone{1u << 30};

TEST(DeliveryMarksTest, ABatchIsOpenUntilItIsDurable) {
  DeliveryMarks marks;
  const auto token = marks.Taken(Second(10), Second(12));
  EXPECT_EQ(marks.FirstOpen(), Second(10));
  marks.Durable(LogOffset(5000));  // not sequenced yet: says nothing of it
  EXPECT_TRUE(marks.IsOpen(token));
  marks.Sequenced(token, LogOffset(5000), LogOffset(6000));
  marks.Durable(LogOffset(5999));
  EXPECT_TRUE(marks.IsOpen(token));
  marks.Durable(LogOffset(6000));
  EXPECT_FALSE(marks.IsOpen(token));
  EXPECT_EQ(marks.FirstOpen(), std::nullopt);
}

TEST(DeliveryMarksTest, FirstOpenIsTheEarliestOfAllInFlight) {
  DeliveryMarks marks;
  marks.Taken(Second(50), Second(50));
  const auto early = marks.Taken(Second(10), Second(60));
  EXPECT_EQ(marks.FirstOpen(), Second(10));
  EXPECT_EQ(marks.in_flight(), 2u);
  marks.Dropped(early);
  EXPECT_EQ(marks.FirstOpen(), Second(50));
}

TEST(DeliveryMarksTest, FloorIsTheFirstDeliveredRecordAtOrAfterTheCursor) {
  DeliveryMarks marks;
  EXPECT_EQ(marks.ReplayFloor(Second(0), kNone), kNone);
  marks.Replayed(Second(10), LogOffset(100));
  marks.Replayed(Second(11), LogOffset(200));
  marks.Replayed(Second(11), LogOffset(250));
  marks.Replayed(Second(12), LogOffset(300));
  EXPECT_EQ(marks.ReplayFloor(Second(10), kNone), LogOffset(100));
  EXPECT_EQ(marks.ReplayFloor(Second(11), kNone), LogOffset(200));
  EXPECT_EQ(marks.ReplayFloor(Second(12), kNone), LogOffset(300));
  EXPECT_EQ(marks.ReplayFloor(Second(13), kNone), kNone);
}

TEST(DeliveryMarksTest, ReadsAroundAnEarlierSecondBehindALaterOne) {
  DeliveryMarks marks;
  // Fresh and overdue in turn: the log's order is not that of the seconds.
  marks.Replayed(Second(90), LogOffset(100));
  marks.Replayed(Second(10), LogOffset(200));
  EXPECT_EQ(marks.ReplayFloor(Second(11), kNone), LogOffset(100));
}

// Whatever was merged, no Delivered record at or after the cursor may lie
// before the floor; and while nothing was merged, the floor is exact.
TEST(DeliveryMarksTest, FloorIsNeverTooHigh) {
  struct Record {
    int64_t second;
    uint64_t at;
  };
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    DeliveryMarks marks;
    std::vector<Record> records;
    const int count = seed <= 3 ? 1000 : 20'000;
    int64_t cursor = 0;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<uint64_t>(100 + i);
      const auto second =
          cursor + static_cast<int64_t>(random.Uniform(1 + count / 2));
      marks.Replayed(Second(second), LogOffset(at));
      records.push_back({second, at});
      if (i % 499 != 0) continue;
      cursor += static_cast<int64_t>(random.Uniform(20));
      const auto first =
          std::find_if(records.begin(), records.end(),
                       [&](const Record& r) { return r.second >= cursor; });
      const LogOffset exact =
          first == records.end() ? kNone : LogOffset(first->at);
      const LogOffset floor = marks.ReplayFloor(Second(cursor), kNone);
      ASSERT_LE(floor, exact);
      if (seed <= 3) {
        ASSERT_EQ(floor, exact);
      }
    }
  }
}

TEST(DeliveryMarksTest, MergingKeepsWhatIsRecentExact) {
  DeliveryMarks marks;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    marks.Replayed(Second(i), LogOffset(static_cast<uint64_t>(i)));
  }
  for (int64_t cursor = kCount - 500; cursor < kCount; ++cursor) {
    const LogOffset floor = marks.ReplayFloor(Second(cursor), kNone);
    EXPECT_LE(floor, LogOffset(static_cast<uint64_t>(cursor)));
    EXPECT_LT(static_cast<uint64_t>(cursor) - floor.value(), 4u);
  }
}

}  // namespace
}  // namespace hourglass
