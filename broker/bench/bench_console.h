// File: bench_console.h
//
// What `hourglass bench` touches of the terminal: where the report and the
// progress go, and whether somebody asked it to stop. The program gives its
// own streams; a test gives strings.
//
// Threads: `stopped` from any; the others from one at a time.
//
// Measures what the promises cost; progress goes to people.
#ifndef HOURGLASS_BROKER_BENCH_BENCH_CONSOLE_H_
#define HOURGLASS_BROKER_BENCH_BENCH_CONSOLE_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hourglass {

struct BenchConsole {
  std::function<absl::Status(std::string_view)> out;
  std::function<void(std::string_view)> err;
  bool err_is_terminal = false;
  // Ctrl-C.
  std::function<bool()> stopped = [] { return false; };
  // The program that runs `bench restart --child`.
  std::string program = "/proc/self/exe";
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_BENCH_CONSOLE_H_
