// File: hour_table.h
//
// All hour segments of a store: their facts for every hour, and an LRU of
// open ones, bounded in files and in buffered bytes. What the second-level
// wheel's file references point into.
//
//   auto segment = table.ForAppend(hour);     // opens or creates, LRU
//   auto reader = table.ForRead(hour);        // keeps it alive while used
//
// Deleting: Retire keeps the facts with `retired`, so that record numbers of
// the hour go on where they were if a clock stepped back puts messages into
// it again, and unlinks the files once a checkpoint says so: a crash before
// that finds the files its checkpoint asks for.
//
//   step                     | facts   | files   | a crash then finds
//   Retire(hour)             | retired | there   | hour and files
//   TakeChanges, checkpoint  | retired | there   | retired: files removed
//   RemoveRetired            | retired | gone    | retired
//
// A message for the hour before the last step takes the old files up again;
// after it, new files are made that begin behind the last number.
//
// Contract of TakeChanges: its changes are synced and a checkpoint with them
// is durable before it is called again.
//
// Threads: every method under the owner's state lock, except SyncFiles and
// RemoveRetired.
//
// Limitations: a segment that somebody holds is not evicted (its files would
// stay open anyway), so open files may pass the bound by what is held.
//
// Keeps promises 2 and 7: no file goes early, and few are open.
#ifndef HOURGLASS_STORAGE_HOUR_TABLE_H_
#define HOURGLASS_STORAGE_HOUR_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/hour_segment.h"
#include "storage/mutex.h"

namespace hourglass {

struct HourTableOptions {
  uint32_t open_segments_max = 1024;        // two files each
  size_t buffer_bytes_max = 32u << 20;      // over all segments
  size_t segment_buffer_bytes = 32u << 10;  // one segment: flush beyond this
};

class HourTable {
 public:
  // Heads of an hour as the last checkpoint stored them ("" if none).
  using LoadHeads = std::function<absl::StatusOr<std::string>(Hour)>;

  HourTable(FileSystem* fs, Path dir, const StoreId& id,
            const HourTableOptions& options, LoadHeads load_heads);

  // Recovery: takes the checkpoint's facts, cuts every file to its length
  // (syncing what it cut), and removes files of hours that are unknown or
  // retired. DATA_LOSS if a file is missing or shorter than its facts; then
  // nothing has been changed. Facts without files (delay_log_bytes 0) count
  // as unknown, but their numbers go on. Opens only what it has to cut.
  absl::Status Restore(const std::map<Hour, HourFacts>& facts);

  // For appends before the next call of ForAppend or ForRead: an hour may be
  // evicted then, unless the caller still holds it.
  absl::StatusOr<std::shared_ptr<HourSegment>> ForAppend(Hour hour);
  // NOT_FOUND if the hour has no files.
  absl::StatusOr<std::shared_ptr<HourSegment>> ForRead(Hour hour);
  // To be called after each append to `segment`: flushes when a buffer is
  // over its bound, and marks the hour dirty. A full disk is no error here:
  // the buffers grow, and HasRoom says so.
  absl::Status Appended(HourSegment* segment);

  // To be asked before an append. RESOURCE_EXHAUSTED: a full disk has left
  // more in the buffers than they may hold. Tries to write them first.
  absl::Status HasRoom() {
    return buffered_bytes_ <= options_.buffer_bytes_max ? absl::OkStatus()
                                                        : FlushAll();
  }
  // Every buffer to its file.
  absl::Status FlushAll();

  // Facts of every hour, open ones current.
  HourFacts Facts(Hour hour) const;  // zeros if unknown
  const std::map<Hour, HourFacts>& AllFacts();

  // For a checkpoint: flushes all buffers and hands out what changed since
  // the last call. Heads are given for segments that are open.
  struct Changed {
    Hour hour;
    HourFacts facts;
    std::string heads;                     // encoded; "" if not open
    std::shared_ptr<HourSegment> segment;  // null if it was evicted
  };
  struct Changes {
    std::vector<Changed> hours;
    bool dir_changed = false;
  };
  absl::StatusOr<Changes> TakeChanges();
  // Makes them durable: each file, then the directory. Needs no lock.
  absl::Status SyncFiles(const Changes& changes);

  // Every message of the hour is done: no more reads of it, and its files
  // may go (see above). Not between TakeChanges and the end of SyncFiles.
  absl::Status Retire(Hour hour);
  // Unlinks the files of hours that the last TakeChanges gave as retired. To
  // be called when that checkpoint is durable; TakeChanges does it if nobody
  // did. Needs no lock.
  absl::Status RemoveRetired();
  // Forgets facts of retired hours before `hour` whose files are gone;
  // returns which.
  std::vector<Hour> ForgetRetired(Hour before);

  uint32_t open_segments() const;

 private:
  struct Open {
    std::shared_ptr<HourSegment> segment;
    HourFacts* facts;    // its place in facts_
    uint64_t last_used;  // tick_ at that time
  };
  using OpenMap = absl::flat_hash_map<Hour, Open>;

  absl::Status CheckLengths(const std::map<Hour, HourFacts>& facts,
                            std::vector<std::pair<Path, uint64_t>>* to_cut);
  absl::Status CheckLength(const Path& path, uint64_t expected,
                           std::vector<std::pair<Path, uint64_t>>* to_cut);
  absl::Status Cut(const Path& path, uint64_t size);
  absl::Status RemoveUnknown(const std::map<Hour, HourFacts>& facts);

  absl::StatusOr<std::shared_ptr<HourSegment>> OpenSegment(Hour hour);
  absl::StatusOr<std::shared_ptr<HourSegment>> CreateSegment(Hour hour);
  std::shared_ptr<HourSegment> Keep(std::shared_ptr<HourSegment> segment,
                                    HourFacts* facts);
  absl::Status MakeRoom();
  absl::Status EvictOldest();
  absl::Status Evict(OpenMap::iterator it);

  absl::Status FlushSegment(HourSegment* segment);
  absl::Status FlushLargest();
  std::vector<HourSegment*> OpenByHour();

  absl::StatusOr<Changed> TakeChange(Hour hour);
  absl::Status SyncByName(Hour hour);

  bool TakeUpRetired(Hour hour);
  void MarkHandedOut();
  absl::Status RemoveFiles(Hour hour);

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const uint64_t salt_;
  const HourTableOptions options_;
  const LoadHeads load_heads_;
  std::map<Hour, HourFacts> facts_;  // of open hours: see Open::segment
  OpenMap open_;
  uint64_t tick_ = 0;
  std::set<Hour> dirty_;
  bool dir_changed_ = false;
  size_t buffered_bytes_ = 0;

  // Retired hours whose files are still there; true: the last TakeChanges
  // gave the hour as retired.
  Mutex retiring_mutex_;
  std::map<Hour, bool> retiring_ ABSL_GUARDED_BY(retiring_mutex_);
  bool removed_some_ ABSL_GUARDED_BY(retiring_mutex_) = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_TABLE_H_
