#include "recovery/salvage_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "recovery/store_state.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/log_file_reader.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// What is looked through at once for blocks and records.
constexpr size_t kStepBytes = 256u << 10;

constexpr uint8_t kKindMax = static_cast<uint8_t>(RecordKind::kCheckpoint);

bool IsAllZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// What costs nothing to see before a payload is hashed.
bool MayBeRecord(const char* in, size_t bytes_max) {
  const auto size = GetFixed<uint32_t>(in);
  const auto kind = GetFixed<uint8_t>(in + 4);
  return size >= kRecordHeaderBytes && size <= bytes_max && kind >= 1 &&
         kind <= kKindMax && GetFixed<uint16_t>(in + 6) == 0;
}

}  // namespace

// What stands behind an unreadable group.
struct LogSalvage::Rest {
  bool all_zero = true;
  std::optional<GroupHeader> next;  // the first intact group header
  bool synced = false;              // some header knows of a sync beyond
};

LogSalvage::LogSalvage(const SalvageSource& source, const StoreId& id,
                       LogOffset known_durable)
    : source_(source),
      id_(id),
      salt_(HashBytes(id.view())),
      known_durable_(known_durable) {}
LogSalvage::~LogSalvage() = default;

absl::Status LogSalvage::Run(const OnRecord& on_record,
                             const OnDamage& on_damage) {
  on_record_ = &on_record;
  on_damage_ = &on_damage;
  RETURN_IF_ERROR(OpenParts());
  for (size_t i = 0; i < parts_.size() && !at_end_; ++i) {
    RETURN_IF_ERROR(RunPart(i));
    // Read once: a terabyte of log is a thousand files.
    parts_[i].file = nullptr;
  }
  if (known_durable_ <= position_) return absl::OkStatus();
  return Damaged(
      {.file = parts_.empty() ? "" : parts_.back().name,
       .file_base = parts_.empty() ? LogOffset() : parts_.back().base,
       .from = position_,
       .to = known_durable_,
       .why = absl::StrCat("the log ends here, but the checkpoint "
                           "was written when it was synced up to ",
                           known_durable_.value())});
}

absl::Status LogSalvage::OpenParts() {
  auto bases = ListLogFiles(source_.fs, source_.dir / kLogDirName);
  if (absl::IsNotFound(bases.status())) bases = std::vector<LogOffset>();
  RETURN_IF_ERROR(bases.status());
  for (const LogOffset base : *bases) {
    Part part;
    RETURN_IF_ERROR(OpenPart(base, &part));
    facts_.push_back({part.name, part.file ? part.file->size() : 0});
    part.file = nullptr;  // opened again when its turn comes
    parts_.push_back(std::move(part));
  }
  if (parts_.empty()) return absl::OkStatus();
  from_beginning_ = bases->front() == LogOffset();
  start_ = position_ = bases->front() + kLogFileHeaderBytes;
  return absl::OkStatus();
}

absl::Status LogSalvage::OpenPart(LogOffset base, Part* part) {
  part->base = base;
  part->name = absl::StrCat(kLogDirName, "/", LogFileName(base));
  auto file = SalvageFile::Open(source_, source_.dir / part->name);
  if (!file.ok()) {
    part->header_why = std::string(file.status().message());
    return absl::OkStatus();
  }
  part->file = *std::move(file);
  auto header = DecodeLogFileHeader(part->file->View(0, kLogFileHeaderBytes));
  if (absl::IsFailedPrecondition(header.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(part->name, ": ", header.status().message()));
  }
  if (!header.ok()) {
    part->header_why = std::string(header.status().message());
  } else if (header->id != id_) {
    part->header_why =
        absl::StrCat("the file belongs to store ", header->id.ToHex(),
                     ", this is store ", id_.ToHex());
  } else if (header->base != base) {
    part->header_why =
        absl::StrCat("the header says base offset ", header->base.value(),
                     ", the name says ", base.value());
  } else {
    part->header = *header;
  }
  return absl::OkStatus();
}

std::optional<LogOffset> LogSalvage::KnownEnd(size_t index) const {
  if (index + 1 == parts_.size()) return std::nullopt;
  const auto& next = parts_[index + 1].header;
  if (!next || next->previous_end < parts_[index].base + kLogFileHeaderBytes ||
      next->previous_end > next->base) {
    return std::nullopt;
  }
  return next->previous_end;
}

