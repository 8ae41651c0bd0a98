// Leases: how they end, and what comes after them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "broker/groups/dead_letter.h"
#include "broker/groups/group_queue.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// What a client held that is gone comes again after this.
constexpr int64_t kGoneLeaseMs = 1000;

absl::Status NotHeld() {
  return absl::NotFoundError("the receipt is used up, or its lease has ended");
}

}  // namespace

GroupItem* GroupQueue::Find(QueueIndex index) {
  const auto at = items_.find(index);
  return at == items_.end() ? nullptr : at->second.get();
}

GroupItem* GroupQueue::FindLeased(const Receipt& receipt) {
  GroupItem* item = Find(receipt.index);
  if (item == nullptr || item->lease != receipt.lease) return nullptr;
  if (item->state != ItemState::kLeased) return nullptr;
  // Its timer may be late. One that is renewed ends by its timer alone.
  const bool ended = !item->auto_renew && NowNs() >= item->until_ns;
  return ended ? nullptr : item;
}

GroupItem* GroupQueue::MakeItem(QueueIndex index, uint32_t attempts,
                                std::string_view message_group) {
  std::unique_ptr<GroupItem>& item = items_[index];
  item = std::make_unique<GroupItem>();
  item->index = index;
  item->attempts = attempts;
  if (message_group.empty()) return item.get();
  std::unique_ptr<MessageGroup>& group =
      message_groups_[std::string(message_group)];
  if (group == nullptr) {
    group = std::make_unique<MessageGroup>();
    group->name = std::string(message_group);
  }
  group->open[index] = item.get();
  ++group->out;
  item->message_group = group.get();
  return item.get();
}

void GroupQueue::SetState(GroupItem* item, ItemState state) {
  const bool was_out = item->IsOut();
  item->state = state;
  if (item->message_group == nullptr || was_out == item->IsOut()) return;
  item->message_group->out += was_out ? -1 : 1;
}

void GroupQueue::Settle(MessageGroup* group) {
  if (group->queued) return;
  if (group->open.empty()) {
    const std::string name = group->name;
    message_groups_.erase(name);
    return;
  }
  if (group->out > 0) return;
  const GroupItem& first = *group->open.begin()->second;
  if (first.state == ItemState::kWaiting) return;
  group->queued = true;
  returned_.push_back({first.index, group});
  if (!waiters_.empty()) RequestPump();
}

// --- leases ------------------------------------------------------------------

Lease GroupQueue::LeaseOf(const GroupItem& item, ReadyMessage ready) const {
  Lease lease;
  const int64_t now_ms = core_->clock->NowMs();
  ready.delivered_ms = now_ms;
  lease.message = std::move(ready);
  lease.receipt = EncodeReceipt({item.index, item.lease});
  lease.attempt = static_cast<int>(item.attempts);
  lease.until_ms = now_ms + item.lease_ms;
  return lease;
}

Lease GroupQueue::MakeLease(const ReceiveRequest& request, ReadyMessage ready) {
  GroupItem* item = Find(ready.index);
  if (item == nullptr) {
    item = MakeItem(ready.index, loaded_.AttemptsOf(ready.index), "");
  }
  const GroupOptions& options = core_->options;
  ++item->attempts;
  item->lease = core_->NextLease();
  item->lease_ms =
      request.lease_ms > 0 ? request.lease_ms : options.push_lease_ms;
  item->first_ns = NowNs();
  item->until_ns = item->first_ns + item->lease_ms * kNsPerMs;
  item->auto_renew = (request.auto_renew || request.lease_ms <= 0) &&
                     !request.client_id.empty();
  if (item->auto_renew) {
    item->client_id = request.client_id;
    by_client_[item->client_id].insert(item->index);
  }
  if (settings_.fifo && !request.attempt_id.empty()) {
    item->attempt_id = request.attempt_id;
    attempts_[item->attempt_id].push_back(item->index);
  }
  SetState(item, ItemState::kLeased);
  ScheduleLease(item);
  return LeaseOf(*item, std::move(ready));
}

void GroupQueue::ScheduleLease(GroupItem* item) {
  // Rounded up: never early.
  int64_t after_ms = (item->until_ns - NowNs() + kNsPerMs - 1) / kNsPerMs;
  if (item->auto_renew) {
    // Often enough that silence is noticed soon.
    after_ms = std::min(after_ms, core_->options.client_silence_max_ms / 2);
  }
  item->timer.key = {this, TimerKind::kLease, item->index.value(), item->lease};
  core_->timers.Schedule(&item->timer, after_ms);
}

void GroupQueue::OnLeaseTimer(const TimerKey& key) {
  GroupItem* item = Find(QueueIndex(key.id));
  if (item == nullptr || item->lease != key.number ||
      item->state != ItemState::kLeased) {
    return;
  }
  const int64_t now_ns = NowNs();
  if (!item->auto_renew) {
    return now_ns >= item->until_ns ? Return(item, 0) : ScheduleLease(item);
  }
  if (!core_->clients.IsAlive(item->client_id)) return Return(item, 0);
  const int64_t last_ns =
      item->first_ns + core_->options.push_lease_max_ms * kNsPerMs;
  if (now_ns >= last_ns) return Return(item, BackoffMs(item->attempts));
  item->until_ns = std::min(now_ns + item->lease_ms * kNsPerMs, last_ns);
  ScheduleLease(item);
}

