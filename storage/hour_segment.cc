#include "storage/hour_segment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/hour_rescue.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// Records read at once by a scan: 256 KiB, which stays in the L2 cache.
constexpr uint32_t kScanRecords = 8192;

constexpr char kAdvice[] = "run `hourglass recover verify`";

// A live store writes these files too; the offline tool may have a file
// system that lets nobody write. A file that should be there and is not is
// damage: NOT_FOUND would sound like an hour without messages.
absl::StatusOr<std::unique_ptr<File>> OpenForBoth(FileSystem* fs,
                                                  const Path& path) {
  auto file = fs->Open(path, {.mode = OpenMode::kReadWrite});
  if (absl::IsPermissionDenied(file.status())) {
    file = fs->Open(path, {.mode = OpenMode::kRead});
  }
  if (!absl::IsNotFound(file.status())) return file;
  return absl::DataLossError(
      absl::StrCat(path.string(), " is missing; ", kAdvice));
}

absl::Status WithFile(const absl::Status& status, const Path& path) {
  return absl::Status(status.code(),
                      absl::StrCat(path.string(), ": ", status.message()));
}

}  // namespace

HourSegment::HourSegment(const Path& dir, const StoreId& id, Hour hour)
    : dir_(dir), hour_(hour), salt_(HashBytes(id.view())) {}

HourSegment::~HourSegment() = default;

absl::StatusOr<std::shared_ptr<HourSegment>> HourSegment::Create(
    FileSystem* fs, const Path& dir, const StoreId& id, Hour hour,
    RecordNumber base) {
  std::shared_ptr<HourSegment> segment(new HourSegment(dir, id, hour));
  segment->facts_.base = base;
  segment->facts_.last = base;
  segment->facts_.delay_log_bytes = kHourHeaderBytes;
  segment->flushed_ = base.value();
  segment->flushed_log_bytes_ = kHourHeaderBytes;
  RETURN_IF_ERROR(segment->CreateFiles(fs, id));
  return segment;
}

absl::Status HourSegment::CreateFiles(FileSystem* fs, const StoreId& id) {
  for (const bool is_index : {false, true}) {
    ASSIGN_OR_RETURN(auto file,
                     fs->Open(FilePath(is_index), {.mode = OpenMode::kCreate}));
    char header[kHourHeaderBytes];
    EncodeHourHeader({hour_, id, facts_.base}, is_index, header);
    absl::Status written = file->WriteAt(0, {header, sizeof(header)});
    (is_index ? index_ : delay_log_) = std::move(file);
    CrashPoint("hours.file_created");
    RETURN_IF_ERROR(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HourSegment>> HourSegment::Open(
    FileSystem* fs, const Path& dir, const StoreId& id, Hour hour,
    const HourFacts& facts, std::string_view stored_heads) {
  std::shared_ptr<HourSegment> segment(new HourSegment(dir, id, hour));
  segment->facts_ = facts;
  segment->flushed_ = facts.last.value();
  segment->flushed_log_bytes_ = facts.delay_log_bytes;
  RETURN_IF_ERROR(segment->OpenFiles(fs, id));
  RETURN_IF_ERROR(segment->RestoreHeads(stored_heads));
  return segment;
}

absl::Status HourSegment::OpenFiles(FileSystem* fs, const StoreId& id) {
  ASSIGN_OR_RETURN(delay_log_, OpenForBoth(fs, FilePath(false)));
  ASSIGN_OR_RETURN(index_, OpenForBoth(fs, FilePath(true)));
  RETURN_IF_ERROR(CheckFile(delay_log_.get(), false, id));
  return CheckFile(index_.get(), true, id);
}

// That `file` is the one that the facts speak of, and long enough.
absl::Status HourSegment::CheckFile(File* file, bool is_index,
                                    const StoreId& id) {
  const Path path = FilePath(is_index);
  char bytes[kHourHeaderBytes];
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, sizeof(bytes), bytes));
  const auto header = DecodeHourHeader({bytes, got}, is_index);
  if (!header.ok()) return WithFile(header.status(), path);
  if (header->store != id) {
    return absl::DataLossError(
        absl::StrCat(path.string(), " belongs to the store ",
                     header->store.ToHex(), ", not to ", id.ToHex()));
  }
  if (header->hour != hour_ || header->base != facts_.base) {
    return absl::DataLossError(absl::StrCat(
        path.string(), " is of hour ", header->hour.value(), " after record ",
        header->base.value(), ", expected hour ", hour_.value(),
        " after record ", facts_.base.value(), "; ", kAdvice));
  }
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const uint64_t expected =
      is_index ? facts_.index_bytes() : facts_.delay_log_bytes;
  if (size >= expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path.string(), " has ", size,
                                          " bytes, expected ", expected, "; ",
                                          kAdvice));
}

