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
// Grammar, worked example and damages: docs/formats/consume_queue.md.
//
//   QueueTable queues(fs, dir / "queues", id, options);
//   queues.Restore(checkpoint.queues);        // once, before anything else
//   auto index = queues.Append("orders", {offset, size, IdHash(tag)});
//   auto entries = queues.Read("orders", *index, 32);
//
// Appends go to one buffer a topic, bounded over all of them; files are
// opened only to flush and to read, and an LRU bounds how many are open.
// Nothing here is durable before SyncFiles: the commit log is, and recovery
// cuts these files back to the checkpoint.
//
// Offsets of a topic must ascend, as they do in the log: RemoveBefore looks
// only at the last entry of each file.
//
// A full disk is no failure: what does not fit into the files waits in the
// buffers, beyond their bound too; HasRoom and TakeChanges say so. Any other
// failed write is sticky: every later Append, HasRoom, TakeChanges and
// RemoveBefore returns that error. Reads go on.
//
// Threads: Append, TakeChanges, RemoveBefore under the owner's state lock;
// Read, Facts and AllFacts may run beside them from any thread.
//
// Limitations: a topic's name is 1 to 464 bytes; facts of every topic are in
// memory (some 200 bytes each), and a checkpoint syncs one file for each
// topic that changed.
//
// Keeps promises 2 and 5: each ready message once, each entry sealed.
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
  uint32_t open_topics_max = 512;      // files held open, over all topics
  size_t buffer_bytes_max = 8u << 20;  // over all topics
};

class QueueTable {
 public:
  QueueTable(FileSystem* fs, Path dir, const StoreId& id,
             const QueueOptions& options);
  ~QueueTable();

  // Recovery: takes the checkpoint's facts, cuts every file to its length
  // (syncing what it cut), and removes files and topics that are unknown or
  // before `first`. Opens only what it cuts; headers are verified when a file
  // is first used. DATA_LOSS if a file is missing or shorter than its facts.
  absl::Status Restore(const std::map<std::string, QueueFacts>& facts);

  // The new entry's index. Makes the topic if it is new. INVALID_ARGUMENT if
  // its name is empty or too long.
  absl::StatusOr<QueueIndex> Append(std::string_view topic,
                                    const QueueEntry& entry);

  // To be asked before an append. RESOURCE_EXHAUSTED: a full disk has left
  // more in the buffers than they may hold. Tries to write them first.
  absl::Status HasRoom();

  // Up to `count_max` entries from `from` on. OUT_OF_RANGE below first,
  // DATA_LOSS if damaged; empty at the end and for unknown topics.
  absl::StatusOr<std::vector<QueueEntry>> Read(std::string_view topic,
                                               QueueIndex from,
                                               size_t count_max);

  QueueFacts Facts(std::string_view topic) const;  // zeros if unknown
  std::map<std::string, QueueFacts> AllFacts() const;

  // For a checkpoint: flushes, and hands out the topics that changed. Also
  // unlinks what RemoveBefore gave up three calls ago. On an error nothing is
  // taken.
  struct Changes {
    std::map<std::string, QueueFacts> topics;
    std::vector<std::shared_ptr<File>> files;  // to sync
    std::vector<Path> closed;  // to open and sync: the LRU closed them
    std::vector<Path> dirs;    // to sync, after the files
  };
  absl::StatusOr<Changes> TakeChanges();
  absl::Status SyncFiles(const Changes& changes);  // needs no lock

  // Gives up whole files of the topic whose entries all point below
  // `keep_from`: Facts().first moves past them at once, and the files go when
  // the two newest checkpoints both say so, so that recovery from either
  // finds what it expects. A call that gives up nothing is cheap.
  absl::Status RemoveBefore(std::string_view topic, LogOffset keep_from);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CONSUME_QUEUE_H_
