#include "broker/staging.h"

#include <utility>

namespace hourglass {

void Op::Fail(const absl::Status& status) {
  if (put_done) put_done(status);
  if (done) done({status, CancelAnswer::kNeverExisted, {}});
}

size_t Staging::ShardOfThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1) % kShards;
  return mine;
}

bool Staging::Push(Op&& op, std::string_view payload, bool always) {
  const size_t counted = CountedBytes(op);
  if (bytes_.fetch_add(counted) + counted > bytes_max_ && !always) {
    bytes_.fetch_sub(counted);
    return false;
  }
  Shard& shard = shards_[ShardOfThread()];
  {
    MutexLock lock(&shard.mu);
    shard.batch.bytes.append(payload);
    shard.batch.ops.push_back(std::move(op));
  }
  // Only the first push after a drain has to tell anybody.
  if (!signal_.exchange(true) && sleeping_.load()) Wake();
  return true;
}

bool Staging::Drain(std::deque<OpBatch>* out) {
  signal_.store(false);
  bool any = false;
  for (Shard& shard : shards_) {
    OpBatch batch;
    {
      MutexLock lock(&shard.mu);
      if (shard.batch.ops.empty()) continue;
      std::swap(batch, shard.batch);
      // The next batch will be about as large as this one.
      shard.batch.bytes.reserve(batch.bytes.size());
      shard.batch.ops.reserve(batch.ops.size());
    }
    out->push_back(std::move(batch));
    any = true;
  }
  return any;
}

void Staging::Wait(int64_t timeout_ms) {
  MutexLock lock(&wake_mu_);
  sleeping_.store(true);
  if (!signal_.load()) wake_.WaitForMs(&wake_mu_, timeout_ms);
  sleeping_.store(false);
}

void Staging::Wake() {
  signal_.store(true);
  MutexLock lock(&wake_mu_);
  wake_.Signal();
}

}  // namespace hourglass
