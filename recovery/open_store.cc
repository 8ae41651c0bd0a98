#include "recovery/open_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "recovery/dir_tree.h"
#include "recovery/replay.h"
#include "storage/crash_point.h"
#include "storage/identity.h"
#include "storage/random.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::array<const char*, 4> kSubdirs = {
    kLogDirName, kHoursDirName, kQueuesDirName, kCheckpointDirName};

absl::Status MakeParents(FileSystem* fs, const Path& dir) {
  if (dir.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
  if (exists) return absl::OkStatus();
  RETURN_IF_ERROR(MakeParents(fs, dir.parent_path()));
  RETURN_IF_ERROR(fs->CreateDir(dir));
  CrashPoint("create.directory_made");
  return fs->SyncDir(dir.has_parent_path() ? dir.parent_path() : Path("."));
}

// Makes the store's own name durable, and those of its parents: they may
// have been made by an attempt that was interrupted before it came to that.
// Parents that this user may not open were not made by this program.
absl::Status SyncParents(FileSystem* fs, const Path& dir) {
  for (Path at = dir; !at.empty() && at != at.parent_path();) {
    at = at.parent_path();
    const absl::Status synced = fs->SyncDir(at.empty() ? Path(".") : at);
    if (!synced.ok() && !absl::IsPermissionDenied(synced)) return synced;
  }
  return absl::OkStatus();
}

StoreId NewStoreId() {
  StoreId id;
  for (size_t i = 0; i < kStoreIdBytes; i += 8) {
    const uint64_t word = SystemEntropy();
    std::memcpy(id.bytes.data() + i, &word, 8);
  }
  return id;
}

// Makes an empty store. What stands there from a creation that was
// interrupted is removed first: it never acknowledged anything, because the
// identity file is written last.
absl::Status CreateStore(const Path& dir, const StoreOptions& options) {
  FileSystem* fs = options.file_system;
  RETURN_IF_ERROR(SyncParents(fs, dir));
  ASSIGN_OR_RETURN(const bool again, fs->Exists(dir / kCreatingName));
  // One that is there may not be durable, if the attempt that made it failed.
  RETURN_IF_ERROR(again ? fs->SyncDir(dir) : Touch(fs, dir / kCreatingName));
  CrashPoint("create.marked");
  for (const char* name : kSubdirs) {
    RETURN_IF_ERROR(RemoveTree(fs, dir / name));
    RETURN_IF_ERROR(fs->CreateDir(dir / name));
  }
  RETURN_IF_ERROR(fs->SyncDir(dir));
  const StoreId id = NewStoreId();
  const CommitLogOptions log_options{options.log_segment_bytes,
                                     options.direct_io};
  ASSIGN_OR_RETURN(const auto log,
                   CommitLog::Create(fs, dir / kLogDirName, id, log_options));
  CrashPoint("create.log_made");
  ASSIGN_OR_RETURN(
      const auto checkpoints,
      CheckpointStore::Open(fs, dir / kCheckpointDirName, id, options.threads));
  CheckpointUpdate first;
  first.applied = log->end();
  first.replay_from = log->end();
  const int64_t now_ms = options.clock->NowMs();
  first.cursor = SecondOf(now_ms);
  RETURN_IF_ERROR(checkpoints->Write(first).status());
  CrashPoint("create.checkpoint_written");
  RETURN_IF_ERROR(WriteIdentity(fs, dir, {id, now_ms}));
  CrashPoint("create.identity_durable");
  RETURN_IF_ERROR(fs->Remove(dir / kCreatingName));
  return fs->SyncDir(dir);
}

// OK if `dir` is a store, or may become one. Looks only, so that a directory
// that is something else keeps no trace of the question.
absl::Status CheckDir(const Path& dir, FileSystem* fs, IfMissing if_missing) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
  if (!exists) {
    if (if_missing == IfMissing::kCreate) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(dir.string(), " does not exist"));
  }
  ASSIGN_OR_RETURN(const bool is_dir, fs->IsDirectory(dir));
  if (!is_dir) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir.string(), " is a file, not a directory"));
  }
  ASSIGN_OR_RETURN(const bool is_store, fs->Exists(dir / kIdentityFileName));
  if (is_store) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto names, fs->List(dir));
  const bool creating =
      std::find(names.begin(), names.end(), kCreatingName) != names.end();
  const bool empty =
      std::all_of(names.begin(), names.end(),
                  [](const std::string& name) { return name == kLockName; });
  if (if_missing == IfMissing::kFail || (!empty && !creating)) {
    const bool was_one = !creating && std::find(names.begin(), names.end(),
                                                kLogDirName) != names.end();
    return absl::FailedPreconditionError(absl::StrCat(
        dir.string(), " is not a Hourglass store: it has no file ",
        kIdentityFileName,
        was_one
            ? absl::StrCat("; if it was one, run `hourglass recover verify ",
                           dir.string(), "`")
            : ""));
  }
  return absl::OkStatus();
}

