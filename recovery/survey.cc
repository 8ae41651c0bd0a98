#include "recovery/survey.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "recovery/salvage_hour.h"
#include "recovery/store_state.h"
#include "storage/identity.h"
#include "storage/log_file_reader.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

uint64_t BytesUnder(FileSystem* fs, const Path& dir) {
  const auto names = fs->List(dir);
  uint64_t bytes = 0;
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    bytes += fs->FileSize(dir / name).value_or(0);
  }
  return bytes;
}

// The id in the header of some file that is not damaged.
std::optional<StoreId> IdFromLog(FileSystem* fs, const Path& dir) {
  const auto bases = ListLogFiles(fs, dir / kLogDirName);
  if (!bases.ok()) return std::nullopt;
  for (const LogOffset base : *bases) {
    const auto bytes = ReadWhole(fs, dir / kLogDirName / LogFileName(base),
                                 kLogFileHeaderBytes);
    if (!bytes.ok()) continue;
    if (const auto header = DecodeLogFileHeader(*bytes); header.ok()) {
      return header->id;
    }
  }
  return std::nullopt;
}

std::optional<StoreId> IdFromHours(FileSystem* fs, const Path& dir) {
  const auto names = fs->List(dir / kHoursDirName);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    const auto file = ParseHourFileName(name);
    if (!file.ok()) continue;
    const auto bytes =
        ReadWhole(fs, dir / kHoursDirName / name, kHourHeaderBytes);
    if (!bytes.ok()) continue;
    if (const auto header = DecodeHourHeader(*bytes, file->is_index);
        header.ok()) {
      return header->store;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string FormatUtc(int64_t ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(ms),
                          absl::UTCTimeZone());
}

std::string HourName(Hour hour) { return DelayLogName(hour).substr(0, 13); }

absl::StatusOr<std::unique_ptr<StoreSurvey>> StoreSurvey::Make(
    const SalvageSource& from) {
  auto survey = std::make_unique<StoreSurvey>();
  survey->source = from;
  RETURN_IF_ERROR(survey->CheckDir());
  RETURN_IF_ERROR(survey->TakeLock());
  RETURN_IF_ERROR(survey->FindIdentity());
  RETURN_IF_ERROR(survey->ReadCheckpoint());
  if (!survey->checkpoint) RETURN_IF_ERROR(survey->FindNewestInLog());
  RETURN_IF_ERROR(survey->ReadLog());
  survey->CompareCheckpoints();
  ASSIGN_OR_RETURN(survey->hours, ListHours(from.fs, from.dir));
  return survey;
}

std::optional<HourFacts> StoreSurvey::FactsOf(Hour hour) const {
  if (!checkpoint) return std::nullopt;
  const auto at = checkpoint->hours.find(hour);
  if (at == checkpoint->hours.end()) return HourFacts();
  return at->second;
}

absl::Status StoreSurvey::CheckDir() {
  const Path& dir = source.dir;
  ASSIGN_OR_RETURN(const bool exists, source.fs->Exists(dir));
  if (!exists) {
    return absl::NotFoundError(absl::StrCat(dir.string(), " does not exist"));
  }
  ASSIGN_OR_RETURN(const bool is_dir, source.fs->IsDirectory(dir));
  if (!is_dir) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir.string(), " is a file, not a directory"));
  }
  for (const char* name : {kIdentityFileName, kLogDirName, kHoursDirName}) {
    ASSIGN_OR_RETURN(const bool has, source.fs->Exists(dir / name));
    if (has) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      dir.string(), " is not a Hourglass store: it has none of ",
      kIdentityFileName, ", ", kLogDirName, "/ and ", kHoursDirName, "/"));
}

