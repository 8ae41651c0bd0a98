// File: poll_set.h
//
// The receives that wait, so that they can be ended: one by its caller, all of
// them when the server stops.
//
//   auto poll = std::make_shared<PollSet::Poll>();
//   poll->Waits(groups.Receive(...), &polls);
//   ...
//   polls.Cancel(poll.get());      // its callback runs with CANCELLED
//
// The callback of a receive may run before its number is known here, and the
// caller may be gone before that, too: both orders are right.
//
// Threads: any. The groups are called without a lock held.
//
// Serves promise 7: nobody waits for a server that is gone.
#ifndef HOURGLASS_BROKER_FRONT_POLL_SET_H_
#define HOURGLASS_BROKER_FRONT_POLL_SET_H_

#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"
#include "broker/groups/consumer_groups.h"
#include "storage/mutex.h"

namespace hourglass {

class PollSet {
 public:
  struct Poll {
    uint64_t id = 0;         // of the groups; 0: not known, or not waiting
    bool cancelled = false;  // before the id was known
    bool ended = false;
  };

  explicit PollSet(ConsumerGroups* groups) : groups_(groups) {}

  // The groups gave it this number. It may have ended meanwhile.
  void Waits(Poll* poll, uint64_t id);
  void Ended(Poll* poll);
  void Cancel(Poll* poll);
  // This and all later ones.
  void CancelAll();
  bool stopping() const;
  size_t waiting() const;

 private:
  ConsumerGroups* const groups_;
  mutable Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::set<uint64_t> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_POLL_SET_H_
