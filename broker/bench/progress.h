// File: progress.h
//
// One line that says how far a long job is: count, rate, time left. On a
// terminal it is redrawn in place; elsewhere it comes every ten seconds.
// Nothing is said in the first second.
//
//   Progress progress(console, clock, "filling", messages);
//   while (...) progress.Update(done);        // any number of times
//
// Threads: none of its own.
//
// Serves the one who waits; keeps no promise itself.
#ifndef HOURGLASS_BROKER_BENCH_PROGRESS_H_
#define HOURGLASS_BROKER_BENCH_PROGRESS_H_

#include <cstdint>
#include <string>

#include "broker/bench/bench_console.h"
#include "hourglass/clock.h"

namespace hourglass {

class Progress {
 public:
  // `unit`: what is counted; `total` 0: nobody knows.
  Progress(const BenchConsole* console, Clock* clock, std::string what,
           std::string unit, uint64_t total);
  // Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(uint64_t done);

 private:
  std::string Line(uint64_t done, double seconds) const;

  const BenchConsole* const console_;
  Clock* const clock_;
  const std::string what_;
  const std::string unit_;
  const uint64_t total_;
  const int64_t begin_ns_;
  int64_t next_ns_;
  bool shown_ = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_PROGRESS_H_
