#include "broker/admin/due_forecast.h"

#include <algorithm>

#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kMsPerMinute = 60'000;

// Adds `messages` due at `start_ms` to the slot it falls into, if any.
void AddTo(std::vector<uint64_t>* slots, int64_t begin_ms, int64_t slot_ms,
           int64_t start_ms, uint64_t messages) {
  if (start_ms < begin_ms) return;
  const auto slot = static_cast<uint64_t>((start_ms - begin_ms) / slot_ms);
  if (slot < slots->size()) (*slots)[slot] += messages;
}

}  // namespace

absl::StatusOr<DueCounts> DueForecast::Next(int64_t now_ms) {
  const int64_t second_ms = now_ms - now_ms % kMsPerSecond;
  const int64_t minute_ms = now_ms - now_ms % kMsPerMinute;
  const Hour hour = HourOf(now_ms);
  DueCounts counts;
  for (const Hour each : {hour, hour + 1}) {
    ASSIGN_OR_RETURN(const Forecast forecast, store_->GetForecast(each));
    for (const ForecastBucket& one : forecast.seconds) {
      if (one.start_ms < second_ms) counts.overdue += one.messages;
      AddTo(&counts.seconds, second_ms, kMsPerSecond, one.start_ms,
            one.messages);
      AddTo(&counts.minutes, minute_ms, kMsPerMinute, one.start_ms,
            one.messages);
    }
    if (each != hour) continue;
    for (const ForecastBucket& one : forecast.hours) {
      AddTo(&counts.hours, StartMs(hour), kMsPerHour, one.start_ms,
            one.messages);
      if (one.start_ms < StartMs(hour)) counts.overdue += one.messages;
      if (one.start_ms >= StartMs(hour + 24)) counts.later += one.messages;
    }
  }
  return counts;
}

absl::StatusOr<TopicCounts> DueForecast::ByTopic(int64_t now_ms,
                                                 int64_t span_ms) {
  PendingQuery query;
  query.from_ms = now_ms;
  query.to_ms = now_ms + span_ms;
  TopicCounts counts;
  size_t seen = 0;
  while (true) {
    query.count_max = std::min(options_.page_max, options_.scan_max - seen);
    if (query.count_max == 0) {
      counts.complete = false;
      return counts;
    }
    ASSIGN_OR_RETURN(const PendingPage page, store_->Pending(query));
    for (const PendingMessage& one : page.messages) {
      ++counts.messages[one.message.topic];
    }
    seen += page.messages.size();
    if (page.next.empty()) return counts;
    query.after = page.next;
  }
}

}  // namespace hourglass
