// File: first_level_wheel.h
//
// The fine wheel: 3600 one-second slots for each of two rounds, the hour under
// the hand and the next one. A slot holds only a list head: the number of the
// newest record of that second's chain; the chain itself stands in the hour's
// DelayLogIndex. The heads are those of the open hour segments, so placing a
// segment is all it takes to turn the wheel, and an append moves the head.
//
//   wheel.Place(segment_of_this_hour);
//   wheel.Place(segment_of_next_hour);      // opened ahead of the turn
//   wheel.NextNonEmpty(Second{1732147200}); // the hand skips empty slots
//
// Rounds: hour h stands in round h % 2. Placing hour h + 2 drops hour h.
//
// Threads: under the owner's state lock.
//
// Keeps promise 7: list heads only, whatever is pending.
#ifndef HOURGLASS_WHEEL_FIRST_LEVEL_WHEEL_H_
#define HOURGLASS_WHEEL_FIRST_LEVEL_WHEEL_H_

#include <array>
#include <memory>
#include <optional>

#include "hourglass/types.h"
#include "storage/hour_segment.h"

namespace hourglass {

class FirstLevelWheel {
 public:
  static constexpr int kRounds = 2;

  void Place(std::shared_ptr<HourSegment> segment);
  // Drops an hour whose files go away.
  void Remove(Hour hour);
  // The segment of an hour that is on the wheel, or null.
  std::shared_ptr<HourSegment> SegmentOf(Hour hour) const;

  // The head of a second's chain; 0 when it is empty or not on the wheel.
  RecordNumber Head(Second second) const;
  // The first second >= `from` on the wheel that has a chain.
  std::optional<Second> NextNonEmpty(Second from) const;

 private:
  static size_t RoundOf(Hour hour) {
    return static_cast<size_t>(hour.value() % kRounds);
  }
  std::optional<Second> NextInHour(Hour hour, Second from) const;

  std::array<std::shared_ptr<HourSegment>, kRounds> rounds_;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_FIRST_LEVEL_WHEEL_H_