absl::Status HourSegment::RestoreHeads(std::string_view stored) {
  RecordNumber upto = facts_.base;
  if (!TakeStoredHeads(stored, &upto)) heads_ = SlotHeads();
  if (PlantedBug("heads_not_restored")) return absl::OkStatus();
  HourRescue rescue(this);
  absl::Status unreadable;
  RETURN_IF_ERROR(ScanIndex(
      upto + 1, facts_.last,
      [this](RecordNumber number, const IndexRecord& record) {
        heads_.Set(record.slot(), number);
        return true;
      },
      [&](RecordNumber number, const absl::Status& why) {
        const auto record = rescue.Read(number);
        if (record.ok()) heads_.Set(record->slot(), number);
        if (!record.ok()) unreadable.Update(why);
      }));
  return unreadable;
}

// False if there are none, or none that can be trusted for these files: then
// `upto` is as it was. Heads of an earlier life of the hour (its files were
// deleted since) reach back to `base` or before.
bool HourSegment::TakeStoredHeads(std::string_view stored, RecordNumber* upto) {
  RecordNumber covered;
  if (stored.empty() || !heads_.Decode(salt_, hour_, stored, &covered).ok() ||
      covered <= facts_.base || covered > facts_.last) {
    return false;
  }
  for (auto slot = heads_.NextNonEmpty(Slot{0}); slot.has_value();
       slot = heads_.NextNonEmpty(*slot + 1)) {
    if (heads_.Get(*slot) <= facts_.base) return false;
  }
  *upto = covered;
  return true;
}

absl::StatusOr<RecordNumber> HourSegment::Append(std::string_view payload,
                                                 uint64_t payload_hash,
                                                 int64_t due_ms,
                                                 uint32_t id_hash) {
  // Wraps to something huge for a time before the hour.
  const uint64_t ms = static_cast<uint64_t>(due_ms - StartMs(hour_));
  if (ms >= kMsPerHour || payload.size() > kFramePayloadMax || IsFull() ||
      !broken_.ok()) [[unlikely]] {
    return WhyNotAppend(payload.size(), ms);
  }
  const auto payload_bytes = static_cast<uint32_t>(payload.size());
  const uint32_t size =
      static_cast<uint32_t>(kFrameHeaderBytes) + payload_bytes;
  char* frame = log_buffer_.Extend(size);
  EncodeFrameHeader(salt_, hour_, facts_.last + 1, payload_bytes, payload_hash,
                    frame);
  if (payload_bytes > 0) {
    std::memcpy(frame + kFrameHeaderBytes, payload.data(), payload_bytes);
  }
  IndexRecord record{.prev = {},  // see AppendIndex
                     .ms_into_hour = static_cast<uint32_t>(ms),
                     .location = facts_.delay_log_bytes,
                     .size = size,
                     .kind = IndexKind::kMessage,
                     .id_hash = id_hash};
  AppendIndex(&record);
  facts_.delay_log_bytes += size;
  facts_.message_bytes += size;
  return facts_.last;
}

absl::StatusOr<RecordNumber> HourSegment::AppendTombstone(
    RecordNumber target, const IndexRecord& record) {
  if (IsFull() || !broken_.ok() || record.ms_into_hour >= kMsPerHour) {
    return WhyNotAppend(0, record.ms_into_hour);
  }
  if (target <= facts_.base || target > facts_.last ||
      record.kind != IndexKind::kMessage) {
    return absl::InvalidArgumentError(absl::StrCat(
        "record ", target.value(), " of ", FilePath(true).string(),
        " is not a message that could be cancelled; the files hold ",
        facts_.base.value() + 1, "..", facts_.last.value()));
  }
  IndexRecord tombstone{.prev = {},
                        .ms_into_hour = record.ms_into_hour,
                        .location = target.value(),
                        .kind = IndexKind::kTombstone,
                        .id_hash = record.id_hash};
  EncodeCancelFrame(salt_, hour_, facts_.last + 1, tombstone,
                    log_buffer_.Extend(kCancelFrameBytes));
  AppendIndex(&tombstone);
  facts_.delay_log_bytes += kCancelFrameBytes;
  ++facts_.tombstones;
  facts_.cancelled_bytes += record.size;
  return facts_.last;
}

