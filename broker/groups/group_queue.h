// File: group_queue.h
//
// One consumer group in one topic: what was read ahead, who waits for
// messages, who has which, and what comes again.
//
//   auto queue = std::make_shared<GroupQueue>(core, number, "orders",
//   "billing",
//                                             settings);
//   queue->Receive(request, done);      // served now, by an arrival, or never
//   queue->Ack(receipt, done);
//
// One thread at a time pumps (Pump): reads from the store, filters, and hands
// batches to those who wait, in the order in which they came. It holds the
// lock only to look at and change what is in memory; the store, filters and
// callbacks are called without it. What is new and was read ahead belongs to
// the pump, all else to the lock. Others ask for another round (`again_`).
//
// What was handed out is known by index (GroupItem), without its body; when it
// comes again it is read again.
//
// FIFO: a message group with a batch out is passed over, its later messages
// held by index. When nothing of it is out any more, it is served from its
// first message that is not done; if that one has to wait, all of it waits.
//
// Memory: options.leased_per_group_max items, and at most kReadBytesMax of
// bodies read ahead (64 KiB while nobody waits).
//
// Threads: any. Callbacks may call back.
//
// Keeps promises 2, 6 and 7.
#ifndef HOURGLASS_BROKER_GROUPS_GROUP_QUEUE_H_
#define HOURGLASS_BROKER_GROUPS_GROUP_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "broker/groups/consumer_groups.h"
#include "broker/groups/group_core.h"
#include "broker/groups/group_item.h"
#include "broker/groups/receipt.h"
#include "storage/mutex.h"

namespace hourglass {

class GroupQueue : public std::enable_shared_from_this<GroupQueue> {
 public:
  // `number`: the upper half of the numbers of its receives.
  GroupQueue(std::shared_ptr<GroupCore> core, uint32_t number,
             std::string topic, std::string group, GroupSettings settings);
  ~GroupQueue();

  const std::string& topic() const { return topic_; }
  const std::string& group() const { return group_; }

  uint64_t Receive(ReceiveRequest request, ReceiveCallback done);
  void CancelReceive(uint64_t id);
  void Ack(const Receipt& receipt, DoneCallback done);
  void ChangeLease(const Receipt& receipt, int64_t lease_ms,
                   ReceiptCallback done);
  void ToDeadLetter(const Receipt& receipt, DoneCallback done);

  void Configure(GroupSettings settings);
  void ClientGone(std::string_view client_id);
  // From the store: there may be something new. Never blocks.
  void OnArrived();
  void OnTimer(const TimerKey& key);
  void Pump();
  // Fills in what memory knows.
  void AddTo(GroupState* state);
  // Answers everybody who waits.
  void Stop();

  std::atomic<bool> pump_requested{false};  // GroupCore's

 private:
  static constexpr size_t kReadBytesMax = 1u << 20;
  static constexpr size_t kIdleBytesMax = 64u << 10;
  static constexpr size_t kReadCountMin = 64;
  static constexpr size_t kReadCountMax = 512;
  static constexpr size_t kUnwantedPerAck = 4096;
  static constexpr size_t kUnwantedMax = 64u << 10;
  static constexpr int kStepsPerPump = 32;
  static constexpr int64_t kTryAgainMs = 1000;

  struct Waiter {
    std::shared_ptr<const ReceiveRequest> request;
    ReceiveCallback done;
    GroupTimer timer;
  };
  // Whom the pump is serving.
  struct Served {
    uint64_t id = 0;
    std::shared_ptr<const ReceiveRequest> request;
  };
  // What comes again: a message, or a message group.
  struct Unit {
    QueueIndex index;
    MessageGroup* message_group = nullptr;
  };
  using Items = absl::flat_hash_map<QueueIndex, std::unique_ptr<GroupItem>>;
  using Batch = std::vector<ReadyMessage>;

