// `hourglass send`: messages to a running broker, one from the command line or
// lines from stdin.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_join.h"
#include "broker/id_maker.h"
#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/property_flag.h"
#include "broker/program/send_queue.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/random.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Words of BODY are joined by a space. Without BODY: the lines that `hourglass
pipe` reads, from stdin; TOPIC is that of lines which name none. Prints id and
recall handle of each message as soon as it is durable; the handle is what
`hourglass recall` takes ("-": the message was due at once).

Examples:
  hourglass send reminders call back --in 1h30m
  hourglass send reminders 'happy new year' --at 2027-01-01T00:00:00+01:00
  hourglass send orders paid --group customer-7 --key 1001 --property vat=19
  hourglass send orders --json < orders.jsonl

Exit codes: 0 all are stored; 1 some were refused (each is answered on stderr);
2 could not run, or not to the end: what was not sent is said.)";

// The broker's own limits count; these keep a line within reason.
constexpr InputLimits kLimits = {32u << 20, 1u << 20,
                                 100LL * 366 * 24 * 3'600'000};

struct SendFlags {
  std::string topic, message_group;
  std::vector<std::string> body;
  std::string in, at, id, tag;
  std::vector<std::string> keys, properties;
  bool json = false;
};

std::optional<InputError> Named(std::optional<InputError> error) {
  if (error && error->field == "delay") error->field = "--in";
  if (error && error->field == "deliver_at") error->field = "--at";
  return error;
}

std::optional<InputError> MakeMessage(const SendFlags& flags, int64_t now_ms,
                                      Message* message) {
  message->topic = flags.topic;
  message->id = flags.id;
  message->tag = flags.tag;
  message->keys = flags.keys;
  message->body = absl::StrJoin(flags.body, " ");
  if (auto error = AddProperties(flags.properties, message)) return error;
  if (auto error = CheckLimits(*message, kLimits)) return error;
  DueFields due;
  if (!flags.in.empty()) due.delay = flags.in;
  if (!flags.at.empty()) due.deliver_at = flags.at;
  return Named(ResolveDue(due, now_ms, kLimits, &message->due_ms));
}

class SendRun {
 public:
  SendRun(const Console& console, const SendFlags& flags, BrokerClient* broker)
      : console_(console),
        flags_(flags),
        diagnostics_(console.err),
        ids_(SystemEntropy()),
        queue_(broker, console, &diagnostics_,
               [this](const std::vector<SendAnswer>& sent) {
                 return Print(sent);
               }) {}

  absl::StatusOr<int> Run() {
    const absl::Status read = flags_.body.empty() ? ReadLines() : SendOne();
    const absl::Status finished = queue_.Finish();
    diagnostics_.Progress("");
    RETURN_IF_ERROR(read);
    RETURN_IF_ERROR(finished);
    return refused_ + queue_.refused() == 0 ? kExitOk : kExitRefused;
  }

 private:
  absl::Status SendOne() {
    Message message;
    if (auto error = MakeMessage(flags_, console_.clock->NowMs(), &message)) {
      ++refused_;
      diagnostics_.Say(Concat("hourglass: ", error->ToString()));
      return absl::OkStatus();
    }
    return Add(0, std::move(message));
  }

  absl::Status ReadLines() {
    std::string line;
    uint64_t number = 0;
    while (!console_.stop->requested()) {
      ASSIGN_OR_RETURN(const LineSource::Got got,
                       console_.in->Next(&line, kLimits.line_bytes_max()));
      if (got == LineSource::Got::kEnd || got == LineSource::Got::kStopped) {
        break;
      }
      ++number;
      if (got == LineSource::Got::kTooLong) {
        Refuse({number, "", "is too long",
                Concat("at most ", kLimits.line_bytes_max(), " bytes")});
      } else if (!IsBlank(line)) {
        RETURN_IF_ERROR(AddLine(number, line));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddLine(uint64_t number, const std::string& line) {
    Message message;
    auto error = ParseInputLine(line, console_.clock->NowMs(), kLimits,
                                &message, flags_.topic);
    if (!error) return Add(number, std::move(message));
    error->line = number;
    Refuse(*error);
    return absl::OkStatus();
  }

  void Refuse(const InputError& error) {
    ++refused_;
    diagnostics_.Say(error.ToString());
  }

  // With an id of its own a message may be sent again.
  absl::Status Add(uint64_t line, Message message) {
    if (message.id.empty()) message.id = ids_.Next();
    return queue_.Add(line, {std::move(message), flags_.message_group});
  }

  absl::Status Print(const std::vector<SendAnswer>& sent) const {
    std::string out;
    for (const SendAnswer& answer : sent) {
      const std::string& handle = answer.recall_handle;
      if (!flags_.json) {
        Append(&out, answer.id, " ", handle.empty() ? "-" : handle, "\n");
        continue;
      }
      JsonObject object(&out);
      object.Text("id", answer.id);
      if (handle.empty()) {
        object.Null("handle");
      } else {
        object.Text("handle", handle);
      }
      object.End();
      out.push_back('\n');
    }
    return console_.out->Write(out);
  }

  const Console console_;
  const SendFlags flags_;
  Diagnostics diagnostics_;
  IdMaker ids_;
  uint64_t refused_ = 0;
  SendQueue queue_;
};

class SendCommand final : public Command {
 public:
  std::string_view name() const override { return "send"; }

  void Declare(CLI::App* app) override {
    app->description("Sends messages to a running server");
    app->footer(kFooter);
    server_.Declare(app);
    app->add_option("topic", flags_.topic, "where to")
        ->type_name("TOPIC")
        ->required();
    app->add_option("body", flags_.body, "one message's body")
        ->type_name("BODY");
    app->add_option("--group", flags_.message_group,
                    "message group: its messages keep their order")
        ->type_name("GROUP");
    app->add_flag("--json", flags_.json, "print JSON lines");
    DeclareMessage(app);
  }

  int Run(const Console& console) override {
    if (flags_.body.empty() && AnyMessageFlag()) {
      return Fail(console, "",
                  absl::InvalidArgumentError(
                      "flags of a message without its body; expected BODY "
                      "behind the topic, or no such flags and lines on stdin"));
    }
    const auto broker = server_.Connect(console);
    if (!broker.ok()) return Fail(console, "", broker.status());
    const auto code = SendRun(console, flags_, broker->get()).Run();
    return code.ok() ? *code : Fail(console, "", code.status());
  }

 private:
  void DeclareMessage(CLI::App* app) {
    const auto add = [&](const char* flag, auto* value, const char* type,
                         const char* what) {
      CLI::Option* option = app->add_option(flag, *value, what);
      option->type_name(type)->group("The message");
      message_options_.push_back(option);
      return option;
    };
    CLI::Option* const in =
        add("--in", &flags_.in, "DURATION", "due so long from now: 30s, 1h30m");
    add("--at", &flags_.at, "TIME", "due then: RFC 3339, or UTC milliseconds")
        ->excludes(in);
    add("--id", &flags_.id, "ID", "made here if not given");
    add("--tag", &flags_.tag, "TAG", "for consumers to filter by");
    add("--key", &flags_.keys, "KEY", "may be given again")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add("--property", &flags_.properties, "NAME=VALUE", "may be given again")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  bool AnyMessageFlag() const {
    return std::any_of(message_options_.begin(), message_options_.end(),
                       [](const auto* option) { return option->count() > 0; });
  }

  BrokerFlags server_;
  SendFlags flags_;
  std::vector<CLI::Option*> message_options_;
};

}  // namespace

std::unique_ptr<Command> MakeSendCommand() {
  return std::make_unique<SendCommand>();
}

}  // namespace hourglass
