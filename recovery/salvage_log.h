// File: salvage_log.h
//
// The commit log read for everything that is still intact in it: damage is
// reported and read around. After an unreadable group it goes on at the next
// block that holds an intact group header, and between the two every record
// whose own seal is right is given all the same: seals cover the place, so
// nothing that stands where it was not written is taken for a record.
//
//   LogSalvage log(source, id, known_durable);
//   RETURN_IF_ERROR(log.Run(
//       [](const LogRecord& record, int64_t written_ms) { ... },
//       [](const DamagedRange& range) { ... }));
//   log.end(), log.torn(), log.files()
//
// The judgement is that of LogReader: what nobody knows to have been synced
// is a torn tail, no damage, and nothing behind it is given. A damaged range
// is reported before the records that were saved from it.
//
// Errors of Run: FAILED_PRECONDITION if a file is of another version (before
// anything was given), and what the callbacks return.
//
// Threads: one.
//
// Keeps promise 6: reads on behind a damaged group.
#ifndef HOURGLASS_RECOVERY_SALVAGE_LOG_H_
#define HOURGLASS_RECOVERY_SALVAGE_LOG_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "recovery/salvage_file.h"
#include "storage/log_format.h"
#include "storage/store_id.h"

namespace hourglass {

struct DamagedRange {
  std::string file;     // its name
  LogOffset file_base;  // so that a byte of the file can be named
  LogOffset from, to;
  std::string why;
  // Records inside it that are intact, and are given after it.
  uint64_t saved_records = 0;
  // When the intact groups before and after it were written: what is lost
  // was written in between.
  int64_t before_ms = 0;
  int64_t after_ms = std::numeric_limits<int64_t>::max();
};

struct LogFileFacts {
  std::string file;
  uint64_t bytes = 0;
  uint64_t groups = 0;
  uint64_t records = 0;
};

class LogSalvage {
 public:
  using OnRecord =
      std::function<absl::Status(const LogRecord&, int64_t written_ms)>;
  using OnDamage = std::function<absl::Status(const DamagedRange&)>;

  // `known_durable`: how far a checkpoint says that the log was synced.
  LogSalvage(const SalvageSource& source, const StoreId& id,
             LogOffset known_durable);
  ~LogSalvage();

  absl::Status Run(const OnRecord& on_record, const OnDamage& on_damage);

  // After Run:
  const std::vector<LogFileFacts>& files() const { return facts_; }
  bool from_beginning() const { return from_beginning_; }
  LogOffset start() const { return start_; }
  LogOffset end() const { return position_; }
  bool torn() const { return torn_; }
  // Of the first intact group; 0 if there is none.
  int64_t first_written_ms() const { return first_written_ms_; }

 private:
  // One file, and what the next one says about its end.
  struct Part {
    LogOffset base;
    std::string name;
    std::unique_ptr<SalvageFile> file;
    std::optional<LogFileHeader> header;
    std::string header_why;  // why there is none
  };
  struct Rest;

  absl::Status OpenPart(LogOffset base, Part* part);
  absl::Status OpenParts();
  absl::Status RunPart(size_t index);
  absl::Status ReportGap(size_t index);
  // Where the groups of a part end, if the next file knows it.
  std::optional<LogOffset> KnownEnd(size_t index) const;

  std::string_view ViewAt(Part* part, LogOffset at, size_t bytes) const;
  bool ReadGroup(Part* part, LogOffset at);
  bool ParseRecords(std::string_view bytes);
  absl::Status GiveGroup(LogFileFacts* facts);
  Rest LookBeyond(Part* part, LogOffset from, LogOffset limit) const;
  absl::Status PassDamage(size_t index, LogOffset to, int64_t after_ms,
                          std::string why);
  std::vector<std::string> SavedRecords(Part* part, LogOffset from,
                                        LogOffset to,
                                        std::vector<LogOffset>* at) const;
  bool IsDamage(size_t index, const Rest& rest) const;
  absl::Status Damaged(DamagedRange range);

  const SalvageSource source_;
  const StoreId id_;
  const uint64_t salt_;
  const LogOffset known_durable_;
  const OnRecord* on_record_ = nullptr;
  const OnDamage* on_damage_ = nullptr;

  std::vector<Part> parts_;
  std::vector<LogFileFacts> facts_;
  LogOffset start_, position_;
  bool from_beginning_ = false;
  bool torn_ = false;
  bool at_end_ = false;
  int64_t first_written_ms_ = 0;
  int64_t last_written_ms_ = 0;

  GroupHeader group_;
  std::vector<LogRecord> records_;
  std::string why_;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_SALVAGE_LOG_H_
