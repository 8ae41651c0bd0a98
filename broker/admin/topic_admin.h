// File: topic_admin.h
//
// What an operator sees of topics and does with them: list, create, change,
// forget.
//
//   TopicAdmin topics(store, groups, catalog, options);
//   for (const TopicState& one : topics.List()) ...
//   ASSIGN_OR_RETURN(TopicChange change, topics.Put("bills", kinds));
//   RETURN_IF_ERROR(topics.Forget("bills", /*force=*/false));
//
// Ownership: all is the caller's. Threads: any; waits for store and disk.
//
// Serves promise 4: nobody's messages are out of reach without being told.
#ifndef HOURGLASS_BROKER_ADMIN_TOPIC_ADMIN_H_
#define HOURGLASS_BROKER_ADMIN_TOPIC_ADMIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/admin/admin_options.h"
#include "broker/admin/metrics.h"
#include "broker/topics/topic_catalog.h"
#include "hourglass/delay_store.h"

namespace hourglass {

struct TopicState {
  std::string topic;
  uint64_t first_ready = 0, end_of_ready = 0;
  // Nothing: the store has messages of it, but to clients it is not there.
  std::optional<TopicInfo> info;
};

class TopicAdmin {
 public:
  // `groups` may be null, and so may `catalog`: then nothing can be changed.
  TopicAdmin(DelayStore* store, const ListGroups& groups, TopicCatalog* catalog,
             const AdminOptions& options)
      : store_(store), groups_(groups), catalog_(catalog), options_(options) {}

  // Those with ready messages and those of the catalogue, by name.
  std::vector<TopicState> List() const;

  // Errors as TopicCatalog's.
  absl::StatusOr<TopicChange> Put(const std::string& topic, TopicKinds kinds);
  // Without `force` also FAILED_PRECONDITION while messages of it are pending
  // or not read, and RESOURCE_EXHAUSTED if scan_max messages do not tell. It
  // removes no messages, with `force` neither.
  absl::Status Forget(const std::string& topic, bool force);

 private:
  absl::Status CheckHasCatalog() const;
  absl::Status CheckAllRead(const std::string& topic) const;
  absl::Status CheckNothingPending(const std::string& topic) const;

  DelayStore* const store_;
  const ListGroups& groups_;
  TopicCatalog* const catalog_;
  const AdminOptions& options_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_TOPIC_ADMIN_H_
