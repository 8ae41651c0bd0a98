// The pump: from the store to those who wait.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "broker/groups/group_queue.h"

namespace hourglass {
namespace {

void Ignore(const absl::Status&) {}

size_t BytesOf(const ReadyMessage& ready) {
  const Message& message = ready.message;
  size_t bytes = message.body.size() + message.id.size() + message.topic.size();
  for (const auto& [key, value] : message.properties) {
    bytes += key.size() + value.size();
  }
  return bytes;
}

std::string_view MessageGroupOf(const Message& message) {
  for (const auto& [key, value] : message.properties) {
    if (key == kMessageGroupProperty) return value;
  }
  return {};
}

}  // namespace

void GroupQueue::Pump() {
  {
    MutexLock lock(&mu_);
    if (pumping_) {
      again_ = true;
      return;
    }
    pumping_ = true;
  }
  for (int steps = 0;;) {
    while (steps < kStepsPerPump && PumpOnce()) ++steps;
    FlushUnwanted(/*all=*/true);
    GoIdle();
    MutexLock lock(&mu_);
    // Others have a turn as well.
    const bool yield = ++steps >= kStepsPerPump && !stopped_;
    if (std::exchange(again_, false) && !yield && !stopped_) continue;
    pumping_ = false;
    if (yield) RequestPump();
    return;
  }
}

// Where the group stands, when it is first asked for something.
void GroupQueue::Begin() {
  begun_ = true;
  DelayStore* store = core_->store;
  if (store->HasGroup(topic_, group_)) {
    loaded_ = store->GetProgress(topic_, group_);
    read_next_ = loaded_.next;
    return;
  }
  read_next_ = core_->options.start == GroupStart::kNewest
                   ? store->EndOfReady(topic_)
                   : store->FirstReady(topic_);
  // From now on it is known, and where it began.
  if (read_next_ == QueueIndex()) {
    store->AckAsync(topic_, group_, {}, Ignore);
  } else {
    store->CommitProgressAsync(topic_, group_, read_next_, Ignore);
  }
}

bool GroupQueue::PumpOnce() {
  if (!begun_) Begin();
  if (BuryDying()) return true;
  Served served;
  std::vector<QueueIndex> picks;
  {
    MutexLock lock(&mu_);
    if (stopped_ || waiters_.empty()) return false;
    served.id = waiters_.begin()->first;
    served.request = waiters_.begin()->second->request;
    picks = PickReturned(served.request->count_max);
  }
  in_batch_.clear();
  return picks.empty() ? ServeFresh(served) : ServeReturned(served, picks);
}

bool GroupQueue::BuryDying() {
  std::deque<QueueIndex> dying;
  {
    MutexLock lock(&mu_);
    if (dying_.empty() || stopped_) return false;
    dying.swap(dying_);
  }
  for (const QueueIndex index : dying) Bury(index, Ignore);
  return true;
}

// --- what comes again
// ----------------------------------------------------------

std::vector<QueueIndex> GroupQueue::PickReturned(size_t count_max) {
  std::vector<QueueIndex> picks;
  while (!returned_.empty() && picks.size() < count_max) {
    const Unit unit = returned_.front();
    returned_.pop_front();
    if (unit.message_group != nullptr) {
      unit.message_group->queued = false;
      PickFrom(unit.message_group, count_max, &picks);
      continue;
    }
    GroupItem* item = Find(unit.index);
    if (item == nullptr || item->state != ItemState::kReturned) continue;
    SetState(item, ItemState::kPicked);
    picks.push_back(unit.index);
  }
  return picks;
}

void GroupQueue::PickFrom(MessageGroup* group, size_t count_max,
                          std::vector<QueueIndex>* picks) {
  if (group->open.empty()) return Settle(group);
  if (group->out > 0) return;  // comes again when that is done
  for (const auto& [index, item] : group->open) {
    const bool free =
        item->state == ItemState::kHeld || item->state == ItemState::kReturned;
    if (!free || picks->size() == count_max) return;
    SetState(item, ItemState::kPicked);
    picks->push_back(index);
  }
}

bool GroupQueue::ServeReturned(const Served& served,
                               const std::vector<QueueIndex>& picks) {
  Batch batch;
  size_t bytes = 0;
  absl::Status error;
  for (size_t i = 0; i < picks.size(); ++i) {
    if (bytes >= served.request->bytes_max) {
      PutBackPicks({picks.begin() + static_cast<ptrdiff_t>(i), picks.end()});
      break;
    }
    auto ready = ReadOne(picks[i]);
    if (ready.ok()) {
      bytes += BytesOf(*ready);
      batch.push_back(*std::move(ready));
    } else if (absl::IsNotFound(ready.status()) ||
               absl::IsOutOfRange(ready.status())) {
      Drop(picks[i]);
    } else {
      // Not now; others do not wait for it.
      error = ready.status();
      MutexLock lock(&mu_);
      if (GroupItem* item = Find(picks[i]); item != nullptr) {
        Return(item, kTryAgainMs);
      }
    }
  }
  if (!batch.empty()) {
    Deliver(served, std::move(batch));
  } else if (!error.ok()) {
    OnReadError(served, error);
  }
  return true;
}

void GroupQueue::PutBackPicks(const std::vector<QueueIndex>& picks) {
  MutexLock lock(&mu_);
  for (size_t i = picks.size(); i > 0; --i) {
    GroupItem* item = Find(picks[i - 1]);
    if (item == nullptr || item->state != ItemState::kPicked) continue;
    SetState(item, ItemState::kReturned);
    if (item->message_group != nullptr) {
      Settle(item->message_group);
    } else {
      returned_.push_front({item->index});
    }
  }
}

// --- what is new
// -----------------------------------------------------------------

bool GroupQueue::HasRoom(size_t taken) {
  MutexLock lock(&mu_);
  full_ = items_.size() + taken >= core_->options.leased_per_group_max;
  return !full_;
}

bool GroupQueue::ServeFresh(const Served& served) {
  if (!HasRoom(0)) return false;
  if (fresh_.empty() && !ReadMore(served)) return false;
  const ReceiveRequest& request = *served.request;
  Batch batch;
  size_t bytes = 0;
  while (!fresh_.empty() && batch.size() < request.count_max &&
         bytes < request.bytes_max && HasRoom(batch.size())) {
    if (TakeFresh(served)) {
      bytes += BytesOf(fresh_.front());
      batch.push_back(std::move(fresh_.front()));
    }
    PopFresh();
  }
  FlushUnwanted(/*all=*/false);
  if (!batch.empty()) Deliver(served, std::move(batch));
  return true;
}

void GroupQueue::PopFresh() {
  fresh_.pop_front();
  if (fresh_.empty()) fresh_bytes_ = 0;
}

bool GroupQueue::TakeFresh(const Served& served) {
  const ReadyMessage& ready = fresh_.front();
  if (loaded_.IsAcked(ready.index)) return false;
  const uint32_t attempts = loaded_.AttemptsOf(ready.index);
  const MessageFilter& filter = served.request->filter;
  const bool wanted = filter == nullptr || filter(ready.message);
  MutexLock lock(&mu_);
  if (!wanted) {
    unwanted_.push_back(ready.index);
    return false;
  }
  if (attempts >= static_cast<uint32_t>(settings_.attempts_max)) {
    GroupItem* item = MakeItem(ready.index, attempts, "");
    SetState(item, ItemState::kDying);
    dying_.push_back(ready.index);
    return false;
  }
  return !settings_.fifo || HoldOrPick(ready);
}

bool GroupQueue::HoldOrPick(const ReadyMessage& ready) {
  const std::string_view name = MessageGroupOf(ready.message);
  const uint32_t attempts = loaded_.AttemptsOf(ready.index);
  GroupItem* item = MakeItem(ready.index, attempts, name);
  MessageGroup* group = item->message_group;
  if (group == nullptr) return true;
  // The only one that is open, or behind others of this batch.
  if (group->open.size() == 1) in_batch_.insert(group);
  if (in_batch_.contains(group)) return true;
  SetState(item, ItemState::kHeld);
  return false;
}

bool GroupQueue::ReadMore(const Served& served) {
  // All that was known of is handed out, or acknowledged.
  if (read_next_ >= loaded_.end()) loaded_ = GroupProgress();
  size_t wanted = 0;
  {
    MutexLock lock(&mu_);
    if (unwanted_.size() >= kUnwantedMax) return false;
    wanted = 2 * waiters_.size() * served.request->count_max;
  }
  auto read = core_->store->ReadReady(
      topic_, read_next_, std::clamp(wanted, kReadCountMin, kReadCountMax),
      kReadBytesMax);
  if (absl::IsOutOfRange(read.status())) {
    const QueueIndex first = core_->store->FirstReady(topic_);
    if (first > read_next_) {
      // Retention took what was not read.
      core_->store->CommitProgressAsync(topic_, group_, first, Ignore);
      read_next_ = first;
      return true;
    }
  }
  if (!read.ok()) {
    OnReadError(served, read.status());
    return false;
  }
  for (ReadyMessage& ready : *read) {
    for (; read_next_ < ready.index; ++read_next_) {
      // Damaged: the store reported it, and nobody can read it.
      MutexLock lock(&mu_);
      unwanted_.push_back(read_next_);
    }
    read_next_ = ready.index + 1;
    fresh_bytes_ += BytesOf(ready);
    fresh_.push_back(std::move(ready));
  }
  return !fresh_.empty();
}

void GroupQueue::OnReadError(const Served& served, const absl::Status& status) {
  std::unique_ptr<Waiter> waiter;
  {
    MutexLock lock(&mu_);
    waiter = TakeWaiter(served.id);
  }
  if (waiter) waiter->done(status);
}

// While nobody waits, little is kept.
void GroupQueue::GoIdle() {
  if (fresh_bytes_ <= kIdleBytesMax || fresh_.empty()) return;
  {
    MutexLock lock(&mu_);
    if (!waiters_.empty()) return;
  }
  read_next_ = fresh_.front().index;
  fresh_.clear();
  fresh_bytes_ = 0;
}

// --- to who waits ------------------------------------------------------------

void GroupQueue::Deliver(const Served& served, Batch batch) {
  std::unique_ptr<Waiter> waiter;
  std::vector<Lease> leases;
  std::vector<AttemptCount> counts;
  {
    MutexLock lock(&mu_);
    waiter = TakeWaiter(served.id);
    if (waiter) {
      for (ReadyMessage& ready : batch) {
        const QueueIndex index = ready.index;
        leases.push_back(MakeLease(*served.request, std::move(ready)));
        counts.push_back({index, static_cast<uint32_t>(leases.back().attempt)});
      }
    }
  }
  // It was cancelled, or its time is over.
  if (!waiter) return PutBack(std::move(batch));
  core_->store->NoteAttemptsAsync(topic_, group_, counts, Ignore);
  waiter->done(std::move(leases));
}

void GroupQueue::PutBack(Batch batch) {
  std::vector<QueueIndex> picks;
  for (size_t i = batch.size(); i > 0; --i) {
    ReadyMessage& ready = batch[i - 1];
    bool known = false;
    {
      MutexLock lock(&mu_);
      known = Find(ready.index) != nullptr;
    }
    if (known) {
      picks.insert(picks.begin(), ready.index);
    } else {
      fresh_bytes_ += BytesOf(ready);
      fresh_.push_front(std::move(ready));
    }
  }
  PutBackPicks(picks);
}

}  // namespace hourglass
