// The driver with a clock of our own: nothing here waits for time to pass.
#include "hourglass/timers/timer_driver.h"

#include <gmock/gmock.h>

#include <latch>
#include <stdexcept>
#include <string>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

template <typename Kind>
class TimerDriverTest : public testing::Test {
 protected:
  using Driver = TimerDriver<Kind::template Wheel>;
  using Handle = typename Driver::Handle;

  Handle Add(Driver* driver, int64_t ms, char name) {
    auto handle = driver->ScheduleAfterMs(ms, [this, name] { log_ += name; });
    EXPECT_TRUE(handle.ok()) << handle.status();
    return *std::move(handle);
  }

  void Pass(Driver* driver, int64_t ms) {
    clock_.AdvanceMs(ms);
    driver->Wake();
  }

  // Until all that is due by now has run: this one is due by now, too.
  void Settle(Driver* driver) {
    std::latch ran(1);
    ASSERT_TRUE(driver->ScheduleAfterMs(0, [&] { ran.count_down(); }).ok());
    ran.wait();
  }

  VirtualClock clock_{1'000'000};
  std::string log_;  // the worker's, but between Settle and Pass
};
TYPED_TEST_SUITE(TimerDriverTest, AllKinds, KindNames);

TYPED_TEST(TimerDriverTest, RunsAtTheirTimeAndNeverBefore) {
  typename TestFixture::Driver driver(&this->clock_);
  auto a = this->Add(&driver, 10, 'a');
  auto b = this->Add(&driver, 5, 'b');
  this->Pass(&driver, 4);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "");
  this->Pass(&driver, 1);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "b");
  EXPECT_FALSE(b.waiting());
  EXPECT_TRUE(a.waiting());
  this->Pass(&driver, 100);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "ba");
  EXPECT_EQ(driver.size(), 0u);
}

// Far beyond the span of those that have one.
TYPED_TEST(TimerDriverTest, HoldsWhatTheWheelCannot) {
  typename TestFixture::Driver driver(&this->clock_);
  auto a = this->Add(&driver, 1'000'000'000, 'a');
  auto b = this->Add(&driver, 1'000'000'000, 'b');
  auto c = this->Add(&driver, 2'000'000'000, 'c');
  this->Settle(&driver);
  EXPECT_TRUE(b.Cancel());
  this->Pass(&driver, 999'999'999);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "");
  this->Pass(&driver, 1);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "a");
  EXPECT_EQ(driver.size(), 1u);
}

TYPED_TEST(TimerDriverTest, CancelHasOneWinner) {
  typename TestFixture::Driver driver(&this->clock_);
  auto a = this->Add(&driver, 10, 'a');
  auto b = this->Add(&driver, 10, 'b');
  EXPECT_TRUE(a.Cancel());
  EXPECT_FALSE(a.Cancel());
  EXPECT_EQ(driver.size(), 1u);
  this->Pass(&driver, 10);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "b");
  EXPECT_FALSE(b.Cancel());
  typename TestFixture::Handle none;
  EXPECT_FALSE(none.Cancel());
}

TYPED_TEST(TimerDriverTest, AFunctionThatThrowsStopsNothing) {
  typename TestFixture::Driver driver(&this->clock_);
  auto thrower =
      driver.ScheduleAfterMs(1, [] { throw std::runtime_error("oops"); });
  auto a = this->Add(&driver, 2, 'a');
  this->Pass(&driver, 5);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "a");
  EXPECT_EQ(driver.thrown(), 1u);
}

TYPED_TEST(TimerDriverTest, AFunctionMayScheduleAndCancel) {
  typename TestFixture::Driver driver(&this->clock_);
  auto victim = this->Add(&driver, 3, 'x');
  std::latch ran(1);
  auto a = driver.ScheduleAfterMs(2, [&] {
    EXPECT_TRUE(victim.Cancel());
    EXPECT_TRUE(driver.ScheduleAfterMs(0, [&] { ran.count_down(); }).ok());
  });
  this->Pass(&driver, 3);
  ran.wait();
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "");
}

TYPED_TEST(TimerDriverTest, StopHandsBackWhatNeverRan) {
  typename TestFixture::Driver driver(&this->clock_);
  auto far = this->Add(&driver, 2'000'000'000, 'c');
  auto near = this->Add(&driver, 3, 'b');
  auto cancelled = this->Add(&driver, 4, 'x');
  auto ran = this->Add(&driver, 1, 'a');
  this->Pass(&driver, 1);
  this->Settle(&driver);
  EXPECT_TRUE(cancelled.Cancel());
  auto unrun = driver.Stop();
  ASSERT_EQ(unrun.size(), 2u);
  EXPECT_LT(unrun[0].deadline, unrun[1].deadline);
  EXPECT_FALSE(near.Cancel());
  EXPECT_FALSE(near.waiting());
  for (auto& one : unrun) one.run();
  EXPECT_EQ(this->log_, "abc");
  EXPECT_TRUE(driver.Stop().empty());
  EXPECT_EQ(driver.ScheduleAfterMs(1, [] {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(driver.size(), 0u);
}

TYPED_TEST(TimerDriverTest, AHandleMayOutliveIt) {
  typename TestFixture::Handle handle;
  {
    typename TestFixture::Driver driver(&this->clock_);
    handle = this->Add(&driver, 10, 'a');
  }
  EXPECT_FALSE(handle.waiting());
  EXPECT_FALSE(handle.Cancel());
}

TYPED_TEST(TimerDriverTest, RefusesMoreThanItsBound) {
  TimerDriverOptions options;
  options.pending_max = 2;
  typename TestFixture::Driver driver(&this->clock_, options);
  auto a = this->Add(&driver, 10, 'a');
  auto b = this->Add(&driver, 10, 'b');
  const auto c = driver.ScheduleAfterMs(10, [] {});
  EXPECT_EQ(c.status().code(), absl::StatusCode::kResourceExhausted);
  a.Cancel();
  EXPECT_TRUE(driver.ScheduleAfterMs(10, [] {}).ok());
}

// Small steps through a large inbox and many due at once.
TYPED_TEST(TimerDriverTest, MovesAndFiresInSteps) {
  TimerDriverOptions options;
  options.inbox_per_step_max = 3;
  options.expired_per_step_max = 2;
  typename TestFixture::Driver driver(&this->clock_, options);
  for (int i = 0; i < 20; ++i) this->Add(&driver, 2, 'a');
  this->Pass(&driver, 2);
  while (driver.size() > 0) this->Settle(&driver);
  this->Settle(&driver);  // behind the end of the last one
  EXPECT_EQ(this->log_, std::string(20, 'a'));
}

// The wall clock is set back by an hour: what was 10 ms away is an hour away
// then, and a new delay counts from what the clock shows.
TYPED_TEST(TimerDriverTest, AWallClockThatIsSetBack) {
  TimerDriverOptions options;
  options.wall_clock = true;
  typename TestFixture::Driver driver(&this->clock_, options);
  auto a = this->Add(&driver, 10, 'a');
  this->Settle(&driver);
  this->clock_.StepMs(-60'000);
  this->Settle(&driver);
  auto b = this->Add(&driver, 20, 'b');
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "");
  this->Pass(&driver, 19);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "");
  this->Pass(&driver, 1);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "b");
  this->Pass(&driver, 59'990);
  this->Settle(&driver);
  EXPECT_EQ(this->log_, "ba");
}

}  // namespace
}  // namespace hourglass
