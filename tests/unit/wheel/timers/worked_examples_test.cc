// The worked tables at the top of each wheel's header, step by step.
#include <gmock/gmock.h>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

enum Name { a, b, c, d };

class WorkedExampleTest : public testing::Test {
 protected:
  template <typename Wheel>
  Scheduled Add(Wheel* wheel, Name name, int64_t deadline) {
    return wheel->Schedule(&entries_[name], Tick(deadline));
  }
  std::vector<TestEntry> entries_ = MakeEntries(4);
};

TEST_F(WorkedExampleTest, BoundedWheel) {
  hourglass::BoundedWheel<TestEntry> wheel(8);
  EXPECT_EQ(Add(&wheel, a, 3), Scheduled::kPending);
  EXPECT_EQ(Add(&wheel, b, 7), Scheduled::kPending);
  EXPECT_EQ(Add(&wheel, c, 8), Scheduled::kBeyondSpan);
  EXPECT_THAT(FiredTo(&wheel, 3), ElementsAre(a));
  EXPECT_EQ(Add(&wheel, c, 8), Scheduled::kPending);
  EXPECT_EQ(Add(&wheel, d, 3), Scheduled::kDue);
  EXPECT_THAT(FiredTo(&wheel, 20), ElementsAre(b, c));
}

// The bound is what was asked for, though the array is larger.
TEST_F(WorkedExampleTest, BoundedWheelOfAnOddSize) {
  hourglass::BoundedWheel<TestEntry> wheel(10);
  EXPECT_EQ(Add(&wheel, a, 9), Scheduled::kPending);
  EXPECT_EQ(Add(&wheel, b, 10), Scheduled::kBeyondSpan);
  EXPECT_TRUE(wheel.Fits(Tick(9)));
  EXPECT_FALSE(wheel.Fits(Tick(10)));
}

TEST_F(WorkedExampleTest, OverflowListWheel) {
  hourglass::OverflowListWheel<TestEntry> wheel(8);
  Add(&wheel, a, 5);
  Add(&wheel, b, 9);
  EXPECT_THAT(FiredTo(&wheel, 6), ElementsAre(a));
  Add(&wheel, c, 9);
  Add(&wheel, d, 30);
  // The next thing to do is to complete the turn.
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  EXPECT_THAT(FiredTo(&wheel, 8), IsEmpty());
  EXPECT_EQ(wheel.NextDeadline(), Tick(9));
  EXPECT_THAT(FiredTo(&wheel, 9), ElementsAre(b, c));
  EXPECT_EQ(wheel.NextDeadline(), Tick(24));
  EXPECT_THAT(FiredTo(&wheel, 30), ElementsAre(d));
}

TEST_F(WorkedExampleTest, HashedWheel) {
  hourglass::HashedWheel<TestEntry> wheel(8);
  Add(&wheel, a, 3);
  Add(&wheel, b, 19);
  Add(&wheel, c, 8);
  EXPECT_EQ(wheel.NextDeadline(), Tick(3));
  EXPECT_THAT(FiredTo(&wheel, 3), ElementsAre(a));
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  EXPECT_THAT(FiredTo(&wheel, 11), ElementsAre(c));
  EXPECT_EQ(wheel.NextDeadline(), Tick(19));
  EXPECT_THAT(FiredTo(&wheel, 18), IsEmpty());
  EXPECT_THAT(FiredTo(&wheel, 19), ElementsAre(b));
}

// Netty's rule: the number of buckets is rounded up to a power of two. With
// 5 of them 13 would be in the bucket of 3, with 8 it is in that of 5.
TEST_F(WorkedExampleTest, HashedWheelRoundsItsSizeUp) {
  hourglass::HashedWheel<TestEntry> wheel(5);
  Add(&wheel, a, 13);
  EXPECT_EQ(wheel.NextDeadline(), Tick(5));
}

TEST_F(WorkedExampleTest, RoundWheel) {
  hourglass::RoundWheel<TestEntry> wheel(8);
  Add(&wheel, b, 19);
  EXPECT_EQ(wheel.NextDeadline(), Tick(19));
  Add(&wheel, c, 8);
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  Add(&wheel, a, 3);  // the bucket of 19 is queued anew
  EXPECT_EQ(wheel.NextDeadline(), Tick(3));
  EXPECT_THAT(FiredTo(&wheel, 5), ElementsAre(a));
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  wheel.Cancel(&entries_[c]);
  EXPECT_EQ(wheel.NextDeadline(), Tick(19));
  EXPECT_THAT(FiredTo(&wheel, 1000), ElementsAre(b));
}

