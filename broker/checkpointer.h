// File: checkpointer.h
//
// Writes checkpoints (DESIGN "Checkpoint") and deletes what they make
// unneeded. Without stopping anybody, in this order:
//
//   1 note the applied offset, what changed, the cursor   (state lock)
//   2 sync the changed files, then their directories
//   3 wait until the log is durable up to the applied offset
//   4 one synced RocksDB batch
//   5 a Checkpoint record into the log
//   6 delete: hours that were done at the checkpoint before, log files that
//     neither this checkpoint nor the one before needs
//
// The offset is noted before anything is synced: what is appended meanwhile
// is not covered, and recovery reads it again. Deleting lags one checkpoint
// behind, so the one before stays replayable.
//
// A full disk is not the end of it: RESOURCE_EXHAUSTED is returned, what was
// noted is kept, and the next RunOnce goes on with it. Any other error is.
//
// Threads: RunOnce from one thread.
//
// Keeps promise 7: restart work stays small, and files go when they may.
#ifndef HOURGLASS_BROKER_CHECKPOINTER_H_
#define HOURGLASS_BROKER_CHECKPOINTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "broker/staging.h"
#include "recovery/store_state.h"

namespace hourglass {

class Checkpointer {
 public:
  // `stage(op, payload)` gives an op to the writer and returns when it is
  // done: its status.
  using StageAndWait = std::function<absl::Status(Op, const std::string&)>;

  Checkpointer(StoreState* state, StageAndWait stage);

  // Writes one if anything changed since the last.
  absl::Status RunOnce();

  // True when one is due, by time or by log written. After a checkpoint that
  // took long the next one waits nine times as long, so that checkpoints stay
  // under a tenth of the disk's time.
  bool Due() const;
  int64_t NextDueMs() const;

  uint64_t written() const { return written_; }
  int64_t last_ms() const { return last_ms_; }

 private:
  struct Noted {
    Applier::Changes changes;
    LogOffset applied;
    std::vector<Hour> done;      // every message delivered or cancelled
    std::vector<Hour> retiring;  // done at the checkpoint before
  };
  absl::StatusOr<Noted> Note();
  absl::StatusOr<CheckpointRecord> Store(const Noted& noted);
  std::vector<Hour> DoneHours() const;
  bool NothingChanged() const;
  absl::Status Delete();
  // Under the state lock.
  absl::Status RetireHours(const std::vector<Hour>& hours);
  absl::Status RetireLog();
  // Where the log may be cut by its two retentions.
  absl::StatusOr<LogOffset> RetentionFloor();
  absl::StatusOr<LogOffset> OwedToGroups();

  StoreState* const state_;
  const StageAndWait stage_;
  // Noted, but not stored because the disk was full: it must be stored before
  // anything else is noted.
  std::optional<Noted> waiting_;
  bool reopen_ = false;
  std::vector<Hour> done_before_;
  LogOffset applied_after_;  // end of the log after the last checkpoint
  LogOffset replay_before_;  // of the checkpoint before the last
  bool first_ = true;
  std::atomic<uint64_t> written_{0};  // both are read by Stats
  std::atomic<int64_t> last_ms_{0};
  int64_t last_took_ns_ = 0;
  int64_t last_end_ns_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_CHECKPOINTER_H_
