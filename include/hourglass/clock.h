// File: clock.h
//
// Time as an argument. Whoever needs to know what time it is takes a
// `Clock*`; only `storage/real_clock.cc` asks the machine. A host or a test
// may own the time instead:
//
//   VirtualClock clock(StartMs(Hour{480000}));
//   options.clock = &clock;
//   clock.AdvanceMs(250);
//
// Threads: every method of every Clock may be called from any thread.
//
// Keeps promise 3: one clock decides what is due.
#ifndef HOURGLASS_CLOCK_H_
#define HOURGLASS_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace hourglass {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock: UTC milliseconds since 1970. May step in both directions.
  virtual int64_t NowMs() = 0;

  // Nanoseconds since some fixed moment; never steps. For measuring only.
  virtual int64_t MonotonicNs() = 0;
};

// The machine's clock. Lives for ever.
Clock* RealClock();

// A clock that moves only when told to: for tests and simulations.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(int64_t now_ms) : now_ms_(now_ms) {}

  int64_t NowMs() override { return now_ms_.load(); }
  int64_t MonotonicNs() override { return monotonic_ns_.load(); }

  // Time passes: both clocks move on. `ms` must not be negative.
  void AdvanceMs(int64_t ms) {
    now_ms_ += ms;
    monotonic_ns_ += ms * 1'000'000;
  }
  // Somebody sets the wall clock, back or forward; no time passes.
  void StepMs(int64_t ms) { now_ms_ += ms; }

 private:
  std::atomic<int64_t> now_ms_;
  std::atomic<int64_t> monotonic_ns_{0};
};

}  // namespace hourglass

#endif  // HOURGLASS_CLOCK_H_
