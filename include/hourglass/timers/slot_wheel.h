// File: slot_wheel.h
//
// Variant 7, the slot wheel in a shared store: a list of tasks for each
// second, in a place that other processes reach, too.
//
// The idea: the key is the absolute second in which a task is due, the value
// a list of tasks. Producers, in any process, append to the key of the due
// second. One driver goes from second to second: it takes the whole list in
// one atomic step, runs the tasks, and writes down the last second that it
// completed. After a restart it goes on from there to now.
//
// Worked example; the driver starts at 12:00:03 with 12:00:00 completed:
//
//   call                        slots            claim          completed
//   Push(:02, a) Push(:05, b)   :02: a  :05: b                  :00
//   RunOnce at :03              :02: a  :05: b                  :01  skipped
//     takes :02                 :05: b           :02: a         :01
//   Push(:02, c)                :02: c  :05: b   :02: a         :01
//     runs a, confirms          :02: c  :05: b                  :01
//   RunOnce takes :02 again     :05: b           :02: c         :01
//     runs c, confirms, skips   :05: b                          :03
//   Push(:01, d)                :04: d  :05: b                  :03  late
//
// Who guarantees what:
//   - Two drivers never run a slot together: there is one lease, and every
//     step of a driver names it. The lease is looked at before every task,
//     and a task must take less than two thirds of it; `fencing_token` goes
//     with each task for those who want to refuse a driver that outlived its
//     lease.
//   - A driver that died between Take and Confirm: its claim is still there,
//     and the next driver runs what was not confirmed. So a task may run
//     twice after a death: tasks must be idempotent. Without a death none
//     does, whatever is made again after an error: pushes carry a stamp, and
//     a driver remembers how much of a claim it has run.
//   - Nothing is early: a due time is rounded up to a second.
//
// Cost: a push is one call to the store. A driver makes one call for each
// 10 000 empty seconds, and two for each page of tasks.
//
// Choose it when producer and driver are different services and share a
// Redis already. For a durable store of its own see DelayStore.
//
// Threads: an object belongs to one thread at a time; each has a store (a
// connection) of its own.
//
// Keeps promises 2 and 3 as far as the store does.
#ifndef HOURGLASS_TIMERS_SLOT_WHEEL_H_
#define HOURGLASS_TIMERS_SLOT_WHEEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/timers/slot_store.h"

namespace hourglass {

// The first second that begins at or after `due_ms`.
constexpr Second SlotOfDue(int64_t due_ms) {
  return Second((due_ms + kMsPerSecond - 1) / kMsPerSecond);
}

// Schedules tasks. `name` must be no other producer's, ever: make it of
// random numbers.
class SlotProducer {
 public:
  SlotProducer(SlotStore* store, Clock* clock, std::string name)
      : store_(store), clock_(clock), stamp_{std::move(name), 0} {}

  // After UNAVAILABLE the task may have been taken or not: call Again() until
  // the answer is another. Returns the second in which it will run.
  absl::StatusOr<Second> Schedule(int64_t due_ms, std::string_view task);
  absl::StatusOr<Second> Again(int64_t due_ms, std::string_view task);

  // Of the last task that was scheduled.
  uint64_t number() const { return stamp_.number; }

 private:
  SlotStore* const store_;
  Clock* const clock_;
  SlotStore::Stamp stamp_;
};

struct SlotDriverOptions {
  std::string owner;  // no other driver's, ever
  int64_t lease_ms = 10'000;
  size_t page_max = 1000;  // tasks that are read and confirmed at a time
};

struct SlotTask {
  Second second;
  std::string_view body;
  uint64_t fencing_token = 0;
};

class SlotDriver {
 public:
  // An error ends the step; the task counts as not run and comes again.
  using Handler = std::function<absl::Status(const SlotTask& task)>;

  // The clock says which seconds are due and how old the lease is.
  SlotDriver(SlotStore* store, Clock* clock, SlotDriverOptions options,
             Handler run);

  struct Step {
    size_t ran = 0;
    bool leading = true;  // false: another driver has the lease
    int64_t wait_ms = 0;  // until there may be something to do; 0 = at once
  };
  // Takes the lease if it is free, then runs at most a page of one slot.
  // UNAVAILABLE: call again, later.
  absl::StatusOr<Step> RunOnce();

  // Lets another driver take over at once, if we had the lease.
  absl::Status Stop();

  bool leading() const { return lease_.has_value(); }

 private:
  absl::Status TakeLease();
  // Precondition: we have it, as far as we know.
  absl::Status KeepLease();
  absl::StatusOr<Step> RunPage(Second second);
  absl::Status RunTasks(const SlotStore::Claim& claim, Step* step);
  // Forgets the lease if that is what the error says.
  absl::Status Seen(absl::Status status);
  int64_t LeaseAgeMs() const;

  SlotStore* const store_;
  Clock* const clock_;
  const SlotDriverOptions options_;
  const Handler run_;
  std::optional<SlotStore::Lease> lease_;
  int64_t lease_from_ns_ = 0;  // when we asked for it
  // What we have run, whether or not that could be confirmed.
  uint64_t claim_ = 0;
  size_t ran_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_SLOT_WHEEL_H_
