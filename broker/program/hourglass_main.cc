#include <string>
#include <vector>

#include "broker/program/posix_console.h"
#include "broker/program/program.h"

int main(int argc, char** argv) {
  hourglass::PosixConsole console;
  return hourglass::RunProgram(std::vector<std::string>(argv + 1, argv + argc),
                               console.console());
}
