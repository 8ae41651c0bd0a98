#include "hourglass/timers/bucket_set.h"

#include <gtest/gtest.h>

#include <set>

#include "storage/random.h"

namespace hourglass {
namespace {

TEST(BucketSetTest, FindsTheNextAndDoesNotWrap) {
  BucketSet set(512);
  EXPECT_EQ(set.NextFrom(0), std::nullopt);
  set.Insert(7);
  set.Insert(300);
  EXPECT_EQ(set.NextFrom(0), 7u);
  EXPECT_EQ(set.NextFrom(7), 7u);
  EXPECT_EQ(set.NextFrom(8), 300u);
  EXPECT_EQ(set.NextFrom(301), std::nullopt);
  EXPECT_EQ(set.NextFrom(512), std::nullopt);
  EXPECT_EQ(set.NextAround(301), 7u);
  set.Remove(7);
  EXPECT_EQ(set.NextAround(301), 300u);
  EXPECT_FALSE(set.Contains(7));
  EXPECT_TRUE(set.Contains(300));
}

// Sizes on both sides of where a level is added.
TEST(BucketSetTest, AgreesWithASetAtEverySize) {
  Random random(17);
  for (size_t buckets : {1, 2, 63, 64, 65, 4095, 4096, 4097, 300'000}) {
    SCOPED_TRACE(buckets);
    BucketSet set(buckets);
    std::set<size_t> model;
    for (int i = 0; i < 3000; ++i) {
      const size_t bucket = random.Uniform(buckets);
      if (random.Uniform(2) == 0) {
        set.Insert(bucket);
        model.insert(bucket);
      } else {
        set.Remove(bucket);
        model.erase(bucket);
      }
      const size_t from = random.Uniform(buckets);
      const auto want = model.lower_bound(from);
      const auto got = set.NextFrom(from);
      ASSERT_EQ(got.has_value(), want != model.end());
      if (got) {
        ASSERT_EQ(*got, *want);
      }
    }
  }
}

}  // namespace
}  // namespace hourglass
