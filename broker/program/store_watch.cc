#include "broker/program/store_watch.h"

#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// What a checkpoint itself leaves in the log is no growth.
constexpr uint64_t kOwnBytes = 8192;

}  // namespace

void StoreWatch::Look(const StoreLook& look, int64_t now_ns) {
  LookAtMessages(look.stats);
  LookAtTopics(look.topics);
  LookAtCheckpoint(look.stats, now_ns);
  if (look.free_bytes.has_value()) LookAtDisk(*look.free_bytes);
  first_ = false;
}

void StoreWatch::LookAtMessages(const StoreStats& stats) {
  for (; notices_ < stats.notices.size(); ++notices_) {
    log_->Warning("store_notice", {{"what", stats.notices[notices_]}});
  }
  if (stats.lost_messages > lost_) {
    log_->Error("messages_lost", {{"count", stats.lost_messages - lost_},
                                  {"in_all", stats.lost_messages}});
  }
  if (stats.rescued_records > rescued_ && !first_) {
    log_->Warning("records_rescued",
                  {{"count", stats.rescued_records - rescued_}});
  }
  lost_ = stats.lost_messages;
  rescued_ = stats.rescued_records;
}

void StoreWatch::LookAtTopics(const std::vector<std::string>& topics) {
  for (const std::string& topic : topics) {
    if (topics_.insert(topic).second && !first_) {
      log_->Info("topic_new", {{"topic", topic}});
    }
  }
}

void StoreWatch::LookAtCheckpoint(const StoreStats& stats, int64_t now_ns) {
  if (first_ || stats.checkpoints != checkpoints_) {
    if (said_slow_) log_->Info("checkpoint_done");
    checkpoints_ = stats.checkpoints;
    log_end_ = stats.log_end;
    grown_ns_ = 0;
    said_slow_ = false;
    return;
  }
  // While nothing is written there is nothing to be kept.
  if (grown_ns_ == 0 && stats.log_end - log_end_ > kOwnBytes) {
    grown_ns_ = now_ns;
  }
  if (grown_ns_ == 0 || said_slow_) return;
  const int64_t waiting_ms = (now_ns - grown_ns_) / kNsPerMs;
  if (waiting_ms < options_.checkpoint_slow_ms) return;
  said_slow_ = true;
  log_->Warning("checkpoint_slow", {{"age_ms", stats.checkpoint_age_ms},
                                    {"log_bytes", stats.log_end - log_end_}});
}

void StoreWatch::LookAtDisk(uint64_t free_bytes) {
  const bool full = free_bytes < options_.disk_reserve_bytes;
  if (full && !disk_full_) {
    log_->Error("disk_full",
                {{"free_bytes", free_bytes},
                 {"disk_reserve_bytes", options_.disk_reserve_bytes}});
  } else if (!full && disk_full_) {
    log_->Info("disk_has_room", {{"free_bytes", free_bytes}});
  }
  disk_full_ = full;
}

}  // namespace hourglass
