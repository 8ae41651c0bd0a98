#include "broker/admin/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace hourglass {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr char kOther[] = "(other)";
constexpr double kUsPerSecond = 1e6;

// Bounds in microseconds: what a lateness is worth knowing to.
constexpr uint64_t kBoundsUs[] = {
    100,       200,       500,       1'000,      2'000,      5'000,
    10'000,    20'000,    50'000,    100'000,    200'000,    500'000,
    1'000'000, 2'000'000, 5'000'000, 10'000'000, 60'000'000, 600'000'000};

class Page {
 public:
  void Counter(const char* name, const char* help, double value) {
    Add(name, help, MetricType::Counter).counter.value = value;
  }
  void Gauge(const char* name, const char* help, double value) {
    Add(name, help, MetricType::Gauge).gauge.value = value;
  }
  // A family of one value for each set of labels.
  void Gauges(const char* name, const char* help,
              const std::map<std::vector<std::string>, double>& values,
              const std::vector<std::string>& label_names) {
    MetricFamily& family = Family(name, help, MetricType::Gauge);
    for (const auto& [labels, value] : values) {
      ClientMetric& metric = family.metric.emplace_back();
      for (size_t i = 0; i < labels.size(); ++i) {
        metric.label.push_back({label_names[i], labels[i]});
      }
      metric.gauge.value = value;
    }
  }
  void Lateness(const char* name, const char* help, const Histogram& values);

  std::string ToString() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  MetricFamily& Family(const char* name, const char* help, MetricType type) {
    return families_.emplace_back(MetricFamily{name, help, type, {}});
  }
  ClientMetric& Add(const char* name, const char* help, MetricType type) {
    return Family(name, help, type).metric.emplace_back();
  }
  std::vector<MetricFamily> families_;
};

void Page::Lateness(const char* name, const char* help,
                    const Histogram& values) {
  ClientMetric::Histogram& out =
      Add(name, help, MetricType::Histogram).histogram;
  out.sample_count = values.count();
  out.sample_sum = static_cast<double>(values.sum()) / kUsPerSecond;
  for (const uint64_t bound : kBoundsUs) {
    out.bucket.push_back(
        {values.CountUpTo(bound), static_cast<double>(bound) / kUsPerSecond});
  }
  out.bucket.push_back(
      {values.count(), std::numeric_limits<double>::infinity()});
}

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }
double Real(uint64_t value) { return static_cast<double>(value); }

void AddCounters(const StoreStats& stats, Page* page) {
  page->Counter("hourglass_put_messages_total", "Messages put",
                Real(stats.put_messages));
  page->Counter("hourglass_put_bytes_total", "Their bytes",
                Real(stats.put_bytes));
  page->Counter("hourglass_delivered_messages_total",
                "Delayed messages that became ready",
                Real(stats.delivered_messages));
  page->Counter("hourglass_at_once_messages_total",
                "Messages that were due when they were put",
                Real(stats.at_once_messages));
  page->Counter("hourglass_cancelled_messages_total", "Messages cancelled",
                Real(stats.cancelled_messages));
  page->Counter("hourglass_lost_messages_total",
                "Messages set aside because they could not be read",
                Real(stats.lost_messages));
  page->Counter("hourglass_rescued_records_total",
                "Records that were damaged, and read all the same",
                Real(stats.rescued_records));
  page->Counter("hourglass_log_written_bytes_total",
                "Bytes written to the commit log",
                Real(stats.log_bytes_written));
  page->Counter("hourglass_log_groups_total", "Writes of the commit log",
                Real(stats.groups));
  page->Counter("hourglass_log_syncs_total", "Syncs of the commit log",
                Real(stats.syncs));
  page->Counter("hourglass_checkpoints_total", "Checkpoints written",
                Real(stats.checkpoints));
}

