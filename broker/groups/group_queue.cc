// Who waits for messages, and what ends a wait.
#include "broker/groups/group_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/text.h"

namespace hourglass {
namespace {

// The lower part of a receive's number; the upper one is the queue's.
constexpr int kReceiveBits = 40;
constexpr int64_t kContendedPollMs = 5;

}  // namespace

GroupQueue::GroupQueue(std::shared_ptr<GroupCore> core, uint32_t number,
                       std::string topic, std::string group,
                       GroupSettings settings)
    : core_(std::move(core)),
      number_(number),
      topic_(std::move(topic)),
      group_(std::move(group)),
      settings_(std::move(settings)) {
  unwanted_timer_.key = {this, TimerKind::kUnwanted, 0, 0};
}

GroupQueue::~GroupQueue() {
  core_->timers.Cancel(&unwanted_timer_);
  for (auto& [id, waiter] : waiters_) core_->timers.Cancel(&waiter->timer);
  for (auto& [index, item] : items_) core_->timers.Cancel(&item->timer);
}

void GroupQueue::Configure(GroupSettings settings) {
  MutexLock lock(&mu_);
  settings_ = std::move(settings);
}

uint64_t GroupQueue::Receive(ReceiveRequest request, ReceiveCallback done) {
  core_->clients.Seen(request.client_id, this);
  if (ServeAgain(request, &done)) return 0;
  const int64_t wait_ms = request.poll_until_ms - core_->clock->NowMs();
  request.count_max = std::max<size_t>(request.count_max, 1);
  request.bytes_max = std::max<size_t>(request.bytes_max, 1);
  auto waiter = std::make_unique<Waiter>();
  waiter->request = std::make_shared<ReceiveRequest>(std::move(request));
  waiter->done = std::move(done);
  const std::shared_ptr<const ReceiveRequest> asked = waiter->request;
  uint64_t id = 0;
  {
    MutexLock lock(&mu_);
    if (!stopped_ &&
        core_->waiting.fetch_add(1) < core_->options.waiting_receives_max) {
      id = uint64_t{number_} << kReceiveBits | ++receives_;
      waiter->timer.key = {this, TimerKind::kPoll, id, 0};
      if (wait_ms > 0) core_->timers.Schedule(&waiter->timer, wait_ms);
      waiters_.emplace(id, std::move(waiter));
    } else if (!stopped_) {
      core_->waiting.fetch_sub(1);
    }
  }
  if (id == 0) {
    waiter->done(absl::ResourceExhaustedError(absl::StrCat(
        "more than ", core_->options.waiting_receives_max,
        " receives wait (waiting_receives_max), or the groups are closed")));
    return 0;
  }
  DropOlderAttempt(*asked, id);
  Pump();
  if (wait_ms <= 0) EndShortPoll(id);
  MutexLock lock(&mu_);
  return waiters_.contains(id) ? id : 0;
}

// Whoever does not want to wait has been looked after by now, unless another
// thread pumps.
void GroupQueue::EndShortPoll(uint64_t id) {
  {
    MutexLock lock(&mu_);
    const auto at = waiters_.find(id);
    if (at == waiters_.end()) return;
    if (pumping_) {
      core_->timers.Schedule(&at->second->timer, kContendedPollMs);
      return;
    }
  }
  OnPollEnd(id);
}

std::unique_ptr<GroupQueue::Waiter> GroupQueue::TakeWaiter(uint64_t id) {
  const auto at = waiters_.find(id);
  if (at == waiters_.end()) return nullptr;
  std::unique_ptr<Waiter> waiter = std::move(at->second);
  waiters_.erase(at);
  core_->timers.Cancel(&waiter->timer);
  core_->waiting.fetch_sub(1);
  if (!waiting_attempts_.empty()) {
    const auto attempt = waiting_attempts_.find(waiter->request->attempt_id);
    if (attempt != waiting_attempts_.end() && attempt->second == id) {
      waiting_attempts_.erase(attempt);
    }
  }
  return waiter;
}

void GroupQueue::CancelReceive(uint64_t id) {
  std::unique_ptr<Waiter> waiter;
  {
    MutexLock lock(&mu_);
    waiter = TakeWaiter(id);
  }
  if (waiter) waiter->done(absl::CancelledError("the caller is gone"));
}

absl::Status GroupQueue::Full() const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "group ", group_, " has ", core_->options.leased_per_group_max,
      " messages of topic ", topic_,
      " that are not acknowledged (leased_per_group_max)"));
}

