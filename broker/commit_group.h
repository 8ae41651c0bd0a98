// File: commit_group.h
//
// One group on its way to the disk: its bytes, and everybody who waits for
// it. Two of them take turns: while one is being written and synced, the next
// is being filled.
//
// Keeps promise 1: who is told when this group is durable.
#ifndef HOURGLASS_BROKER_COMMIT_GROUP_H_
#define HOURGLASS_BROKER_COMMIT_GROUP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "broker/staging.h"
#include "hourglass/delay_store.h"
#include "storage/commit_log.h"

namespace hourglass {

struct CommitGroup {
  explicit CommitGroup(uint64_t salt) : builder(salt) {}

  struct PutWaiter {
    PutCallback done;
    absl::Status refused;  // OK: `result` holds
    PutResult result;
  };
  struct OpWaiter {
    OpDone done;
    OpResult result;
  };

  GroupBuilder builder;
  std::vector<PutWaiter> puts;
  std::vector<OpWaiter> ops;
  // Due times of the Delivered records in it.
  std::vector<int64_t> delivered_due_ms;
  size_t staged_bytes = 0;  // to release when it is done
  uint64_t ready_messages = 0;
  absl::flat_hash_set<std::string> ready_topics;  // of them
  bool wants_sync = false;  // a barrier: sync whatever the policy
  absl::Status status;      // of writing it

  // Nothing to write, nobody to tell.
  bool empty() const {
    return builder.records() == 0 && puts.empty() && ops.empty();
  }
  void Clear() {
    puts.clear();
    ops.clear();
    delivered_due_ms.clear();
    staged_bytes = 0;
    ready_messages = 0;
    ready_topics.clear();
    wants_sync = false;
  }
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_COMMIT_GROUP_H_
