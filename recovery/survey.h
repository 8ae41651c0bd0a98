// File: survey.h
//
// The first look of the offline tool at a stopped store: who it is, what its
// checkpoint says, and one reading of the whole commit log. Every command of
// the tool begins with it, and judges messages by it.
//
//   ASSIGN_OR_RETURN(auto survey, StoreSurvey::Make(source));
//   survey->log.FateOf(hour, number, due_ms, damaged, survey->cursor());
//   survey->findings ...
//
// Writes nothing. Locks the store where that is possible, for as long as the
// survey lives; a file system that lets nobody write has no open store.
//
// Errors: FAILED_PRECONDITION if the store is open, is none, or a file of it
// is of another version; NOT_FOUND if there is no such directory. Damage is
// no error: it is in `findings`.
//
// Threads: one.
//
// Keeps promise 5: every file is looked at, or named.
#ifndef HOURGLASS_RECOVERY_SURVEY_H_
#define HOURGLASS_RECOVERY_SURVEY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "recovery/finding.h"
#include "recovery/log_trace.h"
#include "recovery/salvage_file.h"
#include "recovery/salvage_log.h"
#include "storage/checkpoint.h"
#include "storage/store_id.h"

namespace hourglass {

struct StoreSurvey {
  static absl::StatusOr<std::unique_ptr<StoreSurvey>> Make(
      const SalvageSource& source);

  SalvageSource source;
  StoreId id;
  int64_t created_ms = 0;
  std::unique_ptr<FileLock> lock;

  // The database, if it can be read and agrees with itself.
  std::unique_ptr<CheckpointStore> database;
  std::optional<CheckpointState> checkpoint;
  // The newer of the database's record and the log's.
  std::optional<CheckpointRecord> newest;

  LogTrace log;
  bool log_from_beginning = false;
  LogOffset log_start, log_end;
  std::vector<Hour> hours;  // with at least one file

  FindingList findings;
  std::vector<FileReport> files;

  std::optional<Second> cursor() const {
    if (!newest) return std::nullopt;
    return newest->cursor;
  }
  // The checkpoint's, if there is one that knows the hour.
  std::optional<HourFacts> FactsOf(Hour hour) const;

 private:
  absl::Status CheckDir();
  absl::Status TakeLock();
  absl::Status FindIdentity();
  absl::Status ReadCheckpoint();
  absl::Status FindNewestInLog();
  absl::Status ReadLog();
  void ReportMissingBegin();
  void ReportDamagedLog(const DamagedRange& range);
  void CompareCheckpoints();
};

// "2026-11-21T03:12:07.000Z"
std::string FormatUtc(int64_t ms);
// "2026-11-21T03"
std::string HourName(Hour hour);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_SURVEY_H_
