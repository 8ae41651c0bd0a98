// File: ready_reader.h
//
// A consumer of the bench topic in a thread of its own: reads what becomes
// ready, in order, and commits its progress, as a consumer group does.
//
//   ReadyReader reader(store, clock, [](const ReadyMessage& m) { ... });
//   ...
//   RETURN_IF_ERROR(reader.Stop());
//
// Ownership: store and clock are the caller's and must outlive it.
//
// Threads: the function runs on the reader's; Stop by the one that made it.
//
// Measures promise 3: when a consumer has the message.
#ifndef HOURGLASS_BROKER_BENCH_READY_READER_H_
#define HOURGLASS_BROKER_BENCH_READY_READER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/delay_store.h"

namespace hourglass {

class ReadyReader {
 public:
  using OnReady = std::function<void(const ReadyMessage&)>;

  // Starts where the group's progress stands.
  ReadyReader(DelayStore* store, Clock* clock, OnReady on_ready);
  ~ReadyReader();

  // Messages read so far.
  uint64_t read() const { return read_; }
  // OK, or why it could not read on.
  absl::Status Stop();

 private:
  absl::Status Run();
  // Reads what is there; true if there was something.
  absl::StatusOr<bool> ReadOnce();
  absl::Status CommitSometimes();

  DelayStore* const store_;
  Clock* const clock_;
  const OnReady on_ready_;
  QueueIndex next_;
  QueueIndex committed_;
  int64_t committed_ns_ = 0;
  std::atomic<uint64_t> read_{0};
  std::atomic<bool> stop_{false};
  absl::Status status_;  // of the thread, once it is joined
  std::thread thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_READY_READER_H_
