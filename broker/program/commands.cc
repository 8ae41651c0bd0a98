#include "broker/program/command.h"

namespace hourglass {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
#ifdef HOURGLASS_FRONT  // a build for sanitizers goes without gRPC
  commands.push_back(MakeServeCommand());
#endif
  commands.push_back(MakeSendCommand());
  commands.push_back(MakeReceiveCommand());
  commands.push_back(MakeRecallCommand());
  commands.push_back(MakeTopicsCommand());
  commands.push_back(MakeGroupsCommand());
  commands.push_back(MakeTopCommand());
  commands.push_back(MakePipeCommand());
  commands.push_back(MakePutCommand());
  commands.push_back(MakeCancelCommand());
  commands.push_back(MakeListCommand());
  commands.push_back(MakeForecastCommand());
  commands.push_back(MakeStatCommand());
  commands.push_back(MakeLogCommand());
  commands.push_back(MakeRecoverCommand());
  commands.push_back(MakeTasksCommand());
  commands.push_back(MakeBenchCommand());
  return commands;
}

}  // namespace hourglass
