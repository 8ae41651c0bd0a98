#include "broker/sequencer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/hour_rescue.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

// Record header, and for a move the Cancel record beside it.
constexpr size_t kOpOverheadMax = 2 * kRecordHeaderBytes + 16;

// A group is filled up to here while the state lock is held, unless a single
// message is larger: long enough to keep the disk busy, short enough that the
// hand is not kept waiting.
constexpr size_t kFillBytesMax = 2u << 20;

// Bits of cancelled messages kept for hours that are far ahead.
constexpr size_t kFarCancelledBytesMax = 16u << 20;

}  // namespace

uint32_t HandleSeal(uint64_t salt, const Handle& handle) {
  const uint64_t place = uint64_t{static_cast<uint32_t>(handle.hour.value())}
                             << 32 |
                         handle.number.value();
  const uint64_t fields = uint64_t{handle.ms_into_hour} << 32 | handle.id_hash;
  return static_cast<uint32_t>(Seal(salt, place, fields, 0x68616e646c65));
}

CancelAnswer AnswerWhenGone(StoreState& state, const Handle& handle) {
  const HourFacts facts = state.applier.hours().Facts(handle.hour);
  if (handle.number <= facts.last) return CancelAnswer::kAlreadyDelivered;
  // Hours that were done long ago are forgotten, numbers and all; but the
  // seal says that this store made the handle.
  const bool forgotten =
      facts.last == RecordNumber() && handle.hour < HourOf(state.hand.cursor());
  return forgotten ? CancelAnswer::kAlreadyDelivered
                   : CancelAnswer::kNeverExisted;
}

Sequencer::Sequencer(StoreState* state, Staging* staging)
    : state_(state),
      staging_(staging),
      group_bytes_max_(std::min<size_t>(
          kGroupBytesMax,
          state->options.log_segment_bytes - kLogFileHeaderBytes)) {}

bool Sequencer::HasRoom(const CommitGroup& group, size_t bytes) const {
  const uint64_t used = group.builder.end() - group.builder.start();
  return RoundUpToBlock(used + bytes) <= group_bytes_max_;
}

// Whether what is applied next can be written to the files of hours and
// queues, or kept for them. Once a record is made it must be.
absl::Status Sequencer::RoomForFiles() {
  const absl::Status room = state_->applier.HasRoom();
  if (room.ok()) return room;
  if (absl::IsResourceExhausted(room)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the disk is full: ", room.message()));
  }
  Stop(room);
  return room;
}

void Sequencer::Stop(const absl::Status& status) {
  if (stopped_.ok()) stopped_ = status;
}

size_t Sequencer::BytesWanted() const {
  size_t bytes = kGroupHeaderBytes;
  for (const auto& batch : delivered_) {
    bytes += batch->payload_bytes + batch->items.size() * kRecordHeaderBytes;
    if (bytes > group_bytes_max_) return group_bytes_max_;
  }
  for (const OpBatch& batch : batches_) {
    bytes += batch.bytes.size() - batch.next_byte +
             (batch.ops.size() - batch.next_op) * kOpOverheadMax;
    if (bytes > group_bytes_max_) return group_bytes_max_;
  }
  return RoundUpToBlock(bytes);
}

absl::Status Sequencer::Fill(CommitGroup* group, int64_t now_ms) {
  earliest_due_ms_ = std::numeric_limits<int64_t>::max();
  MutexLock lock(&state_->mu);
  if (!state_->failure.ok()) return state_->failure;
  const LogOffset start =
      state_->log->NextStart(state_->applied, BytesWanted());
  group->builder.Start(start, state_->log->durable(), now_ms);
  FillDelivered(group);
  if (stopped_.ok()) FillOps(group, now_ms);
  if (group->builder.records() > 0) {
    state_->applied = LogOffset(RoundUpToBlock(group->builder.end().value()));
  }
  return stopped_;
}

