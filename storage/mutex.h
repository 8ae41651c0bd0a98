// File: mutex.h
//
// A mutex, a scope that holds it, and a condition to wait for, in the shape of
// Abseil's, over the standard library's: Debian's Abseil is built without
// ThreadSanitizer's annotations, and a race detector that cries wolf is soon
// switched off.
//
//   MutexLock lock(&mu_);
//   while (queue_.empty()) ready_.Wait(&mu_);
//
// The annotations are Clang's thread safety ones.
//
// Serves promise 2: locks that the race detector sees.
#ifndef HOURGLASS_STORAGE_MUTEX_H_
#define HOURGLASS_STORAGE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace hourglass {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

class CondVar {
 public:
  // Precondition, for both: the caller holds `mu`. It may wake for nothing.
  void Wait(Mutex* mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // True if the time passed without a signal.
  bool WaitForNs(Mutex* mu, int64_t ns) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    const auto status = cv_.wait_for(lock, std::chrono::nanoseconds(ns));
    lock.release();
    return status == std::cv_status::timeout;
  }
  bool WaitForMs(Mutex* mu, int64_t ms) {
    return WaitForNs(mu, ms * 1'000'000);
  }
  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

// Opens when it was counted down `count` times. May be destroyed as soon as
// Wait returned.
class Latch {
 public:
  explicit Latch(size_t count) : left_(count) {}
  void CountDown() {
    MutexLock lock(&mu_);
    if (--left_ == 0) open_.SignalAll();
  }
  void Wait() {
    MutexLock lock(&mu_);
    while (left_ > 0) open_.Wait(&mu_);
  }
  // For a while at least; it may return early.
  void WaitForMs(int64_t ms) {
    MutexLock lock(&mu_);
    if (left_ > 0) open_.WaitForMs(&mu_, ms);
  }

 private:
  Mutex mu_;
  CondVar open_;
  size_t left_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_MUTEX_H_
