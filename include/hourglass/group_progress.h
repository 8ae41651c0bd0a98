// File: group_progress.h
//
// What a consumer group has done with a topic: which messages it acknowledged,
// in whatever order, and how often the others were given to it. The store
// keeps one of these durably for each (topic, group).
//
//   GroupProgress progress;
//   progress.Ack(QueueIndex(4), QueueIndex(5));   // a gap: 0 to 3 are open
//   progress.NoteAttempts(QueueIndex(2), 3);
//   progress.Ack(QueueIndex(0), QueueIndex(4));   // next is 5, nothing else
//
// Every change may be made again, and in another order, with the same result:
// acknowledgements only add, and of attempts the highest number counts. That
// is what makes a replay of the log exact.
//
// Memory: some 20 bytes a range and a counted message.
//
// Threads: none of its own.
//
// Keeps promise 2: what was acknowledged stays acknowledged.
#ifndef HOURGLASS_GROUP_PROGRESS_H_
#define HOURGLASS_GROUP_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "hourglass/types.h"

namespace hourglass {

// Topic and consumer group.
using ConsumerKey = std::pair<std::string, std::string>;

struct GroupProgress {
  GroupProgress() = default;
  explicit GroupProgress(QueueIndex next) : next(next) {}

  QueueIndex next;  // everything before it is acknowledged
  // From -> to: acknowledged from `from` up to and without `to`. All above
  // `next`; they neither overlap nor touch each other.
  absl::btree_map<QueueIndex, QueueIndex> acked;
  // How often a message was given out, of those that are not acknowledged and
  // were counted. Never 0.
  absl::btree_map<QueueIndex, uint32_t> attempts;

  bool IsAcked(QueueIndex index) const;
  // 0 if nobody counted.
  uint32_t AttemptsOf(QueueIndex index) const;
  // One behind the last message that anything is known of.
  QueueIndex end() const;
  bool HasMarks() const { return !acked.empty() || !attempts.empty(); }

  // Acknowledges [from, to). `next` moves over what has become whole.
  void Ack(QueueIndex from, QueueIndex to);
  // Not for messages that are acknowledged; never counts down.
  void NoteAttempts(QueueIndex index, uint32_t attempts);
  // Everything that `other` knows as well.
  void Merge(const GroupProgress& other);
  // True if Ack would add a range, and not only make one longer.
  bool WouldAddRange(QueueIndex from, QueueIndex to) const;

  bool operator==(const GroupProgress&) const = default;
};

}  // namespace hourglass

#endif  // HOURGLASS_GROUP_PROGRESS_H_
