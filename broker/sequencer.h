// File: sequencer.h
//
// Turns what has gathered into one group of records, and does to the state
// what each record says: gives every delayed message its hour and number,
// decides every cancel, places every delivered batch. It runs before the
// group is written: the files it appends to are derived and are cut back by
// recovery, and nobody is told anything before the group is durable.
//
// A put that also acknowledges another message is one group with both
// records, or none of them: a message that was acknowledged before is not put.
//
// Every decision is made here, by one thread, under the state lock; so a
// cancel and a delivery of the same message have exactly one winner.
//
//   sequencer.Add(batch);                     // delivered batches, ops
//   while (sequencer.HasWork()) {
//     sequencer.Fill(&group, now_ms);         // one group, <= 8 MiB
//     ... group.builder.Finish(); log->Append; log->Sync; tell them ...
//   }
//
// Threads: the writer's only; takes the state lock itself.
//
// Keeps promises 2 and 4: one order, in which cancel or delivery wins.
#ifndef HOURGLASS_BROKER_SEQUENCER_H_
#define HOURGLASS_BROKER_SEQUENCER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "broker/commit_group.h"
#include "broker/delivered_batch.h"
#include "broker/staging.h"
#include "recovery/store_state.h"

namespace hourglass {

class Sequencer {
 public:
  Sequencer(StoreState* state, Staging* staging);

  std::deque<OpBatch>& batches() { return batches_; }
  void Add(std::unique_ptr<DeliveredBatch> batch) {
    delivered_.push_back(std::move(batch));
  }
  bool HasWork() const { return !batches_.empty() || !delivered_.empty(); }

  // Fills `group` from the front of the work; leaves it started and not
  // finished. A group without records still carries answers; an empty one
  // means that what there is waits for room on a full disk. An error means
  // the state no longer follows the log: the store must stop.
  absl::Status Fill(CommitGroup* group, int64_t now_ms);

  // Earliest due time of the messages placed by the last Fill; INT64_MAX if
  // none. The hand is woken if it sleeps longer.
  int64_t earliest_due_ms() const { return earliest_due_ms_; }

  // Answers everything that is still waiting with `status`.
  void FailAll(const absl::Status& status);
  // The same, but delivered batches go on waiting.
  void FailOps(const absl::Status& status);

  // An upper bound of what Fill will write now.
  size_t BytesWanted() const;

  // Messages put, by count and body-carrying bytes; made ready at once;
  // delivered after a delay; cancelled.
  struct Counters {
    std::atomic<uint64_t> put_messages{0}, put_bytes{0};
    std::atomic<uint64_t> at_once{0}, delivered{0}, cancelled{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Verdict {
    CancelAnswer answer = CancelAnswer::kNeverExisted;
    IndexRecord record;  // if kCancelled and not so before
    bool already_cancelled = false;
  };

  bool HasRoom(const CommitGroup& group, size_t bytes) const;
  absl::Status RoomForFiles();
  void FillDelivered(CommitGroup* group);
  // The topic of the record that was applied last has a message more.
  void NoteReady(CommitGroup* group);
  void FillOps(CommitGroup* group, int64_t now_ms);
  void One(Op* op, std::string_view payload, int64_t now_ms,
           CommitGroup* group);
  void Put(Op* op, std::string_view payload, int64_t now_ms,
           CommitGroup* group);
  // Ready or Delayed, as the due time says.
  absl::StatusOr<Handle> Place(const Op& op, std::string_view payload,
                               int64_t now_ms, CommitGroup* group);
  void Cancel(Op* op, CommitGroup* group);
  absl::StatusOr<Handle> Replace(const Op& op, std::string_view payload,
                                 int64_t now_ms, CommitGroup* group);
  void Move(Op* op, std::string_view payload, int64_t now_ms,
            CommitGroup* group);
  void Ack(Op* op, std::string_view payload, CommitGroup* group);
  void AckMarks(Op* op, std::string_view payload, CommitGroup* group);
  // RESOURCE_EXHAUSTED if the group would have too many.
  absl::Status CheckMarks(const MarksPayload& ack) const;
  // OK if the one message of `ack` is still to be acknowledged.
  absl::Status CheckOpen(const MarksPayload& ack) const;
  void AddMarks(std::string_view payload, const MarksPayload& ack,
                CommitGroup* group);
  absl::StatusOr<Verdict> Judge(const Handle& handle);
  absl::Status CompleteCancelled(Hour hour);
  absl::Status AddCancel(const Handle& handle, CommitGroup* group);
  void Stop(const absl::Status& status);

  StoreState* const state_;
  Staging* const staging_;
  const size_t group_bytes_max_;
  std::deque<OpBatch> batches_;
  std::deque<std::unique_ptr<DeliveredBatch>> delivered_;
  int64_t earliest_due_ms_ = 0;
  absl::Status stopped_;
  Counters counters_;
};

// The seal that binds a handle to the store it came from.
uint32_t HandleSeal(uint64_t salt, const Handle& handle);

// What became of a sealed handle whose message is not in the hour's files.
// Under the state lock.
CancelAnswer AnswerWhenGone(StoreState& state, const Handle& handle);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_SEQUENCER_H_
