// File: consume_queue.h
//
// The ready view: for each topic the places of its ready messages (Ready and
// Delivered records) in commit-log order, 24 bytes each, so that a consumer
// reads its topic without scanning the log. Derived from the log.
//
//   queues/<escaped topic>/<20 digits of first index>.queue
//   file  = header(512) entry(24)*       QueueOptions::entries_per_file each
//   entry = log offset u64 | size u32 | tag hash u32 | checksum u64
//           (Seal; place = topic hash and index)
//
// `QueueTable` owns them all with an LRU of open files, as HourTable does for
// hours.
//
// Threads: Append, Flush, TakeChanges, RemoveBefore under the owner's state
// lock; Read may run beside them from any thread.
#ifndef HOURGLASS_STORAGE_CONSUME_QUEUE_H_
#define HOURGLASS_STORAGE_CONSUME_QUEUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/store_id.h"

namespace hourglass {

struct QueueEntry {
  LogOffset offset;  // of the Ready or Delivered record
  uint32_t size = 0;
  uint32_t tag_hash = 0;  // IdHash(tag), 0 if none
  bool operator==(const QueueEntry&) const = default;
};

// What the checkpoint knows of a topic's queue.
struct QueueFacts {
  QueueIndex first;  // oldest still on disk
  QueueIndex next;   // index of the next message
  bool operator==(const QueueFacts&) const = default;
};

struct QueueOptions {
  uint32_t entries_per_file = 1u << 20;
  uint32_t open_topics_max = 512;
  size_t buffer_bytes_max = 8u << 20;  // over all topics
};

class QueueTable {
 public:
  QueueTable(FileSystem* fs, Path dir, const StoreId& id,
             const QueueOptions& options);
  ~QueueTable();

  // Recovery: as HourTable::Restore.
  absl::Status Restore(const std::map<std::string, QueueFacts>& facts);

  // The new entry's index. Makes the topic if it is new.
  absl::StatusOr<QueueIndex> Append(std::string_view topic,
                                    const QueueEntry& entry);

  // Up to `count_max` entries from `from` on. OUT_OF_RANGE below first,
  // DATA_LOSS if damaged; empty at the end and for unknown topics.
  absl::StatusOr<std::vector<QueueEntry>> Read(std::string_view topic,
                                               QueueIndex from,
                                               size_t count_max);

  QueueFacts Facts(std::string_view topic) const;  // zeros if unknown
  std::map<std::string, QueueFacts> AllFacts() const;

  // For a checkpoint: flushes, and hands out the topics that changed.
  struct Changes {
    std::map<std::string, QueueFacts> topics;
    std::vector<std::shared_ptr<File>> files;  // to sync
    std::vector<Path> dirs;                    // to sync, after the files
  };
  absl::StatusOr<Changes> TakeChanges();
  absl::Status SyncFiles(const Changes& changes);  // needs no lock

  // Removes whole files of the topic whose entries all point below
  // `keep_from`.
  absl::Status RemoveBefore(std::string_view topic, LogOffset keep_from);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CONSUME_QUEUE_H_
