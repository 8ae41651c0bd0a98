// File: applier.h
//
// What the log says, done to the derived files: hour segments, consume
// queues, group progress. A pure function of the log: the same records give
// the same files with the same record numbers, the same chains and the same
// queue indexes, whether they are applied as they are written or replayed
// years later. That is what makes recovery exact (promise 2).
//
//   Applier applier(fs, dir, id, options, load_heads);
//   auto number = applier.NextNumber(hour);      // goes into the log record
//   auto placed = applier.Delayed(record, hash); // after it was appended
//   auto update = applier.TakeChanges();         // for a checkpoint
//
// Ownership: owns both tables. Threads: under the owner's state lock, except
// SyncFiles.
#ifndef HOURGLASS_STORAGE_APPLIER_H_
#define HOURGLASS_STORAGE_APPLIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/ack_format.h"
#include "storage/checkpoint.h"
#include "storage/consume_queue.h"
#include "storage/hour_table.h"
#include "storage/log_format.h"
#include "storage/store_id.h"

namespace hourglass {

struct ApplierOptions {
  HourTableOptions hours;
  QueueOptions queues;
};

// Where a delayed message came to stand.
struct PlacedMessage {
  int64_t due_ms = 0;
  uint64_t location = 0;  // of its frame in the DelayLog
  RecordNumber number;
  uint32_t size = 0;  // of the frame
};

// Pending messages and their bytes.
struct PendingCount {
  int64_t messages = 0;
  int64_t bytes = 0;
};

class Applier {
 public:
  // `dir` is the store's; files go to its `hours` and `queues`.
  Applier(FileSystem* fs, const Path& dir, const StoreId& id,
          const ApplierOptions& options, HourTable::LoadHeads load_heads);

  // Recovery: takes over the checkpoint's facts and cuts the files to them.
  absl::Status Restore(const CheckpointState& state);

  // To be asked before a record is made for Ready, Delayed, Delivered or
  // Cancel. RESOURCE_EXHAUSTED: on a full disk the files' buffers have grown
  // to their bound.
  absl::Status HasRoom();

  // The number that the next record of `hour` will have. RESOURCE_EXHAUSTED:
  // the hour is full, or the disk has no room for its files.
  absl::StatusOr<RecordNumber> NextNumber(Hour hour);

  // One method a record kind. Each takes the record as it stands in the log;
  // DATA_LOSS if it does not fit what was applied before it.
  absl::Status Ready(const LogRecord& record);
  absl::StatusOr<PlacedMessage> Delayed(const LogRecord& record,
                                        uint64_t payload_hash);
  absl::Status Delivered(const LogRecord& record);
  absl::Status Cancel(const LogRecord& record);
  absl::Status Ack(const LogRecord& record);
  // The same, decoded.
  void Ack(const MarksPayload& ack);

  // What a Cancel record of this message must say; NOT_FOUND if the hour has
  // no such message.
  absl::StatusOr<IndexRecord> Find(Hour hour, RecordNumber number);

  HourTable& hours() { return hours_; }
  const HourTable& hours() const { return hours_; }
  QueueTable& queues() { return queues_; }
  const PendingCount& pending() const { return pending_; }
  // Appended to hour segments since Open.
  uint64_t hour_bytes() const { return hour_bytes_; }
  // With the `delivered` fields filled in.
  HourFacts Facts(Hour hour) const;
  // Null for a group that never said anything.
  const GroupProgress* Progress(std::string_view topic,
                                std::string_view group) const;
  const GroupProgressMap& progress() const { return progress_; }
  // Where the last Ready or Delivered record went.
  const std::string& last_topic() const { return last_topic_; }

  // Every message of the hour is done: the next checkpoint says so, and
  // RemoveRetired, to be called when that is durable, unlinks its files.
  absl::Status Retire(Hour hour);
  absl::Status RemoveRetired() { return hours_.RemoveRetired(); }
  // As HourTable's.
  std::vector<Hour> ForgetRetired(Hour before);

  // Everything since the last call. The facts are complete; applied offset,
  // replay offset and cursor are the caller's to fill in.
  struct Changes {
    CheckpointUpdate update;
    HourTable::Changes hours;
    QueueTable::Changes queues;
  };
  absl::StatusOr<Changes> TakeChanges();
  absl::Status SyncFiles(const Changes& changes);

 private:
  struct DeliveredCount {
    uint32_t messages = 0;
    uint64_t bytes = 0;
  };
  absl::Status AppendToQueue(const LogRecord& record);
  // Found or made; counts as changed.
  GroupProgress* ChangedProgress(std::string_view topic,
                                 std::string_view group);

  HourTable hours_;
  QueueTable queues_;
  GroupProgressMap progress_;
  std::set<const GroupProgressMap::value_type*> progress_changed_;
  std::string last_topic_;
  std::map<Hour, DeliveredCount> delivered_;
  std::set<Hour> delivered_changed_;
  PendingCount pending_;
  uint64_t hour_bytes_ = 0;
  // Of the last NextNumber: what the record is appended to next. Held, so the
  // table does not evict it.
  std::shared_ptr<HourSegment> last_segment_;
};

// Payloads of the small records.
struct CancelPayload {
  RecordNumber target;
  uint32_t ms_into_hour = 0;
};
std::string EncodeCancel(const CancelPayload& cancel);
absl::StatusOr<CancelPayload> DecodeCancel(std::string_view payload);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_APPLIER_H_
