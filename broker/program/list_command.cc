// `hourglass list`: what is pending, by due time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/duration.h"
#include "broker/text/json_lines.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(TIME is RFC 3339, UTC milliseconds, "now", or a duration from now on (10m).

Note: opening the store also starts what is due; it becomes ready, and the next
`hourglass pipe` writes it.

Examples:
  hourglass list --data /tmp/d
  hourglass list --data /tmp/d --from now --to 1h --topic reminders
  hourglass list --data /tmp/d --limit 0 --json > pending.jsonl

Exit codes: 0 done; 2 could not run.)";

constexpr size_t kPageMessages = 1000;
constexpr size_t kIdWidth = 32;
constexpr size_t kTopicWidth = 24;
constexpr size_t kBodyWidth = 40;

class ListCommand final : public Command {
 public:
  std::string_view name() const override { return "list"; }

  void Declare(CLI::App* app) override {
    app->description("Lists pending messages by due time");
    app->footer(kFooter);
    store_.Declare(app);
    app->add_option("--from", from_, "due at this time or later")
        ->type_name("TIME");
    app->add_option("--to", to_, "due before this time")->type_name("TIME");
    app->add_option("--topic", topic_, "of this topic")->type_name("TOPIC");
    app->add_option("--limit", limit_, "at most so many; 0: all")
        ->type_name("N")
        ->capture_default_str();
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    PendingQuery query;
    const absl::Status parsed = ParseWindow(console.clock->NowMs(), &query);
    if (!parsed.ok()) return Fail(console, "", parsed);
    query.topic = topic_;
    return store_.WithStore(
        console, StoreFlags::Mode::kExisting,
        [&](DelayStore& store) { return List(&store, console, query); });
  }

 private:
  absl::Status ParseWindow(int64_t now_ms, PendingQuery* query) const {
    RETURN_IF_ERROR(ParseMomentFlag("--from", from_, now_ms, &query->from_ms));
    return ParseMomentFlag("--to", to_, now_ms, &query->to_ms);
  }

  size_t PageSize(uint64_t listed) const {
    if (limit_ == 0) return kPageMessages;
    return std::min<uint64_t>(kPageMessages, limit_ - listed);
  }

  absl::StatusOr<int> List(DelayStore* store, const Console& console,
                           PendingQuery query) const {
    uint64_t listed = 0;
    const int64_t now_ms = console.clock->NowMs();
    do {
      query.count_max = PageSize(listed);
      ASSIGN_OR_RETURN(PendingPage page, store->Pending(query));
      const bool first = query.after.empty();
      RETURN_IF_ERROR(
          console.out->Write(json_ ? Lines(page) : Rows(page, now_ms, first)));
      listed += page.messages.size();
      query.after = std::move(page.next);
    } while (!query.after.empty() && (limit_ == 0 || listed < limit_));
    if (!query.after.empty()) {
      Diagnostics(console.err)
          .Say(Concat("hourglass: there are more than ", limit_,
                      "; --limit 0 lists all"));
    }
    return kExitOk;
  }

  static std::string Lines(const PendingPage& page) {
    std::string out;
    for (const PendingMessage& pending : page.messages) {
      AppendPendingLine(pending, &out);
    }
    return out;
  }

  static std::string Rows(const PendingPage& page, int64_t now_ms, bool first) {
    if (page.messages.empty()) return first ? "nothing is pending\n" : "";
    Table table({{"DUE"},
                 {"IN", Align::kRight},
                 {"TOPIC"},
                 {"ID"},
                 {"HANDLE"},
                 {"BYTES", Align::kRight},
                 {"BODY"}});
    for (const auto& [handle, message] : page.messages) {
      table.Add(
          {FormatTimestamp(message.due_ms),
           FormatDurationBriefly(std::max<int64_t>(message.due_ms - now_ms, 0)),
           Printable(message.topic, kTopicWidth),
           Printable(message.id, kIdWidth), handle.ToString(),
           FormatCount(message.body.size()),
           Printable(message.body, kBodyWidth)});
    }
    return table.ToString();
  }

  StoreFlags store_;
  std::string from_, to_, topic_;
  uint64_t limit_ = 100;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() {
  return std::make_unique<ListCommand>();
}

}  // namespace hourglass