int64_t GroupQueue::BackoffMs(uint32_t attempts) const {
  const Backoff& waits = settings_.backoff_ms.empty()
                             ? core_->options.backoff_ms
                             : settings_.backoff_ms;
  if (waits.empty()) return 0;
  const size_t at = std::min<size_t>(std::max(attempts, 1u), waits.size());
  return std::max<int64_t>(waits[at - 1], 0);
}

// Nobody's lease any more, and in no table of leases.
void GroupQueue::ForgetLease(GroupItem* item) {
  core_->timers.Cancel(&item->timer);
  item->lease = 0;
  if (item->auto_renew) {
    const auto client = by_client_.find(item->client_id);
    if (client != by_client_.end()) {
      client->second.erase(item->index);
      if (client->second.empty()) by_client_.erase(client);
    }
    item->auto_renew = false;
    item->client_id.clear();
  }
  if (item->attempt_id.empty()) return;
  const auto attempt = attempts_.find(item->attempt_id);
  if (attempt != attempts_.end()) {
    std::erase(attempt->second, item->index);
    if (attempt->second.empty()) attempts_.erase(attempt);
  }
  item->attempt_id.clear();
}

void GroupQueue::Return(GroupItem* item, int64_t wait_ms) {
  ForgetLease(item);
  if (item->attempts >= static_cast<uint32_t>(settings_.attempts_max)) {
    SetState(item, ItemState::kDying);
    dying_.push_back(item->index);
    return RequestPump();
  }
  if (wait_ms <= 0) return Ready(item);
  SetState(item, ItemState::kWaiting);
  item->timer.key = {this, TimerKind::kWait, item->index.value(), 0};
  core_->timers.Schedule(&item->timer, wait_ms);
  if (item->message_group != nullptr) Settle(item->message_group);
}

void GroupQueue::Ready(GroupItem* item) {
  SetState(item, ItemState::kReturned);
  if (item->message_group != nullptr) return Settle(item->message_group);
  returned_.push_back({item->index});
  if (!waiters_.empty()) RequestPump();
}

void GroupQueue::Finish(GroupItem* item) {
  ForgetLease(item);
  if (MessageGroup* group = item->message_group; group != nullptr) {
    if (item->IsOut()) --group->out;
    group->open.erase(item->index);
    Settle(group);
  }
  items_.erase(item->index);
  if (full_ && !waiters_.empty()) RequestPump();
}

// --- what clients say --------------------------------------------------------

// Whether nobody else acknowledges it already; nothing if it is not held.
std::optional<bool> GroupQueue::BeginAck(const Receipt& receipt) {
  GroupItem* item = Find(receipt.index);
  if (item != nullptr && item->lease == receipt.lease &&
      item->state == ItemState::kAcking) {
    return false;
  }
  item = FindLeased(receipt);
  if (item == nullptr) return std::nullopt;
  SetState(item, ItemState::kAcking);
  core_->timers.Cancel(&item->timer);
  return true;
}

void GroupQueue::Ack(const Receipt& receipt, DoneCallback done) {
  std::optional<bool> first;
  {
    MutexLock lock(&mu_);
    first = BeginAck(receipt);
  }
  if (!first) return done(NotHeld());
  // Said twice, both answers wait until it is durable.
  core_->store->AckAsync(
      topic_, group_, {&receipt.index, 1},
      [self = shared_from_this(), index = receipt.index, first = *first,
       done = std::move(done)](const absl::Status& status) mutable {
        if (first) self->EndAck(index, status);
        done(status);
      });
}

void GroupQueue::EndAck(QueueIndex index, const absl::Status& status) {
  MutexLock lock(&mu_);
  GroupItem* item = Find(index);
  if (item == nullptr || item->state != ItemState::kAcking) return;
  if (status.ok()) return Finish(item);
  // As if nothing had been said.
  SetState(item, ItemState::kLeased);
  if (!item->auto_renew && NowNs() >= item->until_ns) return Return(item, 0);
  ScheduleLease(item);
}

absl::StatusOr<std::string> GroupQueue::NewLease(const Receipt& receipt,
                                                 int64_t lease_ms) {
  GroupItem* item = FindLeased(receipt);
  if (item == nullptr) return NotHeld();
  const int64_t wait_ms = lease_ms > 0 ? lease_ms : BackoffMs(item->attempts);
  ForgetLease(item);
  item->lease = core_->NextLease();
  const std::string text = EncodeReceipt({item->index, item->lease});
  const bool last =
      item->attempts >= static_cast<uint32_t>(settings_.attempts_max);
  if (lease_ms == 0 && (last || wait_ms == 0)) {
    Return(item, 0);
  } else {
    item->lease_ms = wait_ms;
    item->until_ns = NowNs() + wait_ms * kNsPerMs;
    ScheduleLease(item);
  }
  return text;
}

