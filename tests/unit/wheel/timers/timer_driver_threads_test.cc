// Many threads and a real clock: counts must add up, whoever wins.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "hourglass/timers/timer_driver.h"
#include "storage/random.h"
#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

constexpr int kProducers = 4;
constexpr int kTimersEach = 3000;

template <typename Kind>
class TimerDriverThreadsTest : public testing::Test {
 protected:
  using Driver = TimerDriver<Kind::template Wheel>;

  // Schedules, and cancels about half of them sooner or later.
  void Produce(Driver* driver, uint64_t seed) {
    Random random(seed);
    std::vector<typename Driver::Handle> handles;
    for (int i = 0; i < kTimersEach; ++i) {
      const auto ns = static_cast<int64_t>(random.Uniform(5'000'000));
      const int64_t due_ns = RealClock()->MonotonicNs() + ns;
      auto handle = driver->ScheduleAfterNs(ns, [this, due_ns] {
        if (RealClock()->MonotonicNs() < due_ns) ++early_;
        ++ran_;
      });
      ASSERT_TRUE(handle.ok());
      handles.push_back(*std::move(handle));
      if (random.Uniform(2) == 0) {
        cancelled_ += handles[random.Uniform(handles.size())].Cancel() ? 1 : 0;
      }
    }
  }

  std::atomic<int> ran_{0}, cancelled_{0}, early_{0};
};
TYPED_TEST_SUITE(TimerDriverThreadsTest, AllKinds, KindNames);

TYPED_TEST(TimerDriverThreadsTest, EachTimerRunsOrIsCancelledOnce) {
  typename TestFixture::Driver driver(RealClock());
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] { this->Produce(&driver, i); });
  }
  for (std::thread& producer : producers) producer.join();
  // A last one behind all others.
  std::latch last(1);
  auto handle = driver.ScheduleAfterMs(6, [&] { last.count_down(); });
  last.wait();
  EXPECT_TRUE(driver.Stop().empty());
  EXPECT_EQ(this->ran_ + this->cancelled_, kProducers * kTimersEach);
  EXPECT_EQ(this->early_, 0);
  EXPECT_EQ(driver.size(), 0u);
}

TYPED_TEST(TimerDriverThreadsTest, StopsInTheMiddleOfIt) {
  typename TestFixture::Driver driver(RealClock());
  std::atomic<int> scheduled{0};
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&] {
      while (true) {
        auto handle = driver.ScheduleAfterMs(1, [&] { ++this->ran_; });
        if (!handle.ok()) return;
        ++scheduled;
        if (scheduled % 3 == 0) this->cancelled_ += handle->Cancel() ? 1 : 0;
      }
    });
  }
  while (this->ran_ < 100) std::this_thread::yield();
  size_t unrun = driver.Stop().size();
  for (std::thread& producer : producers) producer.join();
  unrun += driver.Stop().size();  // those that raced with the first
  EXPECT_EQ(this->ran_ + this->cancelled_ + static_cast<int>(unrun), scheduled);
}

}  // namespace
}  // namespace hourglass
