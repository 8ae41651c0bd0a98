#include "broker/groups/consumer_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "broker/groups/dead_letter.h"
#include "broker/groups/group_core.h"
#include "broker/groups/group_queue.h"
#include "storage/checkpoint.h"
#include "storage/message_codec.h"
#include "storage/mutex.h"
#include "storage/text.h"

namespace hourglass {
namespace {

using QueuePtr = std::shared_ptr<GroupQueue>;

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
// Receives are numbered within their queue below this bit.
constexpr int kReceiveBits = 40;

GroupOptions WithBackoff(GroupOptions options) {
  if (!options.backoff_ms.empty()) return options;
  options.backoff_ms = {10 * kSecondMs, 30 * kSecondMs};
  for (const int64_t minutes :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120}) {
    options.backoff_ms.push_back(minutes * kMinuteMs);
  }
  return options;
}

absl::Status CheckNames(std::string_view topic, std::string_view group) {
  if (topic.empty() || topic.size() > kTopicBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "topic: ", topic.size(), " bytes; expected 1 to ", kTopicBytesMax));
  }
  // Its dead letters need a topic.
  const size_t max = kTopicBytesMax - kDeadLetterPrefix.size();
  if (group.empty() || group.size() > max) {
    return absl::InvalidArgumentError(
        absl::StrCat("group: ", group.size(), " bytes; expected 1 to ", max));
  }
  return absl::OkStatus();
}

}  // namespace

class ConsumerGroups::Impl {
 public:
  Impl(DelayStore* store, Clock* clock, GroupOptions options)
      : core_(std::make_shared<GroupCore>(store, clock,
                                          WithBackoff(std::move(options)))) {
    store->SetReadyListener(
        [this](absl::Span<const std::string> topics) { OnReady(topics); });
    if (core_->options.threads) core_->Start();
  }

  ~Impl() {
    core_->store->SetReadyListener(nullptr);
    core_->Stop();
    for (const QueuePtr& queue : All()) queue->Stop();
  }

  GroupCore& core() { return *core_; }

  // Null if there is none.
  QueuePtr Find(std::string_view topic, std::string_view group) {
    MutexLock lock(&mu_);
    const auto at = queues_.find(ConsumerView(topic, group));
    return at == queues_.end() ? nullptr : at->second;
  }
  QueuePtr Find(uint64_t receive) {
    MutexLock lock(&mu_);
    const uint64_t number = receive >> kReceiveBits;
    return number < by_number_.size() ? by_number_[number] : nullptr;
  }

  absl::StatusOr<QueuePtr> FindOrMake(std::string_view topic,
                                      std::string_view group) {
    if (QueuePtr queue = Find(topic, group)) return queue;
    const absl::Status names = CheckNames(topic, group);
    if (!names.ok()) return names;
    MutexLock lock(&mu_);
    const auto at = queues_.find(ConsumerView(topic, group));
    if (at != queues_.end()) return at->second;
    if (queues_.size() >= core_->options.groups_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", core_->options.groups_max,
                       " groups are in use (groups_max)"));
    }
    auto queue = std::make_shared<GroupQueue>(
        core_, static_cast<uint32_t>(by_number_.size()), std::string(topic),
        std::string(group), SettingsOf(group));
    queues_[{queue->topic(), queue->group()}] = queue;
    by_number_.push_back(queue);
    by_topic_[queue->topic()].push_back(queue);
    return queue;
  }

  void Configure(std::string_view group, const GroupSettings& settings) {
    MutexLock lock(&mu_);
    settings_[std::string(group)] = settings;
    for (const auto& [key, queue] : queues_) {
      if (key.second == group) queue->Configure(settings);
    }
  }

  std::vector<GroupState> List() {
    std::map<ConsumerKey, QueuePtr> groups;
    for (const ConsumerKey& key : core_->store->Groups()) groups[key];
    for (const QueuePtr& queue : All()) {
      groups[{queue->topic(), queue->group()}] = queue;
    }
    std::vector<GroupState> states;
    for (const auto& [key, queue] : groups) {
      states.push_back(StateOf(key, queue.get()));
    }
    return states;
  }

 private:
  GroupState StateOf(const ConsumerKey& key, GroupQueue* queue) {
    GroupState state;
    state.topic = key.first;
    state.group = key.second;
    const GroupProgress progress =
        core_->store->GetProgress(key.first, key.second);
    state.next = progress.next;
    const QueueIndex end =
        std::max(core_->store->EndOfReady(key.first), progress.next);
    state.lag = end - progress.next;
    for (const auto& [from, to] : progress.acked) {
      state.lag -= std::min<uint64_t>(state.lag, to - from);
    }
    if (queue != nullptr) queue->AddTo(&state);
    return state;
  }

  std::vector<QueuePtr> All() {
    MutexLock lock(&mu_);
    return by_number_;
  }

  GroupSettings SettingsOf(std::string_view group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto at = settings_.find(std::string(group));
    return at == settings_.end() ? GroupSettings() : at->second;
  }

  void OnReady(absl::Span<const std::string> topics) {
    MutexLock lock(&mu_);
    for (const std::string& topic : topics) {
      const auto at = by_topic_.find(topic);
      if (at == by_topic_.end()) continue;
      for (const QueuePtr& queue : at->second) queue->OnArrived();
    }
  }

  const std::shared_ptr<GroupCore> core_;
  Mutex mu_;
  std::map<ConsumerKey, QueuePtr, ConsumerLess> queues_ ABSL_GUARDED_BY(mu_);
  std::vector<QueuePtr> by_number_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::vector<QueuePtr>> by_topic_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, GroupSettings> settings_
      ABSL_GUARDED_BY(mu_);
};

