#include "broker/front/dedupe_window.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "broker/text.h"

namespace hourglass {
namespace {

// No topic has a line's end in it.
std::string KeyOf(std::string_view topic, std::string_view id) {
  return Concat(topic, "\n", id);
}

}  // namespace

DedupeWindow::DedupeWindow(int64_t window_ms, size_t entries_max)
    : window_ms_(window_ms),
      entries_max_(std::max<size_t>(1, entries_max / kShards)) {}

DedupeWindow::Shard& DedupeWindow::ShardOf(const std::string& key) {
  return shards_[std::hash<std::string>()(key) % kShards];
}

void DedupeWindow::Forget(Shard* shard, int64_t now_ms) {
  while (!shard->ended.empty()) {
    const auto oldest = shard->entries.find(*shard->ended.front());
    const bool fresh = now_ms - oldest->second.ended_ms < window_ms_;
    if (fresh && shard->ended.size() <= entries_max_) return;
    shard->ended.pop_front();
    shard->entries.erase(oldest);
  }
}

DedupeWindow::Place DedupeWindow::Begin(std::string_view topic,
                                        std::string_view id, int64_t now_ms,
                                        PutResult* known, Waiter* waiter) {
  if (window_ms_ == 0) return kFirst;
  const std::string key = KeyOf(topic, id);
  Shard& shard = ShardOf(key);
  MutexLock lock(&shard.mu);
  Forget(&shard, now_ms);
  const auto [at, is_new] = shard.entries.try_emplace(key);
  if (is_new) return kFirst;
  Entry& entry = at->second;
  if (!entry.ended) {
    entry.waiters.push_back(std::move(*waiter));
    return kWaits;
  }
  known->handle = entry.handle;
  known->offset = entry.offset;
  known->id = std::string(id);
  return kKnown;
}

void DedupeWindow::End(std::string_view topic, std::string_view id,
                       int64_t now_ms,
                       const absl::StatusOr<PutResult>& result) {
  if (window_ms_ == 0) return;
  const std::string key = KeyOf(topic, id);
  Shard& shard = ShardOf(key);
  std::vector<Waiter> waiters;
  {
    MutexLock lock(&shard.mu);
    const auto at = shard.entries.find(key);
    if (at == shard.entries.end()) return;
    waiters.swap(at->second.waiters);
    if (result.ok()) {
      at->second.ended = true;
      at->second.ended_ms = now_ms;
      at->second.handle = result->handle;
      at->second.offset = result->offset;
      shard.ended.push_back(&at->first);
    } else {
      shard.entries.erase(at);
    }
  }
  for (Waiter& waiter : waiters) waiter(result);
}

void DedupeWindow::Restore(std::string_view topic, std::string_view id,
                           int64_t ended_ms, const PutResult& put) {
  if (window_ms_ == 0) return;
  const std::string key = KeyOf(topic, id);
  Shard& shard = ShardOf(key);
  MutexLock lock(&shard.mu);
  const auto [at, is_new] = shard.entries.try_emplace(key);
  Entry& entry = at->second;
  entry.handle = put.handle;
  entry.offset = put.offset;
  if (!is_new) return;
  entry.ended = true;
  entry.ended_ms = ended_ms;
  shard.ended.push_back(&at->first);
  Forget(&shard, ended_ms);
}

size_t DedupeWindow::size() const {
  size_t size = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(&shard.mu);
    size += shard.entries.size();
  }
  return size;
}

}  // namespace hourglass
