// File: pending_admin.h
//
// What an operator does with pending messages: find one by handle or by id,
// cancel or shift all of a topic and a time window.
//
//   PendingAdmin pending(store, clock, options);
//   ASSIGN_OR_RETURN(PendingMessage found, pending.Find("A-17", {}));
//   ASSIGN_OR_RETURN(BulkResult done, pending.CancelAll(window));
//
// A bulk change is not atomic: each message is cancelled or moved on its own,
// and one that becomes due meanwhile is delivered. The answer counts each.
//
// Threads: any; waits for the store.
//
// Serves promise 4: each message of a bulk change is counted as what it is.
#ifndef HOURGLASS_BROKER_ADMIN_PENDING_ADMIN_H_
#define HOURGLASS_BROKER_ADMIN_PENDING_ADMIN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/admin/admin_options.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"

namespace hourglass {

// Which pending messages: due in [from, to), of the topic ("": of any).
struct PendingWindow {
  std::string topic;
  int64_t from_ms = 0;
  int64_t to_ms = INT64_MAX;
  size_t count_max = 0;
  bool dry_run = false;  // only count
};

struct BulkResult {
  uint64_t matched = 0;
  uint64_t changed = 0;
  uint64_t too_late = 0;  // delivered before their turn came
  uint64_t refused = 0;   // by the store; `why` is of the first
  absl::Status why;
  bool more = false;  // count_max was reached
};

class PendingAdmin {
 public:
  PendingAdmin(DelayStore* store, const AdminOptions& options)
      : store_(store), options_(options) {}

  // `name`: a handle, or else an id, which is looked for in the window, among
  // scan_max messages. NOT_FOUND; RESOURCE_EXHAUSTED if there are more.
  absl::StatusOr<PendingMessage> Find(const std::string& name,
                                      const PendingWindow& window);
  absl::StatusOr<Handle> FindHandle(const std::string& name,
                                    const PendingWindow& window);

  absl::StatusOr<BulkResult> CancelAll(const PendingWindow& window);
  // Each is due `by_ms` later (or, negative, earlier; the past means now).
  absl::StatusOr<BulkResult> ShiftAll(const PendingWindow& window,
                                      int64_t by_ms);

 private:
  using Messages = std::vector<PendingMessage>;
  // Calls `visit` with pages of the window, at most count_max messages.
  absl::Status EachPage(const PendingWindow& window, BulkResult* result,
                        const std::function<void(const Messages&)>& visit);
  absl::StatusOr<PendingMessage> FindByHandle(const Handle& handle);
  absl::StatusOr<PendingMessage> FindById(const std::string& id,
                                          const PendingWindow& window);

  DelayStore* const store_;
  const AdminOptions options_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_PENDING_ADMIN_H_
