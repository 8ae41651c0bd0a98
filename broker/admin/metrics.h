// File: metrics.h
//
// The store's and the groups' numbers in Prometheus' text form.
//
//   answer.body = MetricsText(store, groups, now_ms, options);
//
// Labels are bounded: beyond metric_labels_max topics (or pairs of topic and
// group) the rest is added up under "(other)".
//
// Threads: any.
//
// Serves promise 3: lateness can be watched, and alarmed on.
#ifndef HOURGLASS_BROKER_ADMIN_METRICS_H_
#define HOURGLASS_BROKER_ADMIN_METRICS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broker/admin/admin_options.h"
#include "broker/groups/consumer_groups.h"
#include "hourglass/delay_store.h"

namespace hourglass {

using ListGroups = std::function<std::vector<GroupState>()>;

// `groups` may be null.
std::string MetricsText(DelayStore* store, const ListGroups& groups,
                        int64_t now_ms, const AdminOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_METRICS_H_
