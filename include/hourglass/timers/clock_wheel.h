// File: clock_wheel.h
//
// Variant 5, the clock wheel: hours, minutes and seconds, 144 buckets.
//
// The idea: three wheels of 24, 60 and 60 buckets, like the hands of a clock;
// a tick is a second. An entry sits in the coarsest level in which it differs
// from now: in its hour's bucket if the hour differs, else in its minute's,
// else in its second's. When the seconds' hand completes its turn, the
// minutes' hand moves on by one and the bucket it enters is redistributed
// into the seconds; hours into minutes likewise. Only seconds fire.
//
// Worked example: 21:20:30, a delay of 50 min 10 s, so due at 22:10:40:
//
//   time       what happens               where it sits      still to go there
//   21:20:30   the hour differs           hour bucket 22     10 min 40 s
//   22:00:00   hour bucket 22 is emptied  minute bucket 10   40 s
//   22:10:00   minute bucket 10, too      second bucket 40   0
//   22:10:40   it fires
//
// (The remainder is not stored: the entry keeps its deadline, which says it.)
//
// Cost: Schedule and Cancel O(1); each entry moves at most twice before it
// fires. Memory: 144 buckets of 16 bytes, for a whole day. Empty seconds,
// minutes and hours are jumped over by one word of bits a level.
//
// Choose it for timers within a day in a small, fixed space.
//
// Rules kept: 24 + 60 + 60; coarsest level in which it differs; only the
// finest wheel fires. The span is what the hour wheel can tell apart: up to
// 23 full hours after the current one. Beyond it a deadline is refused.
//
// Limitations: a tick is a "second" whatever the host makes of it; use
// OverflowWheels for milliseconds.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_CLOCK_WHEEL_H_
#define HOURGLASS_TIMERS_CLOCK_WHEEL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class ClockWheel : public TimerWheelBase<ClockWheel<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = true;
  static constexpr bool kUnbounded = false;
  static constexpr int64_t kSecondsPerMinute = 60;
  static constexpr int64_t kSecondsPerHour = 3600;

  explicit ClockWheel(Tick start = Tick(0)) : Base(start) {}

  bool Fits(Tick deadline) const {
    return HoursOf(deadline) - HoursOf(this->now()) < 24;
  }

 private:
  using Base = TimerWheelBase<ClockWheel<Entry>, Entry>;
  friend Base;

  template <size_t kBuckets>
  struct Level {
    std::array<EntryList, kBuckets> buckets;
    uint64_t occupied = 0;  // one bit a bucket

    void Add(int64_t bucket, TimerEntry* entry) {
      buckets[static_cast<size_t>(bucket)].PushBack(entry);
      occupied |= uint64_t{1} << bucket;
    }
    void Take(int64_t bucket, EntryList* to) {
      to->Splice(&buckets[static_cast<size_t>(bucket)]);
      Forget(bucket);
    }
    void Forget(int64_t bucket) { occupied &= ~(uint64_t{1} << bucket); }
    // The first bucket >= `bucket`; kBuckets if there is none.
    int64_t NextFrom(int64_t bucket) const {
      const uint64_t rest = occupied >> bucket;
      return rest == 0 ? kBuckets : bucket + std::countr_zero(rest);
    }
  };

  static int64_t HoursOf(Tick t) { return t.value() / kSecondsPerHour; }
  static int64_t MinutesOf(Tick t) { return t.value() / kSecondsPerMinute; }
  static int64_t HourOf(Tick t) { return HoursOf(t) % 24; }
  static int64_t MinuteOf(Tick t) { return MinutesOf(t) % 60; }
  static int64_t SecondOf(Tick t) { return t.value() % kSecondsPerMinute; }

  void Place(TimerEntry* entry) {
    const Tick deadline = entry->deadline();
    if (HoursOf(deadline) != HoursOf(this->now())) {
      hours_.Add(HourOf(deadline), entry);
    } else if (MinutesOf(deadline) != MinutesOf(this->now())) {
      minutes_.Add(MinuteOf(deadline), entry);
    } else {
      seconds_.Add(SecondOf(deadline), entry);
    }
  }

  std::optional<Tick> NextStop(Tick) const {
    const Tick now = this->now();
    if (const int64_t next = seconds_.NextFrom(SecondOf(now) + 1); next < 60) {
      return now + (next - SecondOf(now));
    }
    if (const int64_t next = minutes_.NextFrom(MinuteOf(now) + 1); next < 60) {
      return Tick((MinutesOf(now) + next - MinuteOf(now)) * kSecondsPerMinute);
    }
    const int64_t hour = HourOf(now);
    int64_t next = hours_.NextFrom(hour + 1);
    if (next == 24) next = hours_.NextFrom(0) + 24;
    if (next == 48) return std::nullopt;
    return Tick((HoursOf(now) + next - hour) * kSecondsPerHour);
  }

  void Enter() {
    const Tick now = this->now();
    if (now.value() % kSecondsPerHour == 0) Redistribute(&hours_, HourOf(now));
    if (SecondOf(now) == 0) Redistribute(&minutes_, MinuteOf(now));
    seconds_.Take(SecondOf(now), this->due());
  }

  template <size_t kBuckets>
  void Redistribute(Level<kBuckets>* level, int64_t bucket) {
    EntryList taken;
    level->Take(bucket, &taken);
    taken.ForEach([this](TimerEntry* entry) {
      EntryList::Remove(entry);
      Place(entry);
    });
  }

  void Emptied(const TimerEntry* entry) {
    const Tick deadline = entry->deadline();
    if (HoursOf(deadline) != HoursOf(this->now())) {
      hours_.Forget(HourOf(deadline));
    } else if (MinutesOf(deadline) != MinutesOf(this->now())) {
      minutes_.Forget(MinuteOf(deadline));
    } else {
      seconds_.Forget(SecondOf(deadline));
    }
  }

  Level<24> hours_;
  Level<60> minutes_;
  Level<60> seconds_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_CLOCK_WHEEL_H_
