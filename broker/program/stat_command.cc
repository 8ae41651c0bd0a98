// `hourglass stat`: the store's counters.
#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/duration.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Counts of work (put, delivered, syncs, ...) are since the store was opened,
that is, of this very command; the rest is of the store.

Note: opening the store also starts what is due; it becomes ready, and the next
`hourglass pipe` writes it.

Examples:
  hourglass stat --data /tmp/d
  hourglass stat --data /tmp/d --json | jq .pending_messages

Exit codes: 0 done; 1 messages were lost to damage, or the store stopped
itself; 2 could not run.)";

std::string MomentOrNone(int64_t ms) {
  return ms == 0 ? "-" : FormatTimestamp(ms);
}

std::string Human(const StoreStats& stats) {
  Table table({{"WHAT"}, {"VALUE"}});
  const auto count = [&](const char* what, uint64_t value) {
    table.Add({what, FormatCount(value)});
  };
  const auto bytes = [&](const char* what, uint64_t value) {
    table.Add({what, FormatBytes(value)});
  };
  count("pending messages", stats.pending_messages);
  bytes("pending bytes", stats.pending_bytes);
  table.Add({"oldest undelivered", MomentOrNone(stats.oldest_undelivered_ms)});
  table.Add({"cursor", MomentOrNone(StartMs(stats.cursor))});
  count("hours with files", stats.hour_files);
  count("open segments", stats.open_segments);
  count("preloaded entries", stats.window_entries);
  count("put", stats.put_messages);
  count("delivered", stats.delivered_messages);
  count("ready at once", stats.at_once_messages);
  count("cancelled", stats.cancelled_messages);
  count("lost to damage", stats.lost_messages);
  table.Add(
      {"log", Concat(stats.log_start.value(), " to ", stats.log_end.value(),
                     ", durable to ", stats.log_durable.value())});
  bytes("log written", stats.log_bytes_written);
  bytes("hour files written", stats.hour_bytes_written);
  count("groups", stats.groups);
  count("syncs", stats.syncs);
  count("checkpoints", stats.checkpoints);
  table.Add({"checkpoint age", FormatDuration(stats.checkpoint_age_ms)});
  count("slots swept", stats.sweeps);
  count("chains walked", stats.walks);
  table.Add({"recovery", Concat(FormatDuration(stats.recovery_ms), ", ",
                                FormatCount(stats.recovered_records),
                                " records replayed")});
  table.Add({"failure", stats.failure.ok()
                            ? "-"
                            : Printable(MessageOf(stats.failure), 200)});
  return table.ToString();
}

std::string Json(const StoreStats& stats) {
  std::string out;
  JsonObject object(&out);
  object.Uint("pending_messages", stats.pending_messages)
      .Uint("pending_bytes", stats.pending_bytes)
      .Uint("put_messages", stats.put_messages)
      .Uint("put_bytes", stats.put_bytes)
      .Uint("delivered_messages", stats.delivered_messages)
      .Uint("at_once_messages", stats.at_once_messages)
      .Uint("cancelled_messages", stats.cancelled_messages)
      .Uint("lost_messages", stats.lost_messages)
      .Uint("log_start", stats.log_start.value())
      .Uint("log_end", stats.log_end.value())
      .Uint("log_durable", stats.log_durable.value())
      .Uint("log_bytes_written", stats.log_bytes_written)
      .Uint("hour_bytes_written", stats.hour_bytes_written)
      .Uint("groups", stats.groups)
      .Uint("syncs", stats.syncs)
      .Uint("checkpoints", stats.checkpoints)
      .Int("checkpoint_age_ms", stats.checkpoint_age_ms)
      .Int("cursor_ms", StartMs(stats.cursor))
      .Int("oldest_undelivered_ms", stats.oldest_undelivered_ms)
      .Uint("hour_files", stats.hour_files)
      .Uint("open_segments", stats.open_segments)
      .Uint("window_entries", stats.window_entries)
      .Uint("sweeps", stats.sweeps)
      .Uint("walks", stats.walks)
      .Int("recovery_ms", stats.recovery_ms)
      .Uint("recovered_records", stats.recovered_records);
  if (stats.failure.ok()) {
    object.Null("failure");
  } else {
    object.Text("failure", MessageOf(stats.failure));
  }
  object.End();
  out.push_back('\n');
  return out;
}

class StatCommand final : public Command {
 public:
  std::string_view name() const override { return "stat"; }

  void Declare(CLI::App* app) override {
    app->description("Shows the store's counters");
    app->footer(kFooter);
    store_.Declare(app);
    app->add_flag("--json", json_, "print one JSON object");
  }

  int Run(const Console& console) override {
    return store_.WithStore(
        console, StoreFlags::Mode::kExisting,
        [&](DelayStore& store) -> absl::StatusOr<int> {
          const StoreStats stats = store.Stats();
          RETURN_IF_ERROR(
              console.out->Write(json_ ? Json(stats) : Human(stats)));
          const bool whole = stats.failure.ok() && stats.lost_messages == 0;
          return whole ? kExitOk : kExitRefused;
        });
  }

 private:
  StoreFlags store_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatCommand() {
  return std::make_unique<StatCommand>();
}

}  // namespace hourglass
