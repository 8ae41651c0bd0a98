// File: log_script.h
//
// A commit log for tests, with a plain vector beside it that says what must
// be read back.
//
//   MemoryFileSystem fs;
//   LogScript script(&fs);
//   script.Create();
//   script.Append({"one", "two"});
//   script.Sync();
//   LogContent read = ReadLog(&fs);
//   EXPECT_EQ(read.records, script.records());
//
// Threads: none.
#ifndef HOURGLASS_TESTS_SUPPORT_LOG_SCRIPT_H_
#define HOURGLASS_TESTS_SUPPORT_LOG_SCRIPT_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/commit_log.h"
#include "storage/log_reader.h"

namespace hourglass {

// A record with its bytes, as a test compares it.
struct LogEntry {
  LogOffset offset;
  RecordKind kind = RecordKind::kReady;
  uint8_t flags = 0;
  Hour hour;
  RecordNumber number;
  std::string payload;

  bool operator==(const LogEntry&) const = default;
};
LogEntry EntryOf(const LogRecord& record);
std::ostream& operator<<(std::ostream& out, const LogEntry& entry);

// "store-0123456789": the same in all tests.
StoreId TestStoreId();
inline constexpr char kTestLogDir[] = "/log";

struct LogContent {
  absl::Status status;  // of Seek, or of the Next that ended the reading
  std::vector<LogEntry> records;
  LogOffset end;
  bool torn = false;
};
LogContent ReadLog(FileSystem* fs, LogOffset from = LogOffset(),
                   LogOffset known_durable = LogOffset());

class LogScript {
 public:
  // Files of 16 KiB, direct writes.
  explicit LogScript(FileSystem* fs);
  LogScript(FileSystem* fs, const CommitLogOptions& options);

  // Makes the directory too.
  absl::Status Create();
  // Opens where `content` ended, and takes its records for the truth.
  absl::Status Reopen(const LogContent& content);

  // One group; records of all kinds in turn. `durable_before` is the log's
  // own unless given.
  absl::Status Append(const std::vector<std::string>& payloads);
  absl::Status Append(const std::vector<std::string>& payloads,
                      LogOffset durable_before);
  absl::Status Sync();

  CommitLog& log() { return *log_; }
  const std::vector<LogEntry>& records() const { return records_; }
  // How many of them were synced.
  size_t durable_records() const { return durable_records_; }
  // Where each group stands, in order.
  const std::vector<LogOffset>& groups() const { return groups_; }
  // The file of that base, on this disk.
  static Path FilePath(LogOffset base = LogOffset());

 private:
  FileSystem* const fs_;
  const CommitLogOptions options_;
  GroupBuilder group_;
  std::unique_ptr<CommitLog> log_;
  std::vector<LogEntry> records_;
  std::vector<LogOffset> groups_;
  size_t durable_records_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_LOG_SCRIPT_H_
