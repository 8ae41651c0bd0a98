#include "storage/applier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/hour_rescue.h"
#include "storage/message_codec.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

absl::Status DoesNotFit(const LogRecord& record, std::string_view why) {
  return absl::DataLossError(absl::StrCat(
      "commit log: the ", ToAbsl(RecordKindName(record.kind)),
      " record at offset ", record.offset.value(), " ", ToAbsl(why)));
}

uint32_t FrameSize(std::string_view payload) {
  return static_cast<uint32_t>(kFrameHeaderBytes + payload.size());
}

}  // namespace

Applier::Applier(FileSystem* fs, const Path& dir, const StoreId& id,
                 const ApplierOptions& options, HourTable::LoadHeads load_heads)
    : hours_(fs, dir / "hours", id, options.hours, std::move(load_heads)),
      queues_(fs, dir / "queues", id, options.queues) {}

absl::Status Applier::Restore(const CheckpointState& state) {
  RETURN_IF_ERROR(hours_.Restore(state.hours));
  RETURN_IF_ERROR(queues_.Restore(state.queues));
  progress_ = state.progress;
  for (const auto& [hour, facts] : state.hours) {
    delivered_[hour] = {facts.delivered, facts.delivered_bytes};
    if (facts.retired) continue;
    pending_.messages += facts.pending();
    pending_.bytes += static_cast<int64_t>(facts.pending_bytes());
  }
  return absl::OkStatus();
}

absl::Status Applier::HasRoom() {
  RETURN_IF_ERROR(hours_.HasRoom());
  return queues_.HasRoom();
}

absl::StatusOr<RecordNumber> Applier::NextNumber(Hour hour) {
  if (last_segment_ == nullptr || last_segment_->hour() != hour) {
    ASSIGN_OR_RETURN(last_segment_, hours_.ForAppend(hour));
  }
  if (last_segment_->facts().last == RecordNumber::Max()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        DelayIndexName(hour), ": has as many records as an hour can hold"));
  }
  return last_segment_->facts().last + 1;
}

absl::Status Applier::AppendToQueue(const LogRecord& record) {
  const PeekedMessage message = PeekMessage(record.payload);
  if (message.topic.empty()) return DoesNotFit(record, "holds no message");
  if (last_topic_ != message.topic) last_topic_ = std::string(message.topic);
  const uint32_t tag = message.tag.empty() ? 0 : IdHash(message.tag);
  return queues_.Append(message.topic, {record.offset, record.size(), tag})
      .status();
}

absl::Status Applier::Ready(const LogRecord& record) {
  return AppendToQueue(record);
}

absl::StatusOr<PlacedMessage> Applier::Delayed(const LogRecord& record,
                                               uint64_t payload_hash) {
  ASSIGN_OR_RETURN(const RecordNumber next, NextNumber(record.hour));
  if (next != record.number) {
    return DoesNotFit(record, absl::StrCat("has number ", record.number.value(),
                                           ", expected ", next.value()));
  }
  const PeekedMessage peeked = PeekMessage(record.payload);
  HourSegment* segment = last_segment_.get();
  // New files of an hour that had some before count messages from zero; the
  // sums of bytes go on, as those of the hour's facts do.
  if (segment->facts().records() == 0) delivered_[record.hour].messages = 0;
  PlacedMessage placed;
  placed.due_ms = peeked.due_ms;
  placed.location = segment->facts().delay_log_bytes;
  placed.number = next;
  placed.size = FrameSize(record.payload);
  RETURN_IF_ERROR(segment
                      ->Append(record.payload, payload_hash, peeked.due_ms,
                               IdHash(peeked.id))
                      .status());
  hour_bytes_ += placed.size + kIndexRecordBytes;
  pending_.messages += 1;
  pending_.bytes += placed.size;
  RETURN_IF_ERROR(hours_.Appended(segment));
  return placed;
}

absl::Status Applier::Delivered(const LogRecord& record) {
  DeliveredCount& count = delivered_[record.hour];
  const uint32_t size = FrameSize(record.payload);
  if (record.flags & kFlagMarkOnly) {
    // The host has the message; its size stands in the index.
    ASSIGN_OR_RETURN(const IndexRecord found, Find(record.hour, record.number));
    count.bytes += found.size;
    pending_.bytes -= found.size;
  } else {
    RETURN_IF_ERROR(AppendToQueue(record));
    count.bytes += size;
    pending_.bytes -= size;
  }
  ++count.messages;
  --pending_.messages;
  delivered_changed_.insert(record.hour);
  return absl::OkStatus();
}

absl::Status Applier::Cancel(const LogRecord& record) {
  ASSIGN_OR_RETURN(const CancelPayload cancel, DecodeCancel(record.payload));
  ASSIGN_OR_RETURN(const RecordNumber next, NextNumber(record.hour));
  if (next != record.number) {
    return DoesNotFit(record, absl::StrCat("has number ", record.number.value(),
                                           ", expected ", next.value()));
  }
  ASSIGN_OR_RETURN(const IndexRecord target, Find(record.hour, cancel.target));
  HourSegment* segment = last_segment_.get();
  RETURN_IF_ERROR(segment->AppendTombstone(cancel.target, target).status());
  hour_bytes_ += kIndexRecordBytes;
  --pending_.messages;
  pending_.bytes -= target.size;
  return hours_.Appended(segment);
}

