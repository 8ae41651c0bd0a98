#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/simulation/sim_run.h"
int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
  const uint64_t n = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
  hourglass::SimTotals sum;
  int failures = 0;
  for (uint64_t s = first; s < first + n; ++s) {
    hourglass::SimRun run(s);
    auto r = run.Run();
    sum.Add(r.totals);
    if (!r.failure.empty()) {
      if (n == 1)
        std::puts(r.failure.c_str());
      else
        std::printf("%.300s\n",
                    r.failure.substr(0, r.failure.find('\n')).c_str());
      ++failures;
    }
  }
  std::printf(
      "runs %lu failures %d lives %lu ops %lu calls %lu puts %lu delivered %lu "
      "settled %lu full %lu refused %lu reported %lu harmless %lu\n",
      sum.runs, failures, sum.lives, sum.operations, sum.calls, sum.puts,
      sum.delivered, sum.settled, sum.full_disks, sum.refused, sum.reported,
      sum.harmless);
  for (size_t i = 0; i < hourglass::kFaultKinds; ++i)
    std::printf("  %-22s %lu\n",
                std::string(FaultKindName(static_cast<hourglass::FaultKind>(i)))
                    .c_str(),
                sum.faults[i]);
}