constexpr int64_t At(int64_t hour, int64_t minute, int64_t second) {
  return (hour * 60 + minute) * 60 + second;
}

TEST_F(WorkedExampleTest, ClockWheel) {
  hourglass::ClockWheel<TestEntry> wheel(Tick(At(21, 20, 30)));
  Add(&wheel, a, At(21, 20, 30) + 50 * 60 + 10);
  EXPECT_EQ(wheel.NextDeadline(), Tick(At(22, 0, 0)));
  EXPECT_THAT(FiredTo(&wheel, At(22, 0, 0)), IsEmpty());
  EXPECT_EQ(wheel.NextDeadline(), Tick(At(22, 10, 0)));
  EXPECT_THAT(FiredTo(&wheel, At(22, 10, 0)), IsEmpty());
  EXPECT_EQ(wheel.NextDeadline(), Tick(At(22, 10, 40)));
  EXPECT_THAT(FiredTo(&wheel, At(22, 10, 39)), IsEmpty());
  EXPECT_THAT(FiredTo(&wheel, At(22, 10, 40)), ElementsAre(a));
}

TEST_F(WorkedExampleTest, ClockWheelTurnsOverMidnight) {
  hourglass::ClockWheel<TestEntry> wheel(Tick(At(23, 59, 59)));
  Add(&wheel, a, At(24, 0, 0));
  Add(&wheel, b, At(24 + 22, 59, 59));
  EXPECT_EQ(Add(&wheel, c, At(24 + 23, 0, 0)), Scheduled::kBeyondSpan);
  EXPECT_THAT(FiredTo(&wheel, At(24, 0, 0)), ElementsAre(a));
  EXPECT_EQ(Add(&wheel, c, At(24 + 23, 59, 59)), Scheduled::kPending);
  EXPECT_THAT(FiredTo(&wheel, At(24 + 22, 59, 59)), ElementsAre(b));
  EXPECT_THAT(FiredTo(&wheel, At(24 + 23, 59, 59)), ElementsAre(c));
}

TEST_F(WorkedExampleTest, OverflowWheels) {
  hourglass::OverflowWheels<TestEntry> wheel(4);
  Add(&wheel, a, 3);
  EXPECT_EQ(wheel.levels(), 1u);
  Add(&wheel, b, 10);
  EXPECT_EQ(wheel.levels(), 2u);
  Add(&wheel, c, 40);
  EXPECT_EQ(wheel.levels(), 3u);
  EXPECT_EQ(wheel.NextDeadline(), Tick(3));
  EXPECT_THAT(FiredTo(&wheel, 5), ElementsAre(a));
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  EXPECT_THAT(FiredTo(&wheel, 8), IsEmpty());
  EXPECT_EQ(wheel.NextDeadline(), Tick(10));
  EXPECT_THAT(FiredTo(&wheel, 10), ElementsAre(b));
  EXPECT_EQ(wheel.NextDeadline(), Tick(32));
  EXPECT_THAT(FiredTo(&wheel, 32), IsEmpty());
  EXPECT_EQ(wheel.NextDeadline(), Tick(40));
  EXPECT_THAT(FiredTo(&wheel, 40), ElementsAre(c));
}

// Kafka's rule: a bucket that lost its entries stays queued; used again, it
// is queued for its new time.
TEST_F(WorkedExampleTest, OverflowWheelsUseAnEmptiedBucketAgain) {
  hourglass::OverflowWheels<TestEntry> wheel(4);
  Add(&wheel, a, 10);
  Add(&wheel, b, 33);
  wheel.Cancel(&entries_[a]);
  EXPECT_EQ(wheel.NextDeadline(), Tick(8));
  EXPECT_THAT(FiredTo(&wheel, 25), IsEmpty());
  Add(&wheel, a, 26);
  EXPECT_EQ(wheel.NextDeadline(), Tick(26));
  EXPECT_THAT(FiredTo(&wheel, 33), ElementsAre(a, b));
}

}  // namespace
}  // namespace hourglass
