// `hourglass recover list`, `export` and `import`: pending messages of a store
// that need not open, as a table or as JSON lines, and back.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <queue>
#include <vector>

#include "broker/program/intake.h"
#include "broker/program/recover_commands.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/sequencer.h"
#include "broker/text/duration.h"
#include "broker/text/json_lines.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "recovery/pending_scan.h"
#include "storage/checksum.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kListFooter[] =
    R"(TIME is RFC 3339, UTC milliseconds, "now", or a duration from now on (10m).
Opens nothing and delivers nothing; works on a damaged store.

Examples:
  hourglass recover list /var/lib/hourglass --from now --to 1h
  hourglass recover list /var/lib/hourglass --topic reminders --limit 0 --json

Exit codes: 0 done; 1 some pending messages cannot be read; 2 could not run.)";

constexpr char kExportFooter[] =
    R"(Writes the lines that `hourglass pipe`, `put` and `recover import` read, with
deliver_at. Ids are kept; handles belong to the old store and are not.

Examples:
  hourglass recover export /var/lib/hourglass > pending.jsonl
  hourglass recover export /var/lib/hourglass --topic orders |
    hourglass recover import --data /var/lib/new

Exit codes: 0 done; 1 some pending messages cannot be read, or written as JSON
(stderr says which); 2 could not run.)";

constexpr char kImportFooter[] =
    R"(Stores the lines of `recover export`; what is overdue is delivered at once.
Prints nothing unless --json: then id and new handle of each, once durable.

Examples:
  hourglass recover import --data /var/lib/new < pending.jsonl

Exit codes: 0 all stored; 1 some were refused (each is answered on stderr);
2 could not run.)";

constexpr size_t kWriteBytes = 256u << 10;
constexpr size_t kIdWidth = 32;
constexpr size_t kTopicWidth = 24;
constexpr size_t kBodyWidth = 40;

// --from, --to, --topic.
struct FilterFlags {
  void Declare(CLI::App* app) {
    app->add_option("--from", from, "due at this time or later")
        ->type_name("TIME");
    app->add_option("--to", to, "due before this time")->type_name("TIME");
    app->add_option("--topic", topic, "of this topic")->type_name("TOPIC");
  }

  absl::StatusOr<PendingFilter> Parse(int64_t now_ms) const {
    PendingFilter filter;
    filter.topic = topic;
    RETURN_IF_ERROR(ParseMomentFlag("--from", from, now_ms, &filter.from_ms));
    RETURN_IF_ERROR(ParseMomentFlag("--to", to, now_ms, &filter.to_ms));
    return filter;
  }

  std::string from, to, topic;
};

PendingMessage Owned(const FoundMessage& found) {
  PendingMessage pending;
  pending.message = Message::From(found.message);
  pending.handle.hour = found.hour;
  pending.handle.number = found.number;
  pending.handle.ms_into_hour = MsIntoHour(found.message.due_ms);
  pending.handle.id_hash = IdHash(found.message.id);
  pending.handle.seal =
      HandleSeal(HashBytes(found.store.view()), pending.handle);
  return pending;
}

// Says what may make the answer incomplete; the exit code.
int Conclude(const PendingScanReport& report, const std::string& dir,
             Diagnostics* diagnostics) {
  if (report.findings.damages() > 0 || report.unreadable > 0) {
    diagnostics->Say(Concat("hourglass: ", dir,
                            ": the store is damaged; see hourglass recover "
                            "verify ",
                            dir));
  }
  if (report.maybe_twice > 0) {
    diagnostics->Say(Concat("hourglass: ", dir, ": ", report.maybe_twice,
                            " of these may have been delivered or cancelled "
                            "before; the damage hides it"));
  }
  if (report.unreadable == 0) return kExitOk;
  diagnostics->Say(Concat("hourglass: ", dir, ": ", report.unreadable,
                          " more are pending and cannot be read"));
  return kExitRefused;
}

class RecoverList final : public Command {
 public:
  std::string_view name() const override { return "list"; }

  void Declare(CLI::App* app) override {
    app->description("Lists pending messages, also of a store that is damaged");
    app->footer(kListFooter);
    DeclareDir(app, &dir_);
    filter_.Declare(app);
    app->add_option("--limit", limit_,
                    "the first so many by due time; 0: all, unsorted")
        ->type_name("N")
        ->capture_default_str();
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<int> exit_code = List(console);
    if (exit_code.ok()) return *exit_code;
    return Fail(console, dir_, exit_code.status());
  }

 private:
  struct Later {
    bool operator()(const PendingMessage& a, const PendingMessage& b) const {
      return KeyOf(a) < KeyOf(b);
    }
    static std::pair<int64_t, uint32_t> KeyOf(const PendingMessage& m) {
      return {m.message.due_ms, m.handle.number.value()};
    }
  };

  absl::StatusOr<int> List(const Console& console) {
    Diagnostics diagnostics(console.err);
    now_ms_ = console.clock->NowMs();
    ASSIGN_OR_RETURN(const PendingFilter filter, filter_.Parse(now_ms_));
    ReadProgress progress(console, &diagnostics, "list", dir_);
    first_.clear();
    std::vector<PendingMessage> page;
    const auto report =
        ScanPending(progress.source(), filter, [&](const FoundMessage& found) {
          if (limit_ > 0) {
            Keep(Owned(found));
            return absl::OkStatus();
          }
          page.push_back(Owned(found));
          return page.size() < 1000 ? absl::OkStatus() : Print(console, &page);
        });
    progress.Done();
    RETURN_IF_ERROR(report.status());
    if (limit_ > 0) {
      std::sort_heap(first_.begin(), first_.end(), Later());
      page = std::move(first_);
    }
    RETURN_IF_ERROR(Print(console, &page));
    if (report->messages == 0 && !json_) {
      RETURN_IF_ERROR(console.out->Write("nothing is pending\n"));
    }
    if (limit_ > 0 && report->messages > limit_) {
      diagnostics.Say(Concat("hourglass: there are ", report->messages,
                             "; --limit 0 lists all"));
    }
    return Conclude(*report, dir_, &diagnostics);
  }

