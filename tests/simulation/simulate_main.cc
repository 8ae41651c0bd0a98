// The simulator as a program: many random histories, or one again.
//
//   simulate --seeds 20000            the seeds 1 to 20000
//   simulate --seconds 600            as many as fit
//   simulate --seed 4711              one, with its whole report
//   simulate --first-seed 100000 --jobs 2 ...
//
// Exit code 1 if a history went wrong, or if a kind of fault never fired in
// 5000 seeds or more.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "commit.h"  // made by cmake/WriteCommit.cmake
#include "tests/simulation/workers.h"

namespace hourglass {
namespace {

constexpr uint64_t kSeedsThatMeetEveryFault = 5000;

int Usage() {
  std::fprintf(stderr,
               "usage: simulate [--seed N | --seeds N] [--seconds N]\n"
               "                [--first-seed N] [--jobs N]\n");
  return 2;
}

int Replay(uint64_t seed) {
  const SimResult result = SimRun(seed).Run();
  std::printf("commit %s\n", HOURGLASS_COMMIT);
  if (result.failure.empty()) {
    std::printf("seed %lu: all is well; trace %016lx\n", seed,
                result.trace_hash);
    return 0;
  }
  std::printf("%s\n", result.failure.c_str());
  return 1;
}

int RunMany(const WorkOptions& options) {
  const WorkReport report = RunSeeds(options);
  std::fputs(Summary(report).c_str(), stdout);
  for (const std::string& failure : report.failures) {
    std::printf("\nFAILED at commit %s\n%s\n", HOURGLASS_COMMIT,
                failure.c_str());
  }
  bool hole = false;
  if (report.totals.runs >= kSeedsThatMeetEveryFault) {
    for (const FaultKind kind : NeverFired(report.totals)) {
      std::printf("FAILED: a fault that never fired: %s\n",
                  std::string(FaultKindName(kind)).c_str());
      hole = true;
    }
  }
  return report.failures.empty() && !hole ? 0 : 1;
}

int Main(int argc, char** argv) {
  WorkOptions options;
  options.seeds = 0;
  uint64_t seed = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--seed") {
      seed = value;
    } else if (flag == "--seeds") {
      options.seeds = value;
    } else if (flag == "--seconds") {
      options.seconds = value;
    } else if (flag == "--first-seed") {
      options.first_seed = value;
    } else if (flag == "--jobs") {
      options.jobs = static_cast<unsigned>(value);
    } else {
      return Usage();
    }
  }
  if (argc % 2 == 0) return Usage();
  if (seed != 0) return Replay(seed);
  if (options.seeds == 0 && options.seconds == 0) options.seeds = 1000;
  return RunMany(options);
}

}  // namespace
}  // namespace hourglass

int main(int argc, char** argv) { return hourglass::Main(argc, argv); }
