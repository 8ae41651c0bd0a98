// File: hour_format.h
//
// Constants of an hour segment's two files. Grammar, worked example and
// damages: docs/formats/hour_segment.md.
//
//   2026-11-21T03.delaylog       header(64) frame*
//   2026-11-21T03.delayindex     header(64) record(32)*
//
// Header, 64 bytes:
//   magic "HGLASSDL" or "HGLASSDX" 8 | version u32 | hour i32 | store id 16 |
//   base number u32 | zeros 20 | checksum u64 (HashBytes of the 56 before)
//   `base number`: the number before the first record of these files; 0
//   unless an hour whose files were deleted got messages again.
//
// DelayLog frame: size u32 (header + payload) | number u32 |
//   checksum u64 (Seal: place = hour and number, content = payload) | payload
//   The top bit of the size says that it is a cancel; its payload is
//   target u32 | due_ms u32 | id_hash u32. One frame a number, without gaps.
//
// DelayLogIndex record n stands at 64 + 32 * (n - base number - 1):
//   prev_index u32 | due_ms u32 (ms into the hour) | location u64 |
//   size u32 | kind u16, flags u16 | id_hash u32 |
//   checksum u32 (low half of the Seal; place = hour and number)
//   A tombstone has location = number of its target, size = 0.
//
// Keeps promise 5: every record is sealed with its hour and number.
#ifndef HOURGLASS_STORAGE_HOUR_FORMAT_H_
#define HOURGLASS_STORAGE_HOUR_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hourglass/types.h"
#include "storage/store_id.h"

namespace hourglass {

inline constexpr char kDelayLogMagic[] = "HGLASSDL";
inline constexpr char kDelayIndexMagic[] = "HGLASSDX";
inline constexpr uint32_t kHourVersion = 2;
inline constexpr size_t kHourHeaderBytes = 64;
inline constexpr size_t kFrameHeaderBytes = 16;
inline constexpr size_t kIndexRecordBytes = 32;

inline constexpr uint32_t kCancelFrameBytes =
    static_cast<uint32_t>(kFrameHeaderBytes) + 12;
// In a frame's size: it is a cancel.
inline constexpr uint32_t kCancelBit = 1u << 31;
inline constexpr uint32_t kFramePayloadMax =
    kCancelBit - 1 - static_cast<uint32_t>(kFrameHeaderBytes);
// An index record's checksum covers what stands before it.
inline constexpr size_t kIndexSealedBytes =
    kIndexRecordBytes - sizeof(uint32_t);
// The last hour of the year 9999: file names have four digits for a year.
inline constexpr Hour kHourMax{70'389'527};

enum class IndexKind : uint16_t {
  kMessage = 1,
  kTombstone = 2,
};

struct IndexRecord {
  RecordNumber prev;          // preIndex: 0 = none
  uint32_t ms_into_hour = 0;  // < 3 600 000
  uint64_t location = 0;      // of the frame, or the tombstone's target
  uint32_t size = 0;          // of the frame
  IndexKind kind = IndexKind::kMessage;
  uint16_t flags = 0;
  uint32_t id_hash = 0;

  Slot slot() const { return Slot(ms_into_hour / 1000); }
  RecordNumber target() const {
    return RecordNumber(static_cast<uint32_t>(location));
  }
  bool operator==(const IndexRecord&) const = default;
};

// Where a record stands, as its seal sees it.
constexpr uint64_t PlaceOf(Hour hour, RecordNumber number) {
  return uint64_t{static_cast<uint32_t>(hour.value())} << 32 | number.value();
}

// "2026-11-21T03.delaylog" / ".delayindex": sorts by time. `hour` is in
// [0, kHourMax].
std::string DelayLogName(Hour hour);
std::string DelayIndexName(Hour hour);
// The hour and which of the two, from a file name. INVALID_ARGUMENT if it is
// not exactly a name that the two functions above give.
struct HourFileName {
  Hour hour;
  bool is_index = false;
};
absl::StatusOr<HourFileName> ParseHourFileName(std::string_view name);

// The first 64 bytes of either file.
struct HourHeader {
  Hour hour;
  StoreId store;
  RecordNumber base;  // the number before the first record here
  bool operator==(const HourHeader&) const = default;
};
void EncodeHourHeader(const HourHeader& header, bool is_index, char* out);
// `bytes` is the start of a file, at least 64 bytes if the file has them.
// DATA_LOSS if damaged or of the other kind, FAILED_PRECONDITION if another
// version of the program wrote it.
absl::StatusOr<HourHeader> DecodeHourHeader(std::string_view bytes,
                                            bool is_index);

// The 16 bytes before a payload.
void EncodeFrameHeader(uint64_t salt, Hour hour, RecordNumber number,
                       uint32_t payload_bytes, uint64_t payload_hash,
                       char* out);
// `frame` is exactly one frame. Returns its payload; `hash` (may be null)
// gets HashBytes(payload). DATA_LOSS says what is wrong.
absl::StatusOr<std::string_view> DecodeFrame(uint64_t salt, Hour hour,
                                             RecordNumber number,
                                             std::string_view frame,
                                             uint64_t* hash);

// A cancel's whole frame, kCancelFrameBytes, and back. `tombstone` is its
// index record: location (the target), ms_into_hour and id_hash count.
void EncodeCancelFrame(uint64_t salt, Hour hour, RecordNumber number,
                       const IndexRecord& tombstone, char* out);
// DATA_LOSS says what is wrong. `prev` of the result is 0.
absl::StatusOr<IndexRecord> DecodeCancelFrame(uint64_t salt, Hour hour,
                                              RecordNumber number,
                                              std::string_view frame);

// What 16 bytes at the start of a frame say, verified or not.
struct FrameHead {
  uint32_t bytes = 0;  // of the frame
  bool is_cancel = false;
  RecordNumber number;
};
FrameHead PeekFrame(const char* in);

// One index record to and from its 32 bytes. Decode: DATA_LOSS on a wrong
// checksum, place or field.
void EncodeIndexRecord(uint64_t salt, Hour hour, RecordNumber number,
                       const IndexRecord& record, char* out);
absl::StatusOr<IndexRecord> DecodeIndexRecord(uint64_t salt, Hour hour,
                                              RecordNumber number,
                                              const char* in);
// The same for loops over millions: false where the other says DATA_LOSS.
bool TryDecodeIndexRecord(uint64_t salt, Hour hour, RecordNumber number,
                          const char* in, IndexRecord* record);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_FORMAT_H_
