// File: bounded_wheel.h
//
// Variant 1, the bounded wheel: one bucket a tick, and nothing beyond.
//
// The idea: an array of N buckets, a hand that moves one bucket a tick. A
// deadline stands in bucket (deadline mod N). It is taken only if it lies
// less than N ticks after the hand ("MaxInterval"), so a bucket only ever
// holds entries of one tick, and entering it means that all of it is due.
//
// Worked example, N = 8; `[3: a]` is bucket 3 with entry a:
//
//   hand   call               answer       buckets
//      0   Schedule(a, 3)     pending      [3: a]
//      0   Schedule(b, 7)     pending      [3: a] [7: b]
//      0   Schedule(c, 8)     beyond span  bucket 0 is the hand's own
//      3   Advance(3)         fires a      [7: b]
//      3   Schedule(c, 8)     pending      [7: b] [0: c]
//      3   Schedule(d, 3)     due          handed back
//     20   Advance(20)        fires b, c   the hand passed both
//
// Cost: Schedule, Cancel O(1); Advance O(1) for each entry and each non-empty
// bucket it comes to (bucket_set.h: empty ticks cost nothing). Memory: 16
// bytes and an eighth a bucket, N rounded up to a power of two.
//
// Choose it when no deadline lies farther ahead than some bound you know and
// N ticks of that bound fit into memory: nothing is simpler, nothing moves
// an entry twice.
//
// Rules kept: a deadline is refused, never rounded or parked; N is exactly
// the bound that was asked for.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_BOUNDED_WHEEL_H_
#define HOURGLASS_TIMERS_BOUNDED_WHEEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hourglass/timers/bucket_set.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class BoundedWheel : public TimerWheelBase<BoundedWheel<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = true;
  static constexpr bool kUnbounded = false;

  // Takes deadlines less than `ticks` after the hand; `ticks` is at least 2.
  explicit BoundedWheel(size_t ticks, Tick start = Tick(0))
      : Base(start),
        ticks_(static_cast<int64_t>(ticks)),
        mask_(timers_internal::RoundUpToPowerOfTwo(ticks) - 1),
        buckets_(timers_internal::MakeBuckets(mask_ + 1)),
        occupied_(mask_ + 1) {}

  bool Fits(Tick deadline) const { return deadline - this->now() < ticks_; }

 private:
  using Base = TimerWheelBase<BoundedWheel<Entry>, Entry>;
  friend Base;

  size_t BucketOf(Tick tick) const {
    return static_cast<size_t>(tick.value()) & mask_;
  }

  void Place(TimerEntry* entry) {
    const size_t bucket = BucketOf(entry->deadline());
    buckets_[bucket].PushBack(entry);
    occupied_.Insert(bucket);
  }

  std::optional<Tick> NextStop(Tick) const {
    const size_t here = BucketOf(this->now());
    const std::optional<size_t> next = occupied_.NextAround(here);
    if (!next) return std::nullopt;
    return this->now() + static_cast<int64_t>((*next - here) & mask_);
  }

  void Enter() {
    const size_t bucket = BucketOf(this->now());
    this->due()->Splice(&buckets_[bucket]);
    occupied_.Remove(bucket);
    buckets_[(bucket + timers_internal::kPrefetchAhead) & mask_].Prefetch();
  }

  void Emptied(const TimerEntry* entry) {
    occupied_.Remove(BucketOf(entry->deadline()));
  }

  const int64_t ticks_;
  const size_t mask_;
  timers_internal::Buckets buckets_;
  BucketSet occupied_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_BOUNDED_WHEEL_H_
