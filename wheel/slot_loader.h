// File: slot_loader.h
//
// Turns an hour's index into due entries, in delivery order, a bounded number
// at a time: the next `entries_max` after a given key. Two ways, one answer:
//
//   * ForwardSweep reads the index once from front to back and keeps the
//     smallest keys beyond `after`. Sequential, whatever the order of
//     arrival; costs the whole index even if little of it is wanted.
//   * ChainWalk goes from the slot's head back along preIndex. Touches only
//     the wanted slots' records, but each step is a dependent read, and cold
//     ones wait for the disk one after the other.
//
// ChooseLoad picks by estimated cost; docs/preload.md has the measurement
// with a cold page cache that its two constants come from.
//
//   LoadRequest request{segment, after, segment->flushed(), until, max};
//   LoadResult result = ForwardSweep(request);
//   // result.entries: sorted; nothing with after < key <= result.end is
//   // missing but what was cancelled, damaged or arrived after `upto`.
//
// Threads: pure functions over a segment's flushed part; no lock needed.
//
// Keeps promises 5 and 6: damage is handed on, the rest is loaded.
#ifndef HOURGLASS_WHEEL_SLOT_LOADER_H_
#define HOURGLASS_WHEEL_SLOT_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hourglass/types.h"
#include "storage/hour_segment.h"
#include "wheel/due_entry.h"

namespace hourglass {

enum class LoadMethod { kSweep, kWalk };

struct LoadRequest {
  std::shared_ptr<HourSegment> segment;
  DueKey after;       // only keys beyond it
  RecordNumber upto;  // only records up to it (already flushed)
  DueKey until;       // only keys up to it
  size_t entries_max = 0;
  // Heads of the hour when `upto` was noted; for ChainWalk only.
  std::shared_ptr<const SlotHeads> heads;
  LoadMethod method = LoadMethod::kSweep;
  uint64_t generation = 0;  // the lane's, to recognise a stale answer
};

struct LoadResult {
  std::vector<DueEntry> entries;  // sorted by key
  DueKey end;                     // covered: everything up to this key
  using Numbered = std::vector<std::pair<RecordNumber, absl::Status>>;
  Numbered damaged;     // not known what they were
  Numbered rescued;     // damaged, and made again from the DelayLog
  absl::Status status;  // the load as a whole
  LoadMethod method = LoadMethod::kSweep;
  Hour hour;
  uint64_t generation = 0;
};

LoadResult ForwardSweep(const LoadRequest& request);
LoadResult ChainWalk(const LoadRequest& request);
LoadResult Load(const LoadRequest& request);

// `records`: of the hour; `slots`: how many seconds are wanted.
LoadMethod ChooseLoad(uint64_t records, uint64_t slots);

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_SLOT_LOADER_H_
