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
// ahead, so that a sync changes no metadata. A file's base is the base of the
// file before it plus that one's size; the unused rest of a file is skipped,
// and the next file's header says where the data before it ended. A file is
// made as `next.tmp`, and gets its name when its header is durable and all
// files before it are: so a name alone proves both.
//
// Failure is sticky: after a write or sync failed, every later Append and
// Sync returns that first error and nothing is written (promise 2). The one
// exception: RESOURCE_EXHAUSTED while the next file is being allocated. No
// group has been written then; the same Append may be tried again when there
// is space, and what was appended before can still be synced.
//
// Threads: one thread appends and syncs; NextStart is pure; ReadRecord,
// Files, durable(), end() and start() may be called from any thread;
// PrepareNextFile and RemoveBefore from any one thread beside the appending.
#ifndef HOURGLASS_STORAGE_COMMIT_LOG_H_
#define HOURGLASS_STORAGE_COMMIT_LOG_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/log_format.h"
#include "storage/mutex.h"
#include "storage/store_id.h"

namespace hourglass {

struct CommitLogOptions {
  // Of new files; multiple of 4096. A group that is larger than a file is
  // refused, so normally well beyond kGroupBytesMax.
  uint64_t segment_bytes = 256u << 20;
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

  // Writes header and padding. After it bytes(), end() are final. A group that
  // was filled while others were on their way says here how far the log is
  // durable by now; Finish() leaves what Start was told.
  void Finish();
  void Finish(LogOffset durable_before);

  bool HasRoomFor(size_t payload_bytes) const;
  uint32_t records() const { return records_; }
  LogOffset start() const { return start_; }
  // Before Finish: end of the last record. After: a multiple of 512.
  LogOffset end() const { return start_ + size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  void Grow(size_t bytes);

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
  // Whatever follows is cut off, and the cut is durable on return; so is
  // everything before `end`. DATA_LOSS, and nothing is changed, if a later
  // file holds an intact group.
  //
  // `synced`: how far the log is known to be on the disk itself
  // (LogReader::durable_before). What lies between it and `end` is written
  // again: after a failed sync the page cache may show bytes that the disk
  // never got and that no later sync would write.
  //
  // A full disk does not prevent opening: then every Append is refused with
  // RESOURCE_EXHAUSTED until a new file can be allocated.
  static absl::StatusOr<std::unique_ptr<CommitLog>> Open(
      FileSystem* fs, const Path& dir, const StoreId& id,
      const CommitLogOptions& options, LogOffset end,
      LogOffset synced = LogOffset::Max());

  ~CommitLog();

  // Where a group of up to `bytes` that follows `end` must start: `end`, or
  // the first group of the next file when it does not fit.
  LogOffset NextStart(LogOffset end, uint64_t bytes) const;

  // Writes one finished group; makes the next file first if the group starts
  // there, which also syncs the file before it. Not durable before Sync().
  absl::Status Append(const GroupBuilder& group);

  // Makes everything appended durable. Does nothing if it is already.
  absl::Status Sync();

  // Allocates the next file ahead of need; cheap when it is there. From any
  // one thread beside the appending one.
  absl::Status PrepareNextFile();

  // Removes whole files that end at or before `keep_from`; never the file
  // that is being written. Returns the new start().
  absl::StatusOr<LogOffset> RemoveBefore(LogOffset keep_from);

  // Reads and verifies one record of known place and size. The payload
  // points into `buffer`. OUT_OF_RANGE if that part was removed or is not yet
  // written, DATA_LOSS if it is damaged.
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
  // Where the files lie, as far as arithmetic needs it: the file that was
  // current at Open has the size it was made with, all later ones have
  // options_.segment_bytes.
  struct Extent {
    LogOffset base;
    LogOffset next_base;
    LogOffset limit;  // groups end at or before it
  };
  struct Reader {
    LogOffset base;
    std::shared_ptr<File> file;
  };

  CommitLog(FileSystem* fs, Path dir, const StoreId& id,
            const CommitLogOptions& options);
  Extent ExtentOf(LogOffset end) const;
  absl::Status OpenLast(const std::vector<LogOffset>& bases, LogOffset end,
                        LogOffset synced);
  absl::Status RemoveEmptyAfter(const std::vector<LogOffset>& bases,
                                LogOffset last);
  absl::Status Rewrite(LogOffset from, LogOffset end);
  absl::Status CutAndAllocate(LogOffset end, const Extent& first);
  absl::Status CheckGroup(const GroupBuilder& group) const;
  absl::Status Roll(LogOffset base, LogOffset previous_end);
  absl::Status NameSpare(LogOffset base, LogOffset previous_end);
  absl::Status PrepareSpare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(spare_mu_);
  absl::StatusOr<std::unique_ptr<File>> MakeSpare();
  absl::StatusOr<std::unique_ptr<File>> AllocateSpare(const Path& path);
  absl::StatusOr<LogOffset> BaseOf(LogOffset offset) const;
  absl::StatusOr<std::shared_ptr<File>> OpenForRead(LogOffset base);
  std::shared_ptr<File> CachedReader(LogOffset base);
  absl::Status Fail(absl::Status status);

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const uint64_t salt_;
  const CommitLogOptions options_;
  Extent first_;  // the file that was current at Create or Open

  // Touched by the appending thread only.
  std::unique_ptr<File> file_;
  LogOffset base_;
  absl::Status failure_;

  std::atomic<uint64_t> start_{0};
  std::atomic<uint64_t> end_{0};
  std::atomic<uint64_t> durable_{0};

  // Held while the spare is made and until it has its final name, so apart
  // from mu_, which readers need. Taken before mu_.
  Mutex spare_mu_;
  std::unique_ptr<File> spare_ ABSL_GUARDED_BY(spare_mu_);

  mutable Mutex mu_;
  std::vector<FileInfo> files_ ABSL_GUARDED_BY(mu_);  // modified_ms unused
  std::vector<Reader> readers_ ABSL_GUARDED_BY(mu_);  // newest use first
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_COMMIT_LOG_H_
