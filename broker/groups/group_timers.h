// File: group_timers.h
//
// The timers of all groups on one wheel: ends of leases, waits before a retry,
// ends of long polls. An entry is part of what it belongs to and says who that
// is by value, so that one that fires while its owner goes away does no harm.
//
//   lease.timer.key = {queue, TimerKind::kLease, index, number};
//   timers.Schedule(&lease.timer, /*after_ms=*/30'000);
//   timers.Cancel(&lease.timer);
//   for (const TimerKey& key : timers.TakeDue(1000)) ...
//
// Time is the clock's monotonic one: a wall clock that is set moves no lease.
//
// Ownership: entries are the callers', and cancelled before they go.
// Threads: any.
//
// Serves promise 3: never early.
#ifndef HOURGLASS_BROKER_GROUPS_GROUP_TIMERS_H_
#define HOURGLASS_BROKER_GROUPS_GROUP_TIMERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "hourglass/clock.h"
#include "hourglass/timers/overflow_wheels.h"
#include "storage/mutex.h"

namespace hourglass {

class GroupQueue;

enum class TimerKind : uint8_t {
  kLease,    // the lease `number` of message `id` is to be looked at
  kWait,     // message `id` has waited
  kPoll,     // receive `id` has waited long enough
  kUnwanted  // acknowledge unwanted messages again
};

struct TimerKey {
  GroupQueue* queue = nullptr;
  TimerKind kind = TimerKind::kLease;
  uint64_t id = 0;
  uint64_t number = 0;
};

struct GroupTimer : TimerEntry {
  TimerKey key;
};

class GroupTimers {
 public:
  // `earlier` runs when something is scheduled before all else; it may be
  // called under the scheduler's locks.
  GroupTimers(Clock* clock, std::function<void()> earlier);

  // Anew if it was scheduled. At least a millisecond from now.
  void Schedule(GroupTimer* timer, int64_t after_ms);
  void Cancel(GroupTimer* timer);

  std::vector<TimerKey> TakeDue(size_t count_max);
  // Until the next one; INT64_MAX if there is none.
  int64_t NsToNext();
  size_t size();

 private:
  static constexpr size_t kBuckets = 64;

  Clock* const clock_;
  const TickScale scale_{1'000'000};
  const std::function<void()> earlier_;
  Mutex mu_;
  OverflowWheels<GroupTimer> wheel_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;  // told by NsToNext, in ticks
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_GROUP_TIMERS_H_
