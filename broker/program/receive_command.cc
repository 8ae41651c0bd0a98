// `hourglass receive`: what a running broker has for a consumer group, as
// lines. A message is acknowledged after its line was written, so what could
// not be written comes again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/duration.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Waits up to --wait for a first message, then takes what is ready and ends;
with --follow, goes on until it is stopped. A message is acknowledged after it
was printed; with --no-ack it comes again when --invisible is over. LATE is from
its due time to here, by this machine's clock; TRY counts its deliveries.

Examples:
  hourglass receive reminders --group trial
  hourglass receive orders --group billing --follow --json | jq -r .body
  hourglass receive orders --group look --max 1 --no-ack
  hourglass receive orders --group eu --tag paid --tag refunded

Exit codes: 0 received; 1 nothing came, or a message was printed and could not
be acknowledged, so that it comes again; 2 could not run, or not to the end.
SIGINT or SIGTERM: what was printed is acknowledged, then 0.)";

// A call asks for more as long as what came is little.
constexpr int kBatchFirst = 32;
constexpr int kBatchMax = 512;
constexpr size_t kBatchBytes = 1u << 20;
// Of one call: servers have limits of their own.
constexpr int64_t kPollMsMax = 20'000;
constexpr int64_t kPauseFirstMs = 100;
constexpr int64_t kPauseMsMax = 2000;
// How long a stop may go unnoticed.
constexpr int64_t kSliceMs = 50;
constexpr size_t kIdWidth = 36;
constexpr size_t kBodyWidth = 4096;

struct ReceiveFlags {
  std::string topic, group, filter;
  std::vector<std::string> tags;
  bool follow = false, no_ack = false, json = false;
  uint64_t max = 0;
  std::string wait = "20s", invisible = "30s";
};

// One that was sent without a due time was due when it was stored.
int64_t DueMs(const Message& message) {
  return message.due_ms == kDueNow ? message.stored_ms : message.due_ms;
}

std::string Lateness(int64_t ms) {
  const std::string text = FormatDurationBriefly(ms < 0 ? -ms : ms);
  return Concat(ms < 0 ? "-" : "+", text);
}

void AppendTitle(std::string* out) {
  absl::StrAppendFormat(out, "%-24s  %8s  %3s  %-15s  %s\n", "DUE", "LATE",
                        "TRY", "ID", "BODY");
}

void AppendLine(const IncomingMessage& incoming, int64_t now_ms,
                std::string* out) {
  const Message& message = incoming.message;
  const int64_t due_ms = DueMs(message);
  std::string body;
  if (!incoming.encoding.empty()) {
    body = Concat("(", incoming.encoding, ", ",
                  FormatBytes(message.body.size()), ")");
  } else if (IsValidUtf8(message.body)) {
    body = Printable(message.body, kBodyWidth);
  } else {
    body = Concat("(not UTF-8, ", FormatBytes(message.body.size()), ")");
  }
  absl::StrAppendFormat(out, "%-24s  %8s  %3d  %-15s  %s\n",
                        FormatTimestamp(due_ms), Lateness(now_ms - due_ms),
                        incoming.attempt, Printable(message.id, kIdWidth),
                        body);
}

void AppendJson(const IncomingMessage& incoming, int64_t now_ms,
                std::string* out) {
  const Message& message = incoming.message;
  const int64_t due_ms = DueMs(message);
  JsonObject object(out);
  object.Text("id", message.id).Text("topic", message.topic);
  if (incoming.encoding.empty() && IsValidUtf8(message.body)) {
    object.Text("body", message.body);
  } else {
    object.Text("body_base64",
                FromAbsl(absl::Base64Escape(ToAbsl(message.body))));
  }
  if (!incoming.encoding.empty()) object.Text("encoding", incoming.encoding);
  object.Int("due_ms", due_ms).Int("stored_ms", message.stored_ms);
  object.Int("received_ms", now_ms).Int("lateness_ms", now_ms - due_ms);
  object.Int("attempt", incoming.attempt);
  if (!message.tag.empty()) object.Text("tag", message.tag);
  if (!message.keys.empty()) object.Texts("keys", message.keys);
  if (!incoming.message_group.empty()) {
    object.Text("group", incoming.message_group);
  }
  if (!message.properties.empty()) {
    object.Name("properties");
    JsonObject properties(out);
    for (const auto& [name, value] : message.properties) {
      properties.Text(name, value);
    }
    properties.End();
  }
  object.End();
  out->push_back('\n');
}

class ReceiveRun {
 public:
  ReceiveRun(const Console& console, const ReceiveFlags& flags, int64_t wait_ms,
             int64_t invisible_ms, BrokerClient* broker)
      : console_(console),
        flags_(flags),
        diagnostics_(console.err),
        broker_(broker) {
    query_.topic = flags.topic;
    query_.group = flags.group;
    wait_left_ms_ = flags.follow ? kPollMsMax : wait_ms;
    query_.invisible_ms = invisible_ms;
    query_.filter = flags.filter;
    if (!flags.tags.empty()) query_.filter = absl::StrJoin(flags.tags, " || ");
    query_.stop = [this] { return console_.stop->requested(); };
  }

  absl::StatusOr<int> Run() {
    while (!console_.stop->requested() && !Full()) {
      query_.count_max = CountMax();
      query_.wait_ms = std::min(wait_left_ms_, kPollMsMax);
      const auto answer = broker_->Receive(query_);
      if (!answer.ok() && flags_.follow && AwayForNow(answer.status())) {
        continue;
      }
      RETURN_IF_ERROR(answer.status());
      if (!answer->refusal.ok()) {
        return absl::FailedPreconditionError(
            Concat("the server refuses: ", answer->refusal.text));
      }
      pause_ms_ = 0;
      was_there_ = true;
      if (!flags_.follow) {
        wait_left_ms_ -= query_.wait_ms;
        if (answer->messages.empty() && wait_left_ms_ <= 0) break;
      }
      if (answer->messages.empty()) continue;
      RETURN_IF_ERROR(Take(answer->messages));
      if (!flags_.follow) wait_left_ms_ = 0;
    }
    const bool nothing = received_ == 0 && !flags_.follow;
    if (console_.stop->requested())
      return unacked_ > 0 ? kExitRefused : kExitOk;
    return nothing || unacked_ > 0 ? kExitRefused : kExitOk;
  }

