// What every in-memory wheel keeps, whatever its inside.
#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kLastTick = std::numeric_limits<int64_t>::max();

template <typename Kind>
class WheelTest : public testing::Test {
 protected:
  using Wheel = typename Kind::template Wheel<TestEntry>;
  static_assert(TimerWheel<Wheel>);

  Scheduled Add(int id, int64_t deadline) {
    return wheel_.Schedule(&entries_[id], Tick(deadline));
  }
  // The last deadline that it holds when the hand is at `now`.
  static int64_t LastThatFits(int64_t now) {
    if constexpr (std::is_same_v<Kind, ClockFace>) {
      return (now / 3600 + 24) * 3600 - 1;
    } else {
      return now + Kind::kSpan - 1;
    }
  }

  std::vector<TestEntry> entries_ = MakeEntries(200);
  Wheel wheel_;
};
TYPED_TEST_SUITE(WheelTest, AllKinds, KindNames);

TYPED_TEST(WheelTest, IsEmptyAtFirst) {
  EXPECT_EQ(this->wheel_.size(), 0u);
  EXPECT_EQ(this->wheel_.NextDeadline(), std::nullopt);
  EXPECT_THAT(FiredTo(&this->wheel_, 1000), IsEmpty());
  EXPECT_EQ(this->wheel_.now(), Tick(1000));
}

TYPED_TEST(WheelTest, HandsBackWhatIsDueNow) {
  this->wheel_.Advance(Tick(100), kNoLimit, [](TestEntry&) {});
  EXPECT_EQ(this->Add(0, 100), Scheduled::kDue);
  EXPECT_EQ(this->Add(0, 99), Scheduled::kDue);
  EXPECT_EQ(this->Add(0, 0), Scheduled::kDue);
  EXPECT_EQ(this->Add(0, -1), Scheduled::kDue);
  EXPECT_EQ(this->Add(0, std::numeric_limits<int64_t>::min()), Scheduled::kDue);
  EXPECT_FALSE(this->entries_[0].scheduled());
  EXPECT_EQ(this->wheel_.size(), 0u);
}

TYPED_TEST(WheelTest, FiresExactlyAtItsTick) {
  for (int64_t delay = 1; delay < 15; ++delay) {
    const int64_t due = this->wheel_.now().value() + delay;
    ASSERT_EQ(this->Add(0, due), Scheduled::kPending);
    EXPECT_THAT(FiredTo(&this->wheel_, due - 1), IsEmpty()) << delay;
    EXPECT_THAT(FiredTo(&this->wheel_, due), ElementsAre(0)) << delay;
    EXPECT_THAT(FiredTo(&this->wheel_, due + 1), IsEmpty()) << delay;
  }
}

TYPED_TEST(WheelTest, OneTickBeforeAtAndAfter) {
  this->Add(0, 9);
  this->Add(1, 10);
  this->Add(2, 11);
  EXPECT_THAT(FiredTo(&this->wheel_, 10), ElementsAre(0, 1));
  EXPECT_THAT(FiredTo(&this->wheel_, 11), ElementsAre(2));
}

// Everywhere around the border of the first span, from every position of the
// hand.
TYPED_TEST(WheelTest, LastBucketAndFirstBeyondTheSpan) {
  for (int64_t start : {0, 1, 7, 15, 16, 3599, 86399, 1'000'003}) {
    const int64_t last = this->LastThatFits(start);
    for (int64_t due = last - 2; due <= last + 2; ++due) {
      if (due <= start) continue;
      typename TestFixture::Wheel wheel{Tick(start)};
      const Scheduled want = due > last && !TestFixture::Wheel::kUnbounded
                                 ? Scheduled::kBeyondSpan
                                 : Scheduled::kPending;
      ASSERT_EQ(wheel.Schedule(&this->entries_[0], Tick(due)), want)
          << start << " " << due;
      EXPECT_EQ(this->entries_[0].scheduled(), want == Scheduled::kPending);
      if (want != Scheduled::kPending) continue;
      EXPECT_THAT(FiredTo(&wheel, due - 1), IsEmpty()) << start << " " << due;
      EXPECT_THAT(FiredTo(&wheel, due), ElementsAre(0)) << start << " " << due;
    }
  }
}

