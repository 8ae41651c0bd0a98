// `hourglass cancel`: takes pending messages back, with a definite answer.
#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Prints one answer for each handle: cancelled, already delivered, or never
existed. Handles come from `hourglass put`, `hourglass list` or --acks.

Note: opening the store also starts what is due; it becomes ready, and the next
`hourglass pipe` writes it.

Examples:
  hourglass cancel --data /tmp/d aaaabsqaaaaaeaaaaaaaaaaaaaaaaaaa
  hourglass list --data /tmp/d --topic trial --json | jq -r .handle |
    xargs hourglass cancel --data /tmp/d

Exit codes: 0 all were cancelled; 1 some were not; 2 could not run.)";

class CancelCommand final : public Command {
 public:
  std::string_view name() const override { return "cancel"; }

  void Declare(CLI::App* app) override {
    app->description("Cancels pending messages by handle");
    app->footer(kFooter);
    store_.Declare(app);
    app->add_option("handles", handles_, "what to cancel")
        ->type_name("HANDLE")
        ->required();
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    return store_.WithStore(
        console, StoreFlags::Mode::kExisting,
        [&](DelayStore& store) { return CancelAll(&store, console); });
  }

 private:
  absl::StatusOr<int> CancelAll(DelayStore* store, const Console& console) {
    int exit_code = kExitOk;
    for (const std::string& text : handles_) {
      const absl::StatusOr<Handle> handle = Handle::Parse(text);
      if (!handle.ok()) {
        Diagnostics(console.err)
            .Say(Concat("hourglass: ", Quoted(text),
                        " is not a handle; expected 32 characters such "
                        "as `hourglass list` prints"));
        exit_code = kExitRefused;
        continue;
      }
      ASSIGN_OR_RETURN(const CancelAnswer answer, store->Cancel(*handle));
      if (answer != CancelAnswer::kCancelled) exit_code = kExitRefused;
      RETURN_IF_ERROR(Print(console, text, answer));
    }
    return exit_code;
  }

  absl::Status Print(const Console& console, const std::string& handle,
                     CancelAnswer answer) const {
    std::string out;
    if (json_) {
      JsonObject object(&out);
      object.Text("handle", handle).Text("answer", CancelAnswerName(answer));
      object.End();
    } else {
      Append(&out, handle, " ", CancelAnswerName(answer));
    }
    return console.out->Write(Concat(out, "\n"));
  }

  StoreFlags store_;
  std::vector<std::string> handles_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCancelCommand() {
  return std::make_unique<CancelCommand>();
}

}  // namespace hourglass
