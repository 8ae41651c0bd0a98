#include "broker/log/event_log.h"

#include <utility>
#include <vector>

#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"

namespace hourglass {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr std::string_view kOtherKinds = "(other)";

// Words that need no quotes.
bool IsPlain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '"' || c == '=' || c == '\\') {
      return false;
    }
  }
  return true;
}

void AppendText(const LogField& field, std::string* out) {
  Append(out, " ", field.name, "=");
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (IsPlain(*text)) {
      Append(out, *text);
    } else {
      AppendJsonString(out, *text);
    }
  } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
    Append(out, *number);
  } else if (const auto* count = std::get_if<uint64_t>(&field.value)) {
    Append(out, *count);
  } else {
    Append(out, std::get<bool>(field.value) ? "true" : "false");
  }
}

void AddJson(const LogField& field, JsonObject* object) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    object->Text(field.name, *text);
  } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
    object->Int(field.name, *number);
  } else if (const auto* count = std::get_if<uint64_t>(&field.value)) {
    object->Uint(field.name, *count);
  } else {
    object->Bool(field.name, std::get<bool>(field.value));
  }
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view name) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo,
                               LogLevel::kWarning, LogLevel::kError}) {
    if (name == LogLevelName(level)) return level;
  }
  return absl::InvalidArgumentError(
      Concat(Quoted(name),
             " is no level; expected debug, info, warning or "
             "error"));
}

absl::StatusOr<LogFormat> ParseLogFormat(std::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      Concat(Quoted(name), " is no format; expected text or json"));
}

EventLog::EventLog(Clock* clock, const EventLogOptions& options, Sink sink)
    : clock_(clock),
      options_(options),
      sink_(std::move(sink)),
      thread_([this] { Work(); }) {}

EventLog::~EventLog() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

EventLog::Kind& EventLog::KindOf(std::string_view event,
                                 std::string_view kind) {
  const std::string name =
      kind.empty() ? std::string(event) : Concat(event, ":", kind);
  const auto found = kinds_.find(name);
  if (found != kinds_.end()) return found->second;
  if (kinds_.size() < options_.kinds_max) return kinds_[name];
  return kinds_[std::string(kOtherKinds)];
}

void EventLog::Limited(LogLevel level, std::string_view event,
                       std::string_view kind_name, Fields fields) {
  if (!Shows(level)) return;
  const int64_t now_ns = clock_->MonotonicNs();
  MutexLock lock(&mu_);
  Kind& kind = KindOf(event, kind_name);
  if (now_ns >= kind.window_end_ns) {
    kind.window_end_ns = now_ns + options_.window_ms * kNsPerMs;
    kind.lines = 0;
  }
  if (kind.lines >= options_.events_per_kind_max) {
    ++kind.left_out;
    return;
  }
  ++kind.lines;
  Queue(LineOf(level, event, fields, std::exchange(kind.left_out, 0)));
}

void EventLog::Tick() {
  const int64_t now_ns = clock_->MonotonicNs();
  MutexLock lock(&mu_);
  for (auto& [name, kind] : kinds_) {
    if (kind.left_out == 0 || now_ns < kind.window_end_ns) continue;
    const uint64_t count = std::exchange(kind.left_out, 0);
    Queue(LineOf(LogLevel::kWarning, "events_left_out",
                 {{"kind", name}, {"count", count}}, 0));
  }
}

void EventLog::Queue(std::string line) {
  if (lines_.size() >= options_.queued_lines_max) {
    ++lines_dropped_;
    return;
  }
  if (lines_dropped_ > 0) {
    lines_.push_back(LineOf(LogLevel::kWarning, "lines_dropped",
                            {{"count", std::exchange(lines_dropped_, 0)}}, 0));
  }
  lines_.push_back(std::move(line));
  changed_.SignalAll();
}

std::string EventLog::LineOf(LogLevel level, std::string_view event,
                             Fields fields, uint64_t left_out) const {
  const std::string time = FormatTimestamp(clock_->NowMs());
  std::string out;
  if (options_.format == LogFormat::kJson) {
    JsonObject object(&out);
    object.Text("time", time).Text("level", LogLevelName(level));
    object.Text("event", event);
    for (const LogField& field : fields) AddJson(field, &object);
    if (left_out > 0) object.Uint("left_out", left_out);
    object.End();
    return out;
  }
  constexpr size_t kLevelWidth = 7;
  std::string name(LogLevelName(level));
  name.resize(kLevelWidth, ' ');
  Append(&out, time, " ", name, " ", event);
  for (const LogField& field : fields) AppendText(field, &out);
  if (left_out > 0) AppendText({"left_out", left_out}, &out);
  return out;
}

void EventLog::Flush() {
  MutexLock lock(&mu_);
  while (!lines_.empty() || writing_) changed_.Wait(&mu_);
}

void EventLog::Work() {
  while (true) {
    std::deque<std::string> lines;
    {
      MutexLock lock(&mu_);
      writing_ = false;
      changed_.SignalAll();
      while (lines_.empty() && !stop_) changed_.Wait(&mu_);
      if (lines_.empty()) return;
      lines.swap(lines_);
      writing_ = true;
    }
    for (const std::string& line : lines) sink_(line);
  }
}

}  // namespace hourglass