void Sequencer::FillDelivered(CommitGroup* group) {
  while (!delivered_.empty() && stopped_.ok()) {
    DeliveredBatch& batch = *delivered_.front();
    const size_t need =
        batch.payload_bytes + batch.items.size() * kRecordHeaderBytes;
    if (!HasRoom(*group, need)) return;
    // They are pending anyhow, so they can wait for it.
    if (!RoomForFiles().ok()) return;
    const LogOffset from = group->builder.end();
    const uint8_t flags = batch.mark_only ? kFlagMarkOnly : 0;
    for (const DeliveredBatch::Item& item : batch.items) {
      LogRecord record;
      record.kind = RecordKind::kDelivered;
      record.flags = flags;
      record.hour = item.entry.hour();
      record.number = item.entry.number;
      record.payload = item.payload;
      record.offset =
          group->builder.Add(record.kind, flags, record.hour, record.number,
                             item.payload, item.payload_hash);
      const absl::Status applied = state_->applier.Delivered(record);
      if (!applied.ok()) return Stop(applied);
      if (!batch.mark_only) NoteReady(group);
      group->delivered_due_ms.push_back(item.entry.due_ms);
    }
    group->ready_messages += batch.items.size();
    counters_.delivered += batch.items.size();
    // The end that counts is the group's: it is durable as a whole.
    state_->hand.marks().Sequenced(batch.token, from, group->builder.end());
    delivered_.pop_front();
  }
}

void Sequencer::NoteReady(CommitGroup* group) {
  const std::string& topic = state_->applier.last_topic();
  // Mostly the same one again.
  if (group->ready_topics.size() == 1 && *group->ready_topics.begin() == topic)
    return;
  group->ready_topics.insert(topic);
}

void Sequencer::FillOps(CommitGroup* group, int64_t now_ms) {
  const auto full = [group] {
    return group->builder.end() - group->builder.start() >= kFillBytesMax;
  };
  while (!batches_.empty() && stopped_.ok() && !full()) {
    OpBatch& batch = batches_.front();
    while (!batch.done() && stopped_.ok() && !full()) {
      Op& op = batch.ops[batch.next_op];
      if (!HasRoom(*group, op.payload_bytes + kOpOverheadMax)) {
        return;
      }
      const auto payload = std::string_view(batch.bytes)
                               .substr(batch.next_byte, op.payload_bytes);
      One(&op, payload, now_ms, group);
      group->staged_bytes += Staging::CountedBytes(op);
      batch.next_byte += op.payload_bytes;
      ++batch.next_op;
    }
    if (!batch.done()) return;
    staging_->Recycle(std::move(batch));
    batches_.pop_front();
  }
}

void Sequencer::One(Op* op, std::string_view payload, int64_t now_ms,
                    CommitGroup* group) {
  switch (op->kind) {
    case Op::Kind::kPut:
      return Put(op, payload, now_ms, group);
    case Op::Kind::kCancel:
      return Cancel(op, group);
    case Op::Kind::kMove:
      return Move(op, payload, now_ms, group);
    case Op::Kind::kAck:
      return Ack(op, payload, group);
    case Op::Kind::kMarks:
      return AckMarks(op, payload, group);
    case Op::Kind::kCheckpoint:
      group->builder.Add(RecordKind::kCheckpoint, 0, Hour(), RecordNumber(),
                         payload, op->payload_hash);
      break;
    case Op::Kind::kBarrier:
      group->wants_sync = true;
      break;
  }
  group->ops.push_back({std::move(op->done), {}});
}

void Sequencer::Ack(Op* op, std::string_view payload, CommitGroup* group) {
  LogRecord record;
  record.kind = RecordKind::kAck;
  record.payload = payload;
  record.offset = group->builder.Add(record.kind, 0, Hour(), RecordNumber(),
                                     payload, op->payload_hash);
  const absl::Status applied = state_->applier.Ack(record);
  if (!applied.ok()) return Stop(applied);
  group->ops.push_back({std::move(op->done), {}});
}

