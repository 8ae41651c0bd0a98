// File: round_wheel.h
//
// Variant 4, the round wheel with a delay queue: rounds without counting
// them down, and a hand that only goes where something is due.
//
// The idea: all times are counted from one start. A deadline stands in
// bucket (delay mod N) and keeps its absolute round, (delay / N). A bucket
// is a priority queue by round. Only non-empty buckets stand in a delay
// queue, each by its earliest due time; the hand jumps to the one on top,
// takes the entries of that bucket's lowest round, and queues the bucket
// again by its next. A bucket whose earliest entry changes is queued anew.
//
// Worked example, N = 8, start 0; `3: {0: a, 2: b}` is bucket 3 with entry a
// in round 0 and b in round 2:
//
//   hand   call              buckets                     delay queue
//      0   Schedule(b, 19)   3: {2: b}                   3 at 19
//      0   Schedule(c, 8)    3: {2: b}  0: {1: c}        0 at 8, 3 at 19
//      0   Schedule(a, 3)    3: {0: a, 2: b}  0: {1: c}  3 at 3, 0 at 8
//      5   Advance(5)        fires a                     0 at 8, 3 at 19
//      5   Cancel(c)         3: {2: b}                   3 at 19
//   1000   Advance(1000)     fires b                     one jump
//
// Cost: Schedule and Cancel O(log rounds of the bucket), and O(log N) when
// the bucket's earliest changes; Advance the same for each tick that has
// entries, nothing for others. No entry is ever moved or passed over, however
// far its deadline. Memory: 16 bytes a bucket in the queue, and one map node
// for each tick that has entries.
//
// Choose it when deadlines lie far apart and far ahead (the queue is exact:
// NextDeadline() is the earliest deadline), and a few tens of nanoseconds a
// schedule do not matter.
//
// Rules kept: absolute rounds from one start, so that buckets are never
// rewritten as the hand moves; a polled bucket yields its lowest round only.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_ROUND_WHEEL_H_
#define HOURGLASS_TIMERS_ROUND_WHEEL_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hourglass/timers/delay_queue.h"
#include "hourglass/timers/ordered_lists.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class RoundWheel : public TimerWheelBase<RoundWheel<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = true;
  static constexpr bool kUnbounded = true;

  // The number of buckets is rounded up to a power of two.
  explicit RoundWheel(size_t buckets = 512, Tick start = Tick(0))
      : Base(start),
        start_(start),
        mask_(timers_internal::RoundUpToPowerOfTwo(buckets) - 1),
        round_bits_(std::countr_one(mask_)),
        buckets_(std::make_unique<OrderedLists[]>(mask_ + 1)) {}

  bool Fits(Tick) const { return true; }

 private:
  using Base = TimerWheelBase<RoundWheel<Entry>, Entry>;
  friend Base;

  uint32_t BucketOf(Tick tick) const {
    return static_cast<uint32_t>(static_cast<size_t>(tick - start_) & mask_);
  }
  int64_t RoundOf(Tick tick) const { return (tick - start_) >> round_bits_; }

  void Place(TimerEntry* entry) {
    const Tick deadline = entry->deadline();
    const uint32_t bucket = BucketOf(deadline);
    const int64_t round = RoundOf(deadline);
    OrderedLists& rounds = buckets_[bucket];
    const bool is_new = rounds.Add(round, entry, &spares_);
    if (is_new && rounds.first_key() == round) queue_.Set(bucket, deadline);
  }

  std::optional<Tick> NextStop(Tick) const {
    if (queue_.empty()) return std::nullopt;
    return queue_.top().due;
  }

  void Enter() {
    const uint32_t bucket = queue_.top().number;
    buckets_[bucket].TakeFirst(this->due(), &spares_);
    QueueAgain(bucket);
  }

  void Emptied(const TimerEntry* entry) {
    const uint32_t bucket = BucketOf(entry->deadline());
    const int64_t round = RoundOf(entry->deadline());
    const bool was_first = buckets_[bucket].first_key() == round;
    buckets_[bucket].EraseIfEmpty(round, &spares_);
    if (was_first) QueueAgain(bucket);
  }

  void QueueAgain(uint32_t bucket) {
    const OrderedLists& rounds = buckets_[bucket];
    if (rounds.empty()) {
      queue_.Remove(bucket);
    } else {
      queue_.Set(bucket, start_ + (rounds.first_key() << round_bits_) + bucket);
    }
  }

  const Tick start_;
  const size_t mask_;
  const int round_bits_;
  OrderedListsSpares spares_;
  std::unique_ptr<OrderedLists[]> buckets_;
  DelayQueue queue_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_ROUND_WHEEL_H_