void GroupQueue::ChangeLease(const Receipt& receipt, int64_t lease_ms,
                             ReceiptCallback done) {
  if (lease_ms < 0) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("lease_ms: ", lease_ms, "; expected 0 or more")));
  }
  absl::StatusOr<std::string> changed = NotHeld();
  {
    MutexLock lock(&mu_);
    changed = NewLease(receipt, lease_ms);
  }
  done(std::move(changed));
}

void GroupQueue::ClientGone(std::string_view client_id) {
  MutexLock lock(&mu_);
  const auto at = by_client_.find(std::string(client_id));
  if (at == by_client_.end()) return;
  const absl::flat_hash_set<QueueIndex> indexes = std::move(at->second);
  by_client_.erase(at);
  for (const QueueIndex index : indexes) {
    GroupItem* item = Find(index);
    item->auto_renew = false;
    item->client_id.clear();
    item->until_ns = NowNs() + kGoneLeaseMs * kNsPerMs;
    if (item->state == ItemState::kLeased) ScheduleLease(item);
  }
}

// --- dead letters
// --------------------------------------------------------------

void GroupQueue::ToDeadLetter(const Receipt& receipt, DoneCallback done) {
  bool held = false;
  {
    MutexLock lock(&mu_);
    GroupItem* item = FindLeased(receipt);
    held = item != nullptr;
    if (held) {
      SetState(item, ItemState::kAcking);
      core_->timers.Cancel(&item->timer);
    }
  }
  if (!held) return done(NotHeld());
  Bury(receipt.index, std::move(done));
}

void GroupQueue::Bury(QueueIndex index, DoneCallback done) {
  auto ready = ReadOne(index);
  if (!ready.ok()) {
    absl::Status status = ready.status();
    if (absl::IsNotFound(status) || absl::IsOutOfRange(status)) {
      // There is nothing left to bury.
      Drop(index);
      status = absl::OkStatus();
    } else {
      EndBury(index, status);
    }
    return done(status);
  }
  PutDead(index, std::move(ready->message), /*plain=*/false, std::move(done));
}

void GroupQueue::PutDead(QueueIndex index, Message message, bool plain,
                         DoneCallback done) {
  const Message dead =
      plain ? PlainDeadLetter(group_, message) : DeadLetter(group_, message);
  core_->store->PutAndAckAsync(
      dead.View(), topic_, group_, index,
      [self = shared_from_this(), index, plain, message = std::move(message),
       done = std::move(done)](absl::StatusOr<PutResult> put) mutable {
        absl::Status status = put.status();
        if (absl::IsInvalidArgument(status) && !plain) {
          // Perhaps what was added made it too large.
          return self->PutDead(index, std::move(message), /*plain=*/true,
                               std::move(done));
        }
        // Somebody acknowledged it: good as well.
        if (absl::IsNotFound(status)) status = absl::OkStatus();
        self->EndBury(index, status);
        done(status);
      });
}

void GroupQueue::EndBury(QueueIndex index, const absl::Status& status) {
  MutexLock lock(&mu_);
  GroupItem* item = Find(index);
  if (item == nullptr) return;
  if (status.ok()) {
    ++dead_letters_;
    return Finish(item);
  }
  if (item->state == ItemState::kDying) {
    SetState(item, ItemState::kWaiting);
    item->timer.key = {this, TimerKind::kWait, index.value(), 0};
    core_->timers.Schedule(&item->timer, kTryAgainMs);
    return;
  }
  SetState(item, ItemState::kLeased);
  ScheduleLease(item);
}

absl::StatusOr<ReadyMessage> GroupQueue::ReadOne(QueueIndex index) {
  ASSIGN_OR_RETURN(auto read, core_->store->ReadReady(topic_, index, 1, 1));
  // One that is damaged is left out.
  if (!read.empty() && read[0].index == index) return std::move(read[0]);
  return absl::NotFoundError("the message cannot be read any more");
}

void GroupQueue::Drop(QueueIndex index) {
  {
    MutexLock lock(&mu_);
    if (GroupItem* item = Find(index); item != nullptr) Finish(item);
    unwanted_.push_back(index);
  }
  FlushUnwanted(/*all=*/true);
}

// Messages that nobody wants, or can read: acknowledged many at once.
void GroupQueue::FlushUnwanted(bool all) {
  std::vector<QueueIndex> indexes;
  {
    MutexLock lock(&mu_);
    if (unwanted_.empty() || (!all && unwanted_.size() < kUnwantedPerAck)) {
      return;
    }
    indexes.swap(unwanted_);
  }
  core_->store->AckAsync(
      topic_, group_, indexes,
      [self = shared_from_this(), indexes](const absl::Status& status) {
        if (!status.ok()) self->KeepUnwanted(indexes);
      });
}

void GroupQueue::KeepUnwanted(const std::vector<QueueIndex>& indexes) {
  MutexLock lock(&mu_);
  unwanted_.insert(unwanted_.end(), indexes.begin(), indexes.end());
  if (!stopped_) core_->timers.Schedule(&unwanted_timer_, kTryAgainMs);
}

}  // namespace hourglass
