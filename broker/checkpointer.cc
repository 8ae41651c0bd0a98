#include "broker/checkpointer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// How long a retired hour's numbers are remembered, in about a hundred bytes
// an hour. A clock that is stepped back further than this and put into again
// would give out the same MessageKey twice.
constexpr int32_t kRetiredHoursKept = 366 * 24;

// A sync that failed is not tried again, whatever the reason: the pages count
// as clean now, so the next one would say OK about data that never reached the
// disk. Not even for want of space, which is retried everywhere else.
absl::Status NotToBeRetried(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::UnavailableError(status.message());
}

}  // namespace

Checkpointer::Checkpointer(StoreState* state, StageAndWait stage)
    : state_(state),
      stage_(std::move(stage)),
      replay_before_(state->last_checkpoint.replay_from),
      last_ms_(state->options.clock->NowMs()),
      last_end_ns_(state->options.clock->MonotonicNs()) {}

int64_t Checkpointer::NextDueMs() const {
  const int64_t stretched_ms = last_took_ns_ * 9 / 1'000'000;
  return last_ms_ +
         std::max(state_->options.checkpoint_interval_ms, stretched_ms);
}

bool Checkpointer::Due() const {
  const int64_t passed_ms =
      (state_->options.clock->MonotonicNs() - last_end_ns_) / 1'000'000;
  const int64_t stretched_ms = last_took_ns_ * 9 / 1'000'000;
  if (passed_ms < stretched_ms) return false;
  return passed_ms >= state_->options.checkpoint_interval_ms ||
         state_->log->end() - applied_after_ >=
             state_->options.checkpoint_log_bytes;
}

bool Checkpointer::NothingChanged() const {
  // An hour that is done while nothing else happens: its files are to go.
  return !first_ && state_->applied == applied_after_ && done_before_.empty() &&
         DoneHours().empty();
}

std::vector<Hour> Checkpointer::DoneHours() const {
  std::vector<Hour> done;
  const Hour now = HourOf(state_->hand.cursor());
  for (const auto& [hour, facts] : state_->applier.hours().AllFacts()) {
    if (hour >= now) break;
    if (facts.retired || state_->hand.HasLateIn(hour)) continue;
    if (state_->applier.Facts(hour).pending() == 0) done.push_back(hour);
  }
  return done;
}

absl::StatusOr<Checkpointer::Noted> Checkpointer::Note() {
  Noted noted;
  noted.done = DoneHours();
  // Done at the checkpoint before, and still done now.
  std::set_intersection(noted.done.begin(), noted.done.end(),
                        done_before_.begin(), done_before_.end(),
                        std::back_inserter(noted.retiring));
  if (PlantedBug("hour_unlinked_early")) noted.retiring = noted.done;
  RETURN_IF_ERROR(RetireHours(noted.retiring));
  const Hour forget = HourOf(state_->hand.cursor()) - kRetiredHoursKept;
  const auto forgotten = state_->applier.ForgetRetired(forget);
  ASSIGN_OR_RETURN(noted.changes, state_->applier.TakeChanges());
  noted.changes.update.forgotten_hours = forgotten;
  noted.applied = state_->applied;
  noted.changes.update.applied = state_->applied;
  noted.changes.update.cursor = state_->hand.cursor();
  noted.changes.update.replay_from = state_->hand.ReplayFrom(state_->applied);
  if (PlantedBug("replay_floor_ignored")) {
    noted.changes.update.replay_from = state_->applied;
  }
  return noted;
}

absl::Status Checkpointer::RunOnce() {
  const int64_t begin_ns = state_->options.clock->MonotonicNs();
  if (!waiting_) {
    MutexLock lock(&state_->mu);
    if (!state_->failure.ok()) return state_->failure;
    last_ms_ = state_->options.clock->NowMs();
    last_end_ns_ = begin_ns;
    if (NothingChanged()) return absl::OkStatus();
    ASSIGN_OR_RETURN(waiting_, Note());
    CrashPoint("checkpoint.noted");
  }
  if (PlantedBug("hour_unlinked_early")) {
    RETURN_IF_ERROR(state_->applier.RemoveRetired());
  }
  ASSIGN_OR_RETURN(const CheckpointRecord record, Store(*waiting_));
  Noted noted = *std::move(waiting_);
  waiting_.reset();
  Op op;
  op.kind = Op::Kind::kCheckpoint;
  CrashPoint("checkpoint.written");
  RETURN_IF_ERROR(stage_(std::move(op), EncodeCheckpointRecord(record)));
  CrashPoint("checkpoint.recorded");
  RETURN_IF_ERROR(Delete());
  CrashPoint("checkpoint.done");
  replay_before_ = state_->last_checkpoint.replay_from;
  state_->last_checkpoint = record;
  done_before_ = std::move(noted.done);
  for (const Hour hour : noted.retiring) std::erase(done_before_, hour);
  first_ = false;
  ++written_;
  // Where the log ends if nothing but the Checkpoint record came since.
  applied_after_ = noted.applied + kLogBlockBytes;
  last_end_ns_ = state_->options.clock->MonotonicNs();
  last_took_ns_ = last_end_ns_ - begin_ns;
  return absl::OkStatus();
}

