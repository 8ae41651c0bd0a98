// File: due_forecast.h
//
// How much is due in the next 60 seconds, 60 minutes and 24 hours; for one
// topic, or all.
//
//   DueForecast forecast(store, options);
//   ASSIGN_OR_RETURN(DueCounts counts, forecast.Next(now_ms));
//   ASSIGN_OR_RETURN(TopicCounts by_topic, forecast.ByTopic(now_ms, 60'000));
//
// Next reads two hours' indexes at most. ByTopic reads messages, scan_max at
// most, and says when that was not all.
//
// Threads: any; waits for the store.
//
// Serves promise 7: what is asked of the backlog is bounded.
#ifndef HOURGLASS_BROKER_ADMIN_DUE_FORECAST_H_
#define HOURGLASS_BROKER_ADMIN_DUE_FORECAST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/admin/admin_options.h"
#include "hourglass/delay_store.h"

namespace hourglass {

// Element i: due in the i-th second, minute or hour from now's on.
struct DueCounts {
  std::vector<uint64_t> seconds = std::vector<uint64_t>(60);
  std::vector<uint64_t> minutes = std::vector<uint64_t>(60);
  std::vector<uint64_t> hours = std::vector<uint64_t>(24);
  uint64_t overdue = 0;  // before this second
  uint64_t later = 0;    // behind the 24 hours
};

struct TopicCounts {
  std::map<std::string, uint64_t> messages;
  bool complete = true;  // false: scan_max was reached
};

class DueForecast {
 public:
  DueForecast(DelayStore* store, const AdminOptions& options)
      : store_(store), options_(options) {}

  absl::StatusOr<DueCounts> Next(int64_t now_ms);
  // Of what is due in [now_ms, now_ms + span_ms).
  absl::StatusOr<TopicCounts> ByTopic(int64_t now_ms, int64_t span_ms);

 private:
  DelayStore* const store_;
  const AdminOptions options_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_DUE_FORECAST_H_
