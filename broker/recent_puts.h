// File: recent_puts.h
//
// What was put lately, read from the end of the commit log: for a host that
// must know its own puts again after a restart, to tell a send that is tried
// again from a new one.
//
//   RecentPutsQuery query{&fs, dir, now_ms - window_ms, 64 << 20,
//                         store->Stats().log_durable};
//   RETURN_IF_ERROR(ReadRecentPuts(query, [](const MessageView& message,
//                                            const PutResult& put,
//                                            int64_t written_ms) { ... }));
//
// Costs the reading of bytes_max bytes of the log at most, about a millisecond
// for two MiB. The store may be open and writing: what was durable when it was
// asked is read, and takes no lock.
//
// Limitations: what is older than bytes_max bytes of log is not seen, however
// young. A message that was moved is seen again, with its new handle.
//
// Serves promise 2: what a client sends once is not put twice.
#ifndef HOURGLASS_BROKER_RECENT_PUTS_H_
#define HOURGLASS_BROKER_RECENT_PUTS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "hourglass/delay_store.h"
#include "hourglass/file_system.h"

namespace hourglass {

struct RecentPutsQuery {
  FileSystem* file_system = nullptr;
  Path dir;                // of the store
  int64_t since_ms = 0;    // UTC ms; what was written before is left out
  uint64_t bytes_max = 0;  // of the log, from `until` back
  LogOffset until;         // durable up to here
};

// The views are valid during the call.
using PutVisitor = std::function<void(
    const MessageView& message, const PutResult& put, int64_t written_ms)>;

// In the order of the log. DATA_LOSS if what is there cannot be read; then some
// have been visited.
absl::Status ReadRecentPuts(const RecentPutsQuery& query,
                            const PutVisitor& visit);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_RECENT_PUTS_H_
