#include "broker/program/store_flags.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/number_flags.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
void StoreFlags::Declare(CLI::App* app) {
  app->add_option("--data", data_, "directory of the store")
      ->type_name("DIR")
      ->required()
      ->group(kStoreGroup);
  app->add_option("--sync", sync_,
                  "when a put is acknowledged: sync (after fdatasync), "
                  "interval or os (a power loss takes the last of them)")
      ->check(CLI::IsMember({"sync", "interval", "os"}))
      ->type_name("POLICY")
      ->group(kStoreGroup)
      ->capture_default_str();
  DeclareLimits(app);
  DeclareTuning(app);
}

void StoreFlags::DeclareLimits(CLI::App* app) {
  NumberFlags limits(app, kLimitsGroup);
  limits.Bytes("--body-bytes-max", &options_.body_bytes_max,
               "largest body of a message");
  limits.Bytes("--properties-bytes-max", &options_.properties_bytes_max,
               "largest tag, keys and properties together");
  limits.Number("--delay-ms-max", &options_.delay_ms_max, "MS",
                "longest delay");
  limits.Bytes("--unsynced-bytes-max", &options_.unsynced_bytes_max,
               "puts that wait to become durable");
  limits.Bytes("--preload-bytes-max", &options_.preload_bytes_max,
               "index entries held in memory");
  limits.Number("--open-segments-max", &options_.open_segments_max, "N",
                "hours with open files");
  limits.Bytes("--append-buffer-bytes-max", &options_.append_buffer_bytes_max,
               "writes of hour files held back");
  limits.Number("--open-topics-max", &options_.open_topics_max, "N",
                "topics with open files");
  limits.Number("--late-messages-max", &options_.late_messages_max, "N",
                "late messages that wait for delivery");
  limits.Number(
      "--group-marks-max", &options_.group_marks_max, "N",
      "ranges acknowledged, and messages counted, of one group behind "
      "the first message that it has not acknowledged");
  limits.Bytes("--disk-reserve-bytes", &options_.disk_reserve_bytes,
               "disk space kept free of puts");
}

void StoreFlags::DeclareTuning(CLI::App* app) {
  NumberFlags limits(app, kLimitsGroup);
  limits.Number("--sync-interval-ms", &options_.sync_interval_ms, "MS",
                "with --sync interval: time between syncs");
  limits.Number("--checkpoint-interval-ms", &options_.checkpoint_interval_ms,
                "MS", "time between checkpoints");
  limits.Bytes("--checkpoint-log-bytes", &options_.checkpoint_log_bytes,
               "... or this much log");
  limits.Number("--batch-messages-max", &options_.batch_messages_max, "N",
                "messages delivered in one batch");
  limits.Bytes("--batch-bytes-max", &options_.batch_bytes_max,
               "bytes delivered in one batch");
  limits.Number("--preload-ahead-ms", &options_.preload_ahead_ms, "MS",
                "how far ahead of their time messages are loaded");
  limits.Number("--preload-workers", &options_.preload_workers, "N",
                "threads that load them");
  limits.Bytes("--log-segment-bytes", &options_.log_segment_bytes,
               "size of a commit-log file");
  app->add_flag("--direct-io,!--no-direct-io", options_.direct_io,
                "write the commit log past the page cache (default)")
      ->group(kLimitsGroup);
  limits.Number("--retention-ms", &options_.retention_ms, "MS",
                "how long commit-log files are kept");
  limits.Bytes("--retention-bytes", &options_.retention_bytes,
               "how much commit log is kept; 0: any");
  app->add_flag("--retain-for-groups,!--no-retain-for-groups",
                options_.retain_for_groups,
                "keep log files that a consumer has still to read (default)")
      ->group(kLimitsGroup);
}

absl::StatusOr<StoreOptions> StoreFlags::Options(const Console& console) const {
  StoreOptions options = options_;
  ASSIGN_OR_RETURN(options.sync, ParseSyncPolicy(sync_));
  options.clock = console.clock;
  options.file_system = console.file_system;
  return options;
}

int StoreFlags::WithStore(
    const Console& console, Mode mode,
    const std::function<absl::StatusOr<int>(DelayStore&)>& work) {
  const absl::StatusOr<StoreOptions> options = Options(console);
  if (!options.ok()) return Fail(console, data_, options.status());
  auto store = console.open(data_, *options, mode == Mode::kCreate);
  if (!store.ok()) return Fail(console, data_, store.status());
  const absl::StatusOr<int> exit_code = work(**store);
  const absl::Status closed = (*store)->Close();
  if (!exit_code.ok()) return Fail(console, data_, exit_code.status());
  if (!closed.ok()) return Fail(console, data_, closed);
  return *exit_code;
}

std::string FailureLine(std::string_view dir, const absl::Status& status) {
  const std::string_view what = MessageOf(status);
  // An error of stdin or stdout is no fault of the store.
  const bool bare = dir.empty() || absl::IsAborted(status) ||
                    what.find(dir) != std::string_view::npos;
  const std::string prefix =
      bare ? "hourglass: " : Concat("hourglass: ", dir, ": ");
  return Concat(prefix, what);
}

int Fail(const Console& console, std::string_view dir,
         const absl::Status& status) {
  Diagnostics(console.err).Say(FailureLine(dir, status));
  return kExitFailed;
}

}  // namespace hourglass
