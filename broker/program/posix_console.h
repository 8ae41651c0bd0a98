// File: posix_console.h
//
// The process's own stdin, stdout, stderr and signals: the one place of the
// program that asks the operating system for them.
//
//   PosixConsole console;              // takes SIGINT, SIGTERM, SIGPIPE
//   return RunProgram(argc, argv, console.console());
//
// The first SIGINT or SIGTERM asks the command to stop; a second one ends
// the process at once. Writing to a reader that went away is an error of
// Write (EPIPE), not a signal.
//
// Limitations: one PosixConsole a process.
//
// Keeps promise 2: a line counts as written when the write returned.
#ifndef HOURGLASS_BROKER_PROGRAM_POSIX_CONSOLE_H_
#define HOURGLASS_BROKER_PROGRAM_POSIX_CONSOLE_H_

#include <memory>

#include "broker/program/console.h"

namespace hourglass {

class PosixConsole {
 public:
  PosixConsole();
  ~PosixConsole();
  Console console() const;

 private:
  class Stop;
  class Lines;
  class Descriptor;
  std::unique_ptr<Stop> stop_;
  std::unique_ptr<Lines> in_;
  std::unique_ptr<Descriptor> out_;
  std::unique_ptr<Descriptor> err_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_POSIX_CONSOLE_H_
