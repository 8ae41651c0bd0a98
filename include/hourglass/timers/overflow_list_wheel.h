// File: overflow_list_wheel.h
//
// Variant 2, the overflow-list wheel: a wheel for this turn, an ordered list
// for all that comes after.
//
// The idea: N buckets stand for the N ticks of the turn that the hand is in.
// What is due in a later turn goes to an overflow list. Each time the hand
// completes a turn, the entries that now fit move into the buckets.
//
// Worked example, N = 8; turn t covers ticks 8t .. 8t+7:
//
//   hand   call              buckets        overflow, by turn
//      0   Schedule(a, 5)    [5: a]
//      0   Schedule(b, 9)    [5: a]         1: b
//      6   Advance(6)        fires a        1: b
//      6   Schedule(c, 9)                   1: b c      9 is 3 ticks away, but
//                                                       in the next turn
//      6   Schedule(d, 30)                  1: b c  3: d
//      8   Advance(8)        [1: b c]       3: d        a turn is complete
//      9   Advance(9)        fires b, c     3: d
//     30   Advance(30)       fires d                    24: [6: d]
//
// Cost: Schedule and Cancel O(1) within the turn, O(log turns) beyond it (the
// turns that have entries, not the entries); each entry moves at most once.
// Memory: 16 bytes and an eighth a bucket, and one map node for each turn
// that has entries.
//
// Choose it when most deadlines are near and the few far ones are not
// scheduled in a hurry.
//
// Rules kept: the overflow list is ordered (by turn; within a turn the
// buckets do the ordering), and it is looked at once a turn. Departure from
// the text book: an insert searches an index of turns, not the entries.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_OVERFLOW_LIST_WHEEL_H_
#define HOURGLASS_TIMERS_OVERFLOW_LIST_WHEEL_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hourglass/timers/bucket_set.h"
#include "hourglass/timers/ordered_lists.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class OverflowListWheel
    : public TimerWheelBase<OverflowListWheel<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = true;
  static constexpr bool kUnbounded = true;

  // The number of buckets is rounded up to a power of two, at least 2.
  explicit OverflowListWheel(size_t buckets, Tick start = Tick(0))
      : Base(start),
        mask_(timers_internal::RoundUpToPowerOfTwo(buckets) - 1),
        turn_bits_(std::countr_one(mask_)),
        buckets_(timers_internal::MakeBuckets(mask_ + 1)),
        occupied_(mask_ + 1) {}

  bool Fits(Tick) const { return true; }

 private:
  using Base = TimerWheelBase<OverflowListWheel<Entry>, Entry>;
  friend Base;

  size_t BucketOf(Tick tick) const {
    return static_cast<size_t>(tick.value()) & mask_;
  }
  int64_t TurnOf(Tick tick) const { return tick.value() >> turn_bits_; }

  void Place(TimerEntry* entry) {
    const int64_t turn = TurnOf(entry->deadline());
    if (turn == TurnOf(this->now())) {
      PlaceInBucket(entry);
    } else {
      overflow_.Add(turn, entry, &spares_);
    }
  }

  void PlaceInBucket(TimerEntry* entry) {
    const size_t bucket = BucketOf(entry->deadline());
    buckets_[bucket].PushBack(entry);
    occupied_.Insert(bucket);
  }

  std::optional<Tick> NextStop(Tick) const {
    const size_t here = BucketOf(this->now());
    if (const auto next = occupied_.NextFrom(here)) {
      return this->now() + static_cast<int64_t>(*next - here);
    }
    if (overflow_.empty()) return std::nullopt;
    return Tick(overflow_.first_key() << turn_bits_);
  }

  void Enter() {
    if (!overflow_.empty() && overflow_.first_key() == TurnOf(this->now())) {
      EntryList fits_now;
      overflow_.TakeFirst(&fits_now, &spares_);
      fits_now.ForEach([this](TimerEntry* entry) {
        EntryList::Remove(entry);
        PlaceInBucket(entry);
      });
    }
    const size_t bucket = BucketOf(this->now());
    this->due()->Splice(&buckets_[bucket]);
    occupied_.Remove(bucket);
    buckets_[(bucket + timers_internal::kPrefetchAhead) & mask_].Prefetch();
  }

  void Emptied(const TimerEntry* entry) {
    const int64_t turn = TurnOf(entry->deadline());
    if (turn == TurnOf(this->now())) {
      occupied_.Remove(BucketOf(entry->deadline()));
    } else {
      overflow_.EraseIfEmpty(turn, &spares_);
    }
  }

  const size_t mask_;
  const int turn_bits_;
  timers_internal::Buckets buckets_;
  BucketSet occupied_;
  OrderedListsSpares spares_;
  OrderedLists overflow_;  // by turn
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_OVERFLOW_LIST_WHEEL_H_
