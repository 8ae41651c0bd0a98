// File: timer_wheel.h
//
// The one interface of the timing wheels, and what all of them share.
//
//   struct Lease : TimerEntry { std::string owner; };
//   HashedWheel<Lease> wheel(/*buckets=*/512, /*start=*/now);
//   wheel.Schedule(&lease, now + 30'000);
//   wheel.Cancel(&lease);                       // true: it had not fired
//   wheel.Advance(now, /*expired_max=*/1000,
//                 [](Lease& lease) { Expire(lease); });
//   sleep until wheel.NextDeadline();
//
// The wheels, one file each (docs/wheels.md helps to choose):
//   BoundedWheel       bounded_wheel.h        refuses what is beyond its span
//   OverflowListWheel  overflow_list_wheel.h  keeps it in an ordered list
//   HashedWheel        hashed_wheel.h         counts rounds (as Netty does)
//   RoundWheel         round_wheel.h          rounds and a delay queue
//   ClockWheel         clock_wheel.h          hours, minutes, seconds
//   OverflowWheels     overflow_wheels.h      coarser wheels on demand and a
//                                             delay queue (as Kafka does)
// On top of any of them: callback_timers.h (owns entries, calls functions)
// and timer_driver.h (many threads, one worker that sleeps and fires).
//
// What every wheel keeps:
//   - The hand, now(), never goes back. Advance to an earlier tick moves
//     nothing.
//   - An entry fires in the Advance that reaches its deadline: never before,
//     and before every entry with a later deadline.
//   - Entries of one tick fire in the order in which they were scheduled, if
//     kKeepsOrder; else in any order.
//   - An entry that is due now is not inserted but handed back (kDue).
//   - An entry leaves the wheel once: it is unlinked before it is fired, so
//     Cancel in or after its own firing is false.
//   - The function given to Advance may schedule and cancel anything, its
//     own entry too; what it schedules for a tick that this Advance still
//     reaches fires in this Advance. It may not call Advance.
//   - If it throws, its entry has fired; the wheel is whole, and the next
//     Advance goes on behind it.
//
// Cost: Schedule and Cancel O(1) unless the file says otherwise. Advance
// counts what it fires against `expired_max`. Moving entries within the wheel
// is not counted: one entry moves at most once a level or round.
//
// Threads: none; see timer_driver.h.
//
// Serves promises 3 and 4: never early, and cancel has one answer.
#ifndef HOURGLASS_TIMERS_TIMER_WHEEL_H_
#define HOURGLASS_TIMERS_TIMER_WHEEL_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "hourglass/timers/tick.h"
#include "hourglass/timers/timer_entry.h"

namespace hourglass {

enum class Scheduled {
  kPending,     // it is in the wheel
  kDue,         // it is due now and stays with the caller
  kBeyondSpan,  // the wheel does not reach that far; nothing has changed
};

struct Advanced {
  size_t expired = 0;  // fired by this call
  bool more = false;   // `expired_max` was reached and more is due
};

inline constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// What the drivers and the callback form ask of a wheel.
template <typename W>
concept TimerWheel = requires(W wheel, typename W::EntryType* entry, Tick tick,
                              size_t count) {
  { wheel.Schedule(entry, tick) } -> std::same_as<Scheduled>;
  { wheel.Reschedule(entry, tick) } -> std::same_as<Scheduled>;
  { wheel.Cancel(entry) } -> std::same_as<bool>;
  {
    wheel.Advance(tick, count, [](typename W::EntryType&) {})
    } -> std::same_as<Advanced>;
  { wheel.NextDeadline() } -> std::same_as<std::optional<Tick>>;
  { wheel.now() } -> std::same_as<Tick>;
  { wheel.size() } -> std::same_as<size_t>;
  { W::kKeepsOrder } -> std::convertible_to<bool>;
  { W::kUnbounded } -> std::convertible_to<bool>;
};

// A wheel derives from this and says where entries go:
//   bool Fits(Tick)                 within the span? only asked if later than
//                                   now()
//   void Place(TimerEntry*)         links it; its deadline is set and fits
//   std::optional<Tick> NextStop(Tick to)
//                                   the next tick after now() at which the
//                                   hand has something to do; anything if
//                                   that is beyond `to`
//   void Enter()                    the hand has come to such a tick: moves
//                                   what is due to due()
//   void Emptied(const TimerEntry*) its cancelling left its list empty; not
//                                   called for entries of due()
template <typename Derived, typename Entry>
class TimerWheelBase {
 public:
  using EntryType = Entry;