absl::StatusOr<CheckpointRecord> Checkpointer::Store(const Noted& noted) {
  if (!PlantedBug("checkpoint_before_files")) {
    const absl::Status synced = state_->applier.SyncFiles(noted.changes);
    if (!synced.ok()) return NotToBeRetried(synced);
  }
  Op barrier;
  barrier.kind = Op::Kind::kBarrier;
  RETURN_IF_ERROR(stage_(std::move(barrier), ""));
  CrashPoint("checkpoint.files_synced");
  if (reopen_) RETURN_IF_ERROR(state_->checkpoints->Reopen());
  auto record = state_->checkpoints->Write(noted.changes.update);
  reopen_ = absl::IsResourceExhausted(record.status());
  return record;
}

absl::Status Checkpointer::Delete() {
  RETURN_IF_ERROR(state_->applier.RemoveRetired());
  return RetireLog();
}

absl::Status Checkpointer::RetireHours(const std::vector<Hour>& hours) {
  for (const Hour hour : hours) {
    RETURN_IF_ERROR(state_->applier.Retire(hour));
    state_->hour_wheel.Remove(hour);
    state_->second_wheel.Remove(hour);
    state_->ledger.Erase(hour);
  }
  return absl::OkStatus();
}

absl::StatusOr<LogOffset> Checkpointer::RetentionFloor() {
  ASSIGN_OR_RETURN(const auto files, state_->log->Files());
  const StoreOptions& options = state_->options;
  const int64_t oldest_ms = options.clock->NowMs() - options.retention_ms;
  uint64_t total = 0;
  for (const auto& file : files) total += file.bytes;
  LogOffset floor = files.front().base;
  for (size_t i = 0; i + 1 < files.size(); ++i) {
    const bool too_old = files[i].modified_ms < oldest_ms;
    const bool too_much =
        options.retention_bytes > 0 && total > options.retention_bytes;
    if (!too_old && !too_much) break;
    total -= files[i].bytes;
    floor = files[i + 1].base;
  }
  return floor;
}

absl::StatusOr<LogOffset> Checkpointer::OwedToGroups() {
  LogOffset owed = LogOffset::Max();
  for (const auto& [key, progress] : state_->applier.progress()) {
    const auto& [topic, group] = key;
    const QueueIndex next = progress.next;
    const QueueFacts facts = state_->applier.queues().Facts(topic);
    if (next >= facts.next) continue;
    // A group may ask for what was removed before it first came.
    ASSIGN_OR_RETURN(
        const auto entries,
        state_->applier.queues().Read(topic, std::max(next, facts.first), 1));
    if (!entries.empty()) owed = std::min(owed, entries.front().offset);
  }
  return owed;
}

absl::Status Checkpointer::RetireLog() {
  ASSIGN_OR_RETURN(LogOffset keep, RetentionFloor());
  if (keep <= state_->log->start()) return absl::OkStatus();
  keep = std::min({keep, replay_before_, state_->last_checkpoint.replay_from});
  MutexLock lock(&state_->mu);
  if (state_->options.retain_for_groups) {
    ASSIGN_OR_RETURN(const LogOffset owed, OwedToGroups());
    keep = std::min(keep, owed);
  }
  const LogOffset before = state_->log->start();
  ASSIGN_OR_RETURN(const LogOffset start, state_->log->RemoveBefore(keep));
  if (start == before) return absl::OkStatus();
  for (const auto& [topic, facts] : state_->applier.queues().AllFacts()) {
    RETURN_IF_ERROR(state_->applier.queues().RemoveBefore(topic, start));
  }
  return absl::OkStatus();
}

}  // namespace hourglass
