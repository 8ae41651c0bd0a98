// File: command.h
//
// One command of the `hourglass` program: a name, flags, and what it does.
// Each is a file of its own (put_command.cc, ...) that hands out its class by
// a Make function; MakeCommands() is the list.
//
//   class HelloCommand : public Command {
//     std::string_view name() const override { return "hello"; }
//     void Declare(CLI::App* app) override {
//       app->description("Says hello");
//       app->add_option("--to", to_, "whom");
//     }
//     int Run(const Console& console) override { ...; return kExitOk; }
//   };
//
// Every flag of a command may also be given by the environment and by the
// configuration file; program.cc sees to that.
//
// Serves promises 4 and 5: every answer and every error reaches the user.
#ifndef HOURGLASS_BROKER_PROGRAM_COMMAND_H_
#define HOURGLASS_BROKER_PROGRAM_COMMAND_H_

#include <memory>
#include <string_view>
#include <vector>

#include "broker/program/console.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

// How the program ends, the same for every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;  // some input refused, or damage found
inline constexpr int kExitFailed = 2;   // could not run, or not to the end

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  // Gives the subcommand its description, flags and examples (as footer).
  virtual void Declare(CLI::App* app) = 0;
  // Runs with the flags as parsed. Returns the exit code; what went wrong
  // has been said on console.err.
  virtual int Run(const Console& console) = 0;
};

std::unique_ptr<Command> MakeServeCommand();
std::unique_ptr<Command> MakeSendCommand();
std::unique_ptr<Command> MakeReceiveCommand();
std::unique_ptr<Command> MakeRecallCommand();
std::unique_ptr<Command> MakeTopicsCommand();
std::unique_ptr<Command> MakeGroupsCommand();
std::unique_ptr<Command> MakeTopCommand();
std::unique_ptr<Command> MakePipeCommand();
std::unique_ptr<Command> MakePutCommand();
std::unique_ptr<Command> MakeCancelCommand();
std::unique_ptr<Command> MakeListCommand();
std::unique_ptr<Command> MakeForecastCommand();
std::unique_ptr<Command> MakeStatCommand();
std::unique_ptr<Command> MakeLogCommand();
std::unique_ptr<Command> MakeRecoverCommand();
std::unique_ptr<Command> MakeTasksCommand();
std::unique_ptr<Command> MakeBenchCommand();

// All of them, in the order in which --help lists them.
std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_COMMAND_H_
