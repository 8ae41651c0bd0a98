// File: staging.h
//
// Between the threads that put and the one writer: what is to be written
// next. A producer encodes and hashes its message outside of any lock and
// copies it into one of a few shards; the writer takes whole shards away.
//
//   Op op; op.kind = Op::Kind::kPut; ...
//   if (!staging.Push(std::move(op), payload)) -> over unsynced_bytes_max
//   ...
//   staging.Drain(&batches);          // the writer
//   staging.Release(bytes);           // when they are durable
//
// Order: the ops of one thread keep their order (a thread has one shard).
//
// Threads: Push from any, Drain and Wait from the writer.
//
// Keeps promise 7: what waits for the disk is bounded.
#ifndef HOURGLASS_BROKER_STAGING_H_
#define HOURGLASS_BROKER_STAGING_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "hourglass/delay_store.h"
#include "hourglass/types.h"
#include "storage/mutex.h"

namespace hourglass {

// What became of an op that is not a put.
struct OpResult {
  absl::Status status;
  CancelAnswer answer = CancelAnswer::kNeverExisted;
  Handle handle;
};
using OpDone = absl::AnyInvocable<void(OpResult)>;

struct Op {
  enum class Kind : uint8_t {
    kPut,         // payload: message, then ack_bytes of EncodeMarks
    kCancel,      // handle
    kMove,        // handle; payload: the message that takes its place
    kAck,         // payload: EncodeAck
    kMarks,       // payload: EncodeMarks
    kCheckpoint,  // payload: EncodeCheckpointRecord
    kBarrier,     // done when everything before it is durable
  };
  Kind kind = Kind::kPut;
  uint32_t payload_bytes = 0;
  uint32_t ack_bytes = 0;  // of them, at the end; the hash is without them
  uint32_t id_hash = 0;
  int64_t due_ms = 0;
  uint64_t payload_hash = 0;
  Handle handle;
  std::string id;  // of a put, for its PutResult
  PutCallback put_done;
  OpDone done;

  // Answers with an error, whatever kind it is.
  void Fail(const absl::Status& status);
};

// Ops with their payloads one behind the other. Of one size, so that memory
// goes round: what is staged takes little more than it is.
struct OpBatch {
  static constexpr size_t kBytesMax = 128u << 10;
  static constexpr size_t kOpsMax = 512;

  std::string bytes;
  std::vector<Op> ops;
  // How far the writer is.
  size_t next_op = 0;
  size_t next_byte = 0;

  bool done() const { return next_op == ops.size(); }
  // A payload larger than a batch has one of its own.
  bool IsFull(size_t payload_bytes) const {
    return ops.size() >= kOpsMax ||
           (!ops.empty() && bytes.size() + payload_bytes > kBytesMax);
  }
};

class Staging {
 public:
  explicit Staging(size_t bytes_max) : bytes_max_(bytes_max) {}

  // False, and `op` untouched, when more than bytes_max would wait. Internal
  // ops (`always`) are let in: they are few, and they free space.
  bool Push(Op&& op, std::string_view payload, bool always = false);

  // Appends what has gathered, shard by shard; returns true if anything. No
  // batch of it is empty.
  bool Drain(std::deque<OpBatch>* out);

  // Gives the memory of a batch that is done to a later one: fresh megabytes
  // would have to be mapped and zeroed by the kernel every time.
  void Recycle(OpBatch&& batch);

  // `bytes` (as counted by Push) are no longer waiting.
  void Release(size_t bytes) { bytes_.fetch_sub(bytes); }
  static size_t CountedBytes(const Op& op) {
    return op.payload_bytes + sizeof(Op);
  }
  size_t bytes() const { return bytes_.load(); }

  // Sleeps until Wake or Push since the last Drain, or for `timeout_ms`.
  void Wait(int64_t timeout_ms);
  void Wake();

 private:
  static constexpr size_t kShards = 4;
  struct alignas(64) Shard {
    Mutex mu;
    std::vector<OpBatch> batches ABSL_GUARDED_BY(mu);
  };
  static size_t ShardOfThread();

  // About eight megabytes.
  static constexpr size_t kSparesMax = 32;
  OpBatch TakeSpare();

  const size_t bytes_max_;
  Mutex spares_mu_;
  std::vector<OpBatch> spares_ ABSL_GUARDED_BY(spares_mu_);
  std::array<Shard, kShards> shards_;
  std::atomic<size_t> bytes_{0};
  // True when there may be something to drain.
  std::atomic<bool> signal_{false};
  std::atomic<bool> sleeping_{false};
  Mutex wake_mu_;
  CondVar wake_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_STAGING_H_
