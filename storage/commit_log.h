// File: commit_log.h
//
// The append side of the one log that is the truth (DESIGN: "One log is the
// truth"), and the random reads of consumers. Keeps promise 1: what Sync()
// has covered survives a power loss.
//
//   GroupBuilder group(salt);
//   group.Start(log->NextStart(log_end, bytes), log->durable(), now_ms);
//   group.Add(RecordKind::kReady, 0, Hour(), RecordNumber(), payload, hash);
//   group.Finish();
//   log->Append(group);   // one write
//   log->Sync();          // one fdatasync: durable() == group.end()
//
// Files `<20 digits of base offset>.log` of `segment_bytes` each, allocated
// ahead, so that a sync changes no metadata. Base offsets are multiples of
// segment_bytes; the unused rest of a file is skipped, and the next file's
// header says where the data before it ended.
//
// Failure is sticky: after a write or sync failed, every later Append and
// Sync returns that first error and nothing is written (promise 2).
//
// Threads: one thread appends and syncs; NextStart is pure; ReadRecord,
// durable(), end() and start() may be called from any thread.
#ifndef HOURGLASS_STORAGE_COMMIT_LOG_H_
#define HOURGLASS_STORAGE_COMMIT_LOG_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/log_format.h"
#include "storage/store_id.h"

namespace hourglass {

struct CommitLogOptions {
  uint64_t segment_bytes = 256u << 20;  // multiple of 4096, > kGroupBytesMax
  bool direct_io = true;
};

// One group under construction: an aligned buffer, reused group after group.
class GroupBuilder {
 public:
  explicit GroupBuilder(uint64_t salt);
  ~GroupBuilder();
  GroupBuilder(const GroupBuilder&) = delete;
  GroupBuilder& operator=(const GroupBuilder&) = delete;

  void Start(LogOffset start, LogOffset durable_before, int64_t written_ms);

  // Seals and appends one record; returns where it stands.
  // Precondition: started, and the group stays within kGroupBytesMax.
  LogOffset Add(RecordKind kind, uint8_t flags, Hour hour, RecordNumber number,
                std::string_view payload, uint64_t payload_hash);

  // Writes header and padding. After it bytes(), end() are final.
  void Finish();

  bool HasRoomFor(size_t payload_bytes) const;
  uint32_t records() const { return records_; }
  LogOffset start() const { return start_; }
  // Before Finish: end of the last record. After: a multiple of 512.
  LogOffset end() const { return start_ + size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  void Reserve(size_t bytes);

  const uint64_t salt_;
  char* data_ = nullptr;  // aligned to 4096
  size_t capacity_ = 0;
  size_t size_ = 0;
  uint32_t records_ = 0;
  LogOffset start_;
  LogOffset durable_before_;
  int64_t written_ms_ = 0;
};

class CommitLog {
 public:
  // Starts an empty log in `dir`, which exists and holds no log file. The
  // first file is durable on return.
  static absl::StatusOr<std::unique_ptr<CommitLog>> Create(
      FileSystem* fs, const Path& dir, const StoreId& id,
      const CommitLogOptions& options);

  // Opens for appending at `end`, where a LogReader found the log to end.
  // Whatever follows is cut off, and the cut is durable on return.
  static absl::StatusOr<std::unique_ptr<CommitLog>> Open(
      FileSystem* fs, const Path& dir, const StoreId& id,
      const CommitLogOptions& options, LogOffset end);

  ~CommitLog();

  // Where a group of up to `bytes` that follows `end` must start: `end`, or
  // the first group of the next file when it does not fit.
  LogOffset NextStart(LogOffset end, uint64_t bytes) const;

  // Writes one finished group; makes the next file first if the group starts
  // there. Not durable before Sync().
  absl::Status Append(const GroupBuilder& group);

  absl::Status Sync();

  // Allocates the next file ahead of need; cheap when it is there. From any
  // one thread beside the appending one.
  absl::Status PrepareNextFile();

  // Removes whole files that end at or before `keep_from`; never the file
  // that is being written. Returns the new start().
  absl::StatusOr<LogOffset> RemoveBefore(LogOffset keep_from);

  // Reads and verifies one record of known place and size. The payload
  // points into `buffer`. OUT_OF_RANGE if that part was removed, DATA_LOSS
  // if it is damaged.
  absl::StatusOr<LogRecord> ReadRecord(LogOffset offset, uint32_t size,
                                       std::string* buffer);

  // Oldest offset still on disk (of a group).
  LogOffset start() const { return LogOffset(start_.load()); }
  LogOffset end() const { return LogOffset(end_.load()); }
  LogOffset durable() const { return LogOffset(durable_.load()); }

  struct FileInfo {
    LogOffset base;
    uint64_t bytes;
    int64_t modified_ms;  // last write; for retention by time
  };
  // Oldest first; the last one is being written.
  absl::StatusOr<std::vector<FileInfo>> Files() const;

 private:
  CommitLog(FileSystem* fs, Path dir, const StoreId& id,
            const CommitLogOptions& options);
  absl::Status Roll(LogOffset base, LogOffset previous_end);
  absl::StatusOr<std::unique_ptr<File>> MakeSpare();
  absl::StatusOr<std::shared_ptr<File>> OpenForRead(LogOffset base);
  absl::Status Fail(absl::Status status);

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const uint64_t salt_;
  const CommitLogOptions options_;

  // Touched by the appending thread only.
  std::unique_ptr<File> file_;
  LogOffset base_;
  absl::Status failure_;

  std::atomic<uint64_t> start_{0};
  std::atomic<uint64_t> end_{0};
  std::atomic<uint64_t> durable_{0};

  mutable absl::Mutex mu_;
  std::unique_ptr<File> spare_ ABSL_GUARDED_BY(mu_);
  std::map<LogOffset, std::shared_ptr<File>> readers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_COMMIT_LOG_H_
