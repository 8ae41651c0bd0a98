// File: event_log.h
//
// What a server says of itself: one line an event, as text or JSON, with the
// time of the Clock it was given.
//
//   EventLog log(clock, {}, [&](std::string_view line) { say.Say(line); });
//   log.Info("listening", {{"endpoint", "127.0.0.1:8081"}, {"tls", true}});
//   log.Limited(LogLevel::kWarning, "call_refused",
//   "SendMessage:ILLEGAL_TOPIC",
//               {{"client", id}});
//   log.Tick();                  // once a second or so
//
//   2026-11-21T03:00:00.000Z info    listening endpoint=127.0.0.1:8081 tls=true
//
// At most events_per_kind_max lines of one kind (the name, and what stands
// behind it in Limited) come in window_ms; the others are counted, and the
// count stands in the next line of that kind as `left_out`, or in a line of
// its own once the window is over (Tick).
//
// Callers never wait for the reader of the lines: a thread writes them, and
// what it cannot keep up with is counted, too.
//
// Ownership: the clock is the caller's. Threads: any; the sink is called by the
// log's own thread. The destructor writes what is queued.
//
// Keeps promise 7: lines, kinds and memory are bounded, whatever clients do.
#ifndef HOURGLASS_BROKER_LOG_EVENT_LOG_H_
#define HOURGLASS_BROKER_LOG_EVENT_LOG_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "storage/mutex.h"

namespace hourglass {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string_view LogLevelName(LogLevel level);
// INVALID_ARGUMENT names the four.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view name);

enum class LogFormat { kText, kJson };
absl::StatusOr<LogFormat> ParseLogFormat(std::string_view name);

struct EventLogOptions {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;  // and above
  uint32_t events_per_kind_max = 10;
  int64_t window_ms = 10'000;
  size_t kinds_max = 1024;  // told apart; the rest is one kind
  size_t queued_lines_max = 4096;
};

struct LogField {
  LogField(std::string_view name, std::string_view value)
      : name(name), value(value) {}
  LogField(std::string_view name, const char* value)
      : LogField(name, std::string_view(value)) {}
  LogField(std::string_view name, const std::string& value)
      : LogField(name, std::string_view(value)) {}
  template <std::integral T>
  LogField(std::string_view name, T number) : name(name) {
    if constexpr (std::same_as<T, bool>) {
      value = number;
    } else if constexpr (std::signed_integral<T>) {
      value = static_cast<int64_t>(number);
    } else {
      value = static_cast<uint64_t>(number);
    }
  }

  std::string_view name;
  std::variant<std::string_view, int64_t, uint64_t, bool> value;
};

class EventLog {
 public:
  using Fields = std::initializer_list<LogField>;
  using Sink = std::function<void(std::string_view line)>;

  EventLog(Clock* clock, const EventLogOptions& options, Sink sink);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void Info(std::string_view event, Fields fields = {}) {
    Limited(LogLevel::kInfo, event, "", fields);
  }
  void Warning(std::string_view event, Fields fields = {}) {
    Limited(LogLevel::kWarning, event, "", fields);
  }
  void Error(std::string_view event, Fields fields = {}) {
    Limited(LogLevel::kError, event, "", fields);
  }
  // `kind` tells events of one name apart, for the limit only.
  void Limited(LogLevel level, std::string_view event, std::string_view kind,
               Fields fields);
  bool Shows(LogLevel level) const { return level >= options_.level; }

  // Says what was left out in windows that are over.
  void Tick();
  // Waits until all lines are written.
  void Flush();

 private:
  struct Kind {
    int64_t window_end_ns = 0;
    uint32_t lines = 0;
    uint64_t left_out = 0;
  };

  Kind& KindOf(std::string_view event, std::string_view kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Queue(std::string line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string LineOf(LogLevel level, std::string_view event, Fields fields,
                     uint64_t left_out) const;
  void Work();

  Clock* const clock_;
  const EventLogOptions options_;
  const Sink sink_;

  Mutex mu_;
  CondVar changed_;
  std::map<std::string, Kind, std::less<>> kinds_ ABSL_GUARDED_BY(mu_);
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mu_);
  uint64_t lines_dropped_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_LOG_EVENT_LOG_H_
