// File: timer_driver.h
//
// Timers for many threads, on top of any wheel: one worker that sleeps until
// the next deadline and runs functions, and producers that never wait for it.
//
//   TimerDriver<HashedWheel> driver(RealClock(), {}, /*buckets=*/4096);
//   auto timer = driver.ScheduleAfterMs(250, [] { Retry(); });
//   if (timer->Cancel()) { ... }          // true: it will never run
//   driver.Stop();                        // hands back what never ran
//
// How it works: a producer appends its timer to an inbox (lock-free) and
// wakes the worker only if the timer is due before the worker meant to wake.
// The worker moves the inbox into the wheel, fires what is due, and sleeps
// until NextDeadline(). Each timer has a state, WAITING -> RUNNING or
// CANCELLED, changed by compare-and-swap: whoever changes it has won. A
// cancelled timer is unlinked by the worker, when it is awake.
//
// A function that throws does not stop the worker: it is counted, and what
// was thrown is dropped. Functions run on the worker, one at a time, so a
// slow one makes the others late. They may schedule and cancel, not Stop.
//
// Timers that the wheel cannot hold wait in an ordered map beside it: those
// beyond the span of a bounded wheel, and those of a wall clock that was set
// back behind the wheel's hand (they must not fire before it is there again).
//
// Time: `Clock::MonotonicNs`, or with `wall_clock` NowMs; then the worker
// looks at the clock at least once a second, since it may be set. A clock of
// a test wakes nobody: call Wake() after moving it.
//
// Memory: one allocation a timer. Bounds: `TimerDriverOptions`.
//
// Threads: all methods from any thread, but Stop from none of its functions.
// A handle may outlive the driver.
//
// Serves promises 3 and 4: never early, one winner.
#ifndef HOURGLASS_TIMERS_TIMER_DRIVER_H_
#define HOURGLASS_TIMERS_TIMER_DRIVER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/timers/driver_timer.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

struct TimerDriverOptions {
  int64_t tick_ns = 1'000'000;
  bool wall_clock = false;
  size_t pending_max = size_t{1} << 24;  // RESOURCE_EXHAUSTED beyond it
  // Moved from the inbox, and fired, before the worker looks around again.
  size_t inbox_per_step_max = 100'000;
  size_t expired_per_step_max = 10'000;
};

template <template <typename> class Wheel>
class TimerDriver {
  using Timer = timers_internal::DriverTimer;
  using State = timers_internal::TimerState;

 public:
  using Function = timers_internal::TimerFunction;

  // Names one timer. Destroying it cancels nothing.
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept { *this = std::move(other); }
    Handle& operator=(Handle&& other) noexcept {
      std::swap(timer_, other.timer_);
      std::swap(driver_, other.driver_);
      return *this;
    }
    ~Handle() {
      if (timer_ != nullptr) timer_->Release();
    }

    // True if it had not begun to run and never will.
    bool Cancel() {
      if (timer_ == nullptr || !timer_->Win(State::kCancelled)) return false;
      // Who waits has a driver: Stop leaves nobody waiting.
      driver_->Cancelled(timer_);
      return true;
    }
    bool waiting() const {
      return timer_ != nullptr && timer_->state.load() == State::kWaiting;
    }