ConsumerGroups::ConsumerGroups(DelayStore* store, Clock* clock,
                               GroupOptions options)
    : impl_(std::make_unique<Impl>(store, clock, std::move(options))) {}

ConsumerGroups::~ConsumerGroups() = default;

void ConsumerGroups::Configure(std::string_view group, GroupSettings settings) {
  impl_->Configure(group, settings);
}

uint64_t ConsumerGroups::Receive(ReceiveRequest request, ReceiveCallback done) {
  const auto queue = impl_->FindOrMake(request.topic, request.group);
  if (!queue.ok()) {
    done(queue.status());
    return 0;
  }
  return (*queue)->Receive(std::move(request), std::move(done));
}

void ConsumerGroups::CancelReceive(uint64_t id) {
  if (id == 0) return;
  if (const QueuePtr queue = impl_->Find(id)) queue->CancelReceive(id);
}

namespace {

absl::Status NoSuchGroup() {
  return absl::NotFoundError("the receipt is of no group that is in use");
}

}  // namespace

void ConsumerGroups::Ack(std::string_view topic, std::string_view group,
                         std::string_view receipt, DoneCallback done) {
  const auto held = DecodeReceipt(receipt);
  if (!held.ok()) return done(held.status());
  const QueuePtr queue = impl_->Find(topic, group);
  if (queue == nullptr) return done(NoSuchGroup());
  queue->Ack(*held, std::move(done));
}

void ConsumerGroups::ChangeLease(std::string_view topic, std::string_view group,
                                 std::string_view receipt, int64_t lease_ms,
                                 ReceiptCallback done) {
  const auto held = DecodeReceipt(receipt);
  if (!held.ok()) return done(held.status());
  const QueuePtr queue = impl_->Find(topic, group);
  if (queue == nullptr) return done(NoSuchGroup());
  queue->ChangeLease(*held, lease_ms, std::move(done));
}

void ConsumerGroups::ToDeadLetter(std::string_view topic,
                                  std::string_view group,
                                  std::string_view receipt, DoneCallback done) {
  const auto held = DecodeReceipt(receipt);
  if (!held.ok()) return done(held.status());
  const QueuePtr queue = impl_->Find(topic, group);
  if (queue == nullptr) return done(NoSuchGroup());
  queue->ToDeadLetter(*held, std::move(done));
}

void ConsumerGroups::ClientAlive(std::string_view client_id) {
  impl_->core().clients.Seen(client_id, nullptr);
}

void ConsumerGroups::ClientGone(std::string_view client_id) {
  for (GroupQueue* queue : impl_->core().clients.Gone(client_id)) {
    queue->ClientGone(client_id);
  }
}

std::vector<GroupState> ConsumerGroups::List() { return impl_->List(); }

bool ConsumerGroups::Step() {
  bool any = false;
  while (impl_->core().RunOnce()) any = true;
  return any;
}

}  // namespace hourglass