absl::Status StoreSurvey::TakeLock() {
  // Without the file nobody has the store open, and none is to be made.
  const Path path = source.dir / kLockName;
  ASSIGN_OR_RETURN(const bool exists, source.fs->Exists(path));
  if (!exists) return absl::OkStatus();
  auto taken = source.fs->Lock(path);
  if (taken.ok()) {
    lock = *std::move(taken);
    return absl::OkStatus();
  }
  if (absl::IsPermissionDenied(taken.status())) return absl::OkStatus();
  if (!absl::IsFailedPrecondition(taken.status())) return taken.status();
  return absl::FailedPreconditionError(absl::StrCat(
      source.dir.string(), " is open in another process; stop that one first"));
}

absl::Status StoreSurvey::FindIdentity() {
  FileReport report{.file = kIdentityFileName, .kind = "identity"};
  report.bytes =
      source.fs->FileSize(source.dir / kIdentityFileName).value_or(0);
  const auto identity = ReadIdentity(source.fs, source.dir);
  const auto from_log = IdFromLog(source.fs, source.dir);
  const auto from_hours = IdFromHours(source.fs, source.dir);
  // One file against all others is the one that was put here by mistake.
  const bool foreign = identity.ok() && from_log && from_log == from_hours &&
                       *from_log != identity->store_id;
  if (identity.ok() && !foreign) {
    id = identity->store_id;
    created_ms = identity->created_ms;
    report.records = 1;
    files.push_back(std::move(report));
    return absl::OkStatus();
  }
  if (absl::IsFailedPrecondition(identity.status())) return identity.status();
  const auto found = from_log ? from_log : from_hours;
  if (!found) {
    return absl::DataLossError(
        absl::StrCat(identity.status().message(),
                     "; no other file of the store tells its identity either"));
  }
  id = *found;
  report.damaged = 1;
  files.push_back(std::move(report));
  findings.Damage(kIdentityFileName,
                  foreign ? absl::StrCat("belongs to the store ",
                                         identity->store_id.ToHex(),
                                         ", and the log and "
                                         "the hours to ",
                                         id.ToHex())
                          : std::string(identity.status().message()),
                  absl::StrCat("the store does not start; its id ", id.ToHex(),
                               " is known from other files"));
  return absl::OkStatus();
}

absl::Status StoreSurvey::ReadCheckpoint() {
  const Path dir = source.dir / kCheckpointDirName;
  FileReport report{.file = absl::StrCat(kCheckpointDirName, "/"),
                    .kind = "checkpoint",
                    .bytes = BytesUnder(source.fs, dir)};
  const auto read = [&]() -> absl::StatusOr<CheckpointState> {
    ASSIGN_OR_RETURN(database,
                     CheckpointStore::OpenForRead(source.fs, dir, id));
    ASSIGN_OR_RETURN(CheckpointState state, database->Load());
    if (state.record.sequence == 0) {
      return absl::DataLossError("the checkpoint database is empty");
    }
    return state;
  };
  auto state = read();
  if (absl::IsFailedPrecondition(state.status()) &&
      !IsOfAnotherStore(state.status())) {
    return state.status();
  }
  if (state.ok()) {
    checkpoint = *std::move(state);
    newest = checkpoint->record;
    report.records = checkpoint->hours.size() + checkpoint->queues.size() +
                     checkpoint->progress.size() + 1;
  } else {
    database = nullptr;
    report.damaged = 1;
    findings.Damage(report.file, std::string(state.status().message()),
                    "nothing is lost: the commit log and the hours have it");
  }
  files.push_back(std::move(report));
  return absl::OkStatus();
}

// Only where the database is gone: the log has copies of its record.
absl::Status StoreSurvey::FindNewestInLog() {
  LogSalvage salvage(source, id, LogOffset());
  return salvage.Run(
      [this](const LogRecord& record, int64_t) {
        if (record.kind != RecordKind::kCheckpoint) return absl::OkStatus();
        const auto found = DecodeCheckpointRecord(record.payload);
        if (found.ok()) newest = *found;
        return absl::OkStatus();
      },
      [](const DamagedRange&) { return absl::OkStatus(); });
}

