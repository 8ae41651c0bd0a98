#include "recovery/salvage_hour.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "recovery/store_state.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kSearchBytes = 64u << 10;
constexpr uint64_t kStopEvery = 4096;
// No writer makes larger ones: a record must fit into a group of the log.
constexpr uint32_t kFrameBytesMax = 16u << 20;
// How far ahead a number may be for bytes to be worth hashing as a frame.
constexpr uint32_t kNumberStepMax = 1u << 24;

}  // namespace

int64_t SalvagedRecord::DueMs(Hour hour) const {
  if (index) return StartMs(hour) + index->ms_into_hour;
  if (kind == SalvagedKind::kMessage) return PeekMessage(payload).due_ms;
  if (kind == SalvagedKind::kTombstone) return StartMs(hour) + ms_into_hour;
  return StartMs(hour);
}

// The frames of a DelayLog in file order, around damage.
class HourSalvage::Frames {
 public:
  Frames(HourSalvage* hour, uint64_t from) : hour_(hour), at_(from) { Next(); }

  bool valid() const { return valid_; }
  const Frame& frame() const { return frame_; }
  uint64_t junk_bytes() const { return junk_bytes_; }
  uint64_t end() const { return at_; }

  uint64_t payload_hash() const { return hash_; }
  std::string_view Payload() const {
    return hour_->log_.file->View(frame_.location, frame_.size)
        .substr(kFrameHeaderBytes);
  }

  void Next() {
    valid_ = false;
    if (!hour_->has_log()) return;
    const uint64_t end = hour_->log_.size;
    while (at_ + kFrameHeaderBytes <= end) {
      const uint64_t from = at_;
      if (TryAt(at_)) return;
      // A stray frame was passed over.
      at_ > from ? Junk(at_ - from) : Search();
    }
    if (at_ < end) Junk(end - at_);
  }

 private:
  bool TryAt(uint64_t at) {
    const std::string_view head = hour_->log_.file->View(at, kFrameHeaderBytes);
    if (head.size() < kFrameHeaderBytes || !Plausible(head.data(), at)) {
      return false;
    }
    const FrameHead said = PeekFrame(head.data());
    Frame frame{said.number, at, said.bytes, std::nullopt};
    if (!Verify(said, &frame)) return false;
    at_ = at + frame.size;
    if (frame.number <= frame_.number) {
      // Intact, but in the wrong place: kept for when it is missed.
      hour_->strays_[frame.number] = frame;
      return false;
    }
    frame_ = frame;
    valid_ = true;
    return true;
  }

  bool Verify(const FrameHead& said, Frame* frame) {
    const std::string_view bytes =
        hour_->log_.file->View(frame->location, frame->size);
    if (!said.is_cancel) {
      return DecodeFrame(hour_->salt_, hour_->hour_, said.number, bytes, &hash_)
          .ok();
    }
    const auto cancel =
        DecodeCancelFrame(hour_->salt_, hour_->hour_, said.number, bytes);
    if (cancel.ok()) frame->cancel = *cancel;
    return cancel.ok();
  }

  bool Plausible(const char* in, uint64_t at) const {
    const FrameHead said = PeekFrame(in);
    const RecordNumber after = hour_->base_;
    return said.bytes >= kFrameHeaderBytes && said.bytes <= kFrameBytesMax &&
           at + said.bytes <= hour_->log_.size && said.number > after &&
           said.number - after <= RangeOfNumbers();
  }

  uint32_t RangeOfNumbers() const {
    const uint32_t seen = std::max(frame_.number, hour_->last_).value();
    return seen - hour_->base_.value() + kNumberStepMax;
  }

  // Moves on to the next place that may be a frame.
  void Search() {
    const uint64_t from = at_;
    ++at_;
    while (at_ + kFrameHeaderBytes <= hour_->log_.size) {
      const std::string_view bytes =
          hour_->log_.file->View(at_, kSearchBytes + kFrameHeaderBytes);
      size_t p = 0;
      const size_t last = bytes.size() - kFrameHeaderBytes;
      while (p <= last && !Plausible(bytes.data() + p, at_ + p)) ++p;
      at_ += p;
      if (p <= last) break;
    }
    Junk(std::min(at_, hour_->log_.size) - from);
  }

  void Junk(uint64_t bytes) { junk_bytes_ += bytes; }

  HourSalvage* const hour_;
  uint64_t at_;
  Frame frame_;
  uint64_t hash_ = 0;
  bool valid_ = false;
  uint64_t junk_bytes_ = 0;
};

HourSalvage::HourSalvage(const SalvageSource& source, const StoreId& id,
                         Hour hour)
    : source_(source), hour_(hour), salt_(HashBytes(id.view())) {}