TYPED_TEST(WheelTest, ManyRoundsAndFarFuture) {
  if (!TestFixture::Wheel::kUnbounded) return;
  const int64_t dues[] = {
      17,           160, 16'000'000, 31'536'000'000, 1LL << 40, (1LL << 62) + 5,
      kLastTick - 1};
  int id = 0;
  for (int64_t due : dues) {
    EXPECT_EQ(this->Add(id++, due), Scheduled::kPending);
  }
  id = 0;
  for (int64_t due : dues) {
    EXPECT_THAT(FiredTo(&this->wheel_, due - 1), IsEmpty()) << due;
    EXPECT_THAT(FiredTo(&this->wheel_, due), ElementsAre(id++)) << due;
  }
}

TYPED_TEST(WheelTest, TheLastTickThereIs) {
  typename TestFixture::Wheel wheel{Tick(kLastTick - 3)};
  EXPECT_EQ(wheel.Schedule(&this->entries_[0], Tick(kLastTick)),
            Scheduled::kPending);
  EXPECT_EQ(wheel.Schedule(&this->entries_[1], Tick(kLastTick - 1)),
            Scheduled::kPending);
  EXPECT_LE(*wheel.NextDeadline(), Tick(kLastTick - 1));
  EXPECT_THAT(FiredTo(&wheel, kLastTick - 1), ElementsAre(1));
  EXPECT_THAT(FiredTo(&wheel, kLastTick), ElementsAre(0));
  EXPECT_EQ(wheel.Schedule(&this->entries_[0], Tick(kLastTick)),
            Scheduled::kDue);
  EXPECT_THAT(FiredTo(&wheel, kLastTick), IsEmpty());
}

TYPED_TEST(WheelTest, FarthestDeadlineFromTheFirstTick) {
  const Scheduled got = this->Add(0, kLastTick);
  if (!TestFixture::Wheel::kUnbounded) {
    EXPECT_EQ(got, Scheduled::kBeyondSpan);
    return;
  }
  EXPECT_EQ(got, Scheduled::kPending);
  EXPECT_THAT(FiredTo(&this->wheel_, kLastTick - 1), IsEmpty());
  EXPECT_THAT(FiredTo(&this->wheel_, kLastTick), ElementsAre(0));
}

TYPED_TEST(WheelTest, FiresInOrderOfDeadline) {
  this->Add(0, 12);
  this->Add(1, 3);
  this->Add(2, 14);
  this->Add(3, 1);
  EXPECT_THAT(FiredTo(&this->wheel_, 20), ElementsAre(3, 1, 0, 2));
}

