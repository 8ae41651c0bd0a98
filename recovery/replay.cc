#include "recovery/replay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/log_file_reader.h"
#include "storage/message_codec.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {

Replay::Replay(StoreState* state, const CheckpointRecord& checkpoint)
    : state_(state), checkpoint_(checkpoint) {}

// A reader begins with the first file there is, as after retention. Retention
// never takes what the newest checkpoint needs, so that is damage here.
absl::Status Replay::CheckBegin() const {
  ASSIGN_OR_RETURN(const auto bases, ListLogFiles(state_->options.file_system,
                                                  state_->dir / kLogDirName));
  if (bases.empty() || bases.front() <= checkpoint_.replay_from) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "commit log: begins with ", LogFileName(bases.front()),
      ", but the checkpoint needs it from offset ",
      checkpoint_.replay_from.value(), ": the files before are missing"));
}

absl::Status Replay::Run() {
  RETURN_IF_ERROR(CheckBegin());
  LogReader reader(state_->options.file_system, state_->dir / kLogDirName,
                   state_->id, checkpoint_.applied);
  RETURN_IF_ERROR(reader.Seek(checkpoint_.replay_from));
  LogRecord record;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) break;
    RETURN_IF_ERROR(One(record));
    CrashPoint("recovery.record_replayed");
    ++state_->recovered_records;
  }
  end_ = reader.end();
  torn_ = reader.torn();
  if (torn_ && PlantedBug("tail_not_cut")) end_ = end_ + kLogBlockBytes;
  synced_ = std::max(reader.durable_before(), checkpoint_.applied);
  if (end_ < checkpoint_.applied) {
    return absl::DataLossError(absl::StrCat(
        "commit log: ends at offset ", end_.value(),
        ", but the checkpoint was written at offset ",
        checkpoint_.applied.value(), ": part of the log is missing"));
  }
  state_->applied = end_;
  return absl::OkStatus();
}

absl::Status Replay::One(const LogRecord& record) {
  const bool apply = record.offset >= checkpoint_.applied;
  switch (record.kind) {
    case RecordKind::kReady:
      return apply ? state_->applier.Ready(record) : absl::OkStatus();
    case RecordKind::kDelayed:
      return OnDelayed(record, apply);
    case RecordKind::kDelivered:
      return OnDelivered(record, apply);
    case RecordKind::kCancel:
      return OnCancel(record, apply);
    case RecordKind::kAck:
      return apply ? state_->applier.Ack(record) : absl::OkStatus();
    case RecordKind::kCheckpoint:
      return OnCheckpoint(record);
  }
  return absl::DataLossError(
      absl::StrCat("commit log: the record at offset ", record.offset.value(),
                   " is of an unknown kind ", static_cast<int>(record.kind)));
}

absl::Status Replay::OnDelayed(const LogRecord& record, bool apply) {
  if (apply) {
    RETURN_IF_ERROR(
        state_->applier.Delayed(record, HashBytes(record.payload)).status());
  }
  if (SecondOf(PeekMessage(record.payload).due_ms) < checkpoint_.cursor) {
    maybe_late_[{record.hour, record.number}] = record.offset;
  }
  return absl::OkStatus();
}

absl::Status Replay::OnDelivered(const LogRecord& record, bool apply) {
  if (apply) RETURN_IF_ERROR(state_->applier.Delivered(record));
  maybe_late_.erase({record.hour, record.number});
  if (record.hour < HourOf(checkpoint_.cursor)) return absl::OkStatus();
  int64_t due_ms = PeekMessage(record.payload).due_ms;
  if (record.flags & kFlagMarkOnly) {
    ASSIGN_OR_RETURN(const IndexRecord found,
                     state_->applier.Find(record.hour, record.number));
    due_ms = StartMs(record.hour) + found.ms_into_hour;
  }
  if (!PlantedBug("delivered_ignored")) {
    state_->ledger.Claim(record.hour, record.number);
  }
  state_->hand.marks().Replayed(SecondOf(due_ms), record.offset);
  return absl::OkStatus();
}

absl::Status Replay::OnCancel(const LogRecord& record, bool apply) {
  if (apply) RETURN_IF_ERROR(state_->applier.Cancel(record));
  ASSIGN_OR_RETURN(const CancelPayload cancel, DecodeCancel(record.payload));
  maybe_late_.erase({record.hour, cancel.target});
  state_->ledger.At(record.hour).cancelled.Insert(cancel.target);
  return absl::OkStatus();
}

absl::Status Replay::OnCheckpoint(const LogRecord& record) {
  ASSIGN_OR_RETURN(const CheckpointRecord found,
                   DecodeCheckpointRecord(record.payload));
  if (found.sequence == checkpoint_.sequence && found != checkpoint_) {
    return absl::DataLossError(
        absl::StrCat("checkpoint ", checkpoint_.sequence,
                     ": the database and the commit log's record at offset ",
                     record.offset.value(), " disagree"));
  }
  if (found.sequence > checkpoint_.sequence && !told_behind_) {
    told_behind_ = true;
    state_->notices.push_back(
        absl::StrCat("the checkpoint database is at ", checkpoint_.sequence,
                     " but the commit log knows checkpoint ", found.sequence,
                     ": recovered from the older one"));
  }
  return absl::OkStatus();
}

absl::Status Replay::ArriveLate() {
  if (PlantedBug("late_forgotten")) return absl::OkStatus();
  for (const auto& [at, offset] : maybe_late_) {
    ASSIGN_OR_RETURN(const IndexRecord found,
                     state_->applier.Find(at.first, at.second));
    CrashPoint("recovery.late_found");
    state_->hand.Arrive({StartMs(at.first) + found.ms_into_hour, found.location,
                         at.second, found.size},
                        offset);
  }
  return absl::OkStatus();
}

}  // namespace hourglass