// Puts the next record at the head of its slot's chain.
void HourSegment::AppendIndex(IndexRecord* record) {
  const RecordNumber number = ++facts_.last;
  const Slot slot = record->slot();
  record->prev = heads_.Get(slot);
  EncodeIndexRecord(salt_, hour_, number, *record,
                    index_buffer_.Extend(kIndexRecordBytes));
  heads_.Set(slot, number);
}

absl::Status HourSegment::WhyNotAppend(size_t payload_bytes,
                                       uint64_t ms) const {
  if (!broken_.ok()) return broken_;
  const std::string path = FilePath(false).string();
  if (IsFull()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": the hour has had ", RecordNumber::Max().value(),
                     " records, the most that numbers reach"));
  }
  if (payload_bytes > kFramePayloadMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a payload of ", payload_bytes, " bytes; at most ",
                     kFramePayloadMax));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": due ", static_cast<int64_t>(ms), " ms after the hour's start, ",
      "expected 0..", kMsPerHour - 1));
}

absl::Status HourSegment::Flush() {
  RETURN_IF_ERROR(broken_);
  if (index_buffer_.size() == 0) return absl::OkStatus();
  // Bodies first: an index record in the file always has its frame there.
  RETURN_IF_ERROR(Broken(
      delay_log_->WriteAt(flushed_log_bytes_.load(), log_buffer_.view())));
  CrashPoint("hours.bodies_written");
  RETURN_IF_ERROR(Broken(index_->WriteAt(
      IndexOffset(RecordNumber(flushed_.load()) + 1), index_buffer_.view())));
  CrashPoint("hours.index_written");
  log_buffer_.Clear();
  index_buffer_.Clear();
  flushed_log_bytes_ = facts_.delay_log_bytes;
  flushed_ = facts_.last.value();
  return absl::OkStatus();
}

// A full disk is no broken file: what was written is written again. After any
// other error the buffer still has every record: nothing is lost, and nobody
// may take it for damage and set messages aside.
absl::Status HourSegment::Broken(const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  broken_ = absl::UnavailableError(status.message());
  return broken_;
}

void HourSegment::TrimBuffers(size_t keep_bytes) {
  log_buffer_.Trim(keep_bytes);
  index_buffer_.Trim(keep_bytes);
}

absl::Status HourSegment::Sync() {
  RETURN_IF_ERROR(delay_log_->Sync());
  CrashPoint("hours.bodies_synced");
  return index_->Sync();
}

absl::Status HourSegment::CheckNumber(RecordNumber number) const {
  if (number > facts_.base && number <= flushed()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      FilePath(true).string(), " holds records ", facts_.base.value() + 1, "..",
      flushed_.load(), ", not ", number.value()));
}

uint64_t HourSegment::IndexOffset(RecordNumber number) const {
  return kHourHeaderBytes +
         uint64_t{kIndexRecordBytes} * (number - facts_.base - 1);
}

absl::StatusOr<IndexRecord> HourSegment::ReadIndex(RecordNumber number) const {
  RETURN_IF_ERROR(CheckNumber(number));
  const uint64_t offset = IndexOffset(number);
  char bytes[kIndexRecordBytes];
  const auto got = index_->ReadAt(offset, sizeof(bytes), bytes);
  if (!got.ok()) return AtRecord(got.status(), true, number, offset);
  if (*got < sizeof(bytes)) {
    return AtRecord(absl::DataLossError("the file ends before it"), true,
                    number, offset);
  }
  auto record = DecodeIndexRecord(salt_, hour_, number, bytes);
  if (!record.ok()) return AtRecord(record.status(), true, number, offset);
  return record;
}

absl::StatusOr<std::string_view> HourSegment::ReadFrame(
    RecordNumber number, uint64_t location, uint32_t size,
    std::string* buffer) const {
  RETURN_IF_ERROR(CheckNumber(number));
  const uint64_t end = flushed_log_bytes_.load();
  if (location < kHourHeaderBytes || location > end || size > end - location) {
    return AtRecord(absl::DataLossError(absl::StrCat(
                        "a frame of ", size, " bytes is not inside the ", end,
                        " bytes of the file")),
                    false, number, location);
  }
  buffer->resize(size);
  const auto got = delay_log_->ReadAt(location, size, buffer->data());
  if (!got.ok()) return AtRecord(got.status(), false, number, location);
  const auto payload =
      DecodeFrame(salt_, hour_, number, {buffer->data(), *got}, nullptr);
  if (!payload.ok()) return AtRecord(payload.status(), false, number, location);
  return payload;
}

