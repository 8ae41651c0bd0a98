#include "hourglass/options.h"

#include "absl/strings/str_cat.h"
#include "storage/log_format.h"
#include "storage/text.h"

namespace hourglass {
namespace {

absl::Status Bad(std::string_view option, std::string_view must) {
  return absl::InvalidArgumentError(
      absl::StrCat("option ", ToAbsl(option), " must be ", ToAbsl(must)));
}

// What a message may add to its body: names, properties, framing.
constexpr size_t kOverheadBytesMax = 4096;

}  // namespace

std::string_view SyncPolicyName(SyncPolicy policy) {
  switch (policy) {
    case SyncPolicy::kSync:
      return "sync";
    case SyncPolicy::kInterval:
      return "interval";
    case SyncPolicy::kOs:
      return "os";
  }
  return "unknown";
}

absl::StatusOr<SyncPolicy> ParseSyncPolicy(std::string_view name) {
  for (const SyncPolicy policy :
       {SyncPolicy::kSync, SyncPolicy::kInterval, SyncPolicy::kOs}) {
    if (name == SyncPolicyName(policy)) return policy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "sync policy \"", ToAbsl(name), "\": expected sync, interval or os"));
}

absl::Status StoreOptions::Validate() const {
  if (clock == nullptr) return Bad("clock", "set");
  if (file_system == nullptr) return Bad("file_system", "set");
  if (sync_interval_ms < 1) return Bad("sync_interval_ms", "at least 1");
  if (checkpoint_interval_ms < 1) {
    return Bad("checkpoint_interval_ms", "at least 1");
  }
  if (delay_ms_max < 0) return Bad("delay_ms_max", "0 or more");
  if (log_segment_bytes % 4096 != 0 || log_segment_bytes < (64u << 10)) {
    return Bad("log_segment_bytes", "a multiple of 4096, at least 65536");
  }
  const size_t message_max =
      body_bytes_max + properties_bytes_max + kOverheadBytesMax;
  const size_t group_max =
      std::min<size_t>(kGroupBytesMax, log_segment_bytes - kLogBlockBytes);
  if (message_max + batch_bytes_max > group_max) {
    return Bad("body_bytes_max + properties_bytes_max + batch_bytes_max",
               absl::StrCat("at most ", group_max - kOverheadBytesMax,
                            " (8 MiB, or less with small log segments)"));
  }
  if (unsynced_bytes_max < message_max) {
    return Bad("unsynced_bytes_max", "more than one message");
  }
  if (batch_messages_max < 2 || batch_bytes_max < 1) {
    return Bad("batch_messages_max and batch_bytes_max", "at least 2 and 1");
  }
  if (batches_in_flight_max < 1)
    return Bad("batches_in_flight_max", "1 or more");
  if (open_segments_max < 4) return Bad("open_segments_max", "at least 4");
  if (open_topics_max < 1) return Bad("open_topics_max", "at least 1");
  if (group_marks_max < 1) return Bad("group_marks_max", "at least 1");
  if (preload_ahead_ms < 0) return Bad("preload_ahead_ms", "0 or more");
  if (unreadable_retry_ms < 0) return Bad("unreadable_retry_ms", "0 or more");
  if (preload_workers < 1) return Bad("preload_workers", "at least 1");
  return absl::OkStatus();
}

}  // namespace hourglass
