// File: store_watch.h
//
// A store's numbers, looked at once a second, as events: what changed since
// the look before.
//
//   StoreWatch watch(&log, {.checkpoint_interval_ms = 1000});
//   watch.Look({store->Stats(), store->Topics(), free_bytes}, now_ns);
//
// Events: store_notice, messages_lost, records_rescued, topic_new,
// checkpoint_slow and checkpoint_done, disk_full and disk_has_room.
//
// Threads: one.
//
// Serves promise 5: damage and a full disk are said when they happen.
#ifndef HOURGLASS_BROKER_PROGRAM_STORE_WATCH_H_
#define HOURGLASS_BROKER_PROGRAM_STORE_WATCH_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker/log/event_log.h"
#include "hourglass/delay_store.h"

namespace hourglass {

struct StoreWatchOptions {
  // The log grew for so long and no checkpoint was written.
  int64_t checkpoint_slow_ms = 60'000;
  uint64_t disk_reserve_bytes = 0;
};

struct StoreLook {
  StoreStats stats;
  std::vector<std::string> topics;
  std::optional<uint64_t> free_bytes;  // of the disk, if it is known
};

class StoreWatch {
 public:
  StoreWatch(EventLog* log, const StoreWatchOptions& options)
      : log_(log), options_(options) {}

  // The first look only learns, but for notices.
  void Look(const StoreLook& look, int64_t now_ns);

 private:
  void LookAtMessages(const StoreStats& stats);
  void LookAtTopics(const std::vector<std::string>& topics);
  void LookAtCheckpoint(const StoreStats& stats, int64_t now_ns);
  void LookAtDisk(uint64_t free_bytes);

  EventLog* const log_;
  const StoreWatchOptions options_;
  bool first_ = true;
  size_t notices_ = 0;
  uint64_t lost_ = 0, rescued_ = 0;
  std::set<std::string> topics_;
  uint64_t checkpoints_ = 0;
  LogOffset log_end_;     // at the newest checkpoint
  int64_t grown_ns_ = 0;  // since when the log is longer; 0: it is not
  bool said_slow_ = false;
  bool disk_full_ = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_STORE_WATCH_H_
