#include "hourglass/group_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/random.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

QueueIndex At(uint64_t index) { return QueueIndex(index); }

TEST(GroupProgressTest, NextMovesWhenTheGapCloses) {
  GroupProgress progress;
  progress.Ack(At(2), At(3));
  progress.Ack(At(4), At(6));
  EXPECT_EQ(progress.next, At(0));
  EXPECT_THAT(progress.acked,
              ElementsAre(Pair(At(2), At(3)), Pair(At(4), At(6))));
  progress.Ack(At(0), At(2));
  EXPECT_EQ(progress.next, At(3));
  EXPECT_THAT(progress.acked, ElementsAre(Pair(At(4), At(6))));
  progress.Ack(At(3), At(4));
  EXPECT_EQ(progress.next, At(6));
  EXPECT_FALSE(progress.HasMarks());
}

TEST(GroupProgressTest, RangesThatTouchOrOverlapAreOne) {
  GroupProgress progress;
  progress.Ack(At(10), At(12));
  progress.Ack(At(12), At(14));
  progress.Ack(At(8), At(10));
  EXPECT_THAT(progress.acked, ElementsAre(Pair(At(8), At(14))));
  progress.Ack(At(20), At(22));
  progress.Ack(At(9), At(21));
  EXPECT_THAT(progress.acked, ElementsAre(Pair(At(8), At(22))));
  progress.Ack(At(8), At(8));  // nothing
  EXPECT_THAT(progress.acked, ElementsAre(Pair(At(8), At(22))));
}

TEST(GroupProgressTest, AttemptsGoWithTheAcknowledgement) {
  GroupProgress progress;
  progress.NoteAttempts(At(1), 2);
  progress.NoteAttempts(At(5), 3);
  progress.NoteAttempts(At(5), 1);  // never down
  progress.NoteAttempts(At(6), 0);  // nothing to say
  EXPECT_EQ(progress.AttemptsOf(At(5)), 3u);
  EXPECT_EQ(progress.attempts.size(), 2u);
  EXPECT_EQ(progress.end(), At(6));
  progress.Ack(At(5), At(6));
  EXPECT_EQ(progress.AttemptsOf(At(5)), 0u);
  progress.NoteAttempts(At(5), 9);
  EXPECT_EQ(progress.AttemptsOf(At(5)), 0u) << "it is acknowledged";
  progress.Ack(At(0), At(2));
  EXPECT_THAT(progress.attempts, IsEmpty());
}

TEST(GroupProgressTest, SaysWhatWouldBeARangeMore) {
  GroupProgress progress(At(5));
  progress.Ack(At(10), At(12));
  EXPECT_FALSE(progress.WouldAddRange(At(3), At(4)));
  EXPECT_FALSE(progress.WouldAddRange(At(5), At(6)));
  EXPECT_TRUE(progress.WouldAddRange(At(6), At(7)));
  EXPECT_FALSE(progress.WouldAddRange(At(9), At(10)));
  EXPECT_FALSE(progress.WouldAddRange(At(12), At(13)));
  EXPECT_TRUE(progress.WouldAddRange(At(13), At(14)));
  EXPECT_FALSE(progress.WouldAddRange(At(7), At(20)));
}

// Beside a set of indexes and a map of counts: any changes, in any order, some
// of them twice.
TEST(GroupProgressTest, IsWhatASetWouldBe) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const uint64_t size = 1 + random.Uniform(40);
    GroupProgress progress;
    std::set<uint64_t> acked;
    std::map<uint64_t, uint32_t> attempts;
    for (int step = 0; step < 60; ++step) {
      const uint64_t from = random.Uniform(size);
      if (random.Uniform(3) == 0) {
        const auto count = static_cast<uint32_t>(random.Uniform(5));
        progress.NoteAttempts(At(from), count);
        if (count > 0 && !acked.contains(from)) {
          attempts[from] = std::max(attempts[from], count);
        }
        continue;
      }
      const uint64_t to = from + random.Uniform(6);
      uint64_t new_ranges = progress.acked.size();
      const bool adds = progress.WouldAddRange(At(from), At(to));
      progress.Ack(At(from), At(to));
      EXPECT_EQ(adds, progress.acked.size() > new_ranges);
      for (uint64_t i = from; i < to; ++i) {
        acked.insert(i);
        attempts.erase(i);
      }
      QueueIndex last = progress.next;
      for (const auto& [begin, end] : progress.acked) {
        ASSERT_GT(begin, last) << "touches what is before it";
        ASSERT_GT(end, begin);
        last = end;
      }
    }
    for (uint64_t i = 0; i < size + 8; ++i) {
      ASSERT_EQ(progress.IsAcked(At(i)), acked.contains(i)) << i;
      ASSERT_EQ(progress.AttemptsOf(At(i)),
                attempts.contains(i) ? attempts[i] : 0u);
    }
    ASSERT_FALSE(progress.IsAcked(progress.next));
    GroupProgress twice = progress;
    twice.Merge(progress);
    EXPECT_TRUE(twice == progress);
  }
}

TEST(GroupProgressTest, MergesInAnyOrder) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    std::vector<GroupProgress> parts(6);
    for (GroupProgress& part : parts) {
      const uint64_t from = random.Uniform(20);
      part.Ack(At(from), At(from + random.Uniform(4)));
      part.NoteAttempts(At(random.Uniform(20)), 1);
    }
    GroupProgress forward, backward;
    for (const GroupProgress& part : parts) forward.Merge(part);
    std::reverse(parts.begin(), parts.end());
    for (const GroupProgress& part : parts) backward.Merge(part);
    EXPECT_TRUE(forward == backward);
  }
}

}  // namespace
}  // namespace hourglass