TYPED_TEST(WheelTest, EntriesOfOneTickKeepTheirOrderWhereThatIsPromised) {
  for (int id = 0; id < 10; ++id) {
    // The hand moves meanwhile, so that they come from different places.
    FiredTo(&this->wheel_, id);
    this->Add(id, 13);
  }
  const std::vector<int> fired = FiredTo(&this->wheel_, 13);
  EXPECT_THAT(fired, UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  if (TestFixture::Wheel::kKeepsOrder) {
    EXPECT_THAT(fired, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
}

TYPED_TEST(WheelTest, CancelBeforeExpiryWins) {
  this->Add(0, 5);
  this->Add(1, 5);
  EXPECT_TRUE(this->wheel_.Cancel(&this->entries_[0]));
  EXPECT_FALSE(this->wheel_.Cancel(&this->entries_[0]));
  EXPECT_EQ(this->wheel_.size(), 1u);
  EXPECT_THAT(FiredTo(&this->wheel_, 5), ElementsAre(1));
}

TYPED_TEST(WheelTest, CancelAfterExpiryLoses) {
  this->Add(0, 5);
  EXPECT_THAT(FiredTo(&this->wheel_, 5), ElementsAre(0));
  EXPECT_FALSE(this->wheel_.Cancel(&this->entries_[0]));
  EXPECT_EQ(this->wheel_.size(), 0u);
}

// Out of its own firing too late; out of a neighbour's in time.
TYPED_TEST(WheelTest, CancelDuringExpiry) {
  for (int id = 0; id < 4; ++id) this->Add(id, 5);
  this->Add(4, 6);
  std::vector<int> fired;
  this->wheel_.Advance(Tick(9), kNoLimit, [&](TestEntry& entry) {
    fired.push_back(entry.id);
    EXPECT_FALSE(this->wheel_.Cancel(&entry));
    if (fired.size() > 1) return;
    EXPECT_TRUE(this->wheel_.Cancel(&this->entries_[entry.id == 2 ? 3 : 2]));
    EXPECT_TRUE(this->wheel_.Cancel(&this->entries_[4]));
  });
  EXPECT_EQ(fired.size(), 3u);
  EXPECT_EQ(this->wheel_.size(), 0u);
}

TYPED_TEST(WheelTest, CancelOfTheLastEntryLeavesNothingToWakeFor) {
  this->Add(0, 5);
  this->Add(1, 14);
  this->wheel_.Cancel(&this->entries_[0]);
  EXPECT_NE(this->wheel_.NextDeadline(), std::nullopt);
  this->wheel_.Cancel(&this->entries_[1]);
  EXPECT_EQ(this->wheel_.NextDeadline(), std::nullopt);
  EXPECT_THAT(FiredTo(&this->wheel_, 100), IsEmpty());
}

TYPED_TEST(WheelTest, RescheduleMovesItBothWays) {
  this->Add(0, 10);
  EXPECT_EQ(this->wheel_.Reschedule(&this->entries_[0], Tick(14)),
            Scheduled::kPending);
  EXPECT_THAT(FiredTo(&this->wheel_, 12), IsEmpty());
  EXPECT_EQ(this->wheel_.Reschedule(&this->entries_[0], Tick(13)),
            Scheduled::kPending);
  EXPECT_EQ(this->wheel_.size(), 1u);
  EXPECT_THAT(FiredTo(&this->wheel_, 13), ElementsAre(0));
  EXPECT_THAT(FiredTo(&this->wheel_, 20), IsEmpty());
}

TYPED_TEST(WheelTest, RescheduleToNowHandsItBack) {
  this->Add(0, 10);
  EXPECT_EQ(this->wheel_.Reschedule(&this->entries_[0], Tick(0)),
            Scheduled::kDue);
  EXPECT_EQ(this->wheel_.size(), 0u);
  EXPECT_THAT(FiredTo(&this->wheel_, 10), IsEmpty());
}

TYPED_TEST(WheelTest, RescheduleBeyondTheSpanChangesNothing) {
  if (TestFixture::Wheel::kUnbounded) return;
  this->Add(0, 10);
  EXPECT_EQ(this->wheel_.Reschedule(&this->entries_[0], Tick(kLastTick)),
            Scheduled::kBeyondSpan);
  EXPECT_EQ(this->entries_[0].deadline(), Tick(10));
  EXPECT_THAT(FiredTo(&this->wheel_, 10), ElementsAre(0));
}

// From within a callback: for a tick on the way, for the very tick that is
// firing, and for one beyond where this Advance goes.
TYPED_TEST(WheelTest, SchedulesFromACallback) {
  this->Add(0, 5);
  std::vector<int> fired;
  this->wheel_.Advance(Tick(9), kNoLimit, [&](TestEntry& entry) {
    fired.push_back(entry.id);
    if (entry.id != 0) return;
    EXPECT_EQ(this->wheel_.now(), Tick(5));
    EXPECT_EQ(this->Add(1, 5), Scheduled::kDue);
    EXPECT_EQ(this->Add(2, 6), Scheduled::kPending);
    EXPECT_EQ(this->Add(3, 12), Scheduled::kPending);
  });
  EXPECT_THAT(fired, ElementsAre(0, 2));
  EXPECT_THAT(FiredTo(&this->wheel_, 12), ElementsAre(3));
}

TYPED_TEST(WheelTest, AnEntryMayScheduleItselfAgain) {
  this->Add(0, 2);
  std::vector<int64_t> at;
  this->wheel_.Advance(Tick(11), kNoLimit, [&](TestEntry& entry) {
    at.push_back(this->wheel_.now().value());
    this->wheel_.Schedule(&entry, this->wheel_.now() + 3);
  });
  EXPECT_THAT(at, ElementsAre(2, 5, 8, 11));
  EXPECT_TRUE(this->wheel_.Cancel(&this->entries_[0]));
}

TYPED_TEST(WheelTest, ACallbackThatThrowsHasFired) {
  for (int id = 0; id < 3; ++id) this->Add(id, 5);
  this->Add(3, 7);
  const auto fire = [](TestEntry&) { throw std::runtime_error("oops"); };
  EXPECT_THROW(this->wheel_.Advance(Tick(9), kNoLimit, fire),
               std::runtime_error);
  EXPECT_EQ(this->wheel_.size(), 3u);
  const std::vector<int> rest = FiredTo(&this->wheel_, 9);
  EXPECT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest.back(), 3);
  EXPECT_EQ(this->wheel_.now(), Tick(9));
}

TYPED_TEST(WheelTest, BoundsTheWorkOfACall) {
  for (int id = 0; id < 10; ++id) this->Add(id, 3 + id / 5);
  size_t fired = 0;
  const auto fire = [&](TestEntry&) { ++fired; };
  Advanced advanced = this->wheel_.Advance(Tick(9), 3, fire);
  EXPECT_EQ(advanced.expired, 3u);
  EXPECT_TRUE(advanced.more);
  EXPECT_EQ(this->wheel_.now(), Tick(3));
  EXPECT_EQ(this->wheel_.NextDeadline(), Tick(3));
  EXPECT_EQ(this->wheel_.Advance(Tick(9), 6, fire).expired, 6u);
  // One of what was taken already can still be cancelled.
  advanced = this->wheel_.Advance(Tick(9), 0, fire);
  EXPECT_TRUE(advanced.more);
  for (TestEntry& entry : this->entries_) {
    if (entry.scheduled()) {
      EXPECT_TRUE(this->wheel_.Cancel(&entry));
    }
  }
  advanced = this->wheel_.Advance(Tick(9), 5, fire);
  EXPECT_EQ(fired, 9u);
  EXPECT_FALSE(advanced.more);
  EXPECT_EQ(this->wheel_.now(), Tick(9));
}

// What is left of a tick is not in its bucket any more; others may be.
TYPED_TEST(WheelTest, CancelOfWhatIsLeftOfATickForgetsNoOther) {
  if (!TestFixture::Wheel::kUnbounded) return;
  this->Add(0, 5);
  this->Add(1, 5);
  const Advanced advanced = this->wheel_.Advance(Tick(5), 1, [](TestEntry&) {});
  EXPECT_TRUE(advanced.more);
  for (int turn = 1; turn <= 3; ++turn) {
    this->Add(1 + turn, 5 + turn * TypeParam::kSpan);
  }
  for (int id : {0, 1}) this->wheel_.Cancel(&this->entries_[id]);
  EXPECT_NE(this->wheel_.NextDeadline(), std::nullopt);
  EXPECT_THAT(FiredTo(&this->wheel_, 5 + 3 * TypeParam::kSpan),
              ElementsAre(2, 3, 4));
}

TYPED_TEST(WheelTest, AHandThatOverslept) {
  this->Add(0, 2);
  this->Add(1, 15);
  this->Add(2, 9);
  EXPECT_THAT(FiredTo(&this->wheel_, 1'000'000'000'000), ElementsAre(0, 2, 1));
  EXPECT_EQ(this->wheel_.now(), Tick(1'000'000'000'000));
  // It is as good as new.
  this->Add(3, 1'000'000'000'007);
  EXPECT_THAT(FiredTo(&this->wheel_, 1'000'000'000'006), IsEmpty());
  EXPECT_THAT(FiredTo(&this->wheel_, 1'000'000'000'007), ElementsAre(3));
}

TYPED_TEST(WheelTest, AClockThatStepsBackMovesNothing) {
  FiredTo(&this->wheel_, 100);
  this->Add(0, 105);
  EXPECT_THAT(FiredTo(&this->wheel_, 50), IsEmpty());
  EXPECT_EQ(this->wheel_.now(), Tick(100));
  EXPECT_EQ(this->Add(1, 60), Scheduled::kDue);
  EXPECT_THAT(FiredTo(&this->wheel_, 104), IsEmpty());
  EXPECT_THAT(FiredTo(&this->wheel_, 105), ElementsAre(0));
}

// Sleeping to NextDeadline and advancing there reaches every deadline, on
// the tick, in few steps.
TYPED_TEST(WheelTest, NextDeadlineLeadsToEveryEntry) {
  std::vector<int64_t> dues = {3, 4, 9, 14};
  if (TestFixture::Wheel::kUnbounded) {
    dues.insert(dues.end(), {17, 100, 5000});
  }
  for (size_t i = 0; i < dues.size(); ++i) {
    this->Add(static_cast<int>(i), dues[i]);
  }
  std::vector<int64_t> fired;
  int steps = 0;
  while (const auto next = this->wheel_.NextDeadline()) {
    ASSERT_GT(*next, this->wheel_.now());
    ASSERT_LT(++steps, 400);
    this->wheel_.Advance(*next, kNoLimit, [&](TestEntry& entry) {
      EXPECT_EQ(entry.deadline(), this->wheel_.now());
      fired.push_back(entry.deadline().value());
    });
  }
  EXPECT_EQ(fired, dues);
}

TYPED_TEST(WheelTest, StartsAnywhere) {
  for (int64_t start : {1, 59, 60, 3600, 86'399, 123'456'789}) {
    typename TestFixture::Wheel wheel{Tick(start)};
    EXPECT_EQ(wheel.now(), Tick(start));
    EXPECT_EQ(wheel.Schedule(&this->entries_[0], Tick(start)), Scheduled::kDue);
    wheel.Schedule(&this->entries_[1], Tick(start + 1));
    wheel.Schedule(&this->entries_[2], Tick(start + 15));
    EXPECT_THAT(FiredTo(&wheel, start + 1), ElementsAre(1));
    EXPECT_THAT(FiredTo(&wheel, start + 15), ElementsAre(2));
  }
}

TYPED_TEST(WheelTest, LetsItsEntriesGoWhenItIsDestroyed) {
  {
    typename TestFixture::Wheel wheel;
    for (int id = 0; id < 15; ++id) {
      wheel.Schedule(&this->entries_[id], Tick(1 + id));
    }
    wheel.Advance(Tick(1), 0, [](TestEntry&) {});
  }
  for (const TestEntry& entry : this->entries_) {
    EXPECT_FALSE(entry.scheduled());
  }
}

using WheelDeathTest = WheelTest<Hashed>;

TEST_F(WheelDeathTest, RefusesAnEntryThatIsInAWheel) {
  Add(0, 5);
  EXPECT_DEATH(Add(0, 6), "scheduled twice");
}

TEST_F(WheelDeathTest, RefusesToLoseAnEntryThatIsInAWheel) {
  EXPECT_DEATH(
      {
        TestEntry entry;
        wheel_.Schedule(&entry, Tick(5));
      },
      "destroyed while scheduled");
}

}  // namespace
}  // namespace hourglass
