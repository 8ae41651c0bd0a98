#include "recovery/repair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "recovery/dir_tree.h"
#include "recovery/open_store.h"
#include "recovery/rebuilt_log.h"
#include "recovery/rewriter.h"
#include "recovery/survey.h"
#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/identity.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::array<const char*, 4> kSubdirs = {
    kLogDirName, kHoursDirName, kQueuesDirName, kCheckpointDirName};

Path ParentOf(const Path& dir) {
  return dir.has_parent_path() ? dir.parent_path() : Path(".");
}

// "/a/store/" and "/a/store" are the same; only one has a name at its end.
Path WithoutSlash(const Path& dir) {
  return dir.has_filename() && dir.filename() != "." ? dir : dir.parent_path();
}

// Makes the empty directory of the new store. What an interrupted repair
// left is cleared: it never became a store.
absl::Status PrepareOut(FileSystem* fs, const Path& out) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(out));
  if (exists) {
    ASSIGN_OR_RETURN(const bool creating, fs->Exists(out / kCreatingName));
    ASSIGN_OR_RETURN(const auto names, fs->List(out));
    if (!creating && !names.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          out.string(),
          " is not empty; expected a directory that does not exist yet (if an "
          "interrupted repair left it, remove it)"));
    }
    for (const char* name : kSubdirs) {
      RETURN_IF_ERROR(RemoveTree(fs, out / name));
    }
  } else {
    RETURN_IF_ERROR(fs->CreateDir(out));
    RETURN_IF_ERROR(fs->SyncDir(ParentOf(out)));
  }
  ASSIGN_OR_RETURN(const bool marked, fs->Exists(out / kCreatingName));
  if (!marked) RETURN_IF_ERROR(Touch(fs, out / kCreatingName));
  for (const char* name : kSubdirs) {
    RETURN_IF_ERROR(fs->CreateDir(out / name));
  }
  return fs->SyncDir(out);
}

// Numbers that are given out stay so: each such hour looks like one whose
// files are gone, as the store itself would leave it.
absl::Status WriteBases(const StoreSurvey& survey, const RepairOptions& options,
                        LogOffset log_start,
                        const std::map<Hour, RecordNumber>& bases) {
  ASSIGN_OR_RETURN(const auto checkpoints,
                   CheckpointStore::Open(options.store.file_system,
                                         options.out / kCheckpointDirName,
                                         survey.id, options.store.threads));
  CheckpointUpdate first;
  first.applied = first.replay_from = log_start;
  for (const auto& [hour, base] : bases) {
    HourFacts facts;
    facts.base = facts.last = base;
    facts.retired = true;
    first.hours.push_back({hour, facts, ""});
  }
  return checkpoints->Write(first).status();
}

absl::Status MakeItAStore(FileSystem* fs, const StoreSurvey& survey,
                          const Path& out, int64_t now_ms) {
  const int64_t created_ms = survey.created_ms > 0 ? survey.created_ms : now_ms;
  RETURN_IF_ERROR(WriteIdentity(fs, out, {survey.id, created_ms}));
  RETURN_IF_ERROR(fs->Remove(out / kCreatingName));
  return fs->SyncDir(out);
}

absl::Status AppendCheckpoint(StoreState* state,
                              const CheckpointRecord& record) {
  const std::string payload = EncodeCheckpointRecord(record);
  GroupBuilder group(state->salt);
  group.Start(state->log->NextStart(state->log->end(), kLogBlockBytes),
              state->log->durable(), state->options.clock->NowMs());
  group.Add(RecordKind::kCheckpoint, 0, Hour(), RecordNumber(), payload,
            HashBytes(payload));
  group.Finish();
  RETURN_IF_ERROR(state->log->Append(group));
  return state->log->Sync();
}

// Opens the new store, which builds every derived file, and keeps them.
absl::Status BuildDerived(const RepairOptions& options) {
  ASSIGN_OR_RETURN(const auto state,
                   OpenStore(options.out, options.store, IfMissing::kFail));
  auto take = [&]() -> absl::StatusOr<Applier::Changes> {
    MutexLock lock(&state->mu);
    ASSIGN_OR_RETURN(auto changes, state->applier.TakeChanges());
    changes.update.applied = state->applied;
    changes.update.cursor = state->hand.cursor();
    changes.update.replay_from = state->hand.ReplayFrom(state->applied);
    return changes;
  };
  ASSIGN_OR_RETURN(const auto changes, take());
  RETURN_IF_ERROR(state->applier.SyncFiles(changes));
  ASSIGN_OR_RETURN(const auto record,
                   state->checkpoints->Write(changes.update));
  return AppendCheckpoint(state.get(), record);
}

absl::StatusOr<RepairReport> Repair(const StoreSurvey& survey,
                                    const RepairOptions& options) {
  FileSystem* fs = options.store.file_system;
  RETURN_IF_ERROR(options.store.Validate());
  RETURN_IF_ERROR(PrepareOut(fs, options.out));
  ASSIGN_OR_RETURN(const auto log,
                   RebuiltLog::Create(fs, options.out / kLogDirName, survey.id,
                                      {options.store.log_segment_bytes,
                                       options.store.direct_io}));
  Rewriter rewriter(&survey, log.get());
  RETURN_IF_ERROR(rewriter.Run());
  RETURN_IF_ERROR(log->Finish());
  CrashPoint("repair.log_written");
  RETURN_IF_ERROR(WriteBases(survey, options, log->start(), rewriter.bases()));
  CrashPoint("repair.bases_written");
  RETURN_IF_ERROR(
      MakeItAStore(fs, survey, options.out, options.store.clock->NowMs()));
  CrashPoint("repair.became_a_store");
  RETURN_IF_ERROR(BuildDerived(options));
  CrashPoint("repair.built");
  RepairReport report = rewriter.report();
  report.out = options.out;
  report.kept = survey.source.dir;
  return report;
}

}  // namespace

absl::StatusOr<RepairReport> RepairStore(const SalvageSource& source,
                                         const RepairOptions& options) {
  ASSIGN_OR_RETURN(const auto survey, StoreSurvey::Make(source));
  return Repair(*survey, options);
}

absl::StatusOr<RepairReport> RepairInPlace(const SalvageSource& source,
                                           const RepairOptions& options) {
  ASSIGN_OR_RETURN(const auto survey, StoreSurvey::Make(source));
  FileSystem* fs = source.fs;
  const Path dir = WithoutSlash(source.dir);
  RepairOptions beside = options;
  beside.out = dir.string() + ".repaired";
  ASSIGN_OR_RETURN(RepairReport report, Repair(*survey, beside));
  report.kept =
      absl::StrCat(dir.string(), ".damaged-", options.store.clock->NowMs());
  RETURN_IF_ERROR(fs->Rename(dir, report.kept));
  CrashPoint("repair.old_renamed");
  RETURN_IF_ERROR(fs->SyncDir(ParentOf(dir)));
  RETURN_IF_ERROR(fs->Rename(beside.out, dir));
  CrashPoint("repair.new_renamed");
  RETURN_IF_ERROR(fs->SyncDir(ParentOf(dir)));
  report.out = dir;
  return report;
}

}  // namespace hourglass
