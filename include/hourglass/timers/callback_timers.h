// File: callback_timers.h
//
// The convenient form of a wheel: it owns the entries and calls a function.
//
//   CallbackTimers<OverflowWheels> timers;
//   auto id = timers.Schedule(Tick(250), [] { Retry(); });
//   timers.Cancel(*id);                              // true: it will not run
//   timers.Advance(now, /*expired_max=*/1000);       // runs what is due
//
// A timer that is due already when it is scheduled runs in the next Advance,
// before all others; never inside Schedule.
//
// Ids are used once: one of a timer that ran or was cancelled names nothing,
// for ever (until 2^32 timers have used the same place).
//
// A function that throws: the exception leaves Advance; its timer has run,
// the others are untouched.
//
// Memory: a place of 32 bytes, the function's 32, and 16 more for each timer
// that was ever live at the same time; places are used again, not given back.
// Functions too large for an AnyInvocable's own space are allocated.
//
// Threads: none; timer_driver.h is for many.
//
// Serves promise 4: a cancel has one answer.
#ifndef HOURGLASS_TIMERS_CALLBACK_TIMERS_H_
#define HOURGLASS_TIMERS_CALLBACK_TIMERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

struct TimerId {
  uint32_t place = 0;
  uint32_t use = 0;  // of that place; 0 names no timer
  bool operator==(const TimerId&) const = default;
};

template <template <typename> class Wheel>
class CallbackTimers {
 public:
  using Function = absl::AnyInvocable<void()>;

  // `arguments` are the wheel's.
  template <typename... Arguments>
  explicit CallbackTimers(Arguments&&... arguments)
      : wheel_(std::forward<Arguments>(arguments)...) {}
  ~CallbackTimers() {
    for (Timer& timer : timers_) wheel_.Cancel(&timer);
  }

  // OUT_OF_RANGE if the wheel does not reach that far.
  absl::StatusOr<TimerId> Schedule(Tick deadline, Function run) {
    Timer* const timer = TakePlace();
    const Scheduled result = wheel_.Schedule(timer, deadline);
    if (result == Scheduled::kBeyondSpan) {
      GiveBack(timer);
      return BeyondSpan();
    }
    timer->run = std::move(run);
    if (result == Scheduled::kDue) AddReady(timer);
    return timer->id;
  }

  // NOT_FOUND if it ran or was cancelled. OUT_OF_RANGE as above: it keeps its
  // old deadline then.
  absl::Status Reschedule(TimerId id, Tick deadline) {
    Timer* const timer = Find(id);
    if (timer == nullptr) {
      return absl::NotFoundError("the timer ran or was cancelled before");
    }
    const bool was_ready = !timer->scheduled();
    const Scheduled result = wheel_.Reschedule(timer, deadline);
    if (result == Scheduled::kBeyondSpan) return BeyondSpan();
    if (was_ready) RemoveReady(timer);
    if (result == Scheduled::kDue) AddReady(timer);
    return absl::OkStatus();
  }

  // True if it had not run and will not.
  bool Cancel(TimerId id) {
    Timer* const timer = Find(id);
    if (timer == nullptr) return false;
    if (!wheel_.Cancel(timer)) RemoveReady(timer);
    GiveBack(timer);
    return true;
  }

  Advanced Advance(Tick to, size_t expired_max = kNoLimit) {
    size_t expired = 0;
    // Those that come due meanwhile wait for the next Advance: a timer that
    // schedules itself for now must not keep this one for ever.
    for (size_t ready = ready_.size(); ready > 0 && !ready_.empty(); --ready) {
      if (expired == expired_max) return {expired, true};
      Timer* const timer = ready_.front();
      ready_.pop_front();
      ++expired;
      Run(timer);
    }
    Advanced advanced = wheel_.Advance(to, expired_max - expired,
                                       [this](Timer& timer) { Run(&timer); });
    advanced.expired += expired;
    advanced.more = advanced.more || !ready_.empty();
    return advanced;
  }

  std::optional<Tick> NextDeadline() {
    return ready_.empty() ? wheel_.NextDeadline() : wheel_.now();
  }
  Tick now() const { return wheel_.now(); }
  size_t size() const { return wheel_.size() + ready_.size(); }
  bool empty() const { return size() == 0; }

 private:
  struct Timer : TimerEntry {
    TimerId id;
    bool live = false;
    Function run;
  };

  static absl::Status BeyondSpan() {
    return absl::OutOfRangeError(
        "the deadline is beyond the span of this wheel; expected an earlier "
        "one, or a wheel without a bound");
  }

  Timer* TakePlace() {
    if (free_.empty()) {
      timers_.emplace_back();
      timers_.back().id.place = static_cast<uint32_t>(timers_.size() - 1);
      free_.push_back(&timers_.back());
    }
    Timer* const timer = free_.back();
    free_.pop_back();
    if (++timer->id.use == 0) timer->id.use = 1;
    timer->live = true;
    return timer;
  }

  void GiveBack(Timer* timer) {
    timer->live = false;
    timer->run = nullptr;
    free_.push_back(timer);
  }

  Timer* Find(TimerId id) {
    if (id.place >= timers_.size()) return nullptr;
    Timer& timer = timers_[id.place];
    return timer.live && timer.id == id ? &timer : nullptr;
  }

  // The place is free while the function runs, so that it may schedule and
  // find its own id used up.
  void Run(Timer* timer) {
    Function run = std::move(timer->run);
    GiveBack(timer);
    run();
  }

  void AddReady(Timer* timer) { ready_.push_back(timer); }
  void RemoveReady(Timer* timer) {
    const auto at = std::find(ready_.begin(), ready_.end(), timer);
    if (at != ready_.end()) ready_.erase(at);
  }

  std::deque<Timer> timers_;  // by place; the addresses stay
  std::vector<Timer*> free_;
  std::deque<Timer*> ready_;  // were due when they were scheduled
  Wheel<Timer> wheel_;        // goes first: it lets the timers go
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_CALLBACK_TIMERS_H_