  TimerWheelBase(const TimerWheelBase&) = delete;
  TimerWheelBase& operator=(const TimerWheelBase&) = delete;

  // Precondition: the entry is in no wheel.
  Scheduled Schedule(Entry* entry, Tick deadline) {
    TimerEntry* const base = entry;
    if (base->scheduled()) {
      timers_internal::Die("a TimerEntry was scheduled twice");
    }
    if (deadline > now_ && !derived()->Fits(deadline)) {
      return Scheduled::kBeyondSpan;
    }
    base->deadline_ = deadline;
    if (deadline <= now_) return Scheduled::kDue;
    derived()->Place(base);
    ++size_;
    return Scheduled::kPending;
  }

  // Cancel and Schedule in one; an entry that is in no wheel is only
  // scheduled. With kBeyondSpan it stays where it was.
  Scheduled Reschedule(Entry* entry, Tick deadline) {
    if (deadline > now_ && !derived()->Fits(deadline)) {
      return Scheduled::kBeyondSpan;
    }
    Cancel(entry);
    return Schedule(entry, deadline);
  }

  // True if the entry was in this wheel; it will not fire then. False if it
  // has fired, was cancelled or never scheduled.
  bool Cancel(Entry* entry) {
    TimerEntry* const base = entry;
    if (!base->scheduled()) return false;
    --size_;
    if (EntryList::Remove(base) && base->deadline_ > now_) {
      derived()->Emptied(base);
    }
    return true;
  }

  // Moves the hand to `to` and calls `fire(Entry&)` for what is due, by
  // deadline, at most `expired_max` of them.
  template <typename Fire>
  Advanced Advance(Tick to, size_t expired_max, Fire&& fire) {
    size_t expired = 0;
    while (true) {
      while (!due_.empty()) {
        if (expired == expired_max) return {expired, true};
        TimerEntry* const entry = due_.PopFront();
        --size_;
        ++expired;
        fire(static_cast<Entry&>(*entry));
      }
      const std::optional<Tick> stop = derived()->NextStop(to);
      if (!stop || *stop > to) break;
      now_ = *stop;
      derived()->Enter();
    }
    now_ = std::max(now_, to);
    return {expired, false};
  }

  // When Advance has something to do next: the earliest deadline, or a tick
  // before it at which the wheel wants to move entries. nullopt: never.
  std::optional<Tick> NextDeadline() {
    if (size_ == 0) return std::nullopt;
    if (!due_.empty()) return now_;
    return derived()->NextStop(now_);
  }

  Tick now() const { return now_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 protected:
  explicit TimerWheelBase(Tick start) : now_(start) {}
  ~TimerWheelBase() = default;

  EntryList* due() { return &due_; }
  // For derived wheels, which are no friends of TimerEntry.
  static Tick DeadlineOf(const TimerEntry* entry) { return entry->deadline_; }

 private:
  Derived* derived() { return static_cast<Derived*>(this); }

  Tick now_;
  size_t size_ = 0;
  EntryList due_;  // taken from its bucket, not fired yet
};

namespace timers_internal {

// Buckets are found by shift and mask where a wheel lets us choose their
// number.
constexpr size_t RoundUpToPowerOfTwo(size_t n) {
  size_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// So many buckets ahead of the hand, what they hold is fetched from memory.
inline constexpr size_t kPrefetchAhead = 6;

using Buckets = std::unique_ptr<EntryList[]>;
inline Buckets MakeBuckets(size_t count) {
  return std::make_unique<EntryList[]>(count);
}

}  // namespace timers_internal

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_TIMER_WHEEL_H_
