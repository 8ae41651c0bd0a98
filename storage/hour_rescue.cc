#include "storage/hour_rescue.h"

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/hour_segment.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// What the index said of a message, from the message.
absl::StatusOr<IndexRecord> RecordOf(std::string_view payload, Hour hour) {
  ASSIGN_OR_RETURN(const MessageView message, DecodeMessage(payload));
  if (HourOf(message.due_ms) != hour) {
    return absl::DataLossError("the message is due in another hour");
  }
  IndexRecord record;
  record.ms_into_hour = MsIntoHour(message.due_ms);
  record.id_hash = IdHash(message.id);
  return record;
}

}  // namespace

absl::StatusOr<IndexRecord> HourRescue::Read(RecordNumber number) {
  if (number <= segment_->facts().base || number > segment_->flushed()) {
    return absl::NotFoundError(absl::StrCat(DelayLogName(segment_->hour()),
                                            " has no record ", number.value(),
                                            " in it"));
  }
  if (offset_ == 0 || next_ != number) RETURN_IF_ERROR(FindStart(number));
  while (true) {
    ASSIGN_OR_RETURN(const FrameHead head, ReadHead());
    const RecordNumber here = next_;
    absl::StatusOr<IndexRecord> record;
    if (here == number) record = ReadHere(head);
    offset_ += head.bytes;
    next_ = here + 1;
    if (here == number) return record;
  }
}

// Back to a record of the index that tells where its frame ends.
absl::Status HourRescue::FindStart(RecordNumber number) {
  const RecordNumber base = segment_->facts().base;
  next_ = number;
  while (next_ > base + 1) {
    const auto record = segment_->ReadIndex(next_ - 1);
    if (record.ok() && record->kind == IndexKind::kMessage) {
      offset_ = record->location + record->size;
      return absl::OkStatus();
    }
    if (!record.ok() && !absl::IsDataLoss(record.status())) {
      return record.status();
    }
    next_ = next_ - 1;
  }
  offset_ = kHourHeaderBytes;
  return absl::OkStatus();
}

absl::StatusOr<FrameHead> HourRescue::ReadHead() {
  char bytes[kFrameHeaderBytes];
  const uint64_t end = segment_->flushed_log_bytes();
  const auto got = segment_->ReadDelayLog(offset_, sizeof(bytes), bytes);
  FrameHead head;
  if (got.ok() && *got == sizeof(bytes)) head = PeekFrame(bytes);
  if (head.number != next_ || head.bytes < kFrameHeaderBytes ||
      offset_ >= end || head.bytes > end - offset_) {
    const uint64_t at = std::exchange(offset_, 0);
    return absl::DataLossError(absl::StrCat(DelayLogName(segment_->hour()),
                                            ": no frame of record ",
                                            next_.value(), " at offset ", at));
  }
  return head;
}

absl::StatusOr<IndexRecord> HourRescue::ReadHere(const FrameHead& head) {
  buffer_.resize(head.bytes);
  ASSIGN_OR_RETURN(const size_t got,
                   segment_->ReadDelayLog(offset_, head.bytes, buffer_.data()));
  const std::string_view frame(buffer_.data(), got);
  if (head.is_cancel) return segment_->VerifyCancel(next_, frame);
  ASSIGN_OR_RETURN(const std::string_view payload,
                   segment_->VerifyFrame(next_, frame, nullptr));
  ASSIGN_OR_RETURN(IndexRecord record, RecordOf(payload, segment_->hour()));
  record.location = offset_;
  record.size = head.bytes;
  return record;
}

}  // namespace hourglass
