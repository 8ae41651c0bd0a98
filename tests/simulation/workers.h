// File: workers.h
//
// Runs many seeds in worker processes, as many at once as there are cores.
// Processes and not threads: a run that crashes takes its worker with it and
// nobody else, and RocksDB's threads belong to one run at a time.
//
//   WorkOptions options;
//   options.first_seed = 1;
//   options.seeds = 20'000;
//   WorkReport report = RunSeeds(options);
//
// Every hundredth seed is run twice and must leave the same trace.
//
// Limitations: call it before any thread was started. A worker that crashed
// is reported with the seed it was at, and not replaced.
#ifndef HOURGLASS_TESTS_SIMULATION_WORKERS_H_
#define HOURGLASS_TESTS_SIMULATION_WORKERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/sim_run.h"

namespace hourglass {

struct WorkOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 1000;       // 0: as many as fit into `seconds`
  uint64_t seconds = 0;        // 0: no bound
  unsigned jobs = 0;           // 0: one per core
  uint64_t twice_every = 100;  // 0: never
  uint64_t failures_max = 3;   // of one worker; then it stops
};

struct WorkReport {
  SimTotals totals;
  uint64_t checked_twice = 0;
  double seconds = 0;
  std::vector<std::string> failures;
};

WorkReport RunSeeds(const WorkOptions& options);

// For people: what was done, and how often each fault fired.
std::string Summary(const WorkReport& report);
// Kinds of faults that never fired; each is a hole in what was tested.
std::vector<FaultKind> NeverFired(const SimTotals& totals);

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_WORKERS_H_