absl::Status LogSalvage::Damaged(DamagedRange range) {
  range.before_ms = last_written_ms_;
  return (*on_damage_)(range);
}

// Files that should stand between this one and the next.
absl::Status LogSalvage::ReportGap(size_t index) {
  if (index + 1 == parts_.size()) return absl::OkStatus();
  const Part& part = parts_[index];
  const Part& next = parts_[index + 1];
  const uint64_t bytes =
      part.header ? part.header->segment_bytes : facts_[index].bytes;
  if (part.base + bytes >= next.base) return absl::OkStatus();
  if (!part.header) return absl::OkStatus();  // its length is not known
  const LogOffset missing = part.base + bytes;
  return Damaged(
      {.file = absl::StrCat(kLogDirName, "/", LogFileName(missing)),
       .file_base = missing,
       .from = missing,
       .to = next.base,
       .why = absl::StrCat("the file is missing: it should stand between ",
                           part.name, " and ", next.name)});
}

absl::Status LogSalvage::RunPart(size_t index) {
  Part& part = parts_[index];
  position_ = part.base + kLogFileHeaderBytes;
  if (auto file = SalvageFile::Open(source_, source_.dir / part.name);
      file.ok()) {
    part.file = *std::move(file);
  }
  if (!part.header) {
    RETURN_IF_ERROR(Damaged({.file = part.name,
                             .file_base = part.base,
                             .from = part.base,
                             .to = position_,
                             .why = part.header_why}));
  }
  if (part.file == nullptr) return ReportGap(index);
  const auto known_end = KnownEnd(index);
  while (!known_end || position_ < *known_end) {
    if (ReadGroup(&part, position_)) {
      RETURN_IF_ERROR(GiveGroup(&facts_[index]));
      continue;
    }
    const LogOffset limit =
        known_end ? *known_end : part.base + part.file->size();
    // Behind the last group of a full file there is no room for a header.
    if (position_ >= limit) break;
    const std::string why = why_;
    const Rest rest = LookBeyond(&part, position_, limit);
    if (!IsDamage(index, rest)) {
      if (index + 1 < parts_.size()) break;
      torn_ = !rest.all_zero;
      at_end_ = true;
      return absl::OkStatus();
    }
    const LogOffset to = rest.next ? rest.next->offset : limit;
    RETURN_IF_ERROR(PassDamage(
        index, to,
        rest.next ? rest.next->written_ms : std::numeric_limits<int64_t>::max(),
        why));
  }
  return ReportGap(index);
}

bool LogSalvage::IsDamage(size_t index, const Rest& rest) const {
  if (KnownEnd(index)) return true;
  // A next file proves that all before it is durable; without its header
  // nobody says where that ended, so zeros count as the end.
  if (index + 1 < parts_.size()) return !rest.all_zero;
  return known_durable_ > position_ || rest.synced;
}

std::string_view LogSalvage::ViewAt(Part* part, LogOffset at,
                                    size_t bytes) const {
  return part->file->View(at - part->base, bytes);
}

bool LogSalvage::ReadGroup(Part* part, LogOffset at) {
  records_.clear();
  const auto header =
      DecodeGroupHeader(salt_, at, ViewAt(part, at, kGroupHeaderBytes));
  if (!header.ok()) {
    why_ = std::string(header.status().message());
    return false;
  }
  group_ = *header;
  const std::string_view bytes = ViewAt(part, at, header->bytes);
  if (bytes.size() < header->bytes) {
    why_ = "the group is cut short";
    return false;
  }
  const bool whole = ParseRecords(bytes);
  if (!whole) records_.clear();
  return whole;
}

bool LogSalvage::ParseRecords(std::string_view bytes) {
  LogOffset at = group_.offset + kGroupHeaderBytes;
  bytes.remove_prefix(kGroupHeaderBytes);
  for (uint32_t i = 0; i < group_.records; ++i) {
    auto record = DecodeRecord(salt_, at, bytes);
    if (!record.ok()) {
      why_ = absl::StrCat("at log offset ", at.value(), " ",
                          record.status().message());
      return false;
    }
    records_.push_back(*record);
    at = record->end();
    bytes.remove_prefix(record->size());
  }
  if (bytes.empty()) return true;
  why_ = absl::StrCat(bytes.size(), " bytes of the group belong to no record");
  return false;
}

