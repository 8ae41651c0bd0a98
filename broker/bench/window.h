// File: window.h
//
// How much one producer may have on its way: it goes on while fewer than
// `limit` of its operations wait for their answer, and sleeps otherwise. It
// is woken once for a whole quarter of the window, not once an answer: on two
// cores the waking would cost more than the work.
//
//   window.WaitForRoom(issued);                       // the producer
//   store->PutAsync(message, [&](auto r) { window.Done(r.status()); });
//   ...
//   window.WaitFor(issued);                           // all are answered
//
// Ownership: must outlive the store, whose threads may still be inside Done
// when the producer has gone on.
//
// Threads: Done and DoneSince from any; WaitFor and WaitForRoom from the one
// producer; the rest from any.
//
// Measures promise 1: time from put to acknowledgement.
#ifndef HOURGLASS_BROKER_BENCH_WINDOW_H_
#define HOURGLASS_BROKER_BENCH_WINDOW_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "hourglass/clock.h"
#include "hourglass/histogram.h"
#include "storage/mutex.h"

namespace hourglass {

class Window {
 public:
  Window(Clock* clock, uint64_t limit)
      : clock_(clock), limit_(std::max<uint64_t>(limit, 1)) {}

  uint64_t limit() const { return limit_; }
  // Answered, well or not.
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  void Done(const absl::Status& status) {
    if (!status.ok()) Fail(status);
    // The one answer that is waited for wakes; both sides are sequentially
    // consistent, so either it sees `wake_at_` or the waiter sees it.
    if (done_.fetch_add(1) + 1 != wake_at_.load()) return;
    MutexLock lock(&mu_);
    wake_.Signal();
  }
  // As Done, and remembers how long it took.
  void DoneSince(int64_t begin_ns, const absl::Status& status) {
    if (status.ok()) {
      const int64_t us = (clock_->MonotonicNs() - begin_ns) / 1000;
      MutexLock lock(&mu_);
      ack_us_.Add(us);
    }
    Done(status);
  }

  // Waits until `count` are answered.
  void WaitFor(uint64_t count) {
    MutexLock lock(&mu_);
    wake_at_.store(count);
    while (done_.load() < count) wake_.Wait(&mu_);
    wake_at_.store(kNobody);
  }
  // Waits until one more than `issued` may be on its way.
  void WaitForRoom(uint64_t issued) {
    if (issued - done() < limit_) return;
    WaitFor(issued - limit_ + std::max<uint64_t>(limit_ / 4, 1));
  }

  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // The first one.
  absl::Status failure() const {
    MutexLock lock(&mu_);
    return failure_;
  }
  void AddTo(Histogram* ack_us) const {
    MutexLock lock(&mu_);
    ack_us->Merge(ack_us_);
  }

 private:
  static constexpr uint64_t kNobody = std::numeric_limits<uint64_t>::max();

  void Fail(const absl::Status& status) {
    MutexLock lock(&mu_);
    if (failure_.ok()) failure_ = status;
    failed_ = true;
  }

  Clock* const clock_;
  const uint64_t limit_;
  alignas(64) std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> wake_at_{kNobody};
  std::atomic<bool> failed_{false};
  mutable Mutex mu_;
  CondVar wake_;
  Histogram ack_us_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_WINDOW_H_
