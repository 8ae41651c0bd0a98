// File: body_reader.h
//
// Reads the bodies of a batch of due entries: in file order, neighbours
// together, into a few large pieces of memory; and gives them back in the
// batch's order, each verified.
//
// A body that cannot be read is left out of the batch and reported; the rest
// goes on (promise 6). One that may be readable later, because no file handle
// is free, say, can be had back instead, to try again.
//
//   std::vector<DueEntry> later;
//   auto batch = reader.Read(entries, &later);
//
// Threads: takes the state lock for a moment, reads without it.
#ifndef HOURGLASS_BROKER_BODY_READER_H_
#define HOURGLASS_BROKER_BODY_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/delivered_batch.h"
#include "recovery/store_state.h"

namespace hourglass {

class BodyReader {
 public:
  using Lost =
      std::function<void(const DueEntry& entry, const absl::Status& why)>;

  BodyReader(StoreState* state, Lost lost);

  // `later` null: everything unreadable is reported. Otherwise it gets what
  // may be readable later: with `retry` all that is not damaged or missing,
  // without it only what could not be written to the hour's files. If that is
  // for another reason than a full disk, the store stops.
  std::unique_ptr<DeliveredBatch> Read(const std::vector<DueEntry>& entries,
                                       std::vector<DueEntry>* later = nullptr,
                                       bool retry = true);

  // Says that a message of a batch cannot be delivered.
  void Report(const DueEntry& entry, const absl::Status& why);

 private:
  // A run of frames that is read with one call: [begin, end) of `order`.
  struct Run {
    size_t begin, end;
    uint64_t offset, bytes;
  };

  // The segment of that hour, with its records up to `upto` in the files. One
  // at a time: a batch may reach over thousands of hours.
  absl::StatusOr<std::shared_ptr<HourSegment>> OpenSegment(Hour hour,
                                                           RecordNumber upto);
  void ReadRun(const HourSegment& segment, const Run& run,
               const std::vector<size_t>& order, DeliveredBatch* batch);
  void LeaveOut(const DueEntry& entry, const absl::Status& why);

  StoreState* const state_;
  const Lost lost_;
  std::vector<DueEntry>* later_ = nullptr;  // of the Read that runs
  bool retry_ = false;
  bool unwritten_ = false;  // what the segment buffers could not be written
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BODY_READER_H_
