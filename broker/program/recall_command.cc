// `hourglass recall`: takes messages of a running broker back, with a definite
// answer.
#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Prints one answer for each handle: recalled (it will never be delivered), or
why not: too late, or none of this server's. Handles come from `hourglass send`
or from a client's send receipt.

Examples:
  hourglass recall reminders hg1-aaaabsqaaaaaeaaaaaaaaaaaaaaaaaaa-1a2b3c4d-A17
  hourglass send trial x --in 1h --json | jq -r .handle |
    xargs hourglass recall trial

Exit codes: 0 all were recalled; 1 some were not; 2 could not run, or not to the
end.)";

class RecallCommand final : public Command {
 public:
  std::string_view name() const override { return "recall"; }

  void Declare(CLI::App* app) override {
    app->description("Takes messages of a running server back, by handle");
    app->footer(kFooter);
    server_.Declare(app);
    app->add_option("topic", topic_, "of the messages")
        ->type_name("TOPIC")
        ->required();
    app->add_option("handles", handles_, "what to recall")
        ->type_name("HANDLE")
        ->required();
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const auto broker = server_.Connect(console);
    if (!broker.ok()) return Fail(console, "", broker.status());
    const auto code = RecallAll(broker->get(), console);
    return code.ok() ? *code : Fail(console, "", code.status());
  }

 private:
  absl::StatusOr<int> RecallAll(BrokerClient* broker, const Console& console) {
    int exit_code = kExitOk;
    for (size_t i = 0; i < handles_.size(); ++i) {
      const auto answer = console.stop->requested()
                              ? absl::CancelledError("we were asked to stop")
                              : broker->Recall(topic_, handles_[i]);
      if (!answer.ok()) {
        if (i > 0) {
          Diagnostics(console.err)
              .Say(Concat("hourglass: ", i, " of ", handles_.size(),
                          " handles were answered"));
        }
        return answer.status();
      }
      if (!answer->ok()) exit_code = kExitRefused;
      RETURN_IF_ERROR(Print(console, handles_[i], *answer));
    }
    return exit_code;
  }

  absl::Status Print(const Console& console, const std::string& handle,
                     const Refusal& answer) const {
    const std::string_view name = answer.ok()             ? "recalled"
                                  : answer.is_not_found() ? "not recalled"
                                                          : "refused";
    std::string out;
    if (json_) {
      JsonObject object(&out);
      object.Text("handle", handle).Text("answer", name);
      if (!answer.ok()) object.Text("why", answer.text);
      object.End();
    } else {
      Append(&out, handle, " ", name, answer.ok() ? "" : ": ",
             answer.ok() ? "" : answer.text);
    }
    return console.out->Write(Concat(out, "\n"));
  }

  BrokerFlags server_;
  std::string topic_;
  std::vector<std::string> handles_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecallCommand() {
  return std::make_unique<RecallCommand>();
}

}  // namespace hourglass
