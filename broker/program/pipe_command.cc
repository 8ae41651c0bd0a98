// `hourglass pipe`: JSON lines in, JSON lines out at their due time.
//
// Two halves that meet only in the store: a thread reads lines and puts them
// (intake.h), this one waits for what is ready and writes it
// (ready_writer.h). Either one's failure asks the other to stop.
#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "broker/program/ack_file.h"
#include "broker/program/command.h"
#include "broker/program/intake.h"
#include "broker/program/ready_writer.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Input fields: topic ("default"), body or body_base64, one of delay ("250ms",
"30s", "1h30m", "10d"), delay_ms, deliver_at (RFC 3339 or UTC milliseconds),
none of them = now; id, tag, keys, properties.

Examples:
  echo '{"body":"hello","delay":"3s"}' | hourglass pipe --data /tmp/d --until-empty
  tail -f orders.jsonl | hourglass pipe --data /var/lib/orders --acks acks.jsonl
  hourglass pipe --data /var/lib/orders --topic reminders < /dev/null

SIGINT or SIGTERM stops cleanly. Exit codes: 0 all is well; 1 some lines were
refused (each is answered on stderr), or a damaged message was passed by;
2 could not run, or could not go on.)";

// How long a stop, or the end of input, may go unnoticed.
constexpr absl::Duration kWait = absl::Milliseconds(50);
constexpr int kWaitsUntilChecked = 20;
constexpr int64_t kProgressEveryMs = 200;

struct PipeFlags {
  std::string topic;
  std::string acks;
  bool until_empty = false;
  bool verbose = false;
};

// One run of the command on an open store.
class PipeRun {
 public:
  PipeRun(DelayStore* store, const Console& console, const PipeFlags& flags,
          const StoreOptions& options, AckFile* acks)
      : store_(store),
        console_(console),
        flags_(flags),
        diagnostics_(console.err),
        intake_(store, console, &diagnostics_,
                {.limits = InputLimits::From(options),
                 .in_flight_bytes_max = options.unsynced_bytes_max / 2},
                [acks](const std::vector<PutResult>& puts) {
                  return acks == nullptr ? absl::OkStatus()
                                         : acks->Append(puts);
                }),
        writer_(store, console, &diagnostics_, {.topic = flags.topic}) {}

  absl::StatusOr<int> Run() {
    std::thread reader([this] { Read(); });
    absl::Status written = Write();
    console_.stop->Request();  // the reader may still wait for input
    reader.join();
    absl::Status stored = intake_.Finish();
    absl::Status committed = writer_.CommitAll();
    diagnostics_.Progress("");
    Summarize();
    RETURN_IF_ERROR(read_);
    RETURN_IF_ERROR(stored);
    RETURN_IF_ERROR(written);
    RETURN_IF_ERROR(committed);
    const bool clean = intake_.refused() == 0 && writer_.damaged() == 0;
    return clean ? kExitOk : kExitRefused;
  }

 private:
  void Read() {
    read_ = intake_.Run(console_.in);
    // Puts that are still in flight must not look like an empty store.
    if (read_.ok() && !console_.stop->requested()) read_ = intake_.Finish();
    if (!read_.ok()) console_.stop->Request();
    input_done_ = true;
  }

  absl::Status Write() {
    uint64_t written_version = 0;
    for (int waits = 1; !console_.stop->requested(); ++waits) {
      const uint64_t version = store_->ReadyVersion();
      // Asked before writing: what becomes ready after it is no more pending.
      const bool last = flags_.until_empty && input_done_ &&
                        store_->WaitEmpty(absl::ZeroDuration());
      if (last || version != written_version) {
        RETURN_IF_ERROR(writer_.WriteReady());
        written_version = version;
      }
      if (last) return absl::OkStatus();
      // A store that stopped itself has nothing ready, for ever.
      if (waits % kWaitsUntilChecked == 0) {
        RETURN_IF_ERROR(store_->Stats().failure);
      }
      ShowProgress();
      store_->WaitReady(version, kWait);
    }
    return absl::OkStatus();
  }

  std::string Counts() const {
    return Concat(FormatCount(intake_.lines()), " lines read, ",
                  FormatCount(intake_.durable()), " stored, ",
                  FormatCount(intake_.refused()), " refused, ",
                  FormatCount(writer_.written()), " written");
  }

  void ShowProgress() {
    // On one terminal it would only be in the way of the messages.
    if (!diagnostics_.IsTerminal() || console_.out->IsTerminal()) return;
    const int64_t now_ms = console_.clock->NowMs();
    if (now_ms - shown_ms_ < kProgressEveryMs && now_ms >= shown_ms_) return;
    shown_ms_ = now_ms;
    diagnostics_.Progress(Concat(Counts(), ", ",
                                 FormatCount(store_->Stats().pending_messages),
                                 " pending"));
  }

  void Summarize() {
    if (!flags_.verbose && !diagnostics_.IsTerminal()) return;
    diagnostics_.Say(Concat("hourglass: ", Counts()));
  }

  DelayStore* const store_;
  const Console console_;
  const PipeFlags flags_;
  Diagnostics diagnostics_;
  Intake intake_;
  ReadyWriter writer_;
  absl::Status read_;  // by the reader, until it is joined
  std::atomic<bool> input_done_{false};
  int64_t shown_ms_ = 0;
};

class PipeCommand final : public Command {
 public:
  std::string_view name() const override { return "pipe"; }

  void Declare(CLI::App* app) override {
    app->description("JSON lines in, JSON lines out at their due time");
    app->footer(kFooter);
    store_.Declare(app);
    app->add_option("--topic", flags_.topic, "write only this topic")
        ->type_name("TOPIC");
    app->add_option("--acks", flags_.acks,
                    "append one line for every durable put: id and handle")
        ->type_name("FILE");
    app->add_flag("--until-empty", flags_.until_empty,
                  "end when the input has ended and nothing is pending");
    app->add_flag("--verbose", flags_.verbose, "say the counts at the end");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<StoreOptions> options = store_.Options(console);
    if (!options.ok()) return Fail(console, "", options.status());
    std::unique_ptr<AckFile> acks;
    if (!flags_.acks.empty()) {
      auto opened = AckFile::Open(console.file_system, flags_.acks);
      if (!opened.ok()) return Fail(console, flags_.acks, opened.status());
      acks = *std::move(opened);
    }
    return store_.WithStore(
        console, StoreFlags::Mode::kCreate,
        [&](DelayStore& store) -> absl::StatusOr<int> {
          return PipeRun(&store, console, flags_, *options, acks.get()).Run();
        });
  }

 private:
  StoreFlags store_;
  PipeFlags flags_;
};

}  // namespace

std::unique_ptr<Command> MakePipeCommand() {
  return std::make_unique<PipeCommand>();
}

}  // namespace hourglass
