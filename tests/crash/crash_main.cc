// hourglass_crash: the program `hourglass` that ends itself with SIGKILL at a
// crash point (crash_points.h), and whose clock may be set.
//
//   hourglass_crash --crash-points      names, and what a kill there leaves
//   HOURGLASS_CRASH_AT=log.file_named:2 hourglass_crash pipe --data DIR
//   HOURGLASS_CRASH_CLOCK_MS=7200000 ...  two hours ahead of the machine's
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "broker/program/posix_console.h"
#include "broker/program/program.h"
#include "tests/crash/crash_points.h"

namespace hourglass {
namespace {

// The machine's clock, ahead of it or behind.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(int64_t by_ms) : by_ms_(by_ms) {}
  int64_t NowMs() override { return RealClock()->NowMs() + by_ms_; }
  int64_t MonotonicNs() override { return RealClock()->MonotonicNs(); }

 private:
  const int64_t by_ms_;
};

int64_t ShiftMs() {
  const char* const value = std::getenv("HOURGLASS_CRASH_CLOCK_MS");
  return value == nullptr ? 0 : std::atoll(value);
}

int PrintCrashPoints() {
  for (const CrashPointName& point : CrashPoints()) {
    std::printf("%-34s %s\n", std::string(point.name).c_str(),
                std::string(point.leaves).c_str());
  }
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--crash-points"}) {
    return PrintCrashPoints();
  }
  PosixConsole posix;
  ShiftedClock clock(ShiftMs());
  Console console = posix.console();
  console.clock = &clock;
  return RunProgram(arguments, console);
}

}  // namespace
}  // namespace hourglass

int main(int argc, char** argv) {
  return hourglass::Main(std::vector<std::string>(argv + 1, argv + argc));
}