// A creation, or a repair, that ended between its last two steps leaves the
// mark in a whole store. From the first opening on it must not be there: a
// repair clears a directory that has it.
absl::Status DropCreatingMark(FileSystem* fs, const Path& dir) {
  ASSIGN_OR_RETURN(const bool marked, fs->Exists(dir / kCreatingName));
  if (!marked) return absl::OkStatus();
  RETURN_IF_ERROR(fs->Remove(dir / kCreatingName));
  return fs->SyncDir(dir);
}

// The checkpoint to start from. If the database is lost or damaged but the
// log is complete from its first byte, everything can be built from it again.
struct Start {
  CheckpointState checkpoint;
  std::unique_ptr<CheckpointStore> store;
};

// OK if the log is there from its first byte, sound to its end, and its end is
// not before `reaches`: only then may derived files be thrown away. They may
// be all that is left of what stood behind the end.
absl::Status CheckLogIsComplete(FileSystem* fs, const Path& log_dir,
                                const StoreId& id, LogOffset reaches) {
  const Path first = log_dir / LogFileName(LogOffset(0));
  ASSIGN_OR_RETURN(const bool complete, fs->Exists(first));
  if (!complete) {
    return absl::DataLossError(
        "the commit log no longer reaches back to its beginning");
  }
  LogReader reader(fs, log_dir, id, reaches);
  RETURN_IF_ERROR(reader.Seek(LogOffset(0)));
  LogRecord record;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) return absl::OkStatus();
  }
}

absl::Status CannotStartOver(const Path& dir, const absl::Status& why,
                             const absl::Status& log) {
  return absl::DataLossError(absl::StrCat(dir.string(), ": ", why.message(),
                                          "; it cannot be rebuilt, because ",
                                          log.message()));
}

// Damage is for the offline tool; the refusal says how to call it.
absl::Status WithAdvice(const Path& dir, const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return status;
  // Deeper layers do not know the directory and say it without.
  const std::string what = absl::StrReplaceAll(
      status.message(), {{"; run `hourglass recover verify`", ""}});
  return absl::DataLossError(absl::StrCat(
      what, "; run `hourglass recover verify ", dir.string(), "`"));
}

// Keeps the evidence: an operator may want to look at it.
absl::Status SetDatabaseAside(FileSystem* fs, const Path& dir, int64_t now_ms) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir / kCheckpointDirName));
  if (!exists) return absl::OkStatus();
  // Two attempts may fall into the same millisecond.
  for (;; ++now_ms) {
    const Path kept =
        dir / absl::StrCat(kCheckpointDirName, ".damaged-", now_ms);
    ASSIGN_OR_RETURN(const bool taken, fs->Exists(kept));
    if (!taken) return fs->Rename(dir / kCheckpointDirName, kept);
  }
}

absl::StatusOr<Start> StartOver(const Path& dir, const StoreOptions& options,
                                const StoreId& id, const absl::Status& why,
                                LogOffset reaches) {
  FileSystem* fs = options.file_system;
  const absl::Status log =
      CheckLogIsComplete(fs, dir / kLogDirName, id, reaches);
  if (!log.ok()) return CannotStartOver(dir, why, log);
  CrashPoint("recovery.log_found_complete");
  RETURN_IF_ERROR(SetDatabaseAside(fs, dir, options.clock->NowMs()));
  CrashPoint("recovery.database_set_aside");
  RETURN_IF_ERROR(fs->CreateDir(dir / kCheckpointDirName));
  RETURN_IF_ERROR(fs->SyncDir(dir));
  CrashPoint("recovery.database_directory_made");
  Start start;
  ASSIGN_OR_RETURN(
      start.store,
      CheckpointStore::Open(fs, dir / kCheckpointDirName, id, options.threads));
  return start;
}

absl::StatusOr<Start> LoadCheckpoint(const Path& dir,
                                     const StoreOptions& options,
                                     const StoreId& id) {
  Start start;
  ASSIGN_OR_RETURN(start.store, CheckpointStore::Open(options.file_system,
                                                      dir / kCheckpointDirName,
                                                      id, options.threads));
  ASSIGN_OR_RETURN(start.checkpoint, start.store->Load());
  CrashPoint("recovery.checkpoint_loaded");
  if (start.checkpoint.record.sequence == 0) {
    return absl::DataLossError("the checkpoint database is empty");
  }
  return start;
}

