// File: overflow_wheels.h
//
// Variant 6, the overflow-wheel hierarchy with a delay queue: coarser wheels
// on demand, and a hand that sleeps until a bucket is due.
//
// The idea: the first wheel has N buckets of one tick. What lies beyond its
// span goes to an overflow wheel of N buckets whose tick is the whole span
// of the first; beyond that to the next one, made when it is needed. All
// buckets that hold something stand in one delay queue by the tick at which
// they begin. When a bucket is due, it is flushed: each entry is added again,
// and comes to rest in a finer wheel, or no longer fits and is due.
//
// Worked example, N = 4: level 0 has tick 1 and spans 4, level 1 has tick 4
// and spans 16. `0[3]` is level 0, bucket 3. Range of a level:
// [current + tick, current + tick * N), current being the hand rounded down
// to the level's tick:
//
//   hand   level 0   level 1   call              buckets
//      0   [1, 4)    [4, 16)   Schedule(a, 3)    0[3]: a, queued at 3
//      0                       Schedule(b, 10)   1[2]: b, queued at 8
//      0                       Schedule(c, 40)   2[2]: c, queued at 32, a new
//                                                level of tick 16
//      5   [6, 9)    [8, 20)   Advance(5)        fires a
//      8   [9, 12)   [12, 24)  Advance(8)        1[2] flushed; 0[2]: b, at 10
//     10                       Advance(10)       fires b
//     40   [41, 44)  [44, 56)  Advance(40)       2[2] flushed at 32 to 1[2],
//                                                that at 40: c is due
//
// Cost: Schedule O(levels), and O(log buckets) when a bucket comes into use;
// Cancel O(1); each entry moves at most once a level. Memory: 16 bytes a
// bucket and 8 for its expiration; 8 levels of 20 buckets reach 800 years in
// milliseconds.
//
// Choose it when you do not want to think about the span: any deadline, few
// buckets, no empty ticks.
//
// Rules kept, Kafka's: the ranges above; an overflow wheel is made on demand;
// a bucket's expiration is set once per reuse, and only then is it queued; a
// bucket that loses all its entries stays queued until it is due, so
// NextDeadline() may be when there is nothing to do but move entries.
// Entries of one tick that came by different levels fire in any order.
// Departure: the hand goes on to the tick it was advanced to even if no
// bucket was due, so that later deadlines are placed by the true time.
//
// Threads: none.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_TIMERS_OVERFLOW_WHEELS_H_
#define HOURGLASS_TIMERS_OVERFLOW_WHEELS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "hourglass/timers/delay_queue.h"
#include "hourglass/timers/timer_wheel.h"

namespace hourglass {

template <typename Entry = TimerEntry>
class OverflowWheels : public TimerWheelBase<OverflowWheels<Entry>, Entry> {
 public:
  static constexpr bool kKeepsOrder = false;
  static constexpr bool kUnbounded = true;

  // `buckets` in each level, at least 2.
  explicit OverflowWheels(size_t buckets = 20, Tick start = Tick(0))
      : Base(start), buckets_(buckets) {
    AddLevel(1);
  }

  bool Fits(Tick) const { return true; }
  size_t levels() const { return levels_.size(); }

 private:
  using Base = TimerWheelBase<OverflowWheels<Entry>, Entry>;
  friend Base;

  struct Level {
    int64_t tick;
    int64_t interval;  // tick * buckets; the largest number if that overflows
    timers_internal::Buckets buckets;
    std::vector<int64_t> expirations;  // of each bucket; kNever = not queued
  };
  static constexpr int64_t kNever = -1;

  // The hand, as a level sees it.
  int64_t CurrentOf(const Level& level) const {
    return this->now().value() - this->now().value() % level.tick;
  }

  void AddLevel(int64_t tick) {
    const auto count = static_cast<int64_t>(buckets_);
    const bool overflows = tick > std::numeric_limits<int64_t>::max() / count;
    levels_.push_back(
        {tick, overflows ? std::numeric_limits<int64_t>::max() : tick * count,
         timers_internal::MakeBuckets(buckets_),
         std::vector<int64_t>(buckets_, kNever)});
  }

  size_t LevelOf(int64_t deadline) {
    for (size_t i = 0;; ++i) {
      if (i == levels_.size()) AddLevel(levels_.back().interval);
      const Level& level = levels_[i];
      if (deadline - CurrentOf(level) < level.interval) return i;
      // The last level reaches as far as numbers do.
      if (level.interval == std::numeric_limits<int64_t>::max()) return i;
    }
  }

  void Place(TimerEntry* entry) {
    const int64_t deadline = entry->deadline().value();
    const size_t i = LevelOf(deadline);
    Level& level = levels_[i];
    const int64_t number = deadline / level.tick;
    const size_t bucket = static_cast<size_t>(number) % buckets_;
    level.buckets[bucket].PushBack(entry);
    const int64_t expiration = number * level.tick;
    if (level.expirations[bucket] == expiration) return;
    level.expirations[bucket] = expiration;
    queue_.Set(static_cast<uint32_t>(i * buckets_ + bucket), Tick(expiration));
  }

  std::optional<Tick> NextStop(Tick) const {
    if (queue_.empty()) return std::nullopt;
    return queue_.top().due;
  }

  void Enter() {
    while (!queue_.empty() && queue_.top().due == this->now()) {
      const uint32_t number = queue_.top().number;
      queue_.Remove(number);
      Flush(&levels_[number / buckets_], number % buckets_);
    }
  }

  void Flush(Level* level, size_t bucket) {
    level->expirations[bucket] = kNever;
    if (level->tick == 1) {
      this->due()->Splice(&level->buckets[bucket]);
      return;
    }
    EntryList flushed;
    flushed.Splice(&level->buckets[bucket]);
    flushed.ForEach([this](TimerEntry* entry) {
      EntryList::Remove(entry);
      if (entry->deadline() <= this->now()) {
        this->due()->PushBack(entry);
      } else {
        Place(entry);
      }
    });
  }

  void Emptied(const TimerEntry*) {}  // it stays queued

  const size_t buckets_;
  std::vector<Level> levels_;  // the finest first
  DelayQueue queue_;           // level * buckets + bucket
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_OVERFLOW_WHEELS_H_