absl::StatusOr<std::unique_ptr<HourSalvage>> HourSalvage::Open(
    const SalvageSource& source, const StoreId& id, Hour hour,
    const std::optional<HourFacts>& facts, HourBound bound) {
  std::unique_ptr<HourSalvage> salvage(new HourSalvage(source, id, hour));
  RETURN_IF_ERROR(salvage->OpenFile(id, false, &salvage->log_));
  RETURN_IF_ERROR(salvage->OpenFile(id, true, &salvage->index_));
  salvage->Bound(facts, bound);
  return salvage;
}

absl::Status HourSalvage::OpenFile(const StoreId& id, bool is_index,
                                   OneFile* out) {
  const std::string name =
      is_index ? DelayIndexName(hour_) : DelayLogName(hour_);
  auto file = SalvageFile::Open(source_, source_.dir / kHoursDirName / name);
  if (!file.ok()) {
    out->why = absl::IsNotFound(file.status())
                   ? "the file is missing"
                   : std::string(file.status().message());
    return absl::OkStatus();
  }
  out->file = *std::move(file);
  out->size = out->file->size();
  const auto header =
      DecodeHourHeader(out->file->View(0, kHourHeaderBytes), is_index);
  if (absl::IsFailedPrecondition(header.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        kHoursDirName, "/", name, ": ", header.status().message()));
  }
  if (!header.ok()) {
    out->why = std::string(header.status().message());
  } else if (header->store != id) {
    out->why = absl::StrCat("the file belongs to store ", header->store.ToHex(),
                            ", this is store ", id.ToHex());
  } else if (header->hour != hour_) {
    out->why = absl::StrCat("the header says hour ",
                            DelayLogName(header->hour).substr(0, 13));
  } else {
    out->header = *header;
  }
  return absl::OkStatus();
}

void HourSalvage::Bound(const std::optional<HourFacts>& facts,
                        HourBound bound) {
  if (facts && facts->delay_log_bytes > 0) {
    base_ = facts->base;
  } else if (index_.header) {
    base_ = index_.header->base;
  } else if (log_.header) {
    base_ = log_.header->base;
  }
  for (OneFile* file : {&log_, &index_}) {
    if (!file->header || file->header->base == base_) continue;
    headers_disagree_ = true;
    file->why =
        absl::StrCat("the header says that it begins behind record ",
                     file->header->base.value(), ", expected ", base_.value());
  }
  if (facts && facts->delay_log_bytes > 0 && bound == HourBound::kFacts) {
    log_.size = std::min(log_.size, facts->delay_log_bytes);
    index_.size = std::min(index_.size, facts->index_bytes());
  }
  const uint64_t bytes =
      index_.size > kHourHeaderBytes ? index_.size - kHourHeaderBytes : 0;
  index_records_ = static_cast<uint32_t>(std::min<uint64_t>(
      bytes / kIndexRecordBytes, UINT32_MAX - base_.value()));
  last_ = base_ + index_records_;
  if (facts) last_ = std::max(last_, facts->last);
}

bool HourSalvage::ReadIndex(RecordNumber number, IndexRecord* record,
                            std::string* why) {
  if (!has_index()) {
    *why = index_.why;
    return false;
  }
  const uint32_t i = number - base_ - 1;
  if (i >= index_records_) {
    *why = "the index ends before it";
    return false;
  }
  const std::string_view bytes = index_.file->View(
      kHourHeaderBytes + uint64_t{kIndexRecordBytes} * i, kIndexRecordBytes);
  if (TryDecodeIndexRecord(salt_, hour_, number, bytes.data(), record)) {
    return true;
  }
  *why = "the index record's checksum is wrong";
  return false;
}

// Back to a place from which every frame of a record >= first is met.
uint64_t HourSalvage::StartOfFrames(RecordNumber first) {
  for (RecordNumber n = first; n > base_ + 1;) {
    n = n - 1;
    IndexRecord record;
    std::string why;
    if (ReadIndex(n, &record, &why) && record.kind == IndexKind::kMessage) {
      return record.location;
    }
    if (first - n > 1024) break;  // not worth it: from the beginning
  }
  return kHourHeaderBytes;
}

bool HourSalvage::TakeFrame(const Frames& frames, SalvagedRecord* record) {
  if (!frames.valid() || frames.frame().number != record->number) return false;
  record->location = frames.frame().location;
  if (frames.frame().cancel) {
    TakeCancel(frames.frame(), record);
  } else {
    record->kind = SalvagedKind::kMessage;
    record->payload = frames.Payload();
    record->payload_hash = frames.payload_hash();
  }
  return true;
}

void HourSalvage::TakeCancel(const Frame& frame, SalvagedRecord* record) {
  record->kind = SalvagedKind::kTombstone;
  record->location = frame.location;
  record->target = frame.cancel->target();
  record->ms_into_hour = frame.cancel->ms_into_hour;
}

