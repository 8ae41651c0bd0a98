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

// One number of the store's.
struct StoreMetric {
  const char* name;
  const char* help;
  double (*value)(const StoreStats& stats, int64_t now_ms);
};

template <auto Field>
double ValueOf(const StoreStats& stats, int64_t) {
  return static_cast<double>(stats.*Field);
}

constexpr StoreMetric kCounters[] = {
    {"hourglass_put_messages_total", "Messages put",
     ValueOf<&StoreStats::put_messages>},
    {"hourglass_put_bytes_total", "Their bytes",
     ValueOf<&StoreStats::put_bytes>},
    {"hourglass_delivered_messages_total", "Delayed messages that became ready",
     ValueOf<&StoreStats::delivered_messages>},
    {"hourglass_at_once_messages_total",
     "Messages that were due when they were put",
     ValueOf<&StoreStats::at_once_messages>},
    {"hourglass_cancelled_messages_total", "Messages cancelled",
     ValueOf<&StoreStats::cancelled_messages>},
    {"hourglass_lost_messages_total",
     "Messages set aside because they could not be read",
     ValueOf<&StoreStats::lost_messages>},
    {"hourglass_rescued_records_total",
     "Records that were damaged, and read all the same",
     ValueOf<&StoreStats::rescued_records>},
    {"hourglass_log_written_bytes_total", "Bytes written to the commit log",
     ValueOf<&StoreStats::log_bytes_written>},
    {"hourglass_log_groups_total", "Writes of the commit log",
     ValueOf<&StoreStats::groups>},
    {"hourglass_log_syncs_total", "Syncs of the commit log",
     ValueOf<&StoreStats::syncs>},
    {"hourglass_checkpoints_total", "Checkpoints written",
     ValueOf<&StoreStats::checkpoints>},
};

double OldestWaitSeconds(const StoreStats& stats, int64_t now_ms) {
  const int64_t due_ms = stats.oldest_undelivered_ms;
  return due_ms == 0 ? 0 : Seconds(now_ms - due_ms);
}

constexpr StoreMetric kGauges[] = {
    {"hourglass_up", "0 when the store stopped after an error",
     [](const StoreStats& stats, int64_t) {
       return stats.failure.ok() ? 1.0 : 0.0;
     }},
    {"hourglass_refusing_puts", "1 while the disk is too full for puts",
     ValueOf<&StoreStats::disk_full>},
    {"hourglass_disk_free_bytes", "Free on the store's disk",
     ValueOf<&StoreStats::disk_free_bytes>},
    {"hourglass_pending_messages", "Messages not yet due",
     ValueOf<&StoreStats::pending_messages>},
    {"hourglass_pending_bytes", "Their bytes, as stored",
     ValueOf<&StoreStats::pending_bytes>},
    {"hourglass_oldest_undelivered_seconds",
     "How long the oldest due message has waited", OldestWaitSeconds},
    {"hourglass_preload_ahead_seconds",
     "How far ahead of now messages are prepared",
     [](const StoreStats& stats, int64_t now_ms) {
       return Seconds(StartMs(stats.preloaded_before) - now_ms);
     }},
    {"hourglass_checkpoint_age_seconds", "Since the newest checkpoint",
     [](const StoreStats& stats, int64_t) {
       return Seconds(stats.checkpoint_age_ms);
     }},
    {"hourglass_log_bytes", "Bytes of the commit log on disk",
     [](const StoreStats& stats, int64_t) {
       return Real(stats.log_end - stats.log_start);
     }},
    {"hourglass_hour_files", "Hours that have files",
     ValueOf<&StoreStats::hour_files>},
    {"hourglass_open_hours", "Hours whose files are open",
     ValueOf<&StoreStats::open_segments>},
    {"hourglass_preloaded_messages", "Messages prepared in memory",
     ValueOf<&StoreStats::window_entries>},
};

void AddStore(const StoreStats& stats, int64_t now_ms, Page* page) {
  for (const StoreMetric& gauge : kGauges) {
    page->Gauge(gauge.name, gauge.help, gauge.value(stats, now_ms));
  }
  for (const StoreMetric& counter : kCounters) {
    page->Counter(counter.name, counter.help, counter.value(stats, now_ms));
  }
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
  AddStore(stats, now_ms, &page);
  page.Lateness("hourglass_lateness_seconds",
                "From due to durable in the ready log", stats.lateness_us);
  page.Lateness("hourglass_sync_seconds", "A sync of the commit log",
                stats.sync_us);
  AddTopics(store, options, &page);
  AddGroups(groups, options, &page);
  return page.ToString();
}

}  // namespace hourglass
