// `hourglass tasks`: JSON lines in and out at their second, through Redis:
// what `pipe` does for a store, with the slot wheel (slot_wheel.h), so that
// producers and driver may be different processes on different machines.
//
// One thread reads lines and pushes them, this one drives; each has a
// connection of its own. An error that passes is said once and tried again
// with growing pauses.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "broker/id_maker.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "hourglass/timers/slot_wheel.h"
#include "storage/mutex.h"
#include "storage/random.h"
#include "storage/status_macros.h"
#include "wheel/redis/redis_slot_store.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Lines are those of `hourglass pipe`; due times are rounded up to a second.
One process drives at a time; others wait for its lease. A task that was
written to stdout when its driver died may be written again by the next.

Examples:
  echo '{"body":"hello","delay":"3s"}' | hourglass tasks --redis redis://localhost --until-empty
  hourglass tasks --redis redis://localhost --no-drive < orders.jsonl
  hourglass tasks --redis redis://:secret@cache:6379/2 --prefix orders < /dev/null

SIGINT or SIGTERM stops cleanly. Exit codes: 0 all is well; 1 some lines were
refused, or a task was not one of ours; 2 could not run, or could not go on.)";

constexpr int64_t kPauseFirstMs = 50;
constexpr int64_t kPauseMaxMs = 2000;
// How long a stop may go unnoticed.
constexpr int64_t kSliceMs = 50;

struct TasksFlags {
  std::string redis;
  std::string prefix = "hourglass";
  int64_t lease_ms = 10'000;
  bool no_drive = false;
  bool until_empty = false;
  bool verbose = false;
};

// Pauses between tries that grow, and says each trouble once.
class Patience {
 public:
  Patience(StopSignal* stop, Diagnostics* diagnostics)
      : stop_(stop), diagnostics_(diagnostics) {}

  void Sleep(int64_t ms) {
    MutexLock lock(&mu_);
    for (; ms > 0 && !stop_->requested(); ms -= kSliceMs) {
      never_.WaitForMs(&mu_, std::min(ms, kSliceMs));
    }
  }
  void Troubled(const absl::Status& status) {
    if (pause_ms_ == 0) {
      diagnostics_->Say(
          Concat("hourglass: ", FromAbsl(status.message()), "; trying again"));
    }
    pause_ms_ = std::clamp(pause_ms_ * 2, kPauseFirstMs, kPauseMaxMs);
    Sleep(pause_ms_);
  }
  void Well() {
    if (pause_ms_ != 0) diagnostics_->Say("hourglass: Redis answers again");
    pause_ms_ = 0;
  }

 private:
  StopSignal* const stop_;
  Diagnostics* const diagnostics_;
  int64_t pause_ms_ = 0;
  Mutex mu_;
  CondVar never_;
};

class TasksRun {
 public:
  TasksRun(const Console& console, const TasksFlags& flags, const RedisUrl& url)
      : console_(console),
        flags_(flags),
        diagnostics_(console.err),
        name_(absl::StrCat(absl::Hex(SystemEntropy(), absl::kZeroPad16))),
        ids_(SystemEntropy()),
        push_store_(url, flags.prefix),
        drive_store_(url, flags.prefix),
        producer_(&push_store_, console.clock, name_),
        driver_(&drive_store_, console.clock,
                {.owner = name_, .lease_ms = flags.lease_ms},
                [this](const SlotTask& task) { return Write(task); }) {}

  absl::StatusOr<int> Run() {
    std::thread reader([this] { Read(); });
    const absl::Status driven = flags_.no_drive ? absl::OkStatus() : DriveAll();
    if (!flags_.no_drive) console_.stop->Request();
    reader.join();
    // Another driver need not wait for our lease to end.
    driver_.Stop().IgnoreError();
    if (flags_.verbose) Summarize();
    RETURN_IF_ERROR(read_);
    RETURN_IF_ERROR(driven);
    return refused_ + foreign_ == 0 ? kExitOk : kExitRefused;
  }

 private:
  void Read() {
    read_ = ReadLines();
    if (!read_.ok()) console_.stop->Request();
    input_done_ = true;
  }

  absl::Status ReadLines() {
    Patience patience(console_.stop, &diagnostics_);
    std::string line;
    while (!console_.stop->requested()) {
      ASSIGN_OR_RETURN(const LineSource::Got got,
                       console_.in->Next(&line, limits_.line_bytes_max()));
      if (got != LineSource::Got::kLine && got != LineSource::Got::kTooLong) {
        return absl::OkStatus();
      }
      ++lines_;
      if (got == LineSource::Got::kTooLong) {
        Refuse({lines_, "", "is too long",
                Concat("at most ", limits_.line_bytes_max(), " bytes")});
      } else if (!IsBlank(line)) {
        RETURN_IF_ERROR(PushLine(line, &patience));
      }
    }
    return absl::OkStatus();
  }

  absl::Status PushLine(const std::string& line, Patience* patience) {
    Message message;
    const int64_t now_ms = console_.clock->NowMs();
    auto error = ParseInputLine(line, now_ms, limits_, &message);
    if (error) {
      error->line = lines_;
      Refuse(*error);
      return absl::OkStatus();
    }
    if (message.id.empty()) message.id = ids_.Next();
    message.due_ms = std::max(message.due_ms, now_ms);
    std::string task;
    if (const auto why = AppendExportLine(message, &task)) {
      Refuse({lines_, "", *why, "UTF-8"});
      return absl::OkStatus();
    }
    task.pop_back();
    return Push(message.due_ms, task, patience);
  }

