// `hourglass put`: stores messages and exits; something else delivers them.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "broker/program/command.h"
#include "broker/program/intake.h"
#include "broker/program/property_flag.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Without --body or --body-base64, reads the lines that `hourglass pipe` reads.
Prints id and handle of every message as soon as it is durable; the handle is
what `hourglass cancel` takes ("-": the message was due at once).

Examples:
  hourglass put --data /tmp/d --topic reminders --body 'call back' --delay 1h30m
  hourglass put --data /tmp/d --body x --deliver-at 2027-01-01T00:00:00+01:00
  hourglass put --data /tmp/d --json < orders.jsonl

Exit codes: 0 all stored; 1 some were refused (each is answered on stderr);
2 could not run.)";

// The flags of one message, as they were typed.
struct MessageFlags {
  std::string topic = "default";
  std::string body, body_base64;
  std::string id, tag;
  std::vector<std::string> keys, properties;
  std::string delay, deliver_at;
  int64_t delay_ms = 0;
};

std::optional<InputError> SetBody(const MessageFlags& flags, Message* message) {
  message->body = flags.body;
  if (flags.body_base64.empty() ||
      absl::Base64Unescape(flags.body_base64, &message->body)) {
    return std::nullopt;
  }
  return InputError{0, "--body-base64",
                    Concat(Quoted(flags.body_base64), " is not base64"),
                    R"(base64, such as "aGVsbG8=")"};
}

class PutCommand final : public Command {
 public:
  std::string_view name() const override { return "put"; }

  void Declare(CLI::App* app) override {
    app->description("Stores messages: one from flags, or lines from stdin");
    app->footer(kFooter);
    store_.Declare(app);
    DeclareMessage(app);
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    if (!one_message() && any_message_flag()) {
      return Fail(console, "",
                  absl::InvalidArgumentError(
                      "flags of a message without its body; expected --body "
                      "or --body-base64, or none of them and lines on stdin"));
    }
    const absl::StatusOr<StoreOptions> options = store_.Options(console);
    if (!options.ok()) return Fail(console, "", options.status());
    return store_.WithStore(
        console, StoreFlags::Mode::kCreate,
        [&](DelayStore& store) { return PutAll(&store, console, *options); });
  }

 private:
  void DeclareMessage(CLI::App* app) {
    constexpr char kGroup[] = "The message";
    const auto add = [&](const char* flag, auto* value, const char* type,
                         const char* what) {
      CLI::Option* option = app->add_option(flag, *value, what);
      option->type_name(type)->group(kGroup);
      message_options_.push_back(option);
      return option;
    };
    body_ = add("--body", &flags_.body, "TEXT", "body as text");
    body_base64_ =
        add("--body-base64", &flags_.body_base64, "BASE64", "body as bytes");
    body_->excludes(body_base64_);
    add("--topic", &flags_.topic, "TOPIC", "\"default\" if not given");
    add("--id", &flags_.id, "ID", "made by the store if not given");
    add("--tag", &flags_.tag, "TAG", "for consumers to filter by");
    add("--key", &flags_.keys, "KEY", "may be given again")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add("--property", &flags_.properties, "NAME=VALUE", "may be given again")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    delay_ = add("--delay", &flags_.delay, "DURATION", "such as 30s or 1h30m");
    delay_ms_ = add("--delay-ms", &flags_.delay_ms, "MS", "in milliseconds");
    deliver_at_ = add("--deliver-at", &flags_.deliver_at, "TIME",
                      "RFC 3339, or UTC milliseconds");
    delay_->excludes(delay_ms_)->excludes(deliver_at_);
    delay_ms_->excludes(deliver_at_);
  }

  bool one_message() const {
    return body_->count() > 0 || body_base64_->count() > 0;
  }
  bool any_message_flag() const {
    for (const CLI::Option* option : message_options_) {
      if (option->count() > 0) return true;
    }
    return false;
  }

  std::optional<InputError> MakeMessage(const InputLimits& limits,
                                        int64_t now_ms, Message* message) {
    message->topic = flags_.topic;
    message->id = flags_.id;
    message->tag = flags_.tag;
    message->keys = flags_.keys;
    if (auto error = SetBody(flags_, message)) return error;
    if (auto error = AddProperties(flags_.properties, message)) return error;
    if (auto error = CheckLimits(*message, limits)) return error;
    DueFields due;
    if (delay_->count() > 0) due.delay = flags_.delay;
    if (delay_ms_->count() > 0) due.delay_ms = flags_.delay_ms;
    if (deliver_at_->count() > 0) due.deliver_at = flags_.deliver_at;
    return ResolveDue(due, now_ms, limits, &message->due_ms);
  }

  absl::Status Print(const Console& console,
                     const std::vector<PutResult>& puts) const {
    std::string out;
    for (const PutResult& put : puts) {
      if (json_) {
        AppendAckLine(put, &out);
      } else {
        Append(&out, put.id, " ", put.handle.ToString(), "\n");
      }
    }
    return console.out->Write(out);
  }

  absl::StatusOr<int> PutAll(DelayStore* store, const Console& console,
                             const StoreOptions& options) {
    Diagnostics diagnostics(console.err);
    const InputLimits limits = InputLimits::From(options);
    Intake intake(store, console, &diagnostics,
                  {.limits = limits,
                   .in_flight_bytes_max = options.unsynced_bytes_max / 2},
                  [&](const std::vector<PutResult>& puts) {
                    return Print(console, puts);
                  });
    bool refused = false;
    if (one_message()) {
      Message message;
      const auto error = MakeMessage(limits, console.clock->NowMs(), &message);
      refused = error.has_value();
      if (error) {
        diagnostics.Say(Concat("hourglass: ", error->ToString()));
      } else {
        RETURN_IF_ERROR(intake.Put(std::move(message)));
      }
    } else {
      RETURN_IF_ERROR(intake.Run(console.in));
    }
    RETURN_IF_ERROR(intake.Finish());
    return refused || intake.refused() > 0 ? kExitRefused : kExitOk;
  }

  StoreFlags store_;
  MessageFlags flags_;
  bool json_ = false;
  CLI::Option* body_ = nullptr;
  CLI::Option* body_base64_ = nullptr;
  CLI::Option* delay_ = nullptr;
  CLI::Option* delay_ms_ = nullptr;
  CLI::Option* deliver_at_ = nullptr;
  std::vector<CLI::Option*> message_options_;
};

}  // namespace

std::unique_ptr<Command> MakePutCommand() {
  return std::make_unique<PutCommand>();
}

}  // namespace hourglass
