// File: hour_table.h
//
// All hour segments of a store: their facts for every hour, and an LRU of
// open ones, bounded in files and in buffered bytes. What the second-level
// wheel's file references point into.
//
//   auto segment = table.ForAppend(hour);     // opens or creates, LRU
//   auto reader = table.ForRead(hour);        // keeps it alive while used
//
// Deleting: Retire unlinks the files and keeps the facts with `retired`, so
// that record numbers of the hour go on where they were if a clock stepped
// back puts messages into it again.
//
// Threads: every method under the owner's state lock, except SyncFiles.
#ifndef HOURGLASS_STORAGE_HOUR_TABLE_H_
#define HOURGLASS_STORAGE_HOUR_TABLE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/hour_segment.h"

namespace hourglass {

struct HourTableOptions {
  uint32_t open_segments_max = 1024;        // two files each
  size_t buffer_bytes_max = 32u << 20;      // over all segments
  size_t segment_buffer_bytes = 64u << 10;  // one segment: flush beyond this
};

class HourTable {
 public:
  // Heads of an hour as the last checkpoint stored them ("" if none).
  using LoadHeads = std::function<absl::StatusOr<std::string>(Hour)>;

  HourTable(FileSystem* fs, Path dir, const StoreId& id,
            const HourTableOptions& options, LoadHeads load_heads);

  // Recovery: takes the checkpoint's facts, cuts every file to its length
  // (syncing what it cut), and removes files of hours that are unknown or
  // retired. DATA_LOSS if a file is missing or shorter than its facts.
  absl::Status Restore(const std::map<Hour, HourFacts>& facts);

  absl::StatusOr<std::shared_ptr<HourSegment>> ForAppend(Hour hour);
  // NOT_FOUND if the hour has no files.
  absl::StatusOr<std::shared_ptr<HourSegment>> ForRead(Hour hour);
  // To be called after each append to `segment`: flushes when a buffer is
  // over its bound, and marks the hour dirty.
  absl::Status Appended(HourSegment* segment);

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

  // Unlinks both files of an hour. The caller syncs the directory
  // (dir_changed of the next checkpoint).
  absl::Status Retire(Hour hour);
  // Forgets facts of retired hours before `hour`; returns which.
  std::vector<Hour> ForgetRetired(Hour before);

  uint32_t open_segments() const;

 private:
  struct Open {
    std::shared_ptr<HourSegment> segment;
    std::list<Hour>::iterator recency;
  };
  absl::Status EvictOldest();
  absl::StatusOr<std::shared_ptr<HourSegment>> OpenSegment(Hour hour);

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const HourTableOptions options_;
  const LoadHeads load_heads_;
  std::map<Hour, HourFacts> facts_;
  absl::flat_hash_map<Hour, Open> open_;
  std::list<Hour> recency_;  // newest first
  std::set<Hour> dirty_;
  bool dir_changed_ = false;
  size_t buffered_bytes_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_TABLE_H_
