// File: log_reader.h
//
// Reads the commit log's records in order: for recovery, `hourglass log` and
// the offline tool. Keeps promise 5: tells a torn tail from damage.
//
//   LogReader reader(fs, dir, id);
//   RETURN_IF_ERROR(reader.Seek(from));
//   LogRecord record;
//   while (true) {
//     auto more = reader.Next(&record);
//     if (!more.ok()) return more.status();      // DATA_LOSS: names the place
//     if (!*more) break;                         // reader.end(): cut here
//   }
//
// The rule: let X be where the first unreadable group starts. If any valid
// group beyond X says durable_before > X, or `known_durable` > X, then X had
// been synced and this is damage: DATA_LOSS. Otherwise nothing beyond X was
// ever acknowledged: the log ends at X (torn() says if there was something).
//
// Threads: none; one reader, one thread.
#ifndef HOURGLASS_STORAGE_LOG_READER_H_
#define HOURGLASS_STORAGE_LOG_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "storage/log_format.h"
#include "storage/store_id.h"

namespace hourglass {

class LogReader {
 public:
  // `known_durable`: evidence from elsewhere (the checkpoint) of how far the
  // log was synced.
  LogReader(FileSystem* fs, Path dir, const StoreId& id,
            LogOffset known_durable = LogOffset());
  ~LogReader();

  // Goes to a group's or record's start (anything <= start() of the log goes
  // to its first group). OUT_OF_RANGE if that part is not on disk,
  // DATA_LOSS / FAILED_PRECONDITION if files are missing, foreign, or of
  // another version.
  absl::Status Seek(LogOffset from);
  // The same to whatever offset: goes to the group around it, or before it.
  absl::Status SeekGroup(LogOffset near);
  // Next ends at the first group at or behind `end`: of a log that is being
  // written, where it is durable.
  void StopAt(LogOffset end);

  // True and a record, whose payload stays valid until the next call; false
  // at the end of the log.
  absl::StatusOr<bool> Next(LogRecord* record);

  // After Next returned false: where the next group goes.
  LogOffset end() const;
  // After Next returned false: bytes beyond end() are not all zero.
  bool torn() const;
  // Of the group that holds the last record returned.
  LogOffset group_start() const;
  LogOffset durable_before() const;
  int64_t written_ms() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_LOG_READER_H_
