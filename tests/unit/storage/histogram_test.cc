#include "hourglass/histogram.h"

#include <gtest/gtest.h>

namespace hourglass {
namespace {

TEST(HistogramTest, SinceCountsOnlyWhatWasAddedLater) {
  Histogram all;
  all.Add(1'000'000, 50);  // before: large, and many
  const Histogram before = all;
  all.Add(10, 99);
  all.Add(5000);
  const Histogram since = all.Since(before);
  EXPECT_EQ(since.count(), 100);
  EXPECT_EQ(since.sum(), 99 * 10 + 5000);
  EXPECT_EQ(since.Percentile(50), 10);
  EXPECT_EQ(since.Percentile(99), 10);
  // To the bucket: 3 % above at most, and never under.
  EXPECT_GE(since.max(), 5000);
  EXPECT_LE(since.max(), 5160);
  EXPECT_EQ(since.Percentile(100), since.max());
}

TEST(HistogramTest, SinceItselfIsEmpty) {
  Histogram all;
  all.Add(7);
  const Histogram none = all.Since(all);
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.max(), 0);
  EXPECT_EQ(none.Percentile(99), 0);
}

}  // namespace
}  // namespace hourglass