absl::StatusOr<std::string_view> HourSegment::VerifyFrame(
    RecordNumber number, std::string_view frame, uint64_t* hash) const {
  auto payload = DecodeFrame(salt_, hour_, number, frame, hash);
  if (!payload.ok()) return BadFrame(number, payload.status());
  return payload;
}

absl::StatusOr<IndexRecord> HourSegment::VerifyCancel(
    RecordNumber number, std::string_view frame) const {
  auto record = DecodeCancelFrame(salt_, hour_, number, frame);
  if (!record.ok()) return BadFrame(number, record.status());
  return record;
}

absl::Status HourSegment::BadFrame(RecordNumber number,
                                   const absl::Status& why) const {
  return absl::DataLossError(absl::StrCat(FilePath(false).string(), ": record ",
                                          number.value(), ": ", why.message(),
                                          "; ", kAdvice));
}

absl::StatusOr<size_t> HourSegment::ReadDelayLog(uint64_t offset, size_t size,
                                                 char* out) const {
  return delay_log_->ReadAt(offset, size, out);
}

void HourSegment::PrefetchDelayLog(uint64_t offset, uint64_t size) const {
  delay_log_->Prefetch(offset, size);
}

absl::Status HourSegment::AtRecord(const absl::Status& status, bool is_index,
                                   RecordNumber number, uint64_t offset) const {
  return absl::Status(status.code(),
                      absl::StrCat(FilePath(is_index).string(), ": record ",
                                   number.value(), " at offset ", offset, ": ",
                                   status.message(), "; ", kAdvice));
}

Path HourSegment::FilePath(bool is_index) const {
  return dir_ / (is_index ? DelayIndexName(hour_) : DelayLogName(hour_));
}

// What a scan carries from block to block.
struct HourSegment::Scan {
  const Visit& visit;
  const Damaged& damaged;
  std::unique_ptr<char[]> block;
};

absl::Status HourSegment::ScanIndex(RecordNumber first, RecordNumber last,
                                    const Visit& visit,
                                    const Damaged& damaged) const {
  // 64 bits: the number after the last may be one too many for 32.
  uint64_t next =
      std::max<uint64_t>(first.value(), uint64_t{facts_.base.value()} + 1);
  if (next > last.value()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNumber(last));
  const auto block_records = static_cast<uint32_t>(
      std::min<uint64_t>(kScanRecords, last.value() - next + 1));
  Scan scan{visit, damaged,
            std::make_unique_for_overwrite<char[]>(kIndexRecordBytes *
                                                   block_records)};
  while (next <= last.value()) {
    const auto count = static_cast<uint32_t>(
        std::min<uint64_t>(block_records, last.value() - next + 1));
    ASSIGN_OR_RETURN(
        const bool go_on,
        ScanBlock(&scan, RecordNumber(static_cast<uint32_t>(next)), count));
    if (!go_on) return absl::OkStatus();
    next += count;
  }
  return absl::OkStatus();
}

// False: the visitor wants no more.
absl::StatusOr<bool> HourSegment::ScanBlock(Scan* scan, RecordNumber first,
                                            uint32_t count) const {
  const auto got = index_->ReadAt(IndexOffset(first), kIndexRecordBytes * count,
                                  scan->block.get());
  // A device that cannot read the block may still read most of its records.
  if (!got.ok() || *got < kIndexRecordBytes * count) {
    return ScanSingly(scan, first, count);
  }
  const char* in = scan->block.get();
  IndexRecord record;
  for (uint32_t i = 0; i < count; ++i, in += kIndexRecordBytes) {
    const RecordNumber number = first + i;
    if (TryDecodeIndexRecord(salt_, hour_, number, in, &record)) [[likely]] {
      if (!scan->visit(number, record)) return false;
      continue;
    }
    const absl::Status status =
        AtRecord(DecodeIndexRecord(salt_, hour_, number, in).status(), true,
                 number, IndexOffset(number));
    if (!scan->damaged) return status;
    scan->damaged(number, status);
  }
  return true;
}

absl::StatusOr<bool> HourSegment::ScanSingly(Scan* scan, RecordNumber first,
                                             uint32_t count) const {
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = ReadIndex(first + i);
    if (record.ok()) {
      if (!scan->visit(first + i, *record)) return false;
    } else if (scan->damaged) {
      scan->damaged(first + i, record.status());
    } else {
      return record.status();
    }
  }
  return true;
}

}  // namespace hourglass
