// File: bench_command.h
//
// `hourglass bench`: the command line of the jobs, apart from the program so
// that neither needs the other.
//
//   CLI::App* app = program.add_subcommand("bench");
//   BenchCommand bench;
//   bench.Declare(app);
//   ... parse ...
//   return bench.Run(console);
//
// Threads: none of its own.
//
// Measures what the promises cost.
#ifndef HOURGLASS_BROKER_BENCH_BENCH_COMMAND_H_
#define HOURGLASS_BROKER_BENCH_BENCH_COMMAND_H_

#include <array>

#include "broker/bench/bench_console.h"
#include "broker/bench/bench_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

// Runs one job. Returns the program's exit code: 0 done; 1 the counts do not
// add up; 2 it could not run, or not to the end.
int RunBench(const BenchOptions& options, const BenchConsole& console);

class BenchCommand {
 public:
  BenchCommand();

  // Gives `app`, which is `bench`, its jobs as subcommands. Neither `app` nor
  // this may move afterwards.
  void Declare(CLI::App* app);
  // The job that was asked for. Precondition: the command line was parsed.
  int Run(const BenchConsole& console) const;

 private:
  std::array<BenchOptions, kBenchJobs.size()> options_;
  CLI::App* app_ = nullptr;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_BENCH_COMMAND_H_
