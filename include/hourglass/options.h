// File: options.h
//
// Every bound and choice of a store, with its default, in one place. Past a
// bound the caller gets a status that names the option (DESIGN: "Limits").
//
// Keeps promises 1 and 7: the sync policy, and the bounds of all memory.
#ifndef HOURGLASS_OPTIONS_H_
#define HOURGLASS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/file_system.h"

namespace hourglass {

// When a put is acknowledged, and what a power loss can take from it.
enum class SyncPolicy {
  kSync,      // after fdatasync: nothing
  kInterval,  // after the write; synced every sync_interval_ms: that much
  kOs,        // after the write; the OS syncs when it likes: tens of seconds
};
std::string_view SyncPolicyName(SyncPolicy policy);
// INVALID_ARGUMENT names the three.
absl::StatusOr<SyncPolicy> ParseSyncPolicy(std::string_view name);

struct StoreOptions {
  // --- durability ---
  SyncPolicy sync = SyncPolicy::kSync;
  int64_t sync_interval_ms = 100;  // kInterval only
  int64_t checkpoint_interval_ms = 1000;
  uint64_t checkpoint_log_bytes = 64u << 20;  // ... or after this much log

  // --- limits of a message ---
  size_t body_bytes_max = 4u << 20;
  size_t properties_bytes_max = 64u << 10;  // tag, keys, properties together
  int64_t delay_ms_max = 10LL * 366 * 24 * 3'600'000;  // ten years

  // --- limits of the store ---
  size_t unsynced_bytes_max = 64u << 20;  // waiting to become durable
  size_t preload_bytes_max = 64u << 20;   // index entries held in memory
  uint32_t open_segments_max = 1024;      // hours; two files each
  size_t append_buffer_bytes_max = 32u << 20;
  uint32_t open_topics_max = 512;
  uint32_t late_messages_max = 1u << 20;  // see docs/architecture.md, clock
  // Of one consumer group in one topic: ranges acknowledged behind a message
  // that is not, and messages whose attempts are counted.
  uint32_t group_marks_max = 1u << 18;
  uint64_t disk_reserve_bytes = 256u << 20;  // kept free of puts

  // --- delivery ---
  uint32_t batch_messages_max = 16384;
  size_t batch_bytes_max = 2u << 20;
  uint32_t batches_in_flight_max = 4;
  int64_t preload_ahead_ms = 60'000;
  uint32_t preload_workers = 1;
  // How long a due message is tried whose hour's files cannot be opened or
  // read for a reason that may pass (no file handle free, say), before it is
  // set aside like a damaged one. Others of its millisecond do not wait for it.
  int64_t unreadable_retry_ms = 10'000;

  // --- files ---
  uint64_t log_segment_bytes = 256u << 20;
  bool direct_io = true;
  int64_t retention_ms = 72LL * 3'600'000;  // of commit-log files
  uint64_t retention_bytes = 0;             // of the commit log; 0: any
  // Keep log files that a consumer group has still to read, whatever the
  // two retentions say.
  bool retain_for_groups = true;

  // --- the machine, as arguments (not owned; must outlive the store) ---
  Clock* clock = RealClock();
  FileSystem* file_system = RealFileSystem();
  // False: no threads. Whoever owns the store calls DelayStore::Step().
  bool threads = true;

  // INVALID_ARGUMENT naming the first option that makes no sense.
  absl::Status Validate() const;
};

}  // namespace hourglass

#endif  // HOURGLASS_OPTIONS_H_