// A frame that stands elsewhere than its number says: swapped blocks, say.
bool HourSalvage::TakeStray(SalvagedRecord* record) {
  if (!has_log()) return false;
  if (!looked_for_strays_) {
    looked_for_strays_ = true;
    for (Frames all(this, kHourHeaderBytes); all.valid();) all.Next();
  }
  const auto at = strays_.find(record->number);
  if (at == strays_.end()) return false;
  const Frame& frame = at->second;
  record->frame_why = absl::StrCat("the frame stands at ", frame.location,
                                   ", where it does not belong");
  if (frame.cancel) {
    TakeCancel(frame, record);
    return true;
  }
  const auto payload = DecodeFrame(salt_, hour_, record->number,
                                   log_.file->View(frame.location, frame.size),
                                   &record->payload_hash);
  if (!payload.ok()) return false;
  record->kind = SalvagedKind::kMessage;
  record->payload = *payload;
  record->location = frame.location;
  return true;
}

void HourSalvage::GuessId(SalvagedRecord* record) {
  if (!has_log() || record->index->size <= kFrameHeaderBytes ||
      record->index->size > kFrameBytesMax) {
    return;
  }
  std::string_view frame =
      log_.file->View(record->index->location, record->index->size);
  if (frame.size() <= kFrameHeaderBytes) return;
  frame.remove_prefix(kFrameHeaderBytes);
  const std::string_view id = PeekMessage(frame).id;
  if (!id.empty() && IdHash(id) == record->index->id_hash) {
    record->id = std::string(id);
  }
}

// The index record is intact: what does the frame say?
void HourSalvage::ReadByIndex(Frames* frames, SalvagedRecord* record) {
  const IndexRecord& index = *record->index;
  const bool is_cancel = index.kind == IndexKind::kTombstone;
  if (TakeFrame(*frames, record)) {
    if (!is_cancel && record->location != index.location) {
      record->frame_why = absl::StrCat("the frame stands at ", record->location,
                                       ", the index says ", index.location);
    }
  } else if (!TakeStray(record)) {
    record->frame_why = has_log() ? "the frame is damaged" : log_.why;
    if (!is_cancel && has_log() && index.location + index.size > log_.size) {
      record->frame_why = "the delay log ends before the frame";
    }
    if (!is_cancel) GuessId(record);
  }
  if (is_cancel) {
    record->kind = SalvagedKind::kTombstone;
    record->target = index.target();
    record->ms_into_hour = index.ms_into_hour;
  }
}

absl::Status HourSalvage::Scan(RecordNumber first, RecordNumber last,
                               const Visit& visit) {
  first = std::max(first, base_ + 1);
  Frames frames(this, StartOfFrames(first));
  for (uint64_t n = first.value(); n <= last.value(); ++n) {
    if (n % kStopEvery == 0) RETURN_IF_ERROR(source_.CheckStopped());
    SalvagedRecord record;
    record.number = RecordNumber(static_cast<uint32_t>(n));
    while (frames.valid() && frames.frame().number < record.number) {
      frames.Next();
    }
    IndexRecord index;
    if (ReadIndex(record.number, &index, &record.index_why)) {
      record.index = index;
      ReadByIndex(&frames, &record);
    } else if (!TakeFrame(frames, &record)) {
      if (record.number > last_ && !frames.valid() && strays_.empty()) break;
      if (!TakeStray(&record) && record.number > last_ && !frames.valid()) {
        break;
      }
    }
    RETURN_IF_ERROR(visit(record));
  }
  frames_end_ = frames.end();
  junk_bytes_ = frames.junk_bytes();
  return absl::OkStatus();
}

absl::Status HourSalvage::Cancelled(NumberSet* targets) {
  bool complete = index_records_ >= last_ - base_ && index_records_ > 0;
  for (uint32_t i = 0; i < index_records_; ++i) {
    IndexRecord record;
    std::string why;
    if (!ReadIndex(base_ + 1 + i, &record, &why)) {
      complete = false;
    } else if (record.kind == IndexKind::kTombstone) {
      targets->Insert(record.target());
    }
  }
  if (complete) return absl::OkStatus();
  for (Frames frames(this, kHourHeaderBytes); frames.valid(); frames.Next()) {
    if (frames.frame().cancel) targets->Insert(frames.frame().cancel->target());
  }
  for (const auto& [number, frame] : strays_) {
    if (frame.cancel) targets->Insert(frame.cancel->target());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Hour>> ListHours(FileSystem* fs, const Path& dir) {
  const auto names = fs->List(dir / kHoursDirName);
  if (absl::IsNotFound(names.status())) return std::vector<Hour>();
  RETURN_IF_ERROR(names.status());
  std::set<Hour> hours;
  for (const std::string& name : *names) {
    if (const auto file = ParseHourFileName(name); file.ok()) {
      hours.insert(file->hour);
    }
  }
  return std::vector<Hour>(hours.begin(), hours.end());
}

}  // namespace hourglass
