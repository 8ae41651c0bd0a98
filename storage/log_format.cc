#include "storage/log_format.h"

#include <charconv>
#include <cstring>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/planted_bug.h"

namespace hourglass {
namespace {

constexpr size_t kMagicBytes = sizeof(kLogMagic) - 1;
constexpr size_t kHeaderChecksumAt = kLogFileHeaderBytes - sizeof(uint64_t);
constexpr size_t kGroupChecksumAt = kGroupHeaderBytes - sizeof(uint64_t);
constexpr size_t kRecordChecksumAt = kRecordHeaderBytes - sizeof(uint64_t);
constexpr size_t kNameDigits = 20;
constexpr std::string_view kNameSuffix = ".log";

uint64_t SealGroup(uint64_t salt, LogOffset offset, const char* header) {
  return Seal(salt, offset.value(), kGroupMagic,
              HashBytes({header, kGroupChecksumAt}));
}

uint64_t SealRecord(uint64_t salt, LogOffset offset, const char* header,
                    uint64_t payload_hash) {
  const auto fields = GetFixed<uint64_t>(header);
  const auto hour_number = GetFixed<uint64_t>(header + 8);
  return Seal(salt, offset.value(), fields,
              payload_hash ^ (hour_number * kHourNumberMix));
}

bool IsRecordKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(RecordKind::kReady) &&
         kind <= static_cast<uint8_t>(RecordKind::kCheckpoint);
}

}  // namespace

std::string_view RecordKindName(RecordKind kind) {
  switch (kind) {
    case RecordKind::kReady:
      return "ready";
    case RecordKind::kDelayed:
      return "delayed";
    case RecordKind::kDelivered:
      return "delivered";
    case RecordKind::kCancel:
      return "cancel";
    case RecordKind::kAck:
      return "ack";
    case RecordKind::kCheckpoint:
      return "checkpoint";
  }
  return "unknown";
}

std::string LogFileName(LogOffset base) {
  return absl::StrFormat("%020d.log", base.value());
}

std::optional<LogOffset> ParseLogFileName(std::string_view name) {
  if (name.size() != kNameDigits + kNameSuffix.size()) return std::nullopt;
  if (name.substr(kNameDigits) != kNameSuffix) return std::nullopt;
  const std::string_view digits = name.substr(0, kNameDigits);
  uint64_t base = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return LogOffset(base);
}

void EncodeLogFileHeader(const LogFileHeader& header, char* out) {
  std::memset(out, 0, kLogFileHeaderBytes);
  std::memcpy(out, kLogMagic, kMagicBytes);
  PutFixed<uint32_t>(out + 8, kLogVersion);
  std::memcpy(out + 12, header.id.bytes.data(), kStoreIdBytes);
  PutFixed<uint64_t>(out + 28, header.base.value());
  PutFixed<uint64_t>(out + 36, header.segment_bytes);
  PutFixed<uint64_t>(out + 44, header.previous_end.value());
  PutFixed<uint64_t>(out + kHeaderChecksumAt,
                     HashBytes({out, kHeaderChecksumAt}));
}

absl::StatusOr<LogFileHeader> DecodeLogFileHeader(std::string_view bytes) {
  if (bytes.size() < kLogFileHeaderBytes) {
    return absl::DataLossError("the file is shorter than its header");
  }
  const char* in = bytes.data();
  if (std::memcmp(in, kLogMagic, kMagicBytes) != 0) {
    return absl::DataLossError("the file header has no magic");
  }
  if (GetFixed<uint64_t>(in + kHeaderChecksumAt) !=
      HashBytes({in, kHeaderChecksumAt})) {
    return absl::DataLossError("the file header fails its checksum");
  }
  const auto version = GetFixed<uint32_t>(in + 8);
  if (version != kLogVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file has format version ", version,
                     "; this program reads version ", kLogVersion));
  }
  LogFileHeader header;
  std::memcpy(header.id.bytes.data(), in + 12, kStoreIdBytes);
  header.base = LogOffset(GetFixed<uint64_t>(in + 28));
  header.segment_bytes = GetFixed<uint64_t>(in + 36);
  header.previous_end = LogOffset(GetFixed<uint64_t>(in + 44));
  return header;
}

