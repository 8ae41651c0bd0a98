// File: driver_timer.h
//
// What timer_driver.h passes between its threads: a timer with a state that
// one side wins, and a stack that many push to and one empties.
//
// Not for use on its own.
//
// Serves promise 4: a timer is run or cancelled, never both.
#ifndef HOURGLASS_TIMERS_DRIVER_TIMER_H_
#define HOURGLASS_TIMERS_DRIVER_TIMER_H_

#include <atomic>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "hourglass/timers/timer_entry.h"

namespace hourglass::timers_internal {

enum class TimerState { kWaiting, kRunning, kCancelled, kHandedBack };

using TimerFunction = absl::AnyInvocable<void()>;

// References are counted: one of its handle, one of where the driver has it
// (inbox, wheel or beside it), one more while it stands among the cancelled.
struct DriverTimer : TimerEntry {
  DriverTimer(Tick deadline, TimerFunction function)
      : wanted(deadline), run(std::move(function)) {}

  // True for the one who takes it out of the waiting state.
  bool Win(TimerState next) {
    TimerState expected = TimerState::kWaiting;
    return state.compare_exchange_strong(expected, next);
  }
  void Release() {
    if (references.fetch_sub(1) == 1) delete this;
  }

  std::atomic<TimerState> state{TimerState::kWaiting};
  std::atomic<int> references{2};
  const Tick wanted;
  DriverTimer* next_in_inbox = nullptr;
  DriverTimer* next_cancelled = nullptr;
  TimerFunction run;
};

// Linked by the member `kNext`. Only TakeAll removes, so an address that
// comes again (ABA) does no harm.
template <DriverTimer* DriverTimer::*kNext>
class TimerStack {
 public:
  void Push(DriverTimer* timer) {
    DriverTimer* head = head_.load(std::memory_order_relaxed);
    do {
      timer->*kNext = head;
    } while (!head_.compare_exchange_weak(head, timer));
  }

  bool empty() const { return head_.load() == nullptr; }

  // All of them, linked in the order in which they were pushed.
  DriverTimer* TakeAll() {
    DriverTimer* newest = head_.exchange(nullptr);
    DriverTimer* oldest = nullptr;
    while (newest != nullptr) {
      DriverTimer* const next = newest->*kNext;
      newest->*kNext = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }

 private:
  std::atomic<DriverTimer*> head_{nullptr};
};

}  // namespace hourglass::timers_internal

#endif  // HOURGLASS_TIMERS_DRIVER_TIMER_H_
