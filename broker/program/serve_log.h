// File: serve_log.h
//
// The log of `hourglass serve`: its flags, what it says of clients and calls,
// and a look at the store once a second.
//
//   LogFlags flags;                 // --log-format, --log-level, ...
//   flags.Declare(app);
//   ServeLog log(console, *flags.Options(), &diagnostics);
//   config.observer = &log;
//   log.events().Info("listening", {{"endpoint", endpoint}});
//   log.Watch(store, options, dir);   // once a second
//
// Threads: the observer's calls from any; Watch from one.
//
// Serves promise 5: events go where people and programs look.
#ifndef HOURGLASS_BROKER_PROGRAM_SERVE_LOG_H_
#define HOURGLASS_BROKER_PROGRAM_SERVE_LOG_H_

#include <string>

#include "absl/status/statusor.h"
#include "broker/front/call_observer.h"
#include "broker/log/event_log.h"
#include "broker/program/console.h"
#include "broker/program/store_watch.h"
#include "hourglass/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

class LogFlags {
 public:
  void Declare(CLI::App* app);
  // INVALID_ARGUMENT names the flag.
  absl::StatusOr<EventLogOptions> Options() const;

 private:
  std::string format_ = "text", level_ = "info";
  EventLogOptions options_;
};

class ServeLog final : public CallObserver {
 public:
  ServeLog(const Console& console, const EventLogOptions& options,
           const StoreOptions& store_options, Diagnostics* diagnostics);

  EventLog& events() { return events_; }
  // `dir`: whose disk may be full.
  void Watch(DelayStore* store, const Path& dir);

  void OnConnected(const CallOrigin& origin) override;
  void OnGone(const CallOrigin& origin) override;
  void OnRefused(const CallOrigin& origin, std::string_view call,
                 std::string_view code, std::string_view why) override;

 private:
  const Console console_;
  EventLog events_;
  StoreWatch watch_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_SERVE_LOG_H_
