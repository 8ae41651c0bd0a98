#include "broker/program/top_view.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "broker/program/terminal.h"
#include "broker/text/duration.h"
#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr size_t kGroupsShown = 8;
constexpr size_t kNameWidth = 28;

double SecondsSince(const TopSample& sample, const TopSample* previous) {
  if (previous == nullptr) return 0;
  return static_cast<double>(sample.monotonic_ns - previous->monotonic_ns) /
         1e9;
}

// Of counters; none without a sample before, or if the server was restarted.
std::optional<double> Rate(const TopSample& sample, const TopSample* previous,
                           double TopSample::*counter) {
  const double seconds = SecondsSince(sample, previous);
  if (seconds <= 0) return std::nullopt;
  const double grown = sample.*counter - previous->*counter;
  if (grown < 0) return std::nullopt;
  return grown / seconds;
}

Buckets SinceBefore(const TopSample& sample, const TopSample* previous,
                    Buckets TopSample::*buckets) {
  if (previous == nullptr) return sample.*buckets;
  return (sample.*buckets).Since(previous->*buckets);
}

std::string Count(double value) {
  return FormatCount(static_cast<uint64_t>(std::llround(std::max(value, 0.0))));
}

std::string PerSecond(const std::optional<double>& rate) {
  return rate.has_value() ? Concat(Count(*rate), "/s") : "-";
}

std::string Ms(double ms) {
  if (ms < 0) return "-";
  if (ms < 10) return absl::StrFormat("%.1f ms", ms);
  if (ms < 1000) return absl::StrFormat("%.0f ms", ms);
  return absl::StrFormat("%.1f s", ms / 1000);
}

std::string Percentiles(const Buckets& buckets) {
  return Concat("p50 ", Ms(buckets.PercentileMs(50)), "  p99 ",
                Ms(buckets.PercentileMs(99)));
}

std::string Ago(double seconds) {
  return FormatDurationBriefly(static_cast<int64_t>(seconds) * 1000);
}

uint64_t Sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

uint64_t Most(const std::vector<uint64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Two facts a line: the second one in the middle.
void AddPair(std::string_view name1, const std::string& value1,
             std::string_view name2, const std::string& value2,
             std::string* out) {
  std::string left = Concat(name1, ": ", value1);
  left.resize(std::max<size_t>(left.size() + 2, 40), ' ');
  Append(out, left, name2, ": ", value2, "\n");
}

void AddForecast(std::string_view title, std::string_view unit,
                 const std::vector<uint64_t>& values, int width,
                 std::string* out) {
  Append(out, "\n", title, ": ", FormatCount(Sum(values)));
  if (Most(values) > 0) {
    Append(out, ", at most ", FormatCount(Most(values)), unit);
  }
  Append(out, "\n", Columns(values, width), "\n");
}

void AddGroups(const std::vector<GroupRow>& groups, std::string* out) {
  if (groups.empty()) {
    Append(out, "\nno consumer groups\n");
    return;
  }
  Table table({{"TOPIC"},
               {"GROUP"},
               {"LAG", Align::kRight},
               {"IN FLIGHT", Align::kRight},
               {"RETRY", Align::kRight}});
  for (size_t i = 0; i < std::min(groups.size(), kGroupsShown); ++i) {
    const GroupRow& row = groups[i];
    table.Add({Printable(row.topic, kNameWidth),
               Printable(row.group, kNameWidth), FormatCount(row.lag),
               FormatCount(row.leased), FormatCount(row.waiting_retry)});
  }
  Append(out, "\n", table.ToString());
  if (groups.size() > kGroupsShown) {
    Append(out, "and ", groups.size() - kGroupsShown, " more\n");
  }
}

// Each line cut to the terminal.
std::string Cut(const std::string& text, int width) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    Append(&out, Printable(FromAbsl(line), std::max(width, 20)), "\n");
  }
  out.pop_back();
  return out;
}

}  // namespace

