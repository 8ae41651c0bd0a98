#include "storage/hour_format.h"

#include <chrono>
#include <cstring>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kDelayLogSuffix[] = ".delaylog";
constexpr char kDelayIndexSuffix[] = ".delayindex";
constexpr size_t kStampBytes = sizeof("2026-11-21T03") - 1;

// Offsets inside the 64-byte header.
constexpr size_t kMagicBytes = 8;
constexpr size_t kVersionAt = 8;
constexpr size_t kHourAt = 12;
constexpr size_t kStoreAt = 16;
constexpr size_t kBaseAt = 32;
constexpr size_t kHeaderSumAt = 56;
static_assert(kStoreAt + kStoreIdBytes == kBaseAt);
static_assert(kHeaderSumAt + sizeof(uint64_t) == kHourHeaderBytes);

// Offsets inside a frame header.
constexpr size_t kFrameNumberAt = 4;
constexpr size_t kFrameSumAt = 8;
static_assert(kFrameSumAt + sizeof(uint64_t) == kFrameHeaderBytes);

// Offsets inside a cancel's payload.
constexpr size_t kCancelMsAt = 4;
constexpr size_t kCancelIdHashAt = 8;
static_assert(kFrameHeaderBytes + kCancelIdHashAt + sizeof(uint32_t) ==
              kCancelFrameBytes);

// Offsets inside an index record.
constexpr size_t kMsAt = 4;
constexpr size_t kLocationAt = 8;
constexpr size_t kSizeAt = 16;
constexpr size_t kKindAt = 20;
constexpr size_t kFlagsAt = 22;
constexpr size_t kIdHashAt = 24;
static_assert(kIdHashAt + sizeof(uint32_t) == kIndexSealedBytes);

std::string StampOf(Hour hour) {
  const std::chrono::sys_days day{std::chrono::days{hour.value() / 24}};
  const std::chrono::year_month_day date{day};
  return absl::StrFormat("%04d-%02d-%02dT%02d", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()),
                         static_cast<unsigned>(date.day()), hour.value() % 24);
}

// The hour that a stamp names, however it is spelled.
std::optional<Hour> HourFromStamp(const std::string& stamp) {
  int year = 0;
  uint32_t month = 0, day = 0, hour = 0;
  if (!absl::SimpleAtoi(stamp.substr(0, 4), &year) ||
      !absl::SimpleAtoi(stamp.substr(5, 2), &month) ||
      !absl::SimpleAtoi(stamp.substr(8, 2), &day) ||
      !absl::SimpleAtoi(stamp.substr(11, 2), &hour)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch();
  return Hour(static_cast<int32_t>(days.count() * 24 + hour));
}

const char* MagicOf(bool is_index) {
  return is_index ? kDelayIndexMagic : kDelayLogMagic;
}

uint32_t IndexSum(uint64_t salt, Hour hour, RecordNumber number,
                  const char* record) {
  const uint64_t content = HashBytes({record, kIndexSealedBytes});
  return static_cast<uint32_t>(Seal(salt, PlaceOf(hour, number), 0, content));
}

// What no writer of this version would have sealed.
bool IsSensible(const IndexRecord& record, RecordNumber number) {
  if (record.ms_into_hour >= kMsPerHour || record.prev >= number) return false;
  switch (record.kind) {
    case IndexKind::kMessage:
      return record.location >= kHourHeaderBytes &&
             record.size >= kFrameHeaderBytes;
    case IndexKind::kTombstone:
      return record.size == 0 && record.location > 0 &&
             record.location < number.value();
  }
  return false;
}

// That `frame` is one whole frame, of this number, and its seal good. `bit`:
// what its size has beside the number of bytes.
absl::Status CheckFrame(uint64_t salt, Hour hour, RecordNumber number,
                        std::string_view frame, uint32_t bit, uint64_t* hash) {
  if (frame.size() < kFrameHeaderBytes) {
    return absl::DataLossError(absl::StrCat("the frame has ", frame.size(),
                                            " bytes, less than its header"));
  }
  const auto size = GetFixed<uint32_t>(frame.data());
  if (size != (frame.size() | bit)) {
    return absl::DataLossError(absl::StrCat(
        "the frame says ", size, " bytes, expected ", frame.size() | bit));
  }
  if (const auto found = GetFixed<uint32_t>(frame.data() + kFrameNumberAt);
      found != number.value()) {
    return absl::DataLossError(absl::StrCat("the frame says record ", found,
                                            ", expected ", number.value()));
  }
  const uint64_t content = HashBytes(frame.substr(kFrameHeaderBytes));
  if (!PlantedBug("frame_not_verified") &&
      GetFixed<uint64_t>(frame.data() + kFrameSumAt) !=
          Seal(salt, PlaceOf(hour, number), size, content)) {
    return absl::DataLossError("the frame's checksum is wrong");
  }
  if (hash != nullptr) *hash = content;
  return absl::OkStatus();
}

IndexRecord ReadFields(const char* in) {
  IndexRecord record;
  record.prev = RecordNumber(GetFixed<uint32_t>(in));
  record.ms_into_hour = GetFixed<uint32_t>(in + kMsAt);
  record.location = GetFixed<uint64_t>(in + kLocationAt);
  record.size = GetFixed<uint32_t>(in + kSizeAt);
  record.kind = static_cast<IndexKind>(GetFixed<uint16_t>(in + kKindAt));
  record.flags = GetFixed<uint16_t>(in + kFlagsAt);
  record.id_hash = GetFixed<uint32_t>(in + kIdHashAt);
  return record;
}

}  // namespace

