#include "hourglass/timers/tick.h"

#include <gtest/gtest.h>

#include <limits>

namespace hourglass {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(TickScaleTest, RoundsDeadlinesUpAndTheTimeDown) {
  constexpr TickScale kScale(1000);
  EXPECT_EQ(kScale.DeadlineAt(0), Tick(0));
  EXPECT_EQ(kScale.DeadlineAt(1), Tick(1));
  EXPECT_EQ(kScale.DeadlineAt(1000), Tick(1));
  EXPECT_EQ(kScale.DeadlineAt(1001), Tick(2));
  EXPECT_EQ(kScale.NowAt(999), Tick(0));
  EXPECT_EQ(kScale.NowAt(1000), Tick(1));
  EXPECT_EQ(kScale.DeadlineAt(kMax), Tick(kMax / 1000 + 1));
}

TEST(TickScaleTest, SaysHowLongUntilATickBegins) {
  constexpr TickScale kScale(1000);
  EXPECT_EQ(kScale.NsUntil(Tick(5), 5000, 99'999), 0);
  EXPECT_EQ(kScale.NsUntil(Tick(5), 7000, 99'999), 0);
  EXPECT_EQ(kScale.NsUntil(Tick(5), 4999, 99'999), 1);
  EXPECT_EQ(kScale.NsUntil(Tick(5), 4000, 99'999), 1000);
  EXPECT_EQ(kScale.NsUntil(Tick(500), 4000, 99'999), 99'999);
  EXPECT_EQ(kScale.NsUntil(Tick(kMax), 4000, 99'999), 99'999);
}

}  // namespace
}  // namespace hourglass