absl::Status StoreSurvey::ReadLog() {
  const LogOffset durable = newest ? newest->applied : LogOffset();
  log = LogTrace(newest ? newest->replay_from : LogOffset(), durable);
  if (checkpoint) {
    for (const auto& [hour, facts] : checkpoint->hours) {
      if (facts.base > RecordNumber()) log.SetBase(hour, facts.base);
    }
  }
  ReportMissingBegin();
  LogSalvage salvage(source, id, durable);
  RETURN_IF_ERROR(salvage.Run(
      [this](const LogRecord& record, int64_t written_ms) {
        log.OnRecord(record, written_ms, &findings);
        return absl::OkStatus();
      },
      [this](const DamagedRange& range) {
        log.OnDamage(range);
        ReportDamagedLog(range);
        return absl::OkStatus();
      }));
  log_from_beginning = salvage.from_beginning();
  log_start = salvage.start();
  log_end = salvage.end();
  for (const LogFileFacts& facts : salvage.files()) {
    FileReport report{facts.file, "commit log", facts.bytes, facts.records};
    for (const DamagedRange& range : log.damage()) {
      report.damaged += range.file == facts.file;
    }
    files.push_back(std::move(report));
  }
  if (salvage.files().empty()) {
    findings.Damage(absl::StrCat(kLogDirName, "/"), "there is no log file",
                    "only what stands in the hours' files can be saved");
  }
  if (salvage.torn()) {
    findings.Note(salvage.files().back().file,
                  absl::StrCat("torn tail behind log offset ", log_end.value()),
                  "a write that was cut short and never acknowledged; the "
                  "next open cuts it off");
  }
  return absl::OkStatus();
}

// Retention never takes what the newest checkpoint needs.
void StoreSurvey::ReportMissingBegin() {
  if (!newest) return;
  const auto bases = ListLogFiles(source.fs, source.dir / kLogDirName);
  if (!bases.ok() || bases->empty() || bases->front() <= newest->replay_from) {
    return;
  }
  DamagedRange range;
  range.file = absl::StrCat(kLogDirName, "/");
  range.from = newest->replay_from;
  range.to = bases->front();
  range.why = "the files are missing, and the checkpoint needs them";
  log.OnDamage(range);
  ReportDamagedLog(range);
}

void StoreSurvey::ReportDamagedLog(const DamagedRange& range) {
  Finding finding;
  finding.file = range.file;
  finding.offset = range.from - range.file_base;
  finding.what = absl::StrCat(range.why, " (log offsets ", range.from.value(),
                              " to ", range.to.value(), ")");
  std::string when;
  if (range.before_ms > 0) {
    absl::StrAppend(&when, " after ", FormatUtc(range.before_ms));
  }
  if (range.after_ms != std::numeric_limits<int64_t>::max()) {
    absl::StrAppend(&when, " before ", FormatUtc(range.after_ms));
  }
  finding.means =
      absl::StrCat("records that were written", when, " are missing here; ",
                   range.saved_records, " in between are intact");
  findings.Add(std::move(finding));
}

void StoreSurvey::CompareCheckpoints() {
  const auto& found = log.checkpoint();
  if (!checkpoint || !found) return;
  const CheckpointRecord& stored = checkpoint->record;
  if (!log.Agrees(stored)) {
    findings.Damage(absl::StrCat(kCheckpointDirName, "/"),
                    absl::StrCat("checkpoint ", stored.sequence,
                                 " and the commit log's record of it disagree"),
                    "the database is not used");
    checkpoint.reset();
    database = nullptr;
    newest = *found;
  } else if (found->sequence > stored.sequence) {
    findings.Damage(
        absl::StrCat(kCheckpointDirName, "/"),
        absl::StrCat("the database is at checkpoint ", stored.sequence,
                     ", but the commit log knows checkpoint ", found->sequence),
        "nothing is lost: the store starts from the older one");
    newest = *found;
  }
}

}  // namespace hourglass
