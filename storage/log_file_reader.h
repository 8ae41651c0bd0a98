// File: log_file_reader.h
//
// One file of the commit log, read as what it is: a header, and groups that
// are either whole or not. It states facts and passes no judgement; whether
// an unreadable group is a torn tail or damage is for LogReader to say, and a
// tool that salvages reads around it with the same calls.
//
//   ASSIGN_OR_RETURN(auto file, LogFileReader::Open(fs, dir, base, id));
//   LogGroup group;
//   ASSIGN_OR_RETURN(bool whole, file->ReadGroup(offset, &group));
//   if (!whole) Report(file->why());
//
// Errors of ReadGroup and its sisters are those of the disk, never of the
// content: a sector that cannot be read says nothing about what was there.
//
// Threads: none; one reader, one thread.
//
// Keeps promise 5: states what is intact, group by group.
#ifndef HOURGLASS_STORAGE_LOG_FILE_READER_H_
#define HOURGLASS_STORAGE_LOG_FILE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "storage/log_format.h"
#include "storage/read_window.h"
#include "storage/store_id.h"

namespace hourglass {

// The bases of the log files in `dir`, oldest first. Other names are ignored.
absl::StatusOr<std::vector<LogOffset>> ListLogFiles(FileSystem* fs,
                                                    const Path& dir);

// Reads and checks the header of `file`. DATA_LOSS if it is damaged, stands
// in a file of another name, or makes no sense; FAILED_PRECONDITION if it is
// of another version or store. The text names `path`.
absl::StatusOr<LogFileHeader> ReadLogFileHeader(File* file, const Path& path,
                                                LogOffset base,
                                                const StoreId& id);

struct LogGroup {
  GroupHeader header;
  std::vector<LogRecord> records;  // payloads point into the reader's buffer
};

class LogFileReader {
 public:
  static absl::StatusOr<std::unique_ptr<LogFileReader>> Open(FileSystem* fs,
                                                             const Path& dir,
                                                             LogOffset base,
                                                             const StoreId& id);

  const LogFileHeader& header() const { return header_; }
  const Path& path() const { return path_; }
  // False if the file is shorter than it was made: its end was lost, or an
  // opening for append was interrupted between cutting and allocating.
  bool HasFullSize() const { return size_ >= header_.segment_bytes; }

  // True, and the whole group at `at` with every seal verified; false, with
  // the reason in why(), if there is none. The records stay valid until the
  // next call of any method that reads.
  absl::StatusOr<bool> ReadGroup(LogOffset at, LogGroup* group);

  // The intact group header nearest before `at`, as far back as a group that
  // reaches `at` can begin.
  absl::StatusOr<std::optional<GroupHeader>> FindHeaderBefore(LogOffset at);

  // What stands in [from, end of file), looking at every 512-byte block.
  struct Rest {
    bool all_zero = true;
    // The first intact group header that says it was written when the log
    // was durable beyond `from`.
    std::optional<GroupHeader> witness;
  };
  absl::StatusOr<Rest> ScanRest(LogOffset from);

  std::string_view why() const { return why_; }

 private:
  LogFileReader(Path path, std::unique_ptr<File> file, uint64_t size,
                const LogFileHeader& header);
  // Up to `bytes` at `offset` of the file: fewer only at its end.
  absl::StatusOr<std::string_view> View(uint64_t offset, size_t bytes);
  bool ParseRecords(std::string_view bytes, LogGroup* group);
  bool Unreadable(absl::Status reason);
  uint64_t Place(LogOffset at) const { return at - header_.base; }
  std::optional<GroupHeader> HeaderAt(LogOffset at,
                                      std::string_view bytes) const;
  void ScanBlocks(LogOffset from, LogOffset at, std::string_view bytes,
                  Rest* rest) const;

  const Path path_;
  const std::unique_ptr<File> file_;
  const uint64_t size_;
  const LogFileHeader header_;
  const uint64_t salt_;
  std::string why_;

  ReadWindow window_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_LOG_FILE_READER_H_
