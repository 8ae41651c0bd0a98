#include "recovery/rebuilt_log.h"

#include <algorithm>
#include <utility>

#include "storage/checksum.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr uint64_t kGroupBytes = 1u << 20;

}  // namespace

RebuiltLog::RebuiltLog(std::unique_ptr<CommitLog> log, const StoreId& id,
                       uint64_t group_bytes)
    : log_(std::move(log)),
      group_bytes_(group_bytes),
      start_(log_->end()),
      group_(HashBytes(id.view())) {}

absl::StatusOr<std::unique_ptr<RebuiltLog>> RebuiltLog::Create(
    FileSystem* fs, const Path& dir, const StoreId& id,
    const CommitLogOptions& options) {
  ASSIGN_OR_RETURN(auto log, CommitLog::Create(fs, dir, id, options));
  // Small files are for tests; they should have several groups all the same.
  const uint64_t bytes = std::min(kGroupBytes, options.segment_bytes / 8);
  return std::unique_ptr<RebuiltLog>(new RebuiltLog(std::move(log), id, bytes));
}

absl::Status RebuiltLog::Add(RecordKind kind, uint8_t flags, Hour hour,
                             RecordNumber number, std::string_view payload,
                             int64_t written_ms) {
  const uint64_t bytes = kRecordHeaderBytes + payload.size();
  if (room_ > 0 && group_.bytes().size() + bytes > room_) {
    RETURN_IF_ERROR(AppendGroup());
  }
  if (room_ == 0) {
    room_ = std::max(group_bytes_, kGroupHeaderBytes + bytes);
    group_.Start(log_->NextStart(log_->end(), room_), log_->durable(),
                 written_ms);
  }
  group_.Add(kind, flags, hour, number, payload, HashBytes(payload));
  return absl::OkStatus();
}

absl::Status RebuiltLog::AppendGroup() {
  if (room_ == 0) return absl::OkStatus();
  group_.Finish();
  room_ = 0;
  return log_->Append(group_);
}

absl::Status RebuiltLog::Finish() {
  RETURN_IF_ERROR(AppendGroup());
  return log_->Sync();
}

}  // namespace hourglass
