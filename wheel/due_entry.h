// File: due_entry.h
//
// A pending message as the wheels carry it: 24 bytes that say when it is due
// and where its body stands. `DueKey` is the order of delivery: by due
// millisecond, then by arrival (record number; numbers of one hour only ever
// meet numbers of the same hour at the same millisecond).
//
// Keeps promise 3: the order and the moment of delivery.
#ifndef HOURGLASS_WHEEL_DUE_ENTRY_H_
#define HOURGLASS_WHEEL_DUE_ENTRY_H_

#include <compare>
#include <cstdint>

#include "hourglass/types.h"

namespace hourglass {

struct DueKey {
  int64_t due_ms = -1;
  RecordNumber number;
  auto operator<=>(const DueKey&) const = default;

  // The last key a millisecond, or everything before `ms`, can have.
  static DueKey EndOf(int64_t due_ms) { return {due_ms, RecordNumber::Max()}; }
  static DueKey Before(int64_t ms) { return EndOf(ms - 1); }
  static DueKey EndOf(Hour hour) { return Before(StartMs(hour) + kMsPerHour); }
};

struct DueEntry {
  int64_t due_ms = 0;
  uint64_t location = 0;  // of the frame in the DelayLog of HourOf(due_ms)
  RecordNumber number;
  uint32_t size = 0;  // of the frame

  DueKey key() const { return {due_ms, number}; }
  Hour hour() const { return HourOf(due_ms); }
};
static_assert(sizeof(DueEntry) == 24);

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_DUE_ENTRY_H_
