// File: open_store.h
//
// What a store does when it opens: make the directory if there is none, or
// recover it. Keeps promises 2 and 7: nothing lost, nothing twice, and work
// that depends on the log since the last checkpoint, not on the backlog.
//
// Recovery, in this order (docs/recovery.md tells it at length):
//   1 lock the directory, check identity and version
//   2 read the checkpoint from RocksDB and check it against its own hash
//   3 cut every hour and queue file to the checkpoint's length
//   4 read the commit log from the replay offset: records the files have
//     already only tell who was delivered or cancelled, later ones are
//     applied; the newest Checkpoint record found must agree with step 2
//   5 cut the log's torn tail, and sync the cut
//   6 set the hand to the cursor
// It writes nothing that it could not find again: interrupted anywhere, it
// starts over.
//
// Errors: FAILED_PRECONDITION (locked, not a store, other version),
// DATA_LOSS (damage; names the file and what to run), RESOURCE_EXHAUSTED,
// PERMISSION_DENIED.
#ifndef HOURGLASS_RECOVERY_OPEN_STORE_H_
#define HOURGLASS_RECOVERY_OPEN_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hourglass/options.h"
#include "recovery/store_state.h"

namespace hourglass {

enum class IfMissing { kCreate, kFail };

absl::StatusOr<std::unique_ptr<StoreState>> OpenStore(
    const Path& dir, const StoreOptions& options, IfMissing if_missing);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_OPEN_STORE_H_