void Sequencer::AckMarks(Op* op, std::string_view payload, CommitGroup* group) {
  OpResult result;
  const auto ack = DecodeMarks(payload);
  result.status = ack.ok() ? CheckMarks(*ack) : ack.status();
  if (result.status.ok()) AddMarks(payload, *ack, group);
  group->ops.push_back({std::move(op->done), result});
}

absl::Status Sequencer::CheckMarks(const MarksPayload& ack) const {
  const GroupProgress* known = state_->applier.Progress(ack.topic, ack.group);
  const GroupProgress nothing;
  if (known == nullptr) known = &nothing;
  size_t ranges = 0;
  for (const auto& [from, to] : ack.marks.acked) {
    ranges += known->WouldAddRange(from, to) ? 1 : 0;
  }
  size_t counted = 0;
  for (const auto& [index, attempts] : ack.marks.attempts) {
    counted += known->attempts.contains(index) ? 0 : 1;
  }
  const size_t max = state_->options.group_marks_max;
  if ((ranges == 0 || known->acked.size() + ranges <= max) &&
      (counted == 0 || known->attempts.size() + counted <= max)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "group ", ToAbsl(ack.group), " of topic ", ToAbsl(ack.topic), ": ",
      known->acked.size(), " ranges are acknowledged behind message ",
      known->next.value(), ", which is not, and ", known->attempts.size(),
      " are counted; expected at most ", max, " of each (group_marks_max)"));
}

absl::Status Sequencer::CheckOpen(const MarksPayload& ack) const {
  const GroupProgress* known = state_->applier.Progress(ack.topic, ack.group);
  const QueueIndex index = ack.marks.end() - 1;
  if (known == nullptr || !known->IsAcked(index)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("message ", index.value(), " of topic ", ToAbsl(ack.topic),
                   " was acknowledged before by group ", ToAbsl(ack.group)));
}

void Sequencer::AddMarks(std::string_view payload, const MarksPayload& ack,
                         CommitGroup* group) {
  group->builder.Add(RecordKind::kAck, kFlagMarks, Hour(), RecordNumber(),
                     payload, HashBytes(payload));
  state_->applier.Ack(ack);
}

void Sequencer::Put(Op* op, std::string_view payload, int64_t now_ms,
                    CommitGroup* group) {
  CommitGroup::PutWaiter& waiter = group->puts.emplace_back();
  waiter.done = std::move(op->put_done);
  const std::string_view acked = payload.substr(payload.size() - op->ack_bytes);
  payload.remove_suffix(op->ack_bytes);
  MarksPayload ack;
  if (!acked.empty()) {
    auto decoded = DecodeMarks(acked);
    waiter.refused = decoded.status();
    if (decoded.ok()) ack = *std::move(decoded);
    if (waiter.refused.ok()) waiter.refused = CheckOpen(ack);
    if (waiter.refused.ok()) waiter.refused = CheckMarks(ack);
    if (!waiter.refused.ok()) return;
  }
  waiter.result.offset = group->builder.end();
  const absl::Status room = RoomForFiles();
  const absl::StatusOr<Handle> handle =
      room.ok() ? Place(*op, payload, now_ms, group) : room;
  if (!handle.ok()) {
    waiter.refused = handle.status();
    return;
  }
  if (!acked.empty()) AddMarks(acked, ack, group);
  waiter.result.handle = *handle;
  waiter.result.id = std::move(op->id);
  counters_.put_messages.fetch_add(1, std::memory_order_relaxed);
  counters_.put_bytes.fetch_add(payload.size(), std::memory_order_relaxed);
}