std::string DelayLogName(Hour hour) {
  return absl::StrCat(StampOf(hour), kDelayLogSuffix);
}

std::string DelayIndexName(Hour hour) {
  return absl::StrCat(StampOf(hour), kDelayIndexSuffix);
}

absl::StatusOr<HourFileName> ParseHourFileName(std::string_view name) {
  if (name.size() > kStampBytes) {
    // Writing the name of what was read back is the whole check: it leaves
    // no second spelling (2026-02-30, T24, +1, spaces) for any hour.
    const auto hour = HourFromStamp(std::string(name.substr(0, kStampBytes)));
    if (hour.has_value() && *hour >= Hour{0} && *hour <= kHourMax) {
      if (name == DelayLogName(*hour)) return HourFileName{*hour, false};
      if (name == DelayIndexName(*hour)) return HourFileName{*hour, true};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(name),
                   "\" is not the name of an hour file: that would be like ",
                   DelayLogName(Hour{0}), " or ", DelayIndexName(Hour{0})));
}

void EncodeHourHeader(const HourHeader& header, bool is_index, char* out) {
  std::memset(out, 0, kHourHeaderBytes);
  std::memcpy(out, MagicOf(is_index), kMagicBytes);
  PutFixed<uint32_t>(out + kVersionAt, kHourVersion);
  PutFixed<int32_t>(out + kHourAt, header.hour.value());
  std::memcpy(out + kStoreAt, header.store.bytes.data(), kStoreIdBytes);
  PutFixed<uint32_t>(out + kBaseAt, header.base.value());
  PutFixed<uint64_t>(out + kHeaderSumAt, HashBytes({out, kHeaderSumAt}));
}

absl::StatusOr<HourHeader> DecodeHourHeader(std::string_view bytes,
                                            bool is_index) {
  if (bytes.size() < kHourHeaderBytes) {
    return absl::DataLossError(absl::StrCat("the header has ", bytes.size(),
                                            " bytes of ", kHourHeaderBytes));
  }
  const char* in = bytes.data();
  if (bytes.substr(0, kMagicBytes) != MagicOf(is_index)) {
    return absl::DataLossError(
        absl::StrCat("the header does not begin with ", MagicOf(is_index)));
  }
  if (GetFixed<uint64_t>(in + kHeaderSumAt) != HashBytes({in, kHeaderSumAt})) {
    return absl::DataLossError("the header's checksum is wrong");
  }
  // After the checksum: a flipped bit must not look like another version.
  if (const auto version = GetFixed<uint32_t>(in + kVersionAt);
      version != kHourVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the format version is ", version,
                     "; this program reads version ", kHourVersion));
  }
  HourHeader header;
  header.hour = Hour(GetFixed<int32_t>(in + kHourAt));
  std::memcpy(header.store.bytes.data(), in + kStoreAt, kStoreIdBytes);
  header.base = RecordNumber(GetFixed<uint32_t>(in + kBaseAt));
  return header;
}

void EncodeFrameHeader(uint64_t salt, Hour hour, RecordNumber number,
                       uint32_t payload_bytes, uint64_t payload_hash,
                       char* out) {
  const uint32_t size =
      static_cast<uint32_t>(kFrameHeaderBytes) + payload_bytes;
  PutFixed<uint32_t>(out, size);
  PutFixed<uint32_t>(out + kFrameNumberAt, number.value());
  PutFixed<uint64_t>(out + kFrameSumAt,
                     Seal(salt, PlaceOf(hour, number), size, payload_hash));
}