absl::StatusOr<IndexRecord> Applier::Find(Hour hour, RecordNumber number) {
  ASSIGN_OR_RETURN(const auto segment, hours_.ForRead(hour));
  if (number > segment->flushed()) RETURN_IF_ERROR(segment->Flush());
  auto found = segment->ReadIndex(number);
  if (absl::IsDataLoss(found.status())) {
    found = HourRescue(segment.get()).Read(number);
  }
  ASSIGN_OR_RETURN(const IndexRecord record, std::move(found));
  if (record.kind != IndexKind::kMessage) {
    return absl::NotFoundError("that record is not a message");
  }
  return record;
}

GroupProgress* Applier::ChangedProgress(std::string_view topic,
                                        std::string_view group) {
  auto at = progress_.find(ConsumerView(topic, group));
  if (at == progress_.end()) {
    at = progress_.try_emplace({std::string(topic), std::string(group)}).first;
  }
  progress_changed_.insert(&*at);
  return &at->second;
}

absl::Status Applier::Ack(const LogRecord& record) {
  if ((record.flags & kFlagMarks) != 0) {
    ASSIGN_OR_RETURN(const MarksPayload ack, DecodeMarks(record.payload));
    Ack(ack);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const AckPayload ack, DecodeAck(record.payload));
  ChangedProgress(ack.topic, ack.group)->Ack(QueueIndex(), ack.next);
  return absl::OkStatus();
}

void Applier::Ack(const MarksPayload& ack) {
  ChangedProgress(ack.topic, ack.group)->Merge(ack.marks);
}

HourFacts Applier::Facts(Hour hour) const {
  HourFacts facts = hours_.Facts(hour);
  const auto at = delivered_.find(hour);
  if (at != delivered_.end()) {
    facts.delivered = at->second.messages;
    facts.delivered_bytes = at->second.bytes;
  }
  return facts;
}

const GroupProgress* Applier::Progress(std::string_view topic,
                                       std::string_view group) const {
  const auto at = progress_.find(ConsumerView(topic, group));
  return at == progress_.end() ? nullptr : &at->second;
}

absl::Status Applier::Retire(Hour hour) {
  if (last_segment_ && last_segment_->hour() == hour) last_segment_ = nullptr;
  return hours_.Retire(hour);
}

std::vector<Hour> Applier::ForgetRetired(Hour before) {
  std::vector<Hour> forgotten = hours_.ForgetRetired(before);
  for (const Hour hour : forgotten) delivered_.erase(hour);
  return forgotten;
}

absl::StatusOr<Applier::Changes> Applier::TakeChanges() {
  Changes changes;
  // What a full disk can refuse comes first: then nothing is taken.
  RETURN_IF_ERROR(hours_.RemoveRetired());
  RETURN_IF_ERROR(hours_.FlushAll());
  ASSIGN_OR_RETURN(changes.queues, queues_.TakeChanges());
  ASSIGN_OR_RETURN(changes.hours, hours_.TakeChanges());
  std::set<Hour> rest = std::exchange(delivered_changed_, {});
  for (const HourTable::Changed& changed : changes.hours.hours) {
    changes.update.hours.push_back(
        {changed.hour, Facts(changed.hour), changed.heads});
    rest.erase(changed.hour);
  }
  for (const Hour hour : rest) {
    changes.update.hours.push_back({hour, Facts(hour), ""});
  }
  changes.update.queues = changes.queues.topics;
  for (const auto* changed : std::exchange(progress_changed_, {})) {
    GroupProgress& copy = changes.update.progress[changed->first];
    copy = changed->second;
    if (PlantedBug("acked_ranges_forgotten")) copy.acked.clear();
  }
  return changes;
}

absl::Status Applier::SyncFiles(const Changes& changes) {
  RETURN_IF_ERROR(hours_.SyncFiles(changes.hours));
  return queues_.SyncFiles(changes.queues);
}

std::string EncodeCancel(const CancelPayload& cancel) {
  std::string out;
  AppendFixed<uint32_t>(&out, cancel.target.value());
  AppendFixed<uint32_t>(&out, cancel.ms_into_hour);
  return out;
}

absl::StatusOr<CancelPayload> DecodeCancel(std::string_view payload) {
  Decoder in(payload);
  uint32_t target = 0;
  CancelPayload cancel;
  if (!in.Fixed(&target) || !in.Fixed(&cancel.ms_into_hour) ||
      !in.rest().empty()) {
    return absl::DataLossError("malformed Cancel record");
  }
  cancel.target = RecordNumber(target);
  return cancel;
}

}  // namespace hourglass