 private:
  bool Full() const { return flags_.max > 0 && received_ >= flags_.max; }

  int CountMax() const {
    if (flags_.max == 0) return batch_;
    return static_cast<int>(std::min<uint64_t>(batch_, flags_.max - received_));
  }
  void ChooseBatch(size_t bytes) {
    batch_ = bytes < kBatchBytes ? std::min(batch_ * 2, kBatchMax)
                                 : std::max(batch_ / 4, 1);
  }

  // A broker that is being restarted. Not one that never was there.
  bool AwayForNow(const absl::Status& status) {
    const bool away =
        absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
    if (!away || !was_there_) return false;
    if (pause_ms_ == 0) {
      diagnostics_.Say(
          Concat("hourglass: ", MessageOf(status), "; trying again"));
    }
    pause_ms_ = std::clamp(pause_ms_ * 2, kPauseFirstMs, kPauseMsMax);
    Mutex mu;
    CondVar nobody_signals;
    MutexLock lock(&mu);
    for (int64_t left = pause_ms_; left > 0 && !console_.stop->requested();
         left -= kSliceMs) {
      nobody_signals.WaitForMs(&mu, std::min(left, kSliceMs));
    }
    return true;
  }

  absl::Status Take(const std::vector<IncomingMessage>& messages) {
    std::string out;
    if (!flags_.json && received_ == 0) AppendTitle(&out);
    const int64_t now_ms = console_.clock->NowMs();
    for (const IncomingMessage& message : messages) {
      if (flags_.json) {
        AppendJson(message, now_ms, &out);
      } else {
        AppendLine(message, now_ms, &out);
      }
    }
    received_ += messages.size();
    ChooseBatch(out.size());
    RETURN_IF_ERROR(console_.out->Write(out));
    return flags_.no_ack ? absl::OkStatus() : Ack(messages);
  }

  absl::Status Ack(const std::vector<IncomingMessage>& messages) {
    const auto answers = broker_->Ack(flags_.topic, flags_.group, messages);
    if (!answers.ok()) {
      diagnostics_.Say(Concat("hourglass: the last ", messages.size(),
                              " messages may come again"));
      return answers.status();
    }
    for (size_t i = 0; i < answers->size(); ++i) {
      if ((*answers)[i].ok()) continue;
      ++unacked_;
      diagnostics_.Say(Concat("hourglass: message ", messages[i].message.id,
                              " comes again: ", (*answers)[i].text));
    }
    return absl::OkStatus();
  }

  const Console console_;
  const ReceiveFlags flags_;
  Diagnostics diagnostics_;
  BrokerClient* const broker_;
  ReceiveQuery query_;
  uint64_t received_ = 0, unacked_ = 0;
  bool was_there_ = false;
  int64_t pause_ms_ = 0;
  int64_t wait_left_ms_ = 0;  // for a first message
  int batch_ = kBatchFirst;
};

class ReceiveCommand final : public Command {
 public:
  std::string_view name() const override { return "receive"; }

  void Declare(CLI::App* app) override {
    app->description("Prints messages of a running server, and consumes them");
    app->footer(kFooter);
    server_.Declare(app);
    app->add_option("topic", flags_.topic, "what to receive")
        ->type_name("TOPIC")
        ->required();
    app->add_option("--group", flags_.group, "consumer group to receive as")
        ->type_name("GROUP")
        ->required();
    app->add_flag("--follow", flags_.follow, "go on until stopped");
    app->add_option("--max", flags_.max, "end after so many; 0: any")
        ->type_name("N")
        ->capture_default_str();
    app->add_option("--wait", flags_.wait,
                    "for a first message, without --follow")
        ->type_name("DURATION")
        ->capture_default_str();
    app->add_flag("--no-ack", flags_.no_ack, "print only: they come again");
    app->add_option("--invisible", flags_.invisible,
                    "when what was not acknowledged comes again")
        ->type_name("DURATION")
        ->capture_default_str();
    app->add_option("--tag", flags_.tags, "only with this tag; several: any")
        ->type_name("TAG")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app->add_option("--filter", flags_.filter, "the same as an expression")
        ->type_name("\"A || B\"")
        ->excludes("--tag");
    app->add_flag("--json", flags_.json, "print JSON lines");
  }

  int Run(const Console& console) override {
    const auto code = Receive(console);
    return code.ok() ? *code : Fail(console, "", code.status());
  }

 private:
  absl::StatusOr<int> Receive(const Console& console) {
    if (flags_.filter.empty()) flags_.filter = "*";
    ASSIGN_OR_RETURN(const int64_t wait_ms,
                     DurationFlag("--wait", flags_.wait));
    ASSIGN_OR_RETURN(const int64_t invisible_ms,
                     DurationFlag("--invisible", flags_.invisible));
    ASSIGN_OR_RETURN(const auto broker, server_.Connect(console));
    return ReceiveRun(console, flags_, wait_ms, invisible_ms, broker.get())
        .Run();
  }

  BrokerFlags server_;
  ReceiveFlags flags_;
};

}  // namespace

std::unique_ptr<Command> MakeReceiveCommand() {
  return std::make_unique<ReceiveCommand>();
}

}  // namespace hourglass
