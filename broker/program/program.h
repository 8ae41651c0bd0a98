// File: program.h
//
// The `hourglass` program without a main(): command line, environment and
// configuration file in, exit code out.
//
//   PosixConsole console;
//   return RunProgram({"pipe", "--data", "/tmp/d"}, console.console());
//
// A flag's value comes from the first of: the command line; the environment
// (HOURGLASS_DATA; HOURGLASS_PIPE_TOPIC for flags that only `pipe` has); the
// configuration file named by --config or HOURGLASS_CONFIG; its default. The
// file is TOML with the flags' names as keys: at the top for every command,
// or in a section of the command's name.
//
// Serves all promises: one clear sentence and an exit code when one cannot be
// kept.
#ifndef HOURGLASS_BROKER_PROGRAM_PROGRAM_H_
#define HOURGLASS_BROKER_PROGRAM_PROGRAM_H_

#include <string>
#include <vector>

#include "broker/program/console.h"

namespace hourglass {

// `arguments` without the program's name.
int RunProgram(const std::vector<std::string>& arguments,
               const Console& console);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_PROGRAM_H_