  absl::Status Push(int64_t due_ms, const std::string& task,
                    Patience* patience) {
    absl::Status status = producer_.Schedule(due_ms, task).status();
    while (absl::IsUnavailable(status) && !console_.stop->requested()) {
      patience->Troubled(status);
      status = producer_.Again(due_ms, task).status();
    }
    if (absl::IsUnavailable(status)) {
      Refuse({lines_, "", "may not have been stored: we were asked to stop",
              "to be sent again"});
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(status);
    patience->Well();
    ++pushed_;
    return absl::OkStatus();
  }

  void Refuse(const InputError& error) {
    ++refused_;
    diagnostics_.Say(error.ToString());
  }

  absl::Status DriveAll() {
    Patience patience(console_.stop, &diagnostics_);
    while (!console_.stop->requested()) {
      // Asked before driving: nothing is pushed after it.
      const bool input_done = input_done_;
      const auto step = driver_.RunOnce();
      if (absl::IsUnavailable(step.status())) {
        patience.Troubled(step.status());
        continue;
      }
      // A lease that ended is another's, or ours again.
      if (absl::IsFailedPrecondition(step.status())) continue;
      RETURN_IF_ERROR(step.status());
      patience.Well();
      if (step->wait_ms == 0) continue;
      SayWhoLeads(step->leading);
      if (flags_.until_empty && input_done) {
        const auto pending = drive_store_.Pending();
        if (pending.ok() && *pending == 0) return absl::OkStatus();
      }
      patience.Sleep(std::min(step->wait_ms, kSliceMs * 4));
    }
    return absl::OkStatus();
  }

  void SayWhoLeads(bool leading) {
    if (leading == leading_) return;
    leading_ = leading;
    if (flags_.verbose) {
      diagnostics_.Say(leading ? "hourglass: we drive now"
                               : "hourglass: another process drives");
    }
  }

  absl::Status Write(const SlotTask& task) {
    ReadyMessage ready;
    // Counted from 1970, so that no due time is in the past.
    InputLimits any_time = limits_;
    any_time.delay_ms_max = INT64_MAX;
    if (ParseInputLine(task.body, 0, any_time, &ready.message)) {
      ++foreign_;
      diagnostics_.Say(
          Concat("hourglass: a task of second ", task.second.value(),
                 " is not one of ours; passed by: ", Quoted(task.body)));
      return absl::OkStatus();
    }
    ready.delivered_ms = console_.clock->NowMs();
    std::string line;
    AppendReadyLine(ready, &line);
    RETURN_IF_ERROR(console_.out->Write(line));
    ++written_;
    return absl::OkStatus();
  }

  void Summarize() {
    diagnostics_.Say(Concat("hourglass: ", lines_, " lines read, ", pushed_,
                            " pushed, ", refused_, " refused, ", written_,
                            " written"));
  }

  const Console console_;
  const TasksFlags flags_;
  const InputLimits limits_ = InputLimits::From(StoreOptions());
  Diagnostics diagnostics_;
  const std::string name_;  // of this process, as producer and as driver
  IdMaker ids_;
  RedisSlotStore push_store_;   // the reader's
  RedisSlotStore drive_store_;  // ours
  SlotProducer producer_;
  SlotDriver driver_;
  // The reader's, until it is joined.
  absl::Status read_;
  uint64_t lines_ = 0, pushed_ = 0, refused_ = 0;
  std::atomic<bool> input_done_{false};
  // Ours.
  bool leading_ = true;
  uint64_t written_ = 0, foreign_ = 0;
};

class TasksCommand final : public Command {
 public:
  std::string_view name() const override { return "tasks"; }

  void Declare(CLI::App* app) override {
    app->description("JSON lines in and out at their second, through Redis");
    app->footer(kFooter);
    app->add_option("--redis", flags_.redis,
                    "redis://[[user]:password@]host[:port][/database]")
        ->type_name("URL")
        ->required();
    app->add_option("--prefix", flags_.prefix,
                    "of the keys; those of one prefix belong together")
        ->type_name("NAME")
        ->capture_default_str();
    app->add_option("--lease-ms", flags_.lease_ms,
                    "after so long another process drives if this one died")
        ->type_name("MS")
        ->check(CLI::Range(int64_t{300}, int64_t{3'600'000}))
        ->capture_default_str();
    app->add_flag("--no-drive", flags_.no_drive, "push lines only");
    app->add_flag("--until-empty", flags_.until_empty,
                  "end when the input has ended and no task is pending")
        ->excludes("--no-drive");
    app->add_flag("--verbose", flags_.verbose,
                  "say who drives, and the counts at the end");
  }

  int Run(const Console& console) override {
    const auto url = RedisUrl::Parse(flags_.redis);
    if (!url.ok()) return Fail(console, "", url.status());
    const auto code = TasksRun(console, flags_, *url).Run();
    return code.ok() ? *code : Fail(console, "", code.status());
  }

 private:
  TasksFlags flags_;
};

}  // namespace

std::unique_ptr<Command> MakeTasksCommand() {
  return std::make_unique<TasksCommand>();
}

}  // namespace hourglass
