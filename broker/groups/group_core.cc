#include "broker/groups/group_core.h"

#include <algorithm>
#include <utility>

#include "broker/groups/group_queue.h"
#include "storage/random.h"

namespace hourglass {
namespace {

// The worker looks around at least this often.
constexpr int64_t kNapNs = 1'000'000'000;

}  // namespace

GroupCore::GroupCore(DelayStore* store, Clock* clock, GroupOptions options)
    : store(store),
      clock(clock),
      options(std::move(options)),
      timers(clock, [this] { Wake(); }),
      clients(clock, this->options.client_silence_max_ms),
      leases_((SystemEntropy() & 0xffffffff) << 32 | 1) {}

void GroupCore::Start() {
  worker_ = std::thread([this] { Loop(); });
}

void GroupCore::Stop() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    wake_.SignalAll();
  }
  if (worker_.joinable()) worker_.join();
  MutexLock lock(&mu_);
  to_pump_.clear();
}

void GroupCore::RequestPump(std::shared_ptr<GroupQueue> queue) {
  if (queue->pump_requested.exchange(true)) return;
  MutexLock lock(&mu_);
  if (stop_) return;
  to_pump_.push_back(std::move(queue));
  ++wakes_;
  wake_.Signal();
}

void GroupCore::Wake() {
  MutexLock lock(&mu_);
  ++wakes_;
  wake_.Signal();
}

bool GroupCore::RunOnce() {
  std::vector<std::shared_ptr<GroupQueue>> queues;
  {
    MutexLock lock(&mu_);
    queues.swap(to_pump_);
  }
  for (const auto& queue : queues) {
    queue->pump_requested = false;
    queue->Pump();
  }
  const std::vector<TimerKey> due = timers.TakeDue(kDueMax);
  for (const TimerKey& key : due) key.queue->OnTimer(key);
  return !queues.empty() || !due.empty();
}

void GroupCore::Loop() {
  while (true) {
    uint64_t seen = 0;
    {
      MutexLock lock(&mu_);
      if (stop_) return;
      seen = wakes_;
    }
    if (RunOnce()) continue;
    const int64_t sleep_ns = std::min(timers.NsToNext(), kNapNs);
    if (sleep_ns <= 0) continue;
    MutexLock lock(&mu_);
    if (wakes_ == seen && !stop_) wake_.WaitForNs(&mu_, sleep_ns);
  }
}

}  // namespace hourglass
