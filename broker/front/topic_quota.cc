#include "broker/front/topic_quota.h"

#include <algorithm>
#include <utility>

#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kHourMs = 60 * kMinuteMs;
// Due times further ahead are kept by the hour.
constexpr int64_t kMinutesAheadMs = 2 * kHourMs;
constexpr size_t kPageMessages = 1000;

int64_t EndOf(int64_t due_ms, int64_t span_ms) {
  return (due_ms / span_ms + 1) * span_ms;
}

absl::Status Full(std::string_view topic, uint64_t pending,
                  std::string_view what, uint64_t max,
                  std::string_view option) {
  return absl::ResourceExhaustedError(Concat(
      "topic ", topic, ": ", pending, " ", what, " pending; expected at most ",
      max, " with this one (", option, ")"));
}

}  // namespace

void TopicQuota::Add(Topic* topic, int64_t due_ms, size_t bytes,
                     int64_t now_ms) {
  const bool far = due_ms - now_ms > kMinutesAheadMs;
  Bucket& bucket = topic->by_end_ms[EndOf(due_ms, far ? kHourMs : kMinuteMs)];
  for (Usage* usage :
       {static_cast<Usage*>(&bucket), static_cast<Usage*>(topic)}) {
    ++usage->messages;
    usage->bytes += bytes;
  }
}

void TopicQuota::Remove(Topic* topic, Bucket* bucket, size_t bytes) {
  bytes = std::min<uint64_t>(bytes, bucket->bytes);
  for (Usage* usage :
       {static_cast<Usage*>(bucket), static_cast<Usage*>(topic)}) {
    --usage->messages;
    usage->bytes -= bytes;
  }
}

// What is due waits no more.
void TopicQuota::Drop(Topic* topic, int64_t now_ms) {
  auto& buckets = topic->by_end_ms;
  while (!buckets.empty() && buckets.begin()->first <= now_ms) {
    const Bucket& bucket = buckets.begin()->second;
    topic->messages -= bucket.messages;
    topic->bytes -= bucket.bytes;
    recalls_ -= bucket.recalled.size();
    buckets.erase(buckets.begin());
  }
}

TopicQuota::Bucket* TopicQuota::BucketOf(Topic* topic, int64_t due_ms) {
  // It was put into one of the two, by how far ahead it was then.
  for (const int64_t span_ms : {kMinuteMs, kHourMs}) {
    const auto found = topic->by_end_ms.find(EndOf(due_ms, span_ms));
    if (found == topic->by_end_ms.end()) continue;
    if (found->second.messages > 0) return &found->second;
  }
  return nullptr;
}

absl::Status TopicQuota::Take(std::string_view name, int64_t due_ms,
                              size_t bytes, int64_t now_ms) {
  if (!on() || due_ms <= now_ms) return absl::OkStatus();
  MutexLock lock(&mu_);
  auto found = topics_.find(name);
  if (found == topics_.end()) {
    found = topics_.emplace(std::string(name), Topic()).first;
  }
  Topic& topic = found->second;
  Drop(&topic, now_ms);
  if (messages_max_ > 0 && topic.messages >= messages_max_) {
    return Full(name, topic.messages, "messages", messages_max_,
                "topic_pending_messages_max");
  }
  if (bytes_max_ > 0 && topic.bytes + bytes > bytes_max_) {
    return Full(name, topic.bytes, "bytes", bytes_max_,
                "topic_pending_bytes_max");
  }
  Add(&topic, due_ms, bytes, now_ms);
  return absl::OkStatus();
}

void TopicQuota::GiveBack(std::string_view name, int64_t due_ms, size_t bytes) {
  if (!on()) return;
  MutexLock lock(&mu_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) return;
  Bucket* const bucket = BucketOf(&found->second, due_ms);
  if (bucket != nullptr) Remove(&found->second, bucket, bytes);
}

void TopicQuota::Recalled(std::string_view name, const Handle& handle) {
  if (!on()) return;
  MutexLock lock(&mu_);
  const auto found = topics_.find(name);
  if (finding_ || recalls_ >= recalls_max_ || found == topics_.end()) return;
  Topic& topic = found->second;
  for (const int64_t span_ms : {kMinuteMs, kHourMs}) {
    const auto at = topic.by_end_ms.find(EndOf(handle.due_ms(), span_ms));
    const bool again = at != topic.by_end_ms.end() &&
                       at->second.recalled.contains(handle.number);
    if (again) return;
  }
  Bucket* const bucket = BucketOf(&topic, handle.due_ms());
  if (bucket == nullptr) return;
  Remove(&topic, bucket, bucket->bytes / bucket->messages);
  bucket->recalled.insert(handle.number);
  ++recalls_;
}

absl::Status TopicQuota::AddFound(DelayStore* store, int64_t before_ms,
                                  const std::atomic<bool>* stop) {
  if (!on()) return absl::OkStatus();
  SetFinding(true);
  absl::Status status;
  PendingQuery query;
  query.from_ms = before_ms;
  query.count_max = kPageMessages;
  do {
    auto page = store->Pending(query);
    status = page.status();
    if (!status.ok()) break;
    AddPage(*page, before_ms);
    query.after = page->next;
  } while (!query.after.empty() && !*stop);
  SetFinding(false);
  return status;
}

void TopicQuota::SetFinding(bool finding) {
  MutexLock lock(&mu_);
  finding_ = finding;
}

void TopicQuota::AddPage(const PendingPage& page, int64_t before_ms) {
  MutexLock lock(&mu_);
  for (const PendingMessage& one : page.messages) {
    // Later ones were counted when they were put.
    if (one.message.stored_ms >= before_ms) continue;
    Add(&topics_[one.message.topic], one.message.due_ms,
        one.message.body.size(), before_ms);
  }
}

TopicQuota::Usage TopicQuota::Get(std::string_view name, int64_t now_ms) {
  MutexLock lock(&mu_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) return {};
  Drop(&found->second, now_ms);
  return found->second;
}

}  // namespace hourglass
