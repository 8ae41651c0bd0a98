// File: rebuilt_log.h
//
// A commit log written anew from offset 0, record after record, by a repair.
//
//   ASSIGN_OR_RETURN(auto log, RebuiltLog::Create(fs, dir, id, options));
//   RETURN_IF_ERROR(log->Add(RecordKind::kReady, 0, Hour(), RecordNumber(),
//                            payload, written_ms));
//   RETURN_IF_ERROR(log->Finish());      // all of it is durable
//
// Threads: one.
//
// Keeps promise 2: each message once, under its old number.
#ifndef HOURGLASS_RECOVERY_REBUILT_LOG_H_
#define HOURGLASS_RECOVERY_REBUILT_LOG_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/commit_log.h"

namespace hourglass {

class RebuiltLog {
 public:
  static absl::StatusOr<std::unique_ptr<RebuiltLog>> Create(
      FileSystem* fs, const Path& dir, const StoreId& id,
      const CommitLogOptions& options);

  // `written_ms`: when the record was first written, as far as known.
  absl::Status Add(RecordKind kind, uint8_t flags, Hour hour,
                   RecordNumber number, std::string_view payload,
                   int64_t written_ms);
  absl::Status Finish();

  LogOffset start() const { return start_; }

 private:
  RebuiltLog(std::unique_ptr<CommitLog> log, const StoreId& id,
             uint64_t group_bytes);
  absl::Status AppendGroup();

  const std::unique_ptr<CommitLog> log_;
  const uint64_t group_bytes_;  // at which a group is written
  const LogOffset start_;
  GroupBuilder group_;
  uint64_t room_ = 0;  // of the group under construction; 0: none
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_REBUILT_LOG_H_