void GroupQueue::OnPollEnd(uint64_t id) {
  std::unique_ptr<Waiter> waiter;
  bool full = false;
  {
    MutexLock lock(&mu_);
    waiter = TakeWaiter(id);
    full = full_;
  }
  if (!waiter) return;
  if (full) return waiter->done(Full());
  waiter->done(std::vector<Lease>());
}

// A client that asks again for the same attempt has given up its older call.
void GroupQueue::DropOlderAttempt(const ReceiveRequest& request, uint64_t id) {
  if (request.attempt_id.empty()) return;
  std::unique_ptr<Waiter> older;
  {
    MutexLock lock(&mu_);
    if (!settings_.fifo || !waiters_.contains(id)) return;
    uint64_t& waiting = waiting_attempts_[request.attempt_id];
    const uint64_t before = std::exchange(waiting, id);
    if (before != 0) older = TakeWaiter(before);
  }
  if (older) older->done(absl::CancelledError("asked again"));
}

bool GroupQueue::ServeAgain(const ReceiveRequest& request,
                            ReceiveCallback* done) {
  if (request.attempt_id.empty()) return false;
  std::vector<QueueIndex> indexes;
  {
    MutexLock lock(&mu_);
    const auto at = attempts_.find(request.attempt_id);
    if (at == attempts_.end()) return false;
    indexes = at->second;
  }
  Batch batch;
  for (const QueueIndex index : indexes) {
    auto ready = ReadOne(index);
    if (ready.ok()) batch.push_back(*std::move(ready));
  }
  std::vector<Lease> leases;
  {
    MutexLock lock(&mu_);
    for (ReadyMessage& ready : batch) {
      GroupItem* item = Find(ready.index);
      if (item == nullptr || item->state != ItemState::kLeased ||
          item->attempt_id != request.attempt_id) {
        continue;
      }
      item->until_ns = NowNs() + item->lease_ms * 1'000'000;
      ScheduleLease(item);
      leases.push_back(LeaseOf(*item, std::move(ready)));
    }
  }
  if (leases.empty()) return false;
  (*done)(std::move(leases));
  return true;
}

void GroupQueue::OnArrived() {
  MutexLock lock(&mu_);
  if (pumping_) {
    again_ = true;
  } else if (!waiters_.empty()) {
    RequestPump();
  }
}

void GroupQueue::OnTimer(const TimerKey& key) {
  switch (key.kind) {
    case TimerKind::kPoll:
      return OnPollEnd(key.id);
    case TimerKind::kUnwanted:
      return FlushUnwanted(/*all=*/true);
    case TimerKind::kLease: {
      MutexLock lock(&mu_);
      return OnLeaseTimer(key);
    }
    case TimerKind::kWait: {
      MutexLock lock(&mu_);
      GroupItem* item = Find(QueueIndex(key.id));
      if (item == nullptr || item->state != ItemState::kWaiting) return;
      return Return(item, 0);
    }
  }
}

void GroupQueue::AddTo(GroupState* state) {
  MutexLock lock(&mu_);
  for (const auto& [index, item] : items_) {
    state->leased += item->IsOut() ? 1 : 0;
    state->waiting_retry += item->state == ItemState::kWaiting ||
                                    item->state == ItemState::kReturned
                                ? 1
                                : 0;
  }
  state->dead_letters += dead_letters_;
}

void GroupQueue::Stop() {
  std::vector<std::unique_ptr<Waiter>> waiting;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    while (!waiters_.empty()) {
      waiting.push_back(TakeWaiter(waiters_.begin()->first));
    }
  }
  for (const auto& waiter : waiting) {
    waiter->done(absl::UnavailableError("the consumer groups are closed"));
  }
}

}  // namespace hourglass
