// File: admin_pages.h
//
// The admin API's answers, read: topics, groups, and what `hourglass top`
// shows. Nothing here knows a network.
//
//   ASSIGN_OR_RETURN(const auto groups, ParseGroups(body));
//   ASSIGN_OR_RETURN(const TopSample sample, ParseTopSample(pages));
//
// INTERNAL names what an answer lacks: it is of another version, or not of a
// Hourglass at all.
//
// Serves promise 5: a number is the server's, or is not shown.
#ifndef HOURGLASS_BROKER_PROGRAM_ADMIN_PAGES_H_
#define HOURGLASS_BROKER_PROGRAM_ADMIN_PAGES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/client/admin_client.h"

namespace hourglass {

struct TopicRow {
  std::string topic;
  uint64_t first_ready = 0, end_of_ready = 0;
  // "all", or "NORMAL+DELAY"; empty if clients have no such topic.
  std::string kinds;
  std::string origin;
};
struct GroupRow {
  std::string topic, group;
  uint64_t next = 0, lag = 0, leased = 0, waiting_retry = 0, dead_letters = 0;
};

// Of /v1/topics and /v1/groups; groups with the largest lag first.
absl::StatusOr<std::vector<TopicRow>> ParseTopics(const std::string& body);
absl::StatusOr<std::vector<GroupRow>> ParseGroups(const std::string& body);

// What a PUT or DELETE of /v1/topics/... was answered.
struct TopicAnswer {
  std::string topic, answer;
  std::string kinds;  // as TopicRow's
};
absl::StatusOr<TopicAnswer> ParseTopicAnswer(const std::string& body);

// By topic, of /v1/forecast?by_topic=...; `complete` is false if not all of
// it was counted.
struct DueByTopic {
  std::map<std::string, uint64_t> messages;
  bool complete = true;
};
absl::StatusOr<DueByTopic> ParseDueByTopic(const std::string& body);

// How many values were at most so many seconds; the last bound is infinity.
struct Buckets {
  std::vector<std::pair<double, double>> up_to;

  // What came since `before`.
  Buckets Since(const Buckets& before) const;
  double count() const { return up_to.empty() ? 0 : up_to.back().second; }
  // In milliseconds, interpolated within a bucket; -1 if there are no values.
  double PercentileMs(double percent) const;
};

struct TopSample {
  std::string now;           // of the server
  int64_t monotonic_ns = 0;  // ours, for rates
  bool up = true;
  double put = 0, put_bytes = 0, delivered = 0, at_once = 0, cancelled = 0;
  double lost = 0, syncs = 0;
  double pending = 0, pending_bytes = 0;
  double oldest_undelivered_s = 0, checkpoint_age_s = 0, log_bytes = 0;
  Buckets lateness, sync;
  uint64_t overdue = 0, later = 0;
  std::vector<uint64_t> seconds, minutes, hours;
  std::vector<GroupRow> groups;
};

struct TopPages {
  std::string metrics, forecast, groups;
};
absl::StatusOr<TopSample> ParseTopSample(const TopPages& pages);
// Asks for them.
absl::StatusOr<TopSample> GetTopSample(AdminClient* admin,
                                       int64_t monotonic_ns);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_ADMIN_PAGES_H_
