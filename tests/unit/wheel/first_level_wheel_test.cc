#include "wheel/first_level_wheel.h"

#include <gtest/gtest.h>

#include "storage/random.h"
#include "tests/support/hour_world.h"

namespace hourglass {
namespace {

constexpr Second StartOf(Hour hour) { return SecondOf(StartMs(hour)); }

class FirstLevelWheelTest : public testing::Test {
 protected:
  void Place(Hour hour) { wheel_.Place(*world_.table.ForRead(hour)); }

  HourWorld world_;
  FirstLevelWheel wheel_;
};

TEST_F(FirstLevelWheelTest, IsEmptyAtFirst) {
  EXPECT_EQ(wheel_.SegmentOf(kTestHour), nullptr);
  EXPECT_EQ(wheel_.Head(StartOf(kTestHour)), RecordNumber());
  EXPECT_EQ(wheel_.NextNonEmpty(StartOf(kTestHour)), std::nullopt);
}

TEST_F(FirstLevelWheelTest, AnAppendMovesTheHead) {
  world_.Put(StartMs(kTestHour) + 1500);
  Place(kTestHour);
  const Second second = StartOf(kTestHour) + 1;
  EXPECT_EQ(wheel_.Head(second), RecordNumber(1));
  world_.Put(StartMs(kTestHour) + 1999);
  EXPECT_EQ(wheel_.Head(second), RecordNumber(2));
  EXPECT_EQ(wheel_.Head(second + 1), RecordNumber());
}

TEST_F(FirstLevelWheelTest, LooksIntoTheNextHour) {
  world_.Put(StartMs(kTestHour));
  world_.Put(StartMs(kTestHour + 1) + kMsPerHour - 1);
  Place(kTestHour);
  Place(kTestHour + 1);
  EXPECT_EQ(wheel_.NextNonEmpty(StartOf(kTestHour)), StartOf(kTestHour));
  EXPECT_EQ(wheel_.NextNonEmpty(StartOf(kTestHour) + 1),
            StartOf(kTestHour + 1) + 3599);
}

TEST_F(FirstLevelWheelTest, ThirdHourTakesThePlaceOfTheFirst) {
  for (int i = 0; i < 3; ++i) world_.Put(StartMs(kTestHour + i));
  for (int i = 0; i < 3; ++i) Place(kTestHour + i);
  EXPECT_EQ(wheel_.SegmentOf(kTestHour), nullptr);
  EXPECT_NE(wheel_.SegmentOf(kTestHour + 1), nullptr);
  EXPECT_NE(wheel_.SegmentOf(kTestHour + 2), nullptr);
}

TEST_F(FirstLevelWheelTest, RemovesOnlyTheHourThatIsNamed) {
  world_.Put(StartMs(kTestHour));
  Place(kTestHour);
  wheel_.Remove(kTestHour + 2);  // same round
  EXPECT_NE(wheel_.SegmentOf(kTestHour), nullptr);
  wheel_.Remove(kTestHour);
  EXPECT_EQ(wheel_.SegmentOf(kTestHour), nullptr);
}

TEST_F(FirstLevelWheelTest, AgreesWithALookAtEverySecond) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HourWorld world;
    FirstLevelWheel wheel;
    for (int i = 0; i < 40; ++i) {
      world.Put(StartMs(kTestHour) +
                static_cast<int64_t>(random.Uniform(2 * kMsPerHour)));
    }
    world.Put(StartMs(kTestHour));
    world.Put(StartMs(kTestHour + 1));
    wheel.Place(*world.table.ForRead(kTestHour));
    wheel.Place(*world.table.ForRead(kTestHour + 1));
    for (int i = 0; i < 200; ++i) {
      const Second from =
          StartOf(kTestHour) + static_cast<int64_t>(random.Uniform(7200));
      const auto at =
          world.pending.lower_bound(DueKey{StartMs(from), RecordNumber()});
      std::optional<Second> expected;
      if (at != world.pending.end()) expected = SecondOf(at->first.due_ms);
      ASSERT_EQ(wheel.NextNonEmpty(from), expected) << from.value();
    }
  }
}

}  // namespace
}  // namespace hourglass
