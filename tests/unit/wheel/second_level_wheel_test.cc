#include "wheel/second_level_wheel.h"

#include <gtest/gtest.h>

#include <set>

#include "storage/random.h"

namespace hourglass {
namespace {

TEST(SecondLevelWheelTest, IsEmptyAtFirst) {
  const SecondLevelWheel wheel;
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_EQ(wheel.NextFrom(Hour(0)), std::nullopt);
}

TEST(SecondLevelWheelTest, KeepsRoundsOfOneSlotApart) {
  SecondLevelWheel wheel;
  wheel.Add(Hour(87605));
  wheel.Add(Hour(245));
  wheel.Add(Hour(5));
  EXPECT_EQ(wheel.NextFrom(Hour(0)), Hour(5));
  EXPECT_EQ(wheel.NextFrom(Hour(6)), Hour(245));
  EXPECT_EQ(wheel.NextFrom(Hour(246)), Hour(87605));
  EXPECT_EQ(wheel.NextFrom(Hour(87606)), std::nullopt);
}

TEST(SecondLevelWheelTest, PrefersANearHourInALaterSlot) {
  SecondLevelWheel wheel;
  wheel.Add(Hour(240));  // slot 0, second round
  wheel.Add(Hour(239));  // slot 239, first round
  EXPECT_EQ(wheel.NextFrom(Hour(0)), Hour(239));
}

TEST(SecondLevelWheelTest, AddAndRemoveTwiceChangeNothing) {
  SecondLevelWheel wheel;
  wheel.Add(Hour(7));
  wheel.Add(Hour(7));
  EXPECT_EQ(wheel.size(), 1u);
  wheel.Remove(Hour(247));
  EXPECT_TRUE(wheel.Contains(Hour(7)));
  wheel.Remove(Hour(7));
  wheel.Remove(Hour(7));
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_FALSE(wheel.Contains(Hour(7)));
}

std::optional<Hour> NextInSet(const std::set<Hour>& set, Hour from) {
  const auto at = set.lower_bound(from);
  if (at == set.end()) return std::nullopt;
  return *at;
}

TEST(SecondLevelWheelTest, IsASortedSet) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    // Dense and sparse: from a part of one round to many.
    const uint64_t range = 40ull << (2 * seed);
    SecondLevelWheel wheel;
    std::set<Hour> model;
    for (int i = 0; i < 3000; ++i) {
      const Hour hour(static_cast<int32_t>(random.Uniform(range)));
      switch (random.Uniform(4)) {
        case 0:
          wheel.Add(hour);
          model.insert(hour);
          break;
        case 1:
          wheel.Remove(hour);
          model.erase(hour);
          break;
        default:
          ASSERT_EQ(wheel.NextFrom(hour), NextInSet(model, hour));
          ASSERT_EQ(wheel.Contains(hour), model.contains(hour));
      }
      ASSERT_EQ(wheel.size(), model.size());
    }
  }
}

}  // namespace
}  // namespace hourglass