absl::Status LogSalvage::GiveGroup(LogFileFacts* facts) {
  RETURN_IF_ERROR(source_.CheckStopped());
  ++facts->groups;
  facts->records += records_.size();
  position_ = group_.end();
  last_written_ms_ = group_.written_ms;
  if (first_written_ms_ == 0) first_written_ms_ = group_.written_ms;
  for (const LogRecord& record : records_) {
    RETURN_IF_ERROR((*on_record_)(record, group_.written_ms));
  }
  return absl::OkStatus();
}

LogSalvage::Rest LogSalvage::LookBeyond(Part* part, LogOffset from,
                                        LogOffset limit) const {
  Rest rest;
  // A group that is damaged inside has a good header of its own: begin behind.
  LogOffset at = from;
  limit = std::min(
      limit,
      part->base + RoundUpToBlock(part->file->EndOfData(from - part->base)));
  while (at < limit && !(rest.next && rest.synced)) {
    const size_t step = std::min<uint64_t>(kStepBytes, limit - at);
    const std::string_view bytes = ViewAt(part, at, step);
    if (bytes.empty()) break;
    if (!IsAllZero(bytes)) {
      rest.all_zero = false;
      for (size_t p = 0; p < bytes.size(); p += kLogBlockBytes) {
        const std::string_view block = bytes.substr(p);
        if (at + p == from || block.size() < kGroupHeaderBytes ||
            GetFixed<uint32_t>(block.data()) != kGroupMagic) {
          continue;
        }
        const auto header = DecodeGroupHeader(salt_, at + p, block);
        if (!header.ok()) continue;
        if (!rest.next) rest.next = *header;
        rest.synced = rest.synced || header->durable_before > from;
      }
    }
    at += step;
    // A header that was found is enough where damage is certain anyway.
    if (rest.next && known_durable_ > from) break;
  }
  return rest;
}

absl::Status LogSalvage::PassDamage(size_t index, LogOffset to,
                                    int64_t after_ms, std::string why) {
  Part& part = parts_[index];
  std::vector<LogOffset> at;
  const auto saved = SavedRecords(&part, position_, to, &at);
  RETURN_IF_ERROR(Damaged({.file = part.name,
                           .file_base = part.base,
                           .from = position_,
                           .to = to,
                           .why = std::move(why),
                           .saved_records = saved.size(),
                           .after_ms = after_ms}));
  facts_[index].records += saved.size();
  for (size_t i = 0; i < saved.size(); ++i) {
    ASSIGN_OR_RETURN(const LogRecord record,
                     DecodeRecord(salt_, at[i], saved[i]));
    RETURN_IF_ERROR((*on_record_)(record, last_written_ms_));
  }
  position_ = to;
  return absl::OkStatus();
}

// Looks at every byte: a length that cannot be trusted says nothing about
// where the next record begins.
std::vector<std::string> LogSalvage::SavedRecords(
    Part* part, LogOffset from, LogOffset to,
    std::vector<LogOffset>* places) const {
  std::vector<std::string> saved;
  LogOffset at = from;
  while (at + kRecordHeaderBytes <= to) {
    const uint64_t left = to - at;
    std::string_view bytes = ViewAt(
        part, at, std::min<uint64_t>(kStepBytes + kRecordHeaderBytes, left));
    if (bytes.size() < kRecordHeaderBytes) break;
    const size_t last = bytes.size() - kRecordHeaderBytes;
    size_t p = 0;
    while (p <= last &&
           !MayBeRecord(bytes.data() + p,
                        std::min<uint64_t>(kGroupBytesMax, left - p))) {
      ++p;
    }
    at += p;
    if (p > last) continue;
    const auto size = GetFixed<uint32_t>(bytes.data() + p);
    bytes = ViewAt(part, at, size);
    if (DecodeRecord(salt_, at, bytes).ok()) {
      saved.emplace_back(bytes);
      places->push_back(at);
      at += size;
    } else {
      at += 1;
    }
  }
  return saved;
}

}  // namespace hourglass
