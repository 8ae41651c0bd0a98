#include "hourglass/timers/callback_timers.h"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

template <typename Kind>
class CallbackTimersTest : public testing::Test {
 protected:
  TimerId Add(int64_t deadline, char name) {
    auto id = timers_.Schedule(Tick(deadline), [this, name] { log_ += name; });
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
  CallbackTimers<Kind::template Wheel> timers_;
  std::string log_;
};
TYPED_TEST_SUITE(CallbackTimersTest, AllKinds, KindNames);

TYPED_TEST(CallbackTimersTest, CallsInOrder) {
  this->Add(5, 'b');
  this->Add(3, 'a');
  EXPECT_EQ(this->timers_.NextDeadline(), Tick(3));
  EXPECT_EQ(this->timers_.Advance(Tick(10)).expired, 2u);
  EXPECT_EQ(this->log_, "ab");
  EXPECT_TRUE(this->timers_.empty());
}

TYPED_TEST(CallbackTimersTest, AnIdIsUsedOnce) {
  const TimerId first = this->Add(5, 'a');
  EXPECT_TRUE(this->timers_.Cancel(first));
  EXPECT_FALSE(this->timers_.Cancel(first));
  const TimerId second = this->Add(5, 'b');  // in the same place
  EXPECT_EQ(second.place, first.place);
  EXPECT_FALSE(this->timers_.Cancel(first));
  this->timers_.Advance(Tick(5));
  EXPECT_EQ(this->log_, "b");
  EXPECT_FALSE(this->timers_.Cancel(second));
  EXPECT_FALSE(this->timers_.Cancel(TimerId{}));
  EXPECT_FALSE(this->timers_.Cancel(TimerId{99, 1}));
}

TYPED_TEST(CallbackTimersTest, WhatIsDueRunsInTheNextAdvance) {
  this->timers_.Advance(Tick(10));
  const TimerId due = this->Add(4, 'a');
  const TimerId cancelled = this->Add(10, 'b');
  this->Add(12, 'c');
  EXPECT_EQ(this->log_, "");
  EXPECT_EQ(this->timers_.size(), 3u);
  EXPECT_EQ(this->timers_.NextDeadline(), Tick(10));
  EXPECT_TRUE(this->timers_.Cancel(cancelled));
  this->timers_.Advance(Tick(10));
  EXPECT_EQ(this->log_, "a");
  EXPECT_FALSE(this->timers_.Cancel(due));
}

TYPED_TEST(CallbackTimersTest, Reschedules) {
  const TimerId id = this->Add(5, 'a');
  EXPECT_TRUE(this->timers_.Reschedule(id, Tick(9)).ok());
  this->timers_.Advance(Tick(8));
  EXPECT_EQ(this->log_, "");
  EXPECT_TRUE(this->timers_.Reschedule(id, Tick(0)).ok());  // due now
  EXPECT_TRUE(this->timers_.Reschedule(id, Tick(1)).ok());  // still
  EXPECT_EQ(this->timers_.size(), 1u);
  EXPECT_TRUE(this->timers_.Reschedule(id, Tick(11)).ok());
  this->timers_.Advance(Tick(10));
  EXPECT_EQ(this->log_, "");
  this->timers_.Advance(Tick(11));
  EXPECT_EQ(this->log_, "a");
  EXPECT_EQ(this->timers_.Reschedule(id, Tick(20)).code(),
            absl::StatusCode::kNotFound);
}

TYPED_TEST(CallbackTimersTest, RefusesWhatIsBeyondTheSpan) {
  const auto id = this->timers_.Schedule(Tick::Max(), [] {});
  if (TypeParam::template Wheel<TestEntry>::kUnbounded) {
    EXPECT_TRUE(id.ok());
    return;
  }
  EXPECT_EQ(id.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(this->timers_.size(), 0u);
}

TYPED_TEST(CallbackTimersTest, MayScheduleAndCancelWhileItRuns) {
  TimerId self, other;
  self = *this->timers_.Schedule(Tick(3), [&] {
    EXPECT_FALSE(this->timers_.Cancel(self));
    EXPECT_TRUE(this->timers_.Cancel(other));
    this->Add(4, 'b');
    this->Add(3, 'c');  // due: in the next Advance
  });
  other = this->Add(3, 'x');
  EXPECT_TRUE(this->timers_.Advance(Tick(5)).more);
  EXPECT_EQ(this->log_, "b");
  this->timers_.Advance(Tick(5));
  EXPECT_EQ(this->log_, "bc");
}

TYPED_TEST(CallbackTimersTest, OneThatIsAlwaysDueKeepsNobodyForEver) {
  std::function<void()> again = [&] {
    ASSERT_TRUE(this->timers_.Schedule(Tick(0), again).ok());
  };
  again();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(this->timers_.Advance(Tick(5)).expired, 1u);
  }
}

TYPED_TEST(CallbackTimersTest, BoundsTheWork) {
  this->timers_.Advance(Tick(1));
  this->Add(1, 'a');
  this->Add(1, 'b');
  this->Add(2, 'c');
  this->Add(2, 'd');
  EXPECT_TRUE(this->timers_.Advance(Tick(5), 1).more);
  EXPECT_EQ(this->log_, "a");
  EXPECT_TRUE(this->timers_.Advance(Tick(5), 2).more);
  EXPECT_EQ(this->log_, "abc");
  EXPECT_FALSE(this->timers_.Advance(Tick(5), 2).more);
  EXPECT_EQ(this->log_, "abcd");
}

TYPED_TEST(CallbackTimersTest, AFunctionThatThrowsHasRun) {
  const TimerId id = *this->timers_.Schedule(
      Tick(3), [] { throw std::runtime_error("oops"); });
  this->Add(4, 'a');
  EXPECT_THROW(this->timers_.Advance(Tick(5)), std::runtime_error);
  EXPECT_FALSE(this->timers_.Cancel(id));
  this->timers_.Advance(Tick(5));
  EXPECT_EQ(this->log_, "a");
}

// What a function holds is given up when it ran, was cancelled, or the
// timers are destroyed.
TEST(CallbackTimersOwnershipTest, GivesUpWhatFunctionsHold) {
  std::array<std::shared_ptr<int>, 3> held;
  for (auto& one : held) one = std::make_shared<int>(1);
  {
    CallbackTimers<HashedWheel> timers(64);
    std::array<TimerId, 3> ids;
    for (size_t i = 0; i < held.size(); ++i) {
      ids[i] = *timers.Schedule(Tick(i + 1), [one = held[i]] {});
    }
    timers.Advance(Tick(1));
    EXPECT_EQ(held[0].use_count(), 1);
    timers.Cancel(ids[1]);
    EXPECT_EQ(held[1].use_count(), 1);
    EXPECT_EQ(held[2].use_count(), 2);
  }
  EXPECT_EQ(held[2].use_count(), 1);
}

}  // namespace
}  // namespace hourglass
