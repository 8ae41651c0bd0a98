// File: admin_api.h
//
// What an operator asks over HTTP, and what it is answered: topics, groups,
// pending messages, forecasts; put, cancel, move, deliver now; health and
// metrics. Routes and their description (/openapi.json) are one table, so the
// description cannot be about something else.
//
//   AdminApi api(store, [&] { return groups.List(); }, clock, store_options,
//                AdminOptions());
//   HttpAnswer answer = api.Handle(request);
//
// Answers are JSON. A refused request is answered {"error":{"code":...,
// "message":...}}; the message names what was wrong and what would be right.
//
//   400 INVALID_ARGUMENT   404 NOT_FOUND   405 wrong method
//   401 UNAUTHENTICATED   403 PERMISSION_DENIED (with RequireAccess)
//   409 too late: the message was delivered before; or the topic is in use
//   429 RESOURCE_EXHAUSTED   500 DATA_LOSS   503 UNAVAILABLE
//
// Ownership: store and clock are the caller's. Threads: Handle from any thread;
// it waits for the store.
//
// Serves promise 4: a cancel is answered with the truth, here too.
#ifndef HOURGLASS_BROKER_ADMIN_ADMIN_API_H_
#define HOURGLASS_BROKER_ADMIN_ADMIN_API_H_

#include <atomic>
#include <string>
#include <vector>

#include "broker/access/access_control.h"
#include "broker/admin/admin_options.h"
#include "broker/admin/http_message.h"
#include "broker/admin/metrics.h"
#include "broker/groups/consumer_groups.h"
#include "broker/topics/topic_catalog.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "hourglass/options.h"

namespace hourglass {

// For the description and for tests.
struct AdminRoute {
  const char* method;
  const char* path;  // "{topic}" stands for one part, "{name}" for the rest
  const char* summary;
  std::vector<const char*> query;  // "name: what it means"
  const char* body;                // "" if it takes none
};

class AdminApi {
 public:
  // `groups` may be null.
  AdminApi(DelayStore* store, ListGroups groups, Clock* clock,
           const StoreOptions& store_options, const AdminOptions& options);

  // From now on only users with a right to it are answered, but for /healthz
  // and /readyz. Before the first Handle; `access` outlives this.
  void RequireAccess(const AccessControl* access) { access_ = access; }

  // Before the first Handle; `topics` outlives this. Without it topics are
  // shown without their kinds, and cannot be made.
  void UseTopics(TopicCatalog* topics) { topics_ = topics; }

  HttpAnswer Handle(const HttpRequest& request);

  // From now on /readyz says no: the server is about to stop.
  void Drain() { draining_ = true; }

  static std::vector<AdminRoute> Routes();

 private:
  friend struct AdminRoutes;

  DelayStore* const store_;
  const ListGroups groups_;
  Clock* const clock_;
  const StoreOptions store_options_;
  const AdminOptions options_;
  const AccessControl* access_ = nullptr;
  TopicCatalog* topics_ = nullptr;
  std::atomic<bool> draining_{false};
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_ADMIN_API_H_