  // The first ones by due time, in a heap with the last of them on top.
  void Keep(PendingMessage message) {
    first_.push_back(std::move(message));
    std::push_heap(first_.begin(), first_.end(), Later());
    if (first_.size() <= limit_) return;
    std::pop_heap(first_.begin(), first_.end(), Later());
    first_.pop_back();
  }

  absl::Status Print(const Console& console,
                     std::vector<PendingMessage>* page) const {
    std::string out;
    if (json_) {
      for (const PendingMessage& message : *page) {
        AppendPendingLine(message, &out);
      }
    } else if (!page->empty()) {
      out = Rows(*page);
    }
    page->clear();
    return console.out->Write(out);
  }

  std::string Rows(const std::vector<PendingMessage>& page) const {
    Table table({{"DUE"},
                 {"TOPIC"},
                 {"ID"},
                 {"HANDLE"},
                 {"BYTES", Align::kRight},
                 {"BODY"}});
    for (const auto& [handle, message] : page) {
      table.Add({FormatTimestamp(message.due_ms),
                 Printable(message.topic, kTopicWidth),
                 Printable(message.id, kIdWidth), handle.ToString(),
                 FormatCount(message.body.size()),
                 Printable(message.body, kBodyWidth)});
    }
    return table.ToString();
  }

  std::string dir_;
  FilterFlags filter_;
  uint64_t limit_ = 100;
  bool json_ = false;
  int64_t now_ms_ = 0;
  std::vector<PendingMessage> first_;
};

class RecoverExport final : public Command {
 public:
  std::string_view name() const override { return "export"; }

  void Declare(CLI::App* app) override {
    app->description("Writes pending messages as JSON lines");
    app->footer(kExportFooter);
    DeclareDir(app, &dir_);
    filter_.Declare(app);
  }

  int Run(const Console& console) override {
    const absl::StatusOr<int> exit_code = Export(console);
    if (exit_code.ok()) return *exit_code;
    return Fail(console, dir_, exit_code.status());
  }

 private:
  absl::StatusOr<int> Export(const Console& console) {
    Diagnostics diagnostics(console.err);
    ASSIGN_OR_RETURN(const PendingFilter filter,
                     filter_.Parse(console.clock->NowMs()));
    ReadProgress progress(console, &diagnostics, "export", dir_);
    std::string out;
    uint64_t refused = 0;
    const auto report =
        ScanPending(progress.source(), filter, [&](const FoundMessage& found) {
          const Message message = Message::From(found.message);
          if (const auto why = AppendExportLine(message, &out)) {
            ++refused;
            diagnostics.Say(Concat("hourglass: record ", found.number.value(),
                                   " of hour ", FormatHour(found.hour), ": ",
                                   *why));
          }
          return out.size() < kWriteBytes ? absl::OkStatus()
                                          : Flush(console, &out);
        });
    progress.Done();
    RETURN_IF_ERROR(report.status());
    RETURN_IF_ERROR(Flush(console, &out));
    diagnostics.Say(Concat("hourglass: ", dir_, ": ",
                           report->messages - refused, " messages exported"));
    const int exit_code = Conclude(*report, dir_, &diagnostics);
    return refused > 0 ? kExitRefused : exit_code;
  }

  static absl::Status Flush(const Console& console, std::string* out) {
    const absl::Status status = console.out->Write(*out);
    out->clear();
    return status;
  }

  std::string dir_;
  FilterFlags filter_;
};

class RecoverImport final : public Command {
 public:
  std::string_view name() const override { return "import"; }

  void Declare(CLI::App* app) override {
    app->description("Stores exported messages in a store, new or not");
    app->footer(kImportFooter);
    store_.Declare(app);
    app->add_flag("--json", json_, "print id and handle of each");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<StoreOptions> options = store_.Options(console);
    if (!options.ok()) return Fail(console, "", options.status());
    return store_.WithStore(
        console, StoreFlags::Mode::kCreate,
        [&](DelayStore& store) { return Import(&store, console, *options); });
  }

 private:
  absl::StatusOr<int> Import(DelayStore* store, const Console& console,
                             const StoreOptions& options) const {
    Diagnostics diagnostics(console.err);
    Intake intake(store, console, &diagnostics,
                  {.limits = InputLimits::From(options),
                   .in_flight_bytes_max = options.unsynced_bytes_max / 2},
                  [&](const std::vector<PutResult>& puts) {
                    std::string out;
                    for (const PutResult& put : puts) {
                      if (json_) AppendAckLine(put, &out);
                    }
                    return console.out->Write(out);
                  });
    RETURN_IF_ERROR(intake.Run(console.in));
    RETURN_IF_ERROR(intake.Finish());
    diagnostics.Say(Concat("hourglass: ", store_.data(), ": ", intake.durable(),
                           " messages imported"));
    return intake.refused() > 0 ? kExitRefused : kExitOk;
  }

  StoreFlags store_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecoverList() {
  return std::make_unique<RecoverList>();
}
std::unique_ptr<Command> MakeRecoverExport() {
  return std::make_unique<RecoverExport>();
}
std::unique_ptr<Command> MakeRecoverImport() {
  return std::make_unique<RecoverImport>();
}

}  // namespace hourglass
