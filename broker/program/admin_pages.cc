#include "broker/program/admin_pages.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

using Json = nlohmann::json;

absl::Status Lacks(std::string_view path, std::string_view what) {
  return absl::InternalError(Concat(path, ": the answer has no ", Quoted(what),
                                    "; is that an admin API of this version?"));
}

absl::StatusOr<Json> ParseArray(std::string_view path, const std::string& body,
                                const char* name) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains(name) || !json[name].is_array()) {
    return Lacks(path, name);
  }
  return json[name];
}

uint64_t Number(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return 0;
  const Json& value = object[name];
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

std::string Text(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return "";
  const Json& value = object[name];
  return value.is_string() ? value.get<std::string>() : "";
}

std::vector<uint64_t> Numbers(const Json& object, const char* name) {
  std::vector<uint64_t> numbers;
  if (!object.contains(name) || !object[name].is_array()) return numbers;
  for (const Json& value : object[name]) {
    numbers.push_back(value.is_number_unsigned() ? value.get<uint64_t>() : 0);
  }
  return numbers;
}

// `name{labels} value` by line; comments and what is not understood are left
// out.
class Metrics {
 public:
  explicit Metrics(const std::string& text) {
    for (const absl::string_view each : absl::StrSplit(text, '\n')) {
      const std::string_view line = FromAbsl(each);
      const size_t space = line.rfind(' ');
      if (line.starts_with('#') || space == line.npos) continue;
      double value = 0;
      if (!absl::SimpleAtod(ToAbsl(line.substr(space + 1)), &value)) continue;
      values_[std::string(line.substr(0, space))] = value;
    }
  }

  absl::Status Get(const std::string& name, double* value) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return Lacks("/metrics", name);
    *value = found->second;
    return absl::OkStatus();
  }

  absl::Status Get(const std::string& name, Buckets* buckets) const {
    const std::string prefix = name + "_bucket{le=\"";
    for (auto at = values_.lower_bound(prefix);
         at != values_.end() && at->first.starts_with(prefix); ++at) {
      const std::string bound = at->first.substr(
          prefix.size(), at->first.find('"', prefix.size()) - prefix.size());
      double seconds = std::numeric_limits<double>::infinity();
      if (bound != "+Inf" && !absl::SimpleAtod(bound, &seconds)) continue;
      buckets->up_to.push_back({seconds, at->second});
    }
    std::sort(buckets->up_to.begin(), buckets->up_to.end());
    return buckets->up_to.empty() ? Lacks("/metrics", name) : absl::OkStatus();
  }

 private:
  std::map<std::string, double> values_;
};

absl::Status ReadMetrics(const std::string& text, TopSample* sample) {
  const Metrics metrics(text);
  double up = 0;
  const std::pair<const char*, double*> wanted[] = {
      {"hourglass_up", &up},
      {"hourglass_put_messages_total", &sample->put},
      {"hourglass_put_bytes_total", &sample->put_bytes},
      {"hourglass_delivered_messages_total", &sample->delivered},
      {"hourglass_at_once_messages_total", &sample->at_once},
      {"hourglass_cancelled_messages_total", &sample->cancelled},
      {"hourglass_lost_messages_total", &sample->lost},
      {"hourglass_log_syncs_total", &sample->syncs},
      {"hourglass_pending_messages", &sample->pending},
      {"hourglass_pending_bytes", &sample->pending_bytes},
      {"hourglass_oldest_undelivered_seconds", &sample->oldest_undelivered_s},
      {"hourglass_checkpoint_age_seconds", &sample->checkpoint_age_s},
      {"hourglass_log_bytes", &sample->log_bytes},
  };
  for (const auto& [name, value] : wanted) {
    RETURN_IF_ERROR(metrics.Get(name, value));
  }
  sample->up = up != 0;
  RETURN_IF_ERROR(metrics.Get("hourglass_lateness_seconds", &sample->lateness));
  return metrics.Get("hourglass_sync_seconds", &sample->sync);
}

absl::Status ReadForecast(const std::string& body, TopSample* sample) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Lacks("/v1/forecast", "seconds");
  sample->now = Text(json, "now");
  sample->overdue = Number(json, "overdue");
  sample->later = Number(json, "later");
  sample->seconds = Numbers(json, "seconds");
  sample->minutes = Numbers(json, "minutes");
  sample->hours = Numbers(json, "hours");
  if (sample->seconds.empty()) return Lacks("/v1/forecast", "seconds");
  if (sample->minutes.empty()) return Lacks("/v1/forecast", "minutes");
  return absl::OkStatus();
}

