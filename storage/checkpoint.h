// File: checkpoint.h
//
// Where recovery starts: the facts of DESIGN "Checkpoint", in RocksDB as one
// synced batch per checkpoint, and a copy of the small ones as a Checkpoint
// record in the commit log, by which RocksDB is checked when the store opens.
//
//   auto db = CheckpointStore::Open(fs, dir / "checkpoint", id);
//   auto state = (*db)->Load();           // all facts
//   auto record = (*db)->Write(update);   // atomic, durable on return
//   log record payload = EncodeCheckpointRecord(*record);
//
// RocksDB's live log loses a flipped bit silently, so every fact counts into
// one running hash: `state_hash` is the XOR of HashBytes(key, value) over all
// keys, with the other fields of the record among them. A loaded state whose
// hash is not what it says, or not what the commit log's record of the same
// sequence says, is damaged. A state that was rolled back is intact but has a
// smaller sequence than the commit log's record.
//
// Not in the hash: the heads of hours. They have a checksum of their own, can
// be rebuilt from the index, and counting them would read ten megabytes at
// every start; Load leaves them alone. Grammar and damages:
// docs/formats/checkpoint.md.
//
// Failure is sticky: after the first failed write the database is closed and
// every later call returns that error, until Reopen.
//
// Threads: Load and Write from one thread; ReadHeads from any.
//
// Limitations: topics and consumers are never forgotten here.
//
// Keeps promises 2 and 7: where recovery begins, and a hash of what was true.
#ifndef HOURGLASS_STORAGE_CHECKPOINT_H_
#define HOURGLASS_STORAGE_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/group_progress.h"
#include "hourglass/types.h"
#include "storage/consume_queue.h"
#include "storage/hour_segment.h"
#include "storage/store_id.h"

namespace hourglass {

// The part that is also written to the commit log.
struct CheckpointRecord {
  uint64_t sequence = 0;  // 1, 2, ...; 0 = no checkpoint yet
  LogOffset applied;      // everything before it is in the files
  LogOffset replay_from;  // recovery reads the log from here
  Second cursor;          // every slot before it is completely delivered
  uint64_t state_hash = 0;
  bool operator==(const CheckpointRecord&) const = default;
};
std::string EncodeCheckpointRecord(const CheckpointRecord& record);
absl::StatusOr<CheckpointRecord> DecodeCheckpointRecord(std::string_view bytes);

using ConsumerView = std::pair<std::string_view, std::string_view>;
// Looks up by views as well.
struct ConsumerLess {
  using is_transparent = void;
  bool operator()(const ConsumerView& a, const ConsumerView& b) const {
    return a < b;
  }
};
using GroupProgressMap = std::map<ConsumerKey, GroupProgress, ConsumerLess>;

struct CheckpointState {
  CheckpointRecord record;
  std::map<Hour, HourFacts> hours;
  std::map<std::string, QueueFacts> queues;
  GroupProgressMap progress;
};

// What one checkpoint changes.
struct CheckpointUpdate {
  LogOffset applied;
  LogOffset replay_from;
  Second cursor;
  struct HourChange {
    Hour hour;
    HourFacts facts;
    std::string heads;  // encoded SlotHeads; "" = leave what is stored
  };
  std::vector<HourChange> hours;
  std::vector<Hour> forgotten_hours;
  std::map<std::string, QueueFacts> queues;
  GroupProgressMap progress;
};

class CheckpointStore {
 public:
  // Opens or creates the database, all of it through `fs`. `background`:
  // let RocksDB compact in its own threads (off in tests, for determinism).
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> Open(
      FileSystem* fs, const Path& dir, const StoreId& id,
      bool background = true);
  // Writes nothing, not even RocksDB's own housekeeping, and takes no lock:
  // for a stopped store. NOT_FOUND or DATA_LOSS if there is no database.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenForRead(
      FileSystem* fs, const Path& dir, const StoreId& id);
  ~CheckpointStore();

  // DATA_LOSS if the state does not match its own hash or a value is
  // malformed; then Write refuses too.
  absl::StatusOr<CheckpointState> Load();

  // After a Write that failed with RESOURCE_EXHAUSTED, when there is room
  // again: opens the database anew. What stands in it is the checkpoint before.
  absl::Status Reopen();

  // "" if none is stored.
  absl::StatusOr<std::string> ReadHeads(Hour hour);

  // One synced batch. Gives the record to append to the commit log next.
  // A retired hour's heads are dropped. Loads first if nobody has.
  absl::StatusOr<CheckpointRecord> Write(const CheckpointUpdate& update);

 private:
  class Impl;
  explicit CheckpointStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CHECKPOINT_H_