void EncodeCancelFrame(uint64_t salt, Hour hour, RecordNumber number,
                       const IndexRecord& tombstone, char* out) {
  char* payload = out + kFrameHeaderBytes;
  PutFixed<uint32_t>(payload, tombstone.target().value());
  PutFixed<uint32_t>(payload + kCancelMsAt, tombstone.ms_into_hour);
  PutFixed<uint32_t>(payload + kCancelIdHashAt, tombstone.id_hash);
  const uint32_t size = kCancelFrameBytes | kCancelBit;
  const uint64_t content =
      HashBytes({payload, kCancelFrameBytes - kFrameHeaderBytes});
  PutFixed<uint32_t>(out, size);
  PutFixed<uint32_t>(out + kFrameNumberAt, number.value());
  PutFixed<uint64_t>(out + kFrameSumAt,
                     Seal(salt, PlaceOf(hour, number), size, content));
}

FrameHead PeekFrame(const char* in) {
  const auto size = GetFixed<uint32_t>(in);
  return {.bytes = size & ~kCancelBit,
          .is_cancel = (size & kCancelBit) != 0,
          .number = RecordNumber(GetFixed<uint32_t>(in + kFrameNumberAt))};
}

absl::StatusOr<std::string_view> DecodeFrame(uint64_t salt, Hour hour,
                                             RecordNumber number,
                                             std::string_view frame,
                                             uint64_t* hash) {
  RETURN_IF_ERROR(CheckFrame(salt, hour, number, frame, 0, hash));
  return frame.substr(kFrameHeaderBytes);
}

absl::StatusOr<IndexRecord> DecodeCancelFrame(uint64_t salt, Hour hour,
                                              RecordNumber number,
                                              std::string_view frame) {
  RETURN_IF_ERROR(CheckFrame(salt, hour, number, frame, kCancelBit, nullptr));
  const char* payload = frame.data() + kFrameHeaderBytes;
  IndexRecord record;
  record.kind = IndexKind::kTombstone;
  if (frame.size() == kCancelFrameBytes) {
    record.location = GetFixed<uint32_t>(payload);
    record.ms_into_hour = GetFixed<uint32_t>(payload + kCancelMsAt);
    record.id_hash = GetFixed<uint32_t>(payload + kCancelIdHashAt);
    if (IsSensible(record, number)) return record;
  }
  return absl::DataLossError("the cancel's frame holds values that cannot be");
}

void EncodeIndexRecord(uint64_t salt, Hour hour, RecordNumber number,
                       const IndexRecord& record, char* out) {
  PutFixed<uint32_t>(out, record.prev.value());
  PutFixed<uint32_t>(out + kMsAt, record.ms_into_hour);
  PutFixed<uint64_t>(out + kLocationAt, record.location);
  PutFixed<uint32_t>(out + kSizeAt, record.size);
  PutFixed<uint16_t>(out + kKindAt, static_cast<uint16_t>(record.kind));
  PutFixed<uint16_t>(out + kFlagsAt, record.flags);
  PutFixed<uint32_t>(out + kIdHashAt, record.id_hash);
  PutFixed<uint32_t>(out + kIndexSealedBytes,
                     IndexSum(salt, hour, number, out));
}

bool TryDecodeIndexRecord(uint64_t salt, Hour hour, RecordNumber number,
                          const char* in, IndexRecord* record) {
  *record = ReadFields(in);
  return GetFixed<uint32_t>(in + kIndexSealedBytes) ==
             IndexSum(salt, hour, number, in) &&
         IsSensible(*record, number);
}

absl::StatusOr<IndexRecord> DecodeIndexRecord(uint64_t salt, Hour hour,
                                              RecordNumber number,
                                              const char* in) {
  IndexRecord record;
  if (TryDecodeIndexRecord(salt, hour, number, in, &record)) return record;
  const bool sealed = GetFixed<uint32_t>(in + kIndexSealedBytes) ==
                      IndexSum(salt, hour, number, in);
  return absl::DataLossError(absl::StrCat(
      "index record ", number.value(), " of hour ", StampOf(hour),
      sealed ? " holds values that cannot be" : ": its checksum is wrong"));
}

}  // namespace hourglass