  // --- group_queue.cc ---
  void Begin();
  void RequestPump() { core_->RequestPump(shared_from_this()); }
  int64_t NowNs() const { return core_->clock->MonotonicNs(); }
  std::unique_ptr<Waiter> TakeWaiter(uint64_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnPollEnd(uint64_t id);
  void EndShortPoll(uint64_t id);
  absl::Status Full() const;
  // The batch of this attempt once more, if it is still out.
  bool ServeAgain(const ReceiveRequest& request, ReceiveCallback* done);
  void DropOlderAttempt(const ReceiveRequest& request, uint64_t id);

  // --- group_queue_pump.cc: only one thread at a time ---
  bool PumpOnce();
  bool ServeReturned(const Served& served,
                     const std::vector<QueueIndex>& picks);
  bool ServeFresh(const Served& served);
  bool ReadMore(const Served& served);
  void OnReadError(const Served& served, const absl::Status& status);
  // What becomes of the first of fresh_: true if it goes into the batch.
  bool TakeFresh(const Served& served);
  void PopFresh();
  // Beside `taken` that are about to become items.
  bool HasRoom(size_t taken);
  void Deliver(const Served& served, Batch batch);
  // Not handed out after all: first again.
  void PutBack(Batch batch);
  void PutBackPicks(const std::vector<QueueIndex>& picks);
  bool BuryDying();
  void GoIdle();
  std::vector<QueueIndex> PickReturned(size_t count_max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PickFrom(MessageGroup* message_group, size_t count_max,
                std::vector<QueueIndex>* picks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HoldOrPick(const ReadyMessage& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Lease MakeLease(const ReceiveRequest& request, ReadyMessage ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // --- group_queue_leases.cc ---
  // The item that this receipt holds, if its lease has not ended.
  GroupItem* FindLeased(const Receipt& receipt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  GroupItem* Find(QueueIndex index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  GroupItem* MakeItem(QueueIndex index, uint32_t attempts,
                      std::string_view message_group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ScheduleLease(GroupItem* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The lease has ended: ready again after `wait_ms`, or dead.
  void Return(GroupItem* item, int64_t wait_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It may be handed out again.
  void Ready(GroupItem* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(GroupItem* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetState(GroupItem* item, ItemState state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Serves it next, or forgets it, if it is free.
  void Settle(MessageGroup* message_group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ForgetLease(GroupItem* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLeaseTimer(const TimerKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Lease LeaseOf(const GroupItem& item, ReadyMessage ready) const;
  std::optional<bool> BeginAck(const Receipt& receipt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndAck(QueueIndex index, const absl::Status& status);
  absl::StatusOr<std::string> NewLease(const Receipt& receipt, int64_t lease_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reads the message and moves it to the dead letters.
  void Bury(QueueIndex index, DoneCallback done);
  void PutDead(QueueIndex index, Message message, bool plain,
               DoneCallback done);
  void EndBury(QueueIndex index, const absl::Status& status);
  absl::StatusOr<ReadyMessage> ReadOne(QueueIndex index);
  // Nobody will ever read it.
  void Drop(QueueIndex index);
  void FlushUnwanted(bool all);
  void KeepUnwanted(const std::vector<QueueIndex>& indexes);
  int64_t BackoffMs(uint32_t attempts) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<GroupCore> core_;
  const uint32_t number_;
  const std::string topic_;
  const std::string group_;

  Mutex mu_;
  GroupSettings settings_ ABSL_GUARDED_BY(mu_);
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
  bool again_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  // Something new cannot be read: leased_per_group_max.
  bool full_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t receives_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::unique_ptr<Waiter>> waiters_ ABSL_GUARDED_BY(mu_);
  Items items_ ABSL_GUARDED_BY(mu_);
  std::deque<Unit> returned_ ABSL_GUARDED_BY(mu_);
  std::deque<QueueIndex> dying_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::unique_ptr<MessageGroup>>
      message_groups_ ABSL_GUARDED_BY(mu_);
  // FIFO: the batch that each attempt got, and the receive that it waits in.
  absl::flat_hash_map<std::string, std::vector<QueueIndex>> attempts_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, uint64_t> waiting_attempts_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, absl::flat_hash_set<QueueIndex>> by_client_
      ABSL_GUARDED_BY(mu_);
  std::vector<QueueIndex> unwanted_ ABSL_GUARDED_BY(mu_);
  GroupTimer unwanted_timer_;
  uint64_t dead_letters_ ABSL_GUARDED_BY(mu_) = 0;

  // The pump's own.
  bool begun_ = false;
  QueueIndex read_next_;
  std::deque<ReadyMessage> fresh_;
  size_t fresh_bytes_ = 0;
  GroupProgress loaded_;  // as far as it lies before us
  // Message groups that go into the batch at hand.
  absl::flat_hash_set<const MessageGroup*> in_batch_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_GROUP_QUEUE_H_
