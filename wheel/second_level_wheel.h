// File: second_level_wheel.h
//
// The coarse wheel: 240 slots of one hour, ten days a round, any number of
// rounds. A slot holds only references to hour segments: the hour, from which
// the round follows. What lies beyond ten days stands in the same slot with a
// higher round, so years ahead cost nothing until their hour comes.
//
//   wheel.Add(hour);                  // the hour has files now
//   wheel.NextFrom(Hour{480000});     // the next hour that has any
//   wheel.Remove(hour);               // files deleted
//
// Worked example, hand at hour 0 (round 0):
//   hour      5   slot   5  round 0    due in 5 hours
//   hour    245   slot   5  round 1    due in 10 days and 5 hours
//   hour  87605   slot   5  round 365  due in ten years
//
// Add and Remove cost a few steps in one slot. NextFrom goes from one slot
// that holds something to the next (bucket_set.h, as the in-memory wheels do),
// to the first of this round, or else to all of them.
//
// Threads: under the owner's state lock.
//
// Keeps promise 7: file references only, whatever is pending.
#ifndef HOURGLASS_WHEEL_SECOND_LEVEL_WHEEL_H_
#define HOURGLASS_WHEEL_SECOND_LEVEL_WHEEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hourglass/timers/bucket_set.h"
#include "hourglass/types.h"

namespace hourglass {

class SecondLevelWheel {
 public:
  static constexpr int32_t kSlots = 240;

  // Adding an hour twice changes nothing, nor does removing an absent one.
  void Add(Hour hour);
  void Remove(Hour hour);
  bool Contains(Hour hour) const;

  // The smallest hour >= `from` that has files.
  std::optional<Hour> NextFrom(Hour from) const;

  size_t size() const { return size_; }

 private:
  // The hours of one slot, ascending: round 0 first.
  using Rounds = std::vector<Hour>;
  static size_t SlotIndex(Hour hour) {
    return static_cast<size_t>(hour.value() % kSlots);
  }

  // 0 if the slot of `from` holds anything, else how far the next one is
  // that does; kSlots if none does.
  int32_t StepsToOccupied(Hour from) const;

  std::array<Rounds, kSlots> slots_;
  BucketSet occupied_{kSlots};
  size_t size_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_SECOND_LEVEL_WHEEL_H_