// "NORMAL+DELAY", or "all".
std::string KindsOf(const Json& topic) {
  constexpr size_t kKinds = 4;
  const auto found = topic.find("kinds");
  if (found == topic.end() || !found->is_array()) return "";
  if (found->size() == kKinds) return "all";
  std::string kinds;
  for (const Json& kind : *found) {
    if (!kind.is_string()) continue;
    Append(&kinds, kinds.empty() ? "" : "+", kind.get<std::string>());
  }
  return kinds;
}

}  // namespace

absl::StatusOr<std::vector<TopicRow>> ParseTopics(const std::string& body) {
  ASSIGN_OR_RETURN(const Json array, ParseArray("/v1/topics", body, "topics"));
  std::vector<TopicRow> rows;
  for (const Json& one : array) {
    rows.push_back({Text(one, "topic"), Number(one, "first_ready"),
                    Number(one, "end_of_ready"), KindsOf(one),
                    Text(one, "origin")});
  }
  return rows;
}

absl::StatusOr<TopicAnswer> ParseTopicAnswer(const std::string& body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || Text(json, "answer").empty()) {
    return Lacks("/v1/topics/TOPIC", "answer");
  }
  return TopicAnswer{Text(json, "topic"), Text(json, "answer"), KindsOf(json)};
}

absl::StatusOr<std::vector<GroupRow>> ParseGroups(const std::string& body) {
  ASSIGN_OR_RETURN(const Json array, ParseArray("/v1/groups", body, "groups"));
  std::vector<GroupRow> rows;
  for (const Json& one : array) {
    rows.push_back({Text(one, "topic"), Text(one, "group"), Number(one, "next"),
                    Number(one, "lag"), Number(one, "leased"),
                    Number(one, "waiting_retry"), Number(one, "dead_letters")});
  }
  std::stable_sort(
      rows.begin(), rows.end(),
      [](const GroupRow& a, const GroupRow& b) { return a.lag > b.lag; });
  return rows;
}

absl::StatusOr<DueByTopic> ParseDueByTopic(const std::string& body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  DueByTopic due;
  if (!json.is_object() || !json.contains("by_topic")) {
    return Lacks("/v1/forecast", "by_topic");
  }
  for (const auto& [topic, count] : json["by_topic"].items()) {
    if (count.is_number_unsigned()) due.messages[topic] = count;
  }
  due.complete = json.value("by_topic_complete", Json(true)) == Json(true);
  return due;
}

Buckets Buckets::Since(const Buckets& before) const {
  if (before.up_to.size() != up_to.size() || before.count() > count()) {
    return *this;  // another server, or a new one
  }
  Buckets since = *this;
  for (size_t i = 0; i < up_to.size(); ++i) {
    since.up_to[i].second -= before.up_to[i].second;
  }
  return since;
}

double Buckets::PercentileMs(double percent) const {
  if (count() <= 0) return -1;
  const double wanted = count() * percent / 100;
  double low_s = 0, below = 0;
  for (const auto& [bound_s, seen] : up_to) {
    if (seen >= wanted) {
      if (bound_s == std::numeric_limits<double>::infinity()) break;
      const double part = (wanted - below) / std::max(seen - below, 1e-9);
      return (low_s + (bound_s - low_s) * part) * 1000;
    }
    low_s = bound_s;
    below = seen;
  }
  return low_s * 1000;  // at least that
}

absl::StatusOr<TopSample> ParseTopSample(const TopPages& pages) {
  TopSample sample;
  RETURN_IF_ERROR(ReadMetrics(pages.metrics, &sample));
  RETURN_IF_ERROR(ReadForecast(pages.forecast, &sample));
  ASSIGN_OR_RETURN(sample.groups, ParseGroups(pages.groups));
  return sample;
}

absl::StatusOr<TopSample> GetTopSample(AdminClient* admin,
                                       int64_t monotonic_ns) {
  TopPages pages;
  ASSIGN_OR_RETURN(pages.metrics, admin->Get("/metrics"));
  ASSIGN_OR_RETURN(pages.forecast, admin->Get("/v1/forecast"));
  ASSIGN_OR_RETURN(pages.groups, admin->Get("/v1/groups"));
  ASSIGN_OR_RETURN(TopSample sample, ParseTopSample(pages));
  sample.monotonic_ns = monotonic_ns;
  return sample;
}

}  // namespace hourglass
