// File: slot_store.h
//
// Where the slot wheel (slot_wheel.h) keeps its slots: a store that several
// processes share. Two are here: MemorySlotStore (memory_slot_store.h), for
// tests and one process, and Redis (wheel/redis/redis_slot_store.h).
//
// What stands in it:
//   slots       for each second that has any, a list of tasks
//   completed   every second up to it is done (the checkpoint)
//   claim       the slot that was taken and is being worked on: its tasks,
//               and how many of them are confirmed. At most one
//   lease       who drives now, until when; each lease has a token, larger
//               than all before it
//
// Every call is atomic. Those of a driver name their lease and do nothing
// unless it is the one that holds (fencing), so a driver that slept through
// its lease cannot disturb the next.
//
// Invariants:
//   A slot at or before `completed` is empty and stays so: Push goes to the
//   first second behind it instead.
//   Every task is in a slot or in the claim until it is confirmed.
//
// Errors: UNAVAILABLE: not reached, or it refuses for now; whether it was
// done is unknown, and every call may be made again with the same arguments.
// FAILED_PRECONDITION: the lease is not, or no longer, ours. Others are for
// people to repair.
//
// Threads: an object belongs to one thread at a time, unless it says more.
//
// Keeps promise 2, as far as a shared list can: nothing is lost, and nothing
// runs twice unless a driver died (at-least-once).
#ifndef HOURGLASS_TIMERS_SLOT_STORE_H_
#define HOURGLASS_TIMERS_SLOT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/types.h"

namespace hourglass {

class SlotStore {
 public:
  // Names one push for ever, so that one that is made again is not applied
  // again. Numbers of one producer rise.
  struct Stamp {
    std::string producer;
    uint64_t number = 0;  // from 1 on
  };
  struct Lease {
    uint64_t token = 0;
    std::string owner;
  };
  // How far a driver has come: everything before `next` is completed.
  struct Position {
    Second next;
    bool has_tasks = false;  // in slot `next`, or claimed from it
  };
  struct Claim {
    uint64_t number = 0;  // of the claim; rises with each Take
    Second second;
    size_t size = 0;                 // 0: there is no claim
    size_t confirmed = 0;            // that many of its first tasks
    std::vector<std::string> tasks;  // those from `confirmed` on, some
  };

  virtual ~SlotStore() = default;

  // Producers. Appends the task to the slot of `second`, or of the first one
  // that is not completed, and returns which. `now` is the producer's time,
  // in case that nothing was ever pushed or driven before.
  virtual absl::StatusOr<Second> Push(Second second, Second now,
                                      std::string_view task,
                                      const Stamp& stamp) = 0;

  // Tasks that are not confirmed.
  virtual absl::StatusOr<uint64_t> Pending() = 0;

  // Drivers. The lease, for `ttl_ms` from now; FAILED_PRECONDITION while it
  // is another owner's. An owner that has it gets the same again.
  virtual absl::StatusOr<Lease> Acquire(const std::string& owner,
                                        int64_t ttl_ms) = 0;
  virtual absl::Status Renew(const Lease& lease, int64_t ttl_ms) = 0;
  virtual absl::Status Release(const Lease& lease) = 0;

  // Completes seconds without tasks, up to `until` at most, and some bounded
  // number of them: if `next` <= `until` and has no tasks, call again.
  virtual absl::StatusOr<Position> Skip(const Lease& lease, Second until) = 0;

  // Moves the whole list of `second` into the claim, unless there is one, and
  // reads up to `count_max` of the claim's unconfirmed tasks.
  virtual absl::StatusOr<Claim> Take(const Lease& lease, Second second,
                                     size_t count_max) = 0;

  // The first `count` tasks of the claim have run. All of them: the claim is
  // gone. A claim that is not there any more is no error.
  virtual absl::Status Confirm(const Lease& lease, uint64_t claim,
                               size_t count) = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_SLOT_STORE_H_
