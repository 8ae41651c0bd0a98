// File: hour_rescue.h
//
// An index record whose bytes are damaged, made again from the DelayLog. The
// frames there stand one behind the other without gaps, one a number, those of
// cancels too; so a frame is found from the nearest record before it that is
// intact, and says by itself what its index record said, but for the chain.
//
//   HourRescue rescue(segment.get());
//   auto record = rescue.Read(RecordNumber{7});   // prev is 0
//
// Records that follow each other cost one step each, in whatever number they
// are damaged: the place where the last one ended is remembered.
//
// Ownership: the segment must outlive it.
//
// Threads: one; like HourSegment::ReadFrame only flushed records, no lock.
//
// Limitations: `prev` is not known. Who walks a chain has to read the hour
// from front to back instead.
//
// Keeps promise 6: one damaged record of the index costs nothing.
#ifndef HOURGLASS_STORAGE_HOUR_RESCUE_H_
#define HOURGLASS_STORAGE_HOUR_RESCUE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/types.h"
#include "storage/hour_format.h"

namespace hourglass {

class HourSegment;

class HourRescue {
 public:
  explicit HourRescue(const HourSegment* segment) : segment_(segment) {}

  // NOT_FOUND if `number` is not in the files; DATA_LOSS if its frame, or one
  // that had to be passed on the way, is damaged too.
  absl::StatusOr<IndexRecord> Read(RecordNumber number);

 private:
  absl::Status FindStart(RecordNumber number);
  absl::StatusOr<FrameHead> ReadHead();
  absl::StatusOr<IndexRecord> ReadHere(const FrameHead& head);

  const HourSegment* const segment_;
  // The frame of record `next_` begins at `offset_`; 0: nowhere yet.
  RecordNumber next_;
  uint64_t offset_ = 0;
  std::string buffer_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_RESCUE_H_
