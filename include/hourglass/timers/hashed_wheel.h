// File: hashed_wheel.h
//
// Variant 3, the hashed wheel with rounds: far deadlines share the buckets
// and wait for the hand to pass often enough.
//
// The idea: the bucket is (deadline mod N); how many times the hand passes
// that bucket before the deadline is kept in the entry as its remaining
// rounds. Entering a bucket fires the entries that have none left and takes
// one from all others.
//
// Worked example, N = 8; `a2` is entry a with two rounds left:
//
//   hand   call              buckets
//      0   Schedule(a, 3)    [3: a0]
//      0   Schedule(b, 19)   [3: a0 b2]        (19 - 1) / 8 = 2
//      0   Schedule(c, 8)    [3: a0 b2] [0: c0]
//      3   Advance(3)        fires a  [3: b1] [0: c0]
//     11   Advance(11)       fires c  [3: b0]
//     19   Advance(19)       fires b
//
// Cost: Schedule and Cancel O(1), whatever the deadline. Advance touches
// every entry of every bucket it enters: an entry is touched deadline / N
// times before it fires. A hand that overslept by more than a turn does not
// walk turn by turn: it looks for the earliest deadline once a turn and goes
// there. Memory: 16 bytes and an eighth a bucket.
//
// Choose it for very many timers that are mostly cancelled before they fire
// (request deadlines, idle connections) and a span of some turns at most.
// Make N large: buckets are cheap, passing entries over is not.
//
// Rules kept, Netty's: N is rounded up to a power of two; remaining rounds
// are (deadline - tick) / N, with `tick` the next one that the hand enters; a
// late insert is due at once. Its rules for threads (an inbox that producers
// append to, states by compare-and-swap, a task that throws, stop that
// returns what never ran) are timer_driver.h's. Departures: empty buckets are
// jumped over, and NextDeadline() is when the next non-empty bucket is
// entered, which may fire nothing.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_HASHED_WHEEL_H_
#define HOURGLASS_TIMERS_HASHED_WHEEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hourglass/timers/bucket_set.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class HashedWheel : public TimerWheelBase<HashedWheel<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = true;
  static constexpr bool kUnbounded = true;

  explicit HashedWheel(size_t buckets = 512, Tick start = Tick(0))
      : Base(start),
        mask_(timers_internal::RoundUpToPowerOfTwo(buckets) - 1),
        buckets_(timers_internal::MakeBuckets(mask_ + 1)),
        occupied_(mask_ + 1),
        searched_(start) {}

  bool Fits(Tick) const { return true; }

 private:
  using Base = TimerWheelBase<HashedWheel<Entry>, Entry>;
  friend Base;

  int64_t turn() const { return static_cast<int64_t>(mask_) + 1; }
  size_t BucketOf(Tick tick) const {
    return static_cast<size_t>(tick.value()) & mask_;
  }
  // How often the hand passes the deadline's bucket first, if the next tick
  // it enters is `next`.
  int64_t RoundsFrom(int64_t next, Tick deadline) const {
    return (deadline.value() - next) / turn();
  }

  void Place(TimerEntry* entry) {
    const size_t bucket = BucketOf(entry->deadline());
    entry->rounds_ = RoundsFrom(this->now().value() + 1, entry->deadline());
    buckets_[bucket].PushBack(entry);
    occupied_.Insert(bucket);
  }

  std::optional<Tick> NextStop(Tick to) {
    const Tick now = this->now();
    const auto next = occupied_.NextAround((BucketOf(now) + 1) & mask_);
    if (!next) return std::nullopt;
    if (to - now > turn() && now >= searched_) {
      const Tick earliest = EarliestDeadline();
      if (earliest - now > turn()) return LeapTo(earliest, to);
      searched_ = now + turn();
    }
    const size_t steps = (*next - BucketOf(now) - 1) & mask_;
    return now + static_cast<int64_t>(steps + 1);
  }

  void Enter() {
    const size_t bucket = BucketOf(this->now());
    buckets_[bucket].ForEach([this](TimerEntry* entry) {
      if (entry->rounds_-- > 0) return;
      EntryList::Remove(entry);
      this->due()->PushBack(entry);
    });
    if (buckets_[bucket].empty()) occupied_.Remove(bucket);
    buckets_[(bucket + timers_internal::kPrefetchAhead) & mask_].Prefetch();
  }

  void Emptied(const TimerEntry* entry) {
    occupied_.Remove(BucketOf(entry->deadline()));
  }

  template <typename Fn>
  void ForEachEntry(Fn&& fn) {
    for (auto bucket = occupied_.NextFrom(0); bucket;
         bucket = occupied_.NextFrom(*bucket + 1)) {
      buckets_[*bucket].ForEach(fn);
    }
  }

  Tick EarliestDeadline() {
    Tick earliest = Tick::Max();
    ForEachEntry([&](const TimerEntry* entry) {
      earliest = std::min(earliest, entry->deadline());
    });
    return earliest;
  }

  // As if the hand had gone round and round to just before `earliest`, or to
  // the end of this Advance if that comes first.
  Tick LeapTo(Tick earliest, Tick to) {
    const Tick next = earliest > to ? to + 1 : earliest;
    ForEachEntry([&](TimerEntry* entry) {
      entry->rounds_ = RoundsFrom(next.value(), entry->deadline());
    });
    return next;
  }

  const size_t mask_;
  timers_internal::Buckets buckets_;
  BucketSet occupied_;
  Tick searched_;  // no leap is possible before this tick
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_HASHED_WHEEL_H_