absl::StatusOr<Handle> Sequencer::Place(const Op& op, std::string_view payload,
                                        int64_t now_ms, CommitGroup* group) {
  LogRecord record;
  record.payload = payload;
  if (op.due_ms <= now_ms) {
    record.kind = RecordKind::kReady;
    record.offset = group->builder.Add(record.kind, 0, Hour(), RecordNumber(),
                                       payload, op.payload_hash);
    const absl::Status applied = state_->applier.Ready(record);
    if (!applied.ok()) Stop(applied);
    ++group->ready_messages;
    NoteReady(group);
    ++counters_.at_once;
    return Handle();
  }
  if (SecondOf(op.due_ms) < state_->hand.cursor() &&
      state_->hand.late() >= state_->options.late_messages_max) {
    return absl::ResourceExhaustedError(
        "late_messages_max: too many messages for a time that was delivered "
        "already, because the clock was stepped back");
  }
  record.kind = RecordKind::kDelayed;
  record.hour = HourOf(op.due_ms);
  ASSIGN_OR_RETURN(record.number, state_->applier.NextNumber(record.hour));
  record.offset = group->builder.Add(record.kind, 0, record.hour, record.number,
                                     payload, op.payload_hash);
  const auto placed = state_->applier.Delayed(record, op.payload_hash);
  if (!placed.ok()) {
    Stop(placed.status());
    return placed.status();
  }
  state_->Arrived(*placed, record.offset);
  earliest_due_ms_ = std::min(earliest_due_ms_, op.due_ms);
  Handle handle;
  handle.hour = record.hour;
  handle.number = record.number;
  handle.ms_into_hour = MsIntoHour(op.due_ms);
  handle.id_hash = op.id_hash;
  handle.seal = HandleSeal(state_->salt, handle);
  return handle;
}

absl::Status Sequencer::CompleteCancelled(Hour hour) {
  HourLedger::Entry& entry = state_->ledger.At(hour);
  if (entry.cancelled_complete) return absl::OkStatus();
  if (state_->applier.hours().Facts(hour).tombstones > 0) {
    ASSIGN_OR_RETURN(const auto segment, state_->applier.hours().ForRead(hour));
    RETURN_IF_ERROR(segment->Flush());
    const auto note = [&entry](RecordNumber, const IndexRecord& record) {
      if (record.kind == IndexKind::kTombstone) {
        entry.cancelled.Insert(record.target());
      }
      return true;
    };
    HourRescue rescue(segment.get());
    absl::Status unreadable;
    RETURN_IF_ERROR(segment->ScanIndex(
        segment->facts().base + 1, segment->facts().last, note,
        [&](RecordNumber number, const absl::Status& why) {
          const auto record = rescue.Read(number);
          if (record.ok()) note(number, *record);
          if (!record.ok()) unreadable.Update(why);
        }));
    RETURN_IF_ERROR(unreadable);
  }
  entry.cancelled_complete = true;
  // A tombstone that an hour's load did not meet stands only here: hours
  // that are in memory are not far.
  const Hour far =
      std::max(HourOf(state_->hand.cursor()) + 2, state_->hand.LastHour() + 1);
  if (hour < far) return absl::OkStatus();
  state_->ledger.Shrink(std::max(far, hour + 1), kFarCancelledBytesMax);
  return absl::OkStatus();
}

absl::StatusOr<Sequencer::Verdict> Sequencer::Judge(const Handle& handle) {
  Verdict verdict;
  const HourFacts facts = state_->applier.hours().Facts(handle.hour);
  if (handle.number > facts.last) {
    verdict.answer = AnswerWhenGone(*state_, handle);
    return verdict;
  }
  verdict.answer = CancelAnswer::kAlreadyDelivered;
  if (facts.retired || handle.number <= facts.base) return verdict;
  if (state_->ledger.IsClaimed(handle.hour, handle.number)) return verdict;
  RETURN_IF_ERROR(CompleteCancelled(handle.hour));
  if (state_->ledger.IsCancelled(handle.hour, handle.number)) {
    verdict.answer = CancelAnswer::kCancelled;
    verdict.already_cancelled = true;
    return verdict;
  }
  const DueKey key{handle.due_ms(), handle.number};
  if (SecondOf(key.due_ms) < state_->hand.cursor() &&
      !state_->hand.IsLate(key)) {
    return verdict;
  }
  const auto record = state_->applier.Find(handle.hour, handle.number);
  if (!record.ok() && !absl::IsNotFound(record.status())) {
    return record.status();
  }
  const bool same = record.ok() && record->id_hash == handle.id_hash &&
                    record->ms_into_hour == handle.ms_into_hour;
  verdict.answer =
      same ? CancelAnswer::kCancelled : CancelAnswer::kNeverExisted;
  if (same) verdict.record = *record;
  return verdict;
}

