// `hourglass bench`: see broker/bench/.
#include "broker/bench/bench_command.h"

#include <memory>

#include "broker/program/command.h"

namespace hourglass {
namespace {

// Always on the machine's own clock and disk: anything else would measure
// something else.
class BenchProgramCommand final : public Command {
 public:
  std::string_view name() const override { return "bench"; }
  void Declare(CLI::App* app) override { bench_.Declare(app); }

  int Run(const Console& console) override {
    BenchConsole bench;
    bench.out = [&](std::string_view text) { return console.out->Write(text); };
    bench.err = [&](std::string_view text) {
      // If stderr is gone there is nobody left to tell.
      console.err->Write(text).IgnoreError();
    };
    bench.err_is_terminal = console.err->IsTerminal();
    bench.stopped = [&] { return console.stop->requested(); };
    return bench_.Run(bench);
  }

 private:
  BenchCommand bench_;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() {
  return std::make_unique<BenchProgramCommand>();
}

}  // namespace hourglass
