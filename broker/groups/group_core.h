// File: group_core.h
//
// What the queues of all groups share: the store, the clock, the timers, the
// clients, and the one worker that pumps queues and fires timers (or Step,
// in the caller's thread).
//
//   auto core = std::make_shared<GroupCore>(store, clock, options);
//   core->Start();
//   core->RequestPump(queue);      // soon, on the worker
//   core->Stop();
//
// Ownership: callbacks of the store hold the core, so it may outlive the
// ConsumerGroups; after Stop it touches neither store nor clock.
//
// Threads: any.
//
// Serves promise 6: a queue never waits for another.
#ifndef HOURGLASS_BROKER_GROUPS_GROUP_CORE_H_
#define HOURGLASS_BROKER_GROUPS_GROUP_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "broker/groups/client_table.h"
#include "broker/groups/consumer_groups.h"
#include "broker/groups/group_timers.h"
#include "storage/mutex.h"

namespace hourglass {

class GroupCore {
 public:
  GroupCore(DelayStore* store, Clock* clock, GroupOptions options);
  ~GroupCore() { Stop(); }

  void Start();
  void Stop();

  // Once, however often it is asked for until then.
  void RequestPump(std::shared_ptr<GroupQueue> queue);
  void Wake();
  // Pumps and fires what is due; true if there was anything.
  bool RunOnce();

  // Never used twice, by no life of the program: its upper half is chance.
  uint64_t NextLease() { return leases_.fetch_add(1); }

  DelayStore* const store;
  Clock* const clock;
  const GroupOptions options;
  GroupTimers timers;
  ClientTable clients;
  std::atomic<size_t> waiting{0};  // receives, over all groups

 private:
  static constexpr size_t kDueMax = 4096;  // before queues are pumped again

  void Loop();

  std::atomic<uint64_t> leases_;
  Mutex mu_;
  CondVar wake_;
  std::vector<std::shared_ptr<GroupQueue>> to_pump_ ABSL_GUARDED_BY(mu_);
  uint64_t wakes_ ABSL_GUARDED_BY(mu_) = 0;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread worker_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_GROUP_CORE_H_