absl::Status Sequencer::AddCancel(const Handle& handle, CommitGroup* group) {
  LogRecord record;
  record.kind = RecordKind::kCancel;
  record.hour = handle.hour;
  ASSIGN_OR_RETURN(record.number, state_->applier.NextNumber(handle.hour));
  const std::string payload =
      EncodeCancel({handle.number, handle.ms_into_hour});
  record.payload = payload;
  record.offset = group->builder.Add(record.kind, 0, record.hour, record.number,
                                     payload, HashBytes(payload));
  const absl::Status applied = state_->applier.Cancel(record);
  if (!applied.ok()) Stop(applied);
  state_->ledger.At(handle.hour).cancelled.Insert(handle.number);
  state_->hand.Cancelled({handle.due_ms(), handle.number});
  ++counters_.cancelled;
  return applied;
}

void Sequencer::Cancel(Op* op, CommitGroup* group) {
  OpResult result;
  const auto verdict = Judge(op->handle);
  result.status = verdict.status();
  if (verdict.ok()) {
    result.answer = verdict->answer;
    if (verdict->answer == CancelAnswer::kCancelled &&
        !verdict->already_cancelled) {
      result.status = RoomForFiles();
      if (result.status.ok()) result.status = AddCancel(op->handle, group);
    }
  }
  group->ops.push_back({std::move(op->done), result});
}

// The new message first: if it cannot be placed, nothing has changed. Then
// the old one must go, or the store stops: never both.
absl::StatusOr<Handle> Sequencer::Replace(const Op& op,
                                          std::string_view payload,
                                          int64_t now_ms, CommitGroup* group) {
  RETURN_IF_ERROR(RoomForFiles());
  // Held open: the new hour must not push it out.
  ASSIGN_OR_RETURN(const auto old,
                   state_->applier.hours().ForAppend(op.handle.hour));
  ASSIGN_OR_RETURN(const Handle handle, Place(op, payload, now_ms, group));
  const absl::Status cancelled = AddCancel(op.handle, group);
  if (!cancelled.ok()) Stop(cancelled);
  RETURN_IF_ERROR(cancelled);
  return handle;
}

void Sequencer::Move(Op* op, std::string_view payload, int64_t now_ms,
                     CommitGroup* group) {
  OpResult result;
  const auto verdict = Judge(op->handle);
  result.status = verdict.status();
  if (verdict.ok()) {
    result.answer = verdict->answer;
    // A message that was cancelled before cannot be moved any more; the
    // answer says what became of it.
    if (verdict->answer == CancelAnswer::kCancelled &&
        !verdict->already_cancelled) {
      auto handle = Replace(*op, payload, now_ms, group);
      result.status = handle.status();
      if (handle.ok()) result.handle = *handle;
    } else if (verdict->already_cancelled) {
      result.status = absl::NotFoundError("the message was cancelled before");
    }
  }
  group->ops.push_back({std::move(op->done), result});
}

void Sequencer::FailOps(const absl::Status& status) {
  for (OpBatch& batch : batches_) {
    for (; !batch.done(); ++batch.next_op) {
      Op& op = batch.ops[batch.next_op];
      staging_->Release(Staging::CountedBytes(op));
      op.Fail(status);
    }
  }
  batches_.clear();
}

void Sequencer::FailAll(const absl::Status& status) {
  FailOps(status);
  delivered_.clear();
}

}  // namespace hourglass
