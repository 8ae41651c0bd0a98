#include "recovery/log_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/applier.h"
#include "storage/checksum.h"
#include "storage/hour_format.h"
#include "storage/message_codec.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr size_t kCheckpointsKept = 8;
constexpr uint64_t kTombstoneMark = 1;

}  // namespace

uint64_t RecordDigest(RecordNumber number, uint64_t payload_hash) {
  return Seal(0, number.value(), 0, payload_hash);
}

uint64_t TombstoneDigest(RecordNumber number, RecordNumber target) {
  return Seal(0, number.value(), kTombstoneMark, target.value());
}

uint64_t ReadyDigest(LogOffset offset, uint32_t size, uint32_t tag_hash) {
  return Seal(0, offset.value(), size, tag_hash);
}

HourTrace& LogTrace::At(Hour hour) {
  HourTrace*& trace = by_hour_[hour];
  if (trace == nullptr) trace = &hours_[hour];
  return *trace;
}

const HourTrace* LogTrace::Find(Hour hour) const {
  const auto at = hours_.find(hour);
  return at == hours_.end() ? nullptr : &at->second;
}

void LogTrace::OnRecord(const LogRecord& record, int64_t written_ms,
                        FindingList* findings) {
  ++records_;
  if (first_written_ms_ == 0) first_written_ms_ = written_ms;
  switch (record.kind) {
    case RecordKind::kReady:
      return OnReady(record);
    case RecordKind::kDelayed:
      return OnNumber(record,
                      RecordDigest(record.number, HashBytes(record.payload)));
    case RecordKind::kDelivered:
      return OnDelivered(record, findings);
    case RecordKind::kCancel:
      return OnCancel(record, findings);
    case RecordKind::kAck:
      return OnAck(record, findings);
    case RecordKind::kCheckpoint:
      if (const auto found = DecodeCheckpointRecord(record.payload);
          found.ok()) {
        checkpoint_ = *found;
        checkpoints_[found->sequence] = *found;
        if (checkpoints_.size() > kCheckpointsKept) {
          checkpoints_.erase(checkpoints_.begin());
        }
      }
      return;
  }
}

void LogTrace::OnDamage(const DamagedRange& range) {
  damage_.push_back(range);
  damage_end_ = range.to;
  for (auto& [hour, trace] : hours_) trace.first_clean = RecordNumber();
}

void LogTrace::OnNumber(const LogRecord& record, uint64_t digest) {
  HourTrace& trace = At(record.hour);
  const RecordNumber number = record.number;
  if (trace.first == RecordNumber()) trace.first = number;
  trace.last = std::max(trace.last, number);
  ++trace.records;
  if (trace.first_clean == RecordNumber() && record.offset >= damage_end_) {
    trace.first_clean = number;
  }
  if (trace.first_replay == RecordNumber() && record.offset >= replay_from_) {
    trace.first_replay = number;
  }
  if (record.offset < applied_) {
    trace.last_applied = number;
    if (number > trace.base) trace.digest ^= digest;
  }
}

void LogTrace::OnReady(const LogRecord& record) {
  const PeekedMessage message = PeekMessage(record.payload);
  auto at = topics_.find(message.topic);
  if (at == topics_.end()) {
    at = topics_.emplace(std::string(message.topic), TopicTrace()).first;
  }
  TopicTrace& topic = at->second;
  ++topic.ready;
  if (record.offset < damage_end_) ++topic.ready_saved;
  if (record.offset >= applied_) return;
  ++topic.ready_applied;
  topic.digest ^= ReadyDigest(record.offset, record.size(),
                              message.tag.empty() ? 0 : IdHash(message.tag));
}

