// File: store_state.h
//
// Everything that is open while a store is open, and the one lock over it.
// Recovery builds it; the writer, the hand, the preloader and the checkpoint
// work on it.
//
// Threads: `mu` is the state lock that the headers of storage/ and wheel/
// speak of. It is held for short stretches of memory work; never during a
// sync, a log write or a read of bodies. `log` and `checkpoints` have rules
// of their own and are not under it.
//
// Ownership: the state owns all of it; the clock and the file system are the
// host's.
//
// Serves promise 2: one lock over all that must change together.
#ifndef HOURGLASS_RECOVERY_STORE_STATE_H_
#define HOURGLASS_RECOVERY_STORE_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hourglass/options.h"
#include "hourglass/types.h"
#include "storage/applier.h"
#include "storage/checkpoint.h"
#include "storage/commit_log.h"
#include "storage/mutex.h"
#include "storage/store_id.h"
#include "wheel/first_level_wheel.h"
#include "wheel/hand.h"
#include "wheel/hour_ledger.h"
#include "wheel/second_level_wheel.h"

namespace hourglass {

// Names inside a store's directory.
inline constexpr char kLockName[] = "LOCK";
inline constexpr char kCreatingName[] = "CREATING";
inline constexpr char kLogDirName[] = "commitlog";
inline constexpr char kHoursDirName[] = "hours";
inline constexpr char kQueuesDirName[] = "queues";
inline constexpr char kCheckpointDirName[] = "checkpoint";

struct StoreState {
  StoreState(const Path& dir, const StoreOptions& options, const StoreId& id,
             HourTable::LoadHeads load_heads);

  const Path dir;
  const StoreOptions options;
  const StoreId id;
  const uint64_t salt;

  std::unique_ptr<FileLock> lock;
  std::unique_ptr<CheckpointStore> checkpoints;
  std::unique_ptr<CommitLog> log;

  Mutex mu;
  // Under mu:
  Applier applier;
  SecondLevelWheel hour_wheel;
  FirstLevelWheel second_wheel;
  HourLedger ledger;
  Hand hand;
  LogOffset applied;  // end of what was applied; may be ahead of durable
  absl::Status failure;

  CheckpointRecord last_checkpoint;
  // What opening found worth telling, for people.
  std::vector<std::string> notices;
  uint64_t recovered_records = 0;

  // A message was applied at `offset`: tells the wheels.
  void Arrived(const PlacedMessage& placed, LogOffset offset);
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_STORE_STATE_H_
