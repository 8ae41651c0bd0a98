#include "broker/bench/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hourglass {
namespace {

Json OptionsJson(const BenchOptions& options) {
  Json json = {{"messages", options.messages},
               {"size_bytes", options.size},
               {"producers", options.producers},
               {"in_flight", options.in_flight},
               {"start_ms", options.start_ms},
               {"spread_ms", options.spread_ms},
               {"sync", options.sync},
               {"retention_bytes", options.retention_bytes},
               {"data", options.data}};
  switch (options.job) {
    case BenchJob::kSteady:
      json.erase("messages");
      json["rate"] = options.rate;
      json["seconds"] = options.seconds;
      json["consumer"] = options.consumer;
      break;
    case BenchJob::kRestart:
      json["rounds"] = options.rounds;
      json["seconds"] = options.seconds;
      json["compare_messages"] = options.compare_messages;
      break;
    case BenchJob::kCancel:
      json["cancels"] = options.cancels;
      break;
    default:
      break;
  }
  return json;
}

// A number for people: groups of three, or three places.
std::string Shown(const Json& value) {
  if (value.is_number_unsigned()) return Grouped(value.get<uint64_t>());
  if (value.is_number_float()) return absl::StrFormat("%.3f", double(value));
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

// "p50 310, p99 900, ..."
std::string Inline(const Json& object) {
  std::string line;
  for (const auto& [name, value] : object.items()) {
    absl::StrAppend(&line, line.empty() ? "" : ", ", name, " ", Shown(value));
  }
  return line;
}

bool IsNested(const Json& value) {
  return value.is_object() &&
         std::any_of(value.begin(), value.end(),
                     [](const Json& member) { return member.is_object(); });
}

void AppendRows(const Json& object, const std::string& indent,
                std::string* out) {
  constexpr int kNameWidth = 34;
  for (const auto& [name, value] : object.items()) {
    if (IsNested(value)) {
      absl::StrAppend(out, indent, name, "\n");
      AppendRows(value, indent + "  ", out);
      continue;
    }
    const std::string text = value.is_object() ? Inline(value) : Shown(value);
    absl::StrAppendFormat(out, "%-*s %s\n", kNameWidth, indent + name, text);
  }
}

}  // namespace

Json Percentiles(const Histogram& values, double divisor) {
  const auto entry = [&](uint64_t value) -> Json {
    if (divisor == 1) return value;
    return Rounded(static_cast<double>(value) / divisor);
  };
  return {{"p50", entry(values.Percentile(50))},
          {"p99", entry(values.Percentile(99))},
          {"p99_9", entry(values.Percentile(99.9))},
          {"max", entry(values.max())}};
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

uint64_t PerSecond(uint64_t count, double seconds) {
  if (seconds <= 0) return 0;
  return static_cast<uint64_t>(static_cast<double>(count) / seconds);
}

std::string Grouped(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

Report::Report(const BenchOptions& options) {
  fields_["job"] = std::string(BenchJobName(options.job));
  fields_["options"] = OptionsJson(options);
}

void Report::SetRate(const std::string& prefix, uint64_t messages,
                     double seconds) {
  Set(prefix + "messages", messages);
  Set(prefix + "seconds", Rounded(seconds));
  Set(prefix + "messages_per_s", PerSecond(messages, seconds));
}

void Report::SetProcess(const ProcessStats& before, const ProcessStats& now) {
  Set("disk_bytes_written", now.disk_write_bytes - before.disk_write_bytes);
  Set("rss_bytes", now.rss_bytes);
  Set("rss_peak_bytes", now.rss_peak_bytes);
  Set("cpu_seconds",
      {{"user", Rounded(now.cpu_user_seconds - before.cpu_user_seconds)},
       {"system",
        Rounded(now.cpu_system_seconds - before.cpu_system_seconds)}});
}

std::string Report::Text(bool json) const {
  if (json) return fields_.dump() + "\n";
  std::string text;
  AppendRows(fields_, "", &text);
  return text;
}

}  // namespace hourglass