// Hours that were done at this checkpoint may have lost their files already:
// deleting lags one checkpoint behind, and this may be the one before.
absl::Status ToleranceForRetired(FileSystem* fs, const Path& dir,
                                 CheckpointState* checkpoint) {
  for (auto& [hour, facts] : checkpoint->hours) {
    if (facts.retired || facts.pending() != 0) continue;
    if (hour >= HourOf(checkpoint->record.cursor)) continue;
    ASSIGN_OR_RETURN(const bool has_log,
                     fs->Exists(dir / kHoursDirName / DelayLogName(hour)));
    ASSIGN_OR_RETURN(const bool has_index,
                     fs->Exists(dir / kHoursDirName / DelayIndexName(hour)));
    facts.retired = !has_log || !has_index;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StoreState>> Recover(const Path& dir,
                                                    const StoreOptions& options,
                                                    const StoreId& id,
                                                    Start start) {
  FileSystem* fs = options.file_system;
  RETURN_IF_ERROR(ToleranceForRetired(fs, dir, &start.checkpoint));
  CheckpointStore* checkpoints = start.store.get();
  auto state = std::make_unique<StoreState>(
      dir, options, id,
      [checkpoints](Hour hour) { return checkpoints->ReadHeads(hour); });
  state->checkpoints = std::move(start.store);
  const CheckpointRecord& from = start.checkpoint.record;
  state->last_checkpoint = from;
  RETURN_IF_ERROR(state->applier.Restore(start.checkpoint));
  CrashPoint("recovery.files_cut");
  Replay replay(state.get(), from);
  RETURN_IF_ERROR(replay.Run());
  CrashPoint("recovery.log_replayed");
  ASSIGN_OR_RETURN(state->log, CommitLog::Open(fs, dir / kLogDirName, id,
                                               {options.log_segment_bytes,
                                                options.direct_io},
                                               replay.end(), replay.synced()));
  CrashPoint("recovery.log_opened");
  if (replay.torn()) {
    state->notices.push_back(absl::StrCat(
        "the commit log had a torn tail behind offset ", replay.end().value(),
        ", which was never acknowledged: cut off"));
  }
  for (const auto& [hour, facts] : state->applier.hours().AllFacts()) {
    if (!facts.retired) state->hour_wheel.Add(hour);
  }
  state->hand.Start(from.cursor, options.clock->NowMs());
  RETURN_IF_ERROR(replay.ArriveLate());
  CrashPoint("recovery.done");
  return state;
}

// `reaches`: how far the log must go, as soon as the checkpoint has said so.
absl::StatusOr<std::unique_ptr<StoreState>> RecoverFromCheckpoint(
    const Path& dir, const StoreOptions& options, const StoreId& id,
    LogOffset* reaches) {
  ASSIGN_OR_RETURN(Start start, LoadCheckpoint(dir, options, id));
  *reaches = start.checkpoint.record.applied;
  return Recover(dir, options, id, std::move(start));
}

absl::StatusOr<std::unique_ptr<StoreState>> RecoverOrStartOver(
    const Path& dir, const StoreOptions& options, const StoreId& id) {
  LogOffset reaches;  // as far as the checkpoint knows, if there is one
  auto first = RecoverFromCheckpoint(dir, options, id, &reaches);
  const absl::Status why = first.status();
  if (!absl::IsDataLoss(why)) return first;
  // An I/O error that passes looks like damage: look twice.
  auto second = RecoverFromCheckpoint(dir, options, id, &reaches);
  if (second.ok()) {
    (*second)->notices.push_back(
        absl::StrCat("opened at the second try, because: ", why.message()));
  }
  if (!absl::IsDataLoss(second.status())) return second;
  ASSIGN_OR_RETURN(Start over, StartOver(dir, options, id, why, reaches));
  ASSIGN_OR_RETURN(auto state, Recover(dir, options, id, std::move(over)));
  state->notices.push_back(absl::StrCat(
      "rebuilt everything from the commit log, because: ", why.message()));
  return state;
}

absl::StatusOr<std::unique_ptr<StoreState>> OpenLocked(
    const Path& dir, const StoreOptions& options, IfMissing if_missing) {
  RETURN_IF_ERROR(options.Validate());
  FileSystem* fs = options.file_system;
  RETURN_IF_ERROR(CheckDir(dir, fs, if_missing));
  RETURN_IF_ERROR(MakeParents(fs, dir));
  ASSIGN_OR_RETURN(auto lock, fs->Lock(dir / kLockName));
  ASSIGN_OR_RETURN(const bool is_store, fs->Exists(dir / kIdentityFileName));
  if (!is_store) RETURN_IF_ERROR(CreateStore(dir, options));
  RETURN_IF_ERROR(DropCreatingMark(fs, dir));
  CrashPoint("recovery.locked");
  ASSIGN_OR_RETURN(const StoreIdentity identity, ReadIdentity(fs, dir));
  ASSIGN_OR_RETURN(auto state,
                   RecoverOrStartOver(dir, options, identity.store_id));
  state->lock = std::move(lock);
  return state;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreState>> OpenStore(
    const Path& dir, const StoreOptions& options, IfMissing if_missing) {
  auto state = OpenLocked(dir, options, if_missing);
  if (!state.ok()) return WithAdvice(dir, state.status());
  return state;
}

}  // namespace hourglass
