// File: crew.h
//
// The producers of a job: threads that issue operations, each through a
// window of its own, as fast as they are answered or at a given rate.
//
//   Crew crew(clock, windows, {.operations = 1000, .in_flight = 64}, works);
//   crew.Start();
//   while (!crew.WaitFinished(absl::Milliseconds(100))) { ... progress ... }
//   CrewResult result = crew.Join();
//
// Ownership: works and windows are the caller's; the windows must outlive the
// store (see window.h).
//
// Threads: Stop from any; the rest from the one that made the crew.
//
// Measures promise 1: puts count when they are acknowledged.
#ifndef HOURGLASS_BROKER_BENCH_CREW_H_
#define HOURGLASS_BROKER_BENCH_CREW_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/bench/window.h"
#include "hourglass/clock.h"
#include "hourglass/histogram.h"
#include "storage/mutex.h"

namespace hourglass {

// One producer's operations. Each must reach the window's Done once.
class Work {
 public:
  virtual ~Work() = default;
  // The `index`-th of this producer.
  virtual void Issue(uint64_t index, Window* window) = 0;
};

struct CrewPlan {
  uint64_t operations = 0;  // all producers together
  uint64_t in_flight = 1;   // all producers together
  uint64_t rate = 0;        // a second, all producers together; 0: any
};

struct CrewResult {
  absl::Status status;  // the first operation that failed
  uint64_t issued = 0;
  double seconds = 0;  // from the first operation to the last answer
  Histogram ack_us;    // of a sample
};

using WindowList = std::vector<std::unique_ptr<Window>>;

class Crew {
 public:
  // One producer for each of `works`; adds their windows to `windows`.
  Crew(Clock* clock, WindowList* windows, const CrewPlan& plan,
       std::vector<Work*> works);
  // Stops and joins.
  ~Crew();

  void Start();
  // No further operations; those on their way are still waited for.
  void Stop() { stop_ = true; }
  // False: the time was over first.
  bool WaitFinished(absl::Duration timeout);
  CrewResult Join();

  // Operations answered so far.
  uint64_t done() const;
  Histogram ack_us() const;

 private:
  struct Producer {
    Work* work = nullptr;
    Window* window = nullptr;
    uint64_t share = 0;
    uint64_t issued = 0;
    std::thread thread;
  };

  void Run(Producer* producer);
  // Sleeps while `issued` is ahead of the rate.
  void WaitForTurn(uint64_t issued) const;

  Clock* const clock_;
  const CrewPlan plan_;
  std::vector<Producer> producers_;
  std::atomic<bool> stop_{false};
  int64_t begin_ns_ = 0;

  Mutex mu_;
  CondVar finished_;
  size_t running_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t end_ns_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_CREW_H_