void EncodeGroupHeader(uint64_t salt, const GroupHeader& header, char* out) {
  PutFixed<uint32_t>(out, kGroupMagic);
  PutFixed<uint32_t>(out + 4, header.records);
  PutFixed<uint32_t>(out + 8, header.bytes);
  PutFixed<uint32_t>(out + 12, 0);
  PutFixed<uint64_t>(out + 16, header.offset.value());
  PutFixed<uint64_t>(out + 24, header.durable_before.value());
  PutFixed<int64_t>(out + 32, header.written_ms);
  PutFixed<uint64_t>(out + kGroupChecksumAt,
                     SealGroup(salt, header.offset, out));
}

absl::StatusOr<GroupHeader> DecodeGroupHeader(uint64_t salt, LogOffset offset,
                                              std::string_view bytes) {
  if (bytes.size() < kGroupHeaderBytes) {
    return absl::DataLossError("the group header is cut short");
  }
  const char* in = bytes.data();
  if (GetFixed<uint32_t>(in) != kGroupMagic) {
    return absl::DataLossError("no group begins here");
  }
  if (GetFixed<uint64_t>(in + kGroupChecksumAt) !=
      SealGroup(salt, offset, in)) {
    return absl::DataLossError("the group header fails its checksum");
  }
  GroupHeader header;
  header.records = GetFixed<uint32_t>(in + 4);
  header.bytes = GetFixed<uint32_t>(in + 8);
  header.offset = LogOffset(GetFixed<uint64_t>(in + 16));
  header.durable_before = LogOffset(GetFixed<uint64_t>(in + 24));
  header.written_ms = GetFixed<int64_t>(in + 32);
  // The seal holds, so these are the writer's words; they must make sense.
  if (GetFixed<uint32_t>(in + 12) != 0 || header.offset != offset ||
      header.durable_before > offset || header.bytes < kGroupHeaderBytes ||
      header.bytes > kGroupBytesMax) {
    return absl::DataLossError("the group header contradicts itself");
  }
  return header;
}

void EncodeRecordHeader(uint64_t salt, const LogRecord& record,
                        uint64_t payload_hash, char* out) {
  PutFixed<uint32_t>(out, record.size());
  PutFixed<uint8_t>(out + 4, static_cast<uint8_t>(record.kind));
  PutFixed<uint8_t>(out + 5, record.flags);
  PutFixed<uint16_t>(out + 6, 0);
  PutFixed<int32_t>(out + 8, record.hour.value());
  PutFixed<uint32_t>(out + 12, record.number.value());
  PutFixed<uint64_t>(out + kRecordChecksumAt,
                     SealRecord(salt, record.offset, out, payload_hash));
}

absl::StatusOr<LogRecord> DecodeRecord(uint64_t salt, LogOffset offset,
                                       std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) {
    return absl::DataLossError("the record header is cut short");
  }
  const char* in = bytes.data();
  const auto size = GetFixed<uint32_t>(in);
  if (size < kRecordHeaderBytes || size > bytes.size()) {
    return absl::DataLossError(
        absl::StrCat("a record of ", size, " bytes does not fit"));
  }
  const std::string_view payload =
      bytes.substr(kRecordHeaderBytes, size - kRecordHeaderBytes);
  if (!PlantedBug("record_not_verified") &&
      GetFixed<uint64_t>(in + kRecordChecksumAt) !=
          SealRecord(salt, offset, in, HashBytes(payload))) {
    return absl::DataLossError("a record fails its checksum");
  }
  const auto kind = GetFixed<uint8_t>(in + 4);
  if (!IsRecordKind(kind) || GetFixed<uint16_t>(in + 6) != 0) {
    return absl::DataLossError(absl::StrCat("a record has kind ", kind));
  }
  LogRecord record;
  record.offset = offset;
  record.kind = static_cast<RecordKind>(kind);
  record.flags = GetFixed<uint8_t>(in + 5);
  record.hour = Hour(GetFixed<int32_t>(in + 8));
  record.number = RecordNumber(GetFixed<uint32_t>(in + 12));
  record.payload = payload;
  return record;
}

}  // namespace hourglass