std::string Columns(const std::vector<uint64_t>& values, int width) {
  constexpr std::string_view kEighths[] = {"▁", "▂", "▃", "▄",
                                           "▅", "▆", "▇", "█"};
  const size_t columns = std::min<size_t>(values.size(), std::max(width, 1));
  std::vector<uint64_t> sums(columns);
  for (size_t i = 0; i < values.size(); ++i) {
    sums[i * columns / values.size()] += values[i];
  }
  const double most = static_cast<double>(Most(sums));
  std::string out;
  for (const uint64_t sum : sums) {
    const auto level = static_cast<size_t>(
        std::ceil(static_cast<double>(sum) / std::max(most, 1.0) * 8));
    out += sum == 0 ? std::string_view("·") : kEighths[level - 1];
  }
  return out;
}

std::string RenderTop(const TopSample& sample, const TopSample* previous,
                      int width) {
  std::string out = Concat("hourglass top   ", sample.now, "\n\n");
  if (!sample.up) Append(&out, "THE STORE HAS STOPPED: see /readyz\n\n");
  const auto rate = [&](double TopSample::*counter) {
    return PerSecond(Rate(sample, previous, counter));
  };
  AddPair("put", rate(&TopSample::put), "delivered at their time",
          rate(&TopSample::delivered), &out);
  AddPair("due at once", rate(&TopSample::at_once), "cancelled",
          rate(&TopSample::cancelled), &out);
  AddPair("lateness",
          Percentiles(SinceBefore(sample, previous, &TopSample::lateness)),
          "fsync", Percentiles(SinceBefore(sample, previous, &TopSample::sync)),
          &out);
  AddPair("pending",
          Concat(Count(sample.pending), " (",
                 FormatBytes(static_cast<uint64_t>(sample.pending_bytes)), ")"),
          "oldest undelivered",
          sample.oldest_undelivered_s <= 0
              ? "none"
              : Concat(Ago(sample.oldest_undelivered_s), " late"),
          &out);
  AddPair("checkpoint", Concat(Ago(sample.checkpoint_age_s), " ago"), "log",
          FormatBytes(static_cast<uint64_t>(sample.log_bytes)), &out);
  if (sample.lost > 0) {
    Append(&out, "LOST MESSAGES: ", Count(sample.lost), "\n");
  }
  AddForecast("due in the next 60 seconds", "/s", sample.seconds, width, &out);
  AddForecast("due in the next 60 minutes", "/min", sample.minutes, width,
              &out);
  AddGroups(sample.groups, &out);
  return Cut(out, width);
}

std::string TopJson(const TopSample& sample, const TopSample* previous) {
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json();
  };
  const auto ms = [&](Buckets TopSample::*buckets, double percent) {
    const double value =
        SinceBefore(sample, previous, buckets).PercentileMs(percent);
    return value < 0 ? Json() : Json(value);
  };
  const auto rate = [&](double TopSample::*counter) {
    return number(Rate(sample, previous, counter));
  };
  Json json = {{"now", sample.now},
               {"up", sample.up},
               {"put_per_s", rate(&TopSample::put)},
               {"delivered_per_s", rate(&TopSample::delivered)},
               {"at_once_per_s", rate(&TopSample::at_once)},
               {"cancelled_per_s", rate(&TopSample::cancelled)},
               {"lateness_p50_ms", ms(&TopSample::lateness, 50)},
               {"lateness_p99_ms", ms(&TopSample::lateness, 99)},
               {"sync_p50_ms", ms(&TopSample::sync, 50)},
               {"sync_p99_ms", ms(&TopSample::sync, 99)},
               {"pending", static_cast<uint64_t>(sample.pending)},
               {"pending_bytes", static_cast<uint64_t>(sample.pending_bytes)},
               {"lost", static_cast<uint64_t>(sample.lost)},
               {"oldest_undelivered_s", sample.oldest_undelivered_s},
               {"checkpoint_age_s", sample.checkpoint_age_s},
               {"log_bytes", static_cast<uint64_t>(sample.log_bytes)},
               {"overdue", sample.overdue},
               {"due_seconds", sample.seconds},
               {"due_minutes", sample.minutes}};
  Json groups = Json::array();
  for (const GroupRow& row : sample.groups) {
    if (groups.size() == kGroupsShown) break;
    groups.push_back({{"topic", row.topic},
                      {"group", row.group},
                      {"lag", row.lag},
                      {"in_flight", row.leased},
                      {"waiting_retry", row.waiting_retry}});
  }
  json["groups"] = std::move(groups);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hourglass