   private:
    friend class TimerDriver;
    Handle(Timer* timer, TimerDriver* driver)
        : timer_(timer), driver_(driver) {}
    Timer* timer_ = nullptr;
    TimerDriver* driver_ = nullptr;
  };

  // A timer that never ran, as Stop hands it back.
  struct Unrun {
    Tick deadline;
    Function run;
  };

  // `arguments` are the wheel's, without its start. The clock must live as
  // long as the driver.
  template <typename... Arguments>
  explicit TimerDriver(Clock* clock, const TimerDriverOptions& options = {},
                       Arguments&&... arguments)
      : clock_(clock),
        options_(options),
        scale_(options.tick_ns),
        wheel_(std::forward<Arguments>(arguments)..., NowTick()),
        worker_([this] { Work(); }) {}
  ~TimerDriver() { Stop(); }

  absl::StatusOr<Handle> Schedule(Tick deadline, Function run) {
    if (stopping_.load()) {
      return absl::FailedPreconditionError("the timer driver was stopped");
    }
    if (pending_.fetch_add(1) >= options_.pending_max) {
      pending_.fetch_sub(1);
      return absl::ResourceExhaustedError(
          "pending_max timers are waiting in this driver; expected fewer, or "
          "a higher bound");
    }
    auto* const timer = new Timer(deadline, std::move(run));
    Handle handle(timer, this);
    inbox_.Push(timer);
    if (deadline.value() < wake_at_.load()) Wake();
    return handle;
  }
  absl::StatusOr<Handle> ScheduleAfterNs(int64_t ns, Function run) {
    const int64_t now_ns = NowNs();
    const int64_t room = std::numeric_limits<int64_t>::max() - now_ns;
    return Schedule(scale_.DeadlineAt(now_ns + std::min(ns, room)),
                    std::move(run));
  }
  absl::StatusOr<Handle> ScheduleAfterMs(int64_t ms, Function run) {
    const int64_t ns = ms > kNsMax / kNsPerMs ? kNsMax : ms * kNsPerMs;
    return ScheduleAfterNs(ns, std::move(run));
  }

  // Ends the worker; the function that runs now runs to its end. Returns the
  // timers that neither ran nor were cancelled, by deadline. Only the first
  // call returns any.
  std::vector<Unrun> Stop() {
    std::lock_guard<std::mutex> only_one(stop_mu_);
    stopping_.store(true);
    Wake();
    if (worker_.joinable()) worker_.join();
    return HandBack();
  }

  // The clock was moved by hand.
  void Wake() {
    std::lock_guard<std::mutex> lock(sleep_mu_);
    woken_ = true;
    wake_.notify_one();
  }

  Tick NowTick() const { return scale_.NowAt(NowNs()); }
  // Neither run nor cancelled.
  size_t size() const { return pending_.load(); }
  // Functions that threw.
  uint64_t thrown() const { return thrown_.load(); }

 private:
  static constexpr int64_t kNsPerMs = 1'000'000;
  static constexpr int64_t kNsMax = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kAwake = std::numeric_limits<int64_t>::min();
  // So often the worker looks at a wall clock, and at any clock.
  static constexpr int64_t kWallNapNs = 1'000'000'000;
  static constexpr int64_t kNapNs = 3'600'000'000'000;
  // So many cancelled timers may wait for a sleeping worker to free them.
  static constexpr size_t kCancelledMax = 4096;

  int64_t NowNs() const {
    return options_.wall_clock ? clock_->NowMs() * kNsPerMs
                               : clock_->MonotonicNs();
  }

  void Cancelled(Timer* timer) {
    pending_.fetch_sub(1);
    timer->references.fetch_add(1);
    cancelled_.Push(timer);
    if (cancelled_count_.fetch_add(1) + 1 >= kCancelledMax &&
        wake_at_.load() != kAwake) {
      Wake();
    }
  }

  void Work() {
    while (!stopping_.load()) {
      // Read before the inbox is: what was pushed before the clock showed
      // `now` is in the wheel when `now` is fired, so deadlines keep order.
      const Tick now = NowTick();
      MoveInbox(now);
      UnlinkCancelled();
      const bool more = FireDue(now);
      if (!more && moving_ == nullptr) Sleep();
    }
  }

  void MoveInbox(Tick now) {
    if (moving_ == nullptr) moving_ = inbox_.TakeAll();
    for (size_t n = 0; moving_ != nullptr && n < options_.inbox_per_step_max;
         ++n) {
      Timer* const timer = moving_;
      moving_ = timer->next_in_inbox;
      if (timer->state.load() != State::kWaiting) {
        timer->Release();
      } else {
        Place(timer, now);
      }
    }
  }

  void Place(Timer* timer, Tick now) {
    const Scheduled placed = wheel_.Schedule(timer, timer->wanted);
    if (placed == Scheduled::kPending) return;
    if (timer->wanted <= now) {
      due_.push_back(timer);
    } else {
      beside_.emplace(timer->wanted, timer);
    }
  }

  void UnlinkCancelled() {
    if (cancelled_.empty()) return;
    cancelled_count_.store(0);
    Timer* next;
    for (Timer* timer = cancelled_.TakeAll(); timer != nullptr; timer = next) {
      next = timer->next_cancelled;
      if (wheel_.Cancel(timer) || EraseBeside(timer)) timer->Release();
      timer->Release();
    }
  }

  bool EraseBeside(Timer* timer) {
    if (beside_.empty()) return false;
    auto [at, end] = beside_.equal_range(timer->wanted);
    at = std::find_if(at, end, [&](auto& i) { return i.second == timer; });
    if (at == end) return false;
    beside_.erase(at);
    return true;
  }

  // By deadline; those that were due when they came last. True if there is
  // more to do at once.
  bool FireDue(Tick now) {
    while (!beside_.empty() && beside_.begin()->first <= now) {
      const auto [deadline, timer] = *beside_.begin();
      if (FireFromWheel(deadline - 1)) return true;
      beside_.erase(beside_.begin());
      Fire(timer);
    }
    if (FireFromWheel(now)) return true;
    std::vector<Timer*> due;
    due.swap(due_);
    for (Timer* timer : due) Fire(timer);
    return false;
  }

  bool FireFromWheel(Tick to) {
    return wheel_
        .Advance(to, options_.expired_per_step_max,
                 [this](Timer& timer) { Fire(&timer); })
        .more;
  }

  void Fire(Timer* timer) {
    if (timer->Win(State::kRunning)) {
      pending_.fetch_sub(1);
      try {
        timer->run();
      } catch (...) {
        thrown_.fetch_add(1);
      }
      timer->run = nullptr;
    }
    timer->Release();
  }

  void Sleep() {
    int64_t wake_at = std::numeric_limits<int64_t>::max();
    if (const auto next = wheel_.NextDeadline()) wake_at = next->value();
    if (!beside_.empty()) {
      wake_at = std::min(wake_at, beside_.begin()->first.value());
    }
    std::unique_lock<std::mutex> lock(sleep_mu_);
    wake_at_.store(wake_at);
    // Who pushed before it could see `wake_at_` did not wake us.
    if (inbox_.empty() && !stopping_.load() && !woken_) {
      wake_.wait_for(lock, std::chrono::nanoseconds(scale_.NsUntil(
                               Tick(wake_at), NowNs(),
                               options_.wall_clock ? kWallNapNs : kNapNs)));
    }
    woken_ = false;
    wake_at_.store(kAwake);
  }

  std::vector<Unrun> HandBack() {
    std::vector<Unrun> unrun;
    const auto hand_back = [&](Timer& timer) {
      if (timer.Win(State::kHandedBack)) {
        pending_.fetch_sub(1);
        unrun.push_back({timer.wanted, std::move(timer.run)});
      }
      timer.Release();
    };
    UnlinkCancelled();
    wheel_.Advance(Tick::Max(), kNoLimit, hand_back);
    for (auto& [deadline, timer] : beside_) hand_back(*timer);
    beside_.clear();
    for (Timer* timer : due_) hand_back(*timer);
    due_.clear();
    do {
      Timer* next;
      for (Timer* timer = moving_; timer != nullptr; timer = next) {
        next = timer->next_in_inbox;
        hand_back(*timer);
      }
      moving_ = inbox_.TakeAll();
    } while (moving_ != nullptr);
    UnlinkCancelled();
    std::stable_sort(unrun.begin(), unrun.end(),
                     [](auto& a, auto& b) { return a.deadline < b.deadline; });
    return unrun;
  }

  Clock* const clock_;
  const TimerDriverOptions options_;
  const TickScale scale_;

  timers_internal::TimerStack<&Timer::next_in_inbox> inbox_;
  timers_internal::TimerStack<&Timer::next_cancelled> cancelled_;
  std::atomic<size_t> cancelled_count_{0};
  std::atomic<size_t> pending_{0};
  std::atomic<uint64_t> thrown_{0};
  std::atomic<bool> stopping_{false};
  // The tick until which the worker sleeps; kAwake while it does not.
  std::atomic<int64_t> wake_at_{kAwake};

  std::mutex sleep_mu_;
  std::condition_variable wake_;
  bool woken_ = false;  // guarded by sleep_mu_
  std::mutex stop_mu_;

  // The worker's own, until it is joined.
  Timer* moving_ = nullptr;  // taken from the inbox, not placed yet
  std::vector<Timer*> due_;  // were due when they were placed
  std::multimap<Tick, Timer*> beside_;
  Wheel<Timer> wheel_;

  std::thread worker_;  // goes first
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_TIMER_DRIVER_H_
