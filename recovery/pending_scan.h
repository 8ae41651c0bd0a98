// File: pending_scan.h
//
// The messages that a store still owes, also of one that does not open: what
// `hourglass recover list` and `export` show.
//
//   PendingFilter filter;
//   filter.topic = "orders";
//   ASSIGN_OR_RETURN(PendingScanReport report,
//                    ScanPending(source, filter, [](const FoundMessage& m) {
//                      Print(m.hour, m.number, m.message);
//                      return absl::OkStatus();
//                    }));
//
// Order: hour by hour as they arrived; then, in the order of the log, those
// that only the log has.
//
// Memory: a bit or two a message of the hours in the log.
//
// Threads: one.
//
// Keeps promise 6: lists what is intact beside what is not.
#ifndef HOURGLASS_RECOVERY_PENDING_SCAN_H_
#define HOURGLASS_RECOVERY_PENDING_SCAN_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/message.h"
#include "recovery/finding.h"
#include "recovery/salvage_file.h"
#include "storage/store_id.h"

namespace hourglass {

struct PendingFilter {
  int64_t from_ms = 0;  // due time in [from, to)
  int64_t to_ms = std::numeric_limits<int64_t>::max();
  std::string topic;  // "" = every topic
};

struct FoundMessage {
  StoreId store;
  Hour hour;
  RecordNumber number;
  bool maybe_twice = false;  // it may have been delivered
  MessageView message;       // valid during the call
};

struct PendingScanReport {
  uint64_t messages = 0;  // given
  uint64_t maybe_twice = 0;
  uint64_t unreadable = 0;  // pending, and in no file any more
  FindingList findings;     // of the store
};

using OnPending = std::function<absl::Status(const FoundMessage&)>;

absl::StatusOr<PendingScanReport> ScanPending(const SalvageSource& source,
                                              const PendingFilter& filter,
                                              const OnPending& on_pending);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_PENDING_SCAN_H_
