#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "broker/program/posix_console.h"
#include "broker/program/program.h"

int main(int argc, char** argv) {
  // Debian's Abseil is built with its search for lock cycles on. gRPC locks
  // for every call: the search takes a tenth of the server's CPU.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  hourglass::PosixConsole console;
  return hourglass::RunProgram(std::vector<std::string>(argv + 1, argv + argc),
                               console.console());
}