void AddGauges(const StoreStats& stats, int64_t now_ms, Page* page) {
  page->Gauge("hourglass_up", "0 when the store stopped after an error",
              stats.failure.ok() ? 1 : 0);
  page->Gauge("hourglass_pending_messages", "Messages not yet due",
              Real(stats.pending_messages));
  page->Gauge("hourglass_pending_bytes", "Their bytes, as stored",
              Real(stats.pending_bytes));
  page->Gauge("hourglass_oldest_undelivered_seconds",
              "How long the oldest due message has waited",
              stats.oldest_undelivered_ms == 0
                  ? 0
                  : Seconds(now_ms - stats.oldest_undelivered_ms));
  page->Gauge("hourglass_preload_ahead_seconds",
              "How far ahead of now messages are prepared",
              Seconds(StartMs(stats.preloaded_before) - now_ms));
  page->Gauge("hourglass_checkpoint_age_seconds", "Since the newest checkpoint",
              Seconds(stats.checkpoint_age_ms));
  page->Gauge("hourglass_log_bytes", "Bytes of the commit log on disk",
              Real(stats.log_end - stats.log_start));
  page->Gauge("hourglass_hour_files", "Hours that have files",
              Real(stats.hour_files));
  page->Gauge("hourglass_open_hours", "Hours whose files are open",
              stats.open_segments);
  page->Gauge("hourglass_preloaded_messages", "Messages prepared in memory",
              Real(stats.window_entries));
}

// The largest stand alone, the rest together.
std::map<std::vector<std::string>, double> Bounded(
    std::vector<std::pair<std::vector<std::string>, double>> values,
    size_t labels_max) {
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::map<std::vector<std::string>, double> bounded;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < labels_max) {
      bounded[values[i].first] += values[i].second;
    } else {
      bounded[std::vector<std::string>(values[i].first.size(), kOther)] +=
          values[i].second;
    }
  }
  return bounded;
}

void AddTopics(DelayStore* store, const AdminOptions& options, Page* page) {
  std::vector<std::pair<std::vector<std::string>, double>> ready;
  for (const std::string& topic : store->Topics()) {
    const QueueIndex end = store->EndOfReady(topic);
    ready.push_back({{topic}, Real(end - store->FirstReady(topic))});
  }
  page->Gauges("hourglass_topic_ready_messages",
               "Ready messages that are kept, read or not",
               Bounded(std::move(ready), options.metric_labels_max), {"topic"});
}

void AddGroups(const ListGroups& groups, const AdminOptions& options,
               Page* page) {
  if (groups == nullptr) return;
  std::vector<GroupState> states = groups();
  // Those that are furthest behind have names; the same ones in each family.
  std::sort(states.begin(), states.end(),
            [](const GroupState& a, const GroupState& b) {
              if (a.lag != b.lag) return a.lag > b.lag;
              return std::tie(a.topic, a.group) < std::tie(b.topic, b.group);
            });
  std::map<std::vector<std::string>, double> lag, leased;
  for (size_t i = 0; i < states.size(); ++i) {
    const GroupState& state = states[i];
    std::vector<std::string> labels = {state.topic, state.group};
    if (i >= options.metric_labels_max) labels = {kOther, kOther};
    lag[labels] += Real(state.lag);
    leased[labels] += Real(state.leased);
  }
  const std::vector<std::string> names = {"topic", "group"};
  page->Gauges("hourglass_group_lag_messages",
               "Ready messages that the group has not acknowledged", lag,
               names);
  page->Gauges("hourglass_group_leased_messages",
               "Messages handed to consumers and not acknowledged", leased,
               names);
}

}  // namespace

std::string MetricsText(DelayStore* store, const ListGroups& groups,
                        int64_t now_ms, const AdminOptions& options) {
  const StoreStats stats = store->Stats();
  Page page;
  AddGauges(stats, now_ms, &page);
  AddCounters(stats, &page);
  page.Lateness("hourglass_lateness_seconds",
                "From due to durable in the ready log", stats.lateness_us);
  page.Lateness("hourglass_sync_seconds", "A sync of the commit log",
                stats.sync_us);
  AddTopics(store, options, &page);
  AddGroups(groups, options, &page);
  return page.ToString();
}

}  // namespace hourglass