void LogTrace::OnDelivered(const LogRecord& record, FindingList* findings) {
  if ((record.flags & kFlagMarkOnly) == 0) OnReady(record);
  HourTrace& trace = At(record.hour);
  ++trace.delivered_count;
  const auto complain = [&](const char* what) {
    Finding finding;
    finding.file = "commitlog";
    finding.record = record.number.value();
    finding.offset = record.offset.value();
    finding.what =
        absl::StrCat("the message of hour ",
                     DelayLogName(record.hour).substr(0, 13), " ", what);
    finding.means = "consumers may have got it wrongly";
    finding.ids = {std::string(PeekMessage(record.payload).id)};
    findings->Add(std::move(finding));
  };
  if (!trace.delivered.Insert(record.number)) {
    complain("has two Delivered records");
  } else if (trace.cancelled.Contains(record.number)) {
    complain("was cancelled, and delivered after that");
  }
}

void LogTrace::OnCancel(const LogRecord& record, FindingList* findings) {
  const auto cancel = DecodeCancel(record.payload);
  if (!cancel.ok()) {
    findings->Damage("commitlog", std::string(cancel.status().message()));
    return;
  }
  OnNumber(record, TombstoneDigest(record.number, cancel->target));
  HourTrace& trace = At(record.hour);
  if (trace.delivered.Contains(cancel->target)) {
    Finding finding;
    finding.file = "commitlog";
    finding.record = cancel->target.value();
    finding.offset = record.offset.value();
    finding.what = "a message was cancelled that had been delivered before";
    findings->Add(std::move(finding));
  }
  trace.cancelled.Insert(cancel->target);
}

void LogTrace::OnAck(const LogRecord& record, FindingList* findings) {
  GroupProgress said;
  std::string_view topic, group;
  if ((record.flags & kFlagMarks) != 0) {
    auto ack = DecodeMarks(record.payload);
    if (!ack.ok()) {
      findings->Damage("commitlog", std::string(ack.status().message()));
      return;
    }
    topic = ack->topic;
    group = ack->group;
    said = std::move(ack->marks);
  } else {
    const auto ack = DecodeAck(record.payload);
    if (!ack.ok()) {
      findings->Damage("commitlog", std::string(ack.status().message()));
      return;
    }
    topic = ack->topic;
    group = ack->group;
    said.next = ack->next;
  }
  auto at = acks_.find(ConsumerView(topic, group));
  if (at == acks_.end()) {
    at = acks_.try_emplace({std::string(topic), std::string(group)}).first;
  }
  at->second.Merge(said);
}

bool LogTrace::Agrees(const CheckpointRecord& record) const {
  const auto at = checkpoints_.find(record.sequence);
  return at == checkpoints_.end() || at->second == record;
}

// A Delivered record is written when the message is due or later. And a late
// message, of which a cursor says nothing, has its Delayed record behind
// replay_from.
bool LogTrace::DamageHides(int64_t due_ms) const {
  return std::any_of(
      damage_.begin(), damage_.end(), [&](const DamagedRange& range) {
        return range.after_ms >= due_ms || range.to > replay_from_;
      });
}

Fate LogTrace::FateOf(Hour hour, RecordNumber number, int64_t due_ms,
                      bool damaged, std::optional<Second> cursor) const {
  const HourTrace* trace = Find(hour);
  const auto at_or_after = [&](RecordNumber first) {
    return first != RecordNumber() && number >= first;
  };
  if (trace != nullptr) {
    if (trace->cancelled.Contains(number)) return Fate::kCancelled;
    if (trace->delivered.Contains(number)) return Fate::kDelivered;
    if (at_or_after(trace->first_clean)) return Fate::kPending;
  }
  if (!cursor) return Fate::kPendingMaybeTwice;
  if (SecondOf(due_ms) >= *cursor) return Fate::kPending;
  if (DamageHides(due_ms)) return Fate::kPendingMaybeTwice;
  if (trace != nullptr && at_or_after(trace->first_replay)) {
    return Fate::kPendingMaybeTwice;
  }
  const bool covered = first_written_ms_ > 0 && first_written_ms_ <= due_ms;
  return damaged && covered ? Fate::kPending : Fate::kDone;
}

}  // namespace hourglass
