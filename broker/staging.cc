#include "broker/staging.h"

#include <iterator>
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
    if (shard.batches.empty() || shard.batches.back().IsFull(payload.size())) {
      shard.batches.push_back(TakeSpare());
    }
    OpBatch& batch = shard.batches.back();
    batch.bytes.append(payload);
    batch.ops.push_back(std::move(op));
  }
  // Only the first push after a drain has to tell anybody.
  if (!signal_.exchange(true) && sleeping_.load()) Wake();
  return true;
}

bool Staging::Drain(std::deque<OpBatch>* out) {
  signal_.store(false);
  bool any = false;
  for (Shard& shard : shards_) {
    std::vector<OpBatch> taken;
    {
      MutexLock lock(&shard.mu);
      taken.swap(shard.batches);
    }
    any |= !taken.empty();
    std::move(taken.begin(), taken.end(), std::back_inserter(*out));
  }
  return any;
}

OpBatch Staging::TakeSpare() {
  {
    MutexLock lock(&spares_mu_);
    if (!spares_.empty()) {
      OpBatch batch = std::move(spares_.back());
      spares_.pop_back();
      return batch;
    }
  }
  OpBatch batch;
  batch.bytes.reserve(OpBatch::kBytesMax);
  batch.ops.reserve(OpBatch::kOpsMax);
  return batch;
}

void Staging::Recycle(OpBatch&& batch) {
  // One large message makes a batch larger than others: not kept for ever.
  if (batch.bytes.capacity() > 2 * OpBatch::kBytesMax) return;
  batch.bytes.clear();
  batch.ops.clear();
  batch.next_op = 0;
  batch.next_byte = 0;
  MutexLock lock(&spares_mu_);
  if (spares_.size() < kSparesMax) spares_.push_back(std::move(batch));
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
