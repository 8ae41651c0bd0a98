#include "broker/program/serve_log.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kLogGroup[] = "Log";
constexpr int64_t kSlowMsMin = 60'000;
constexpr int64_t kSlowIntervals = 20;

absl::Status InFlag(const char* flag, const absl::Status& status) {
  return absl::InvalidArgumentError(Concat(flag, ": ", MessageOf(status)));
}

StoreWatchOptions WatchOptions(const StoreOptions& options) {
  return {std::max(kSlowMsMin, options.checkpoint_interval_ms * kSlowIntervals),
          options.disk_reserve_bytes};
}

}  // namespace

void LogFlags::Declare(CLI::App* app) {
  app->add_option("--log-format", format_, "lines on stderr: text or json")
      ->type_name("FORMAT")
      ->group(kLogGroup)
      ->capture_default_str();
  app->add_option("--log-level", level_,
                  "and above: debug, info, warning, error")
      ->type_name("LEVEL")
      ->group(kLogGroup)
      ->capture_default_str();
  app->add_option("--log-events-per-kind-max", options_.events_per_kind_max,
                  "lines of one kind in ten seconds; the rest is counted")
      ->type_name("N")
      ->check(CLI::Range(1u, 1'000'000u))
      ->group(kLogGroup)
      ->capture_default_str();
}

absl::StatusOr<EventLogOptions> LogFlags::Options() const {
  EventLogOptions options = options_;
  const auto format = ParseLogFormat(format_);
  if (!format.ok()) return InFlag("--log-format", format.status());
  const auto level = ParseLogLevel(level_);
  if (!level.ok()) return InFlag("--log-level", level.status());
  options.format = *format;
  options.level = *level;
  return options;
}

ServeLog::ServeLog(const Console& console, const EventLogOptions& options,
                   const StoreOptions& store_options, Diagnostics* diagnostics)
    : console_(console),
      events_(console.clock, options,
              [diagnostics](std::string_view line) { diagnostics->Say(line); }),
      watch_(&events_, WatchOptions(store_options)) {}

void ServeLog::Watch(DelayStore* store, const Path& dir) {
  StoreLook look{store->Stats(), store->Topics(), std::nullopt};
  const auto free = console_.file_system->FreeSpace(dir);
  if (free.ok()) look.free_bytes = *free;
  watch_.Look(look, console_.clock->MonotonicNs());
  events_.Tick();
}

void ServeLog::OnConnected(const CallOrigin& origin) {
  events_.Limited(LogLevel::kDebug, "client_connected", "",
                  {{"client", origin.client_id},
                   {"peer", origin.peer},
                   {"language", origin.language},
                   {"version", origin.version}});
}

void ServeLog::OnGone(const CallOrigin& origin) {
  events_.Limited(LogLevel::kDebug, "client_gone", "",
                  {{"client", origin.client_id}, {"peer", origin.peer}});
}

void ServeLog::OnRefused(const CallOrigin& origin, std::string_view call,
                         std::string_view code, std::string_view why) {
  if (!events_.Shows(LogLevel::kWarning)) return;
  events_.Limited(LogLevel::kWarning, "call_refused", Concat(call, ":", code),
                  {{"call", call},
                   {"code", code},
                   {"why", why},
                   {"client", origin.client_id},
                   {"peer", origin.peer}});
}

}  // namespace hourglass
