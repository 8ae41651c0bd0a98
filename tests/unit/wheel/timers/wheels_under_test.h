// File: wheels_under_test.h
//
// Every in-memory wheel, small enough that its edges are near, for the tests
// that all of them must pass.
#ifndef HOURGLASS_TESTS_UNIT_WHEEL_TIMERS_WHEELS_UNDER_TEST_H_
#define HOURGLASS_TESTS_UNIT_WHEEL_TIMERS_WHEELS_UNDER_TEST_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hourglass/timers/bounded_wheel.h"
#include "hourglass/timers/clock_wheel.h"
#include "hourglass/timers/hashed_wheel.h"
#include "hourglass/timers/overflow_list_wheel.h"
#include "hourglass/timers/overflow_wheels.h"
#include "hourglass/timers/round_wheel.h"

namespace hourglass {

struct TestEntry : TimerEntry {
  int id = 0;
};

// A kind names a wheel, its arguments, and its first span: how many ticks
// ahead of a hand at 0 a deadline can lie before it is refused or treated
// differently.
struct Bounded {
  template <typename Entry>
  struct Wheel : BoundedWheel<Entry> {
    explicit Wheel(Tick start = Tick(0)) : BoundedWheel<Entry>(16, start) {}
  };
  static constexpr int64_t kSpan = 16;
};
struct OverflowList {
  template <typename Entry>
  struct Wheel : OverflowListWheel<Entry> {
    explicit Wheel(Tick start = Tick(0))
        : OverflowListWheel<Entry>(16, start) {}
  };
  static constexpr int64_t kSpan = 16;
};
struct Hashed {
  template <typename Entry>
  struct Wheel : HashedWheel<Entry> {
    explicit Wheel(Tick start = Tick(0)) : HashedWheel<Entry>(16, start) {}
  };
  static constexpr int64_t kSpan = 16;
};
struct Round {
  template <typename Entry>
  struct Wheel : RoundWheel<Entry> {
    explicit Wheel(Tick start = Tick(0)) : RoundWheel<Entry>(16, start) {}
  };
  static constexpr int64_t kSpan = 16;
};
struct ClockFace {
  template <typename Entry>
  struct Wheel : ClockWheel<Entry> {
    explicit Wheel(Tick start = Tick(0)) : ClockWheel<Entry>(start) {}
  };
  static constexpr int64_t kSpan = 24 * 3600;
};
struct Overflowing {
  template <typename Entry>
  struct Wheel : OverflowWheels<Entry> {
    explicit Wheel(Tick start = Tick(0)) : OverflowWheels<Entry>(4, start) {}
  };
  static constexpr int64_t kSpan = 4;
};

using AllKinds = testing::Types<Bounded, OverflowList, Hashed, Round, ClockFace,
                                Overflowing>;

struct KindNames {
  template <typename Kind>
  static std::string GetName(int) {
    if (std::is_same_v<Kind, Bounded>) return "BoundedWheel";
    if (std::is_same_v<Kind, OverflowList>) return "OverflowListWheel";
    if (std::is_same_v<Kind, Hashed>) return "HashedWheel";
    if (std::is_same_v<Kind, Round>) return "RoundWheel";
    if (std::is_same_v<Kind, ClockFace>) return "ClockWheel";
    return "OverflowWheels";
  }
};

// Entries with ids from 0 on that stay where they are.
inline std::vector<TestEntry> MakeEntries(size_t count) {
  std::vector<TestEntry> entries(count);
  for (size_t i = 0; i < count; ++i) entries[i].id = static_cast<int>(i);
  return entries;
}

// The ids that fire on the way to `to`.
template <typename Wheel>
std::vector<int> FiredTo(Wheel* wheel, int64_t to,
                         size_t expired_max = kNoLimit) {
  std::vector<int> ids;
  wheel->Advance(Tick(to), expired_max, [&](TestEntry& entry) {
    EXPECT_LE(entry.deadline(), wheel->now());
    ids.push_back(entry.id);
  });
  return ids;
}

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_UNIT_WHEEL_TIMERS_WHEELS_UNDER_TEST_H_
