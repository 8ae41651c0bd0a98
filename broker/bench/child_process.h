// File: child_process.h
//
// A program in a process of its own that says lines on its standard output,
// and is killed.
//
//   ASSIGN_OR_RETURN(auto child, ChildProcess::Start("/proc/self/exe", args));
//   ASSIGN_OR_RETURN(std::string line, child->ReadLine(until, stopped));
//   child->Kill();                              // SIGKILL, and waits
//
// Threads: none of its own.
//
// Limitations: POSIX. The child's standard error is ours.
//
// Measures promise 7: a restart after a real SIGKILL.
#ifndef HOURGLASS_BROKER_BENCH_CHILD_PROCESS_H_
#define HOURGLASS_BROKER_BENCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace hourglass {

class ChildProcess {
 public:
  // `arguments` without the program's name.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::string& program, const std::vector<std::string>& arguments);
  // Kills.
  ~ChildProcess();

  // Without its end. UNAVAILABLE if the child ended instead,
  // DEADLINE_EXCEEDED after `timeout`, CANCELLED if `stopped` says so.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout,
                                       const std::function<bool()>& stopped);
  // Returns when the process is gone.
  void Kill();

 private:
  ChildProcess(pid_t pid, int out) : pid_(pid), out_(out) {}
  // Waits a little for more and reads it; false: nothing yet.
  absl::StatusOr<bool> Fill();

  pid_t pid_;
  const int out_;
  std::string buffer_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_CHILD_PROCESS_H_
