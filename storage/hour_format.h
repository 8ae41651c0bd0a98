// File: hour_format.h
//
// Constants of an hour segment's two files. Grammar, worked example and
// damages: docs/formats.md ("Hour segments").
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
//
// DelayLogIndex record n stands at 64 + 32 * (n - base number - 1):
//   prev_index u32 | due_ms u32 (ms into the hour) | location u64 |
//   size u32 | kind u16, flags u16 | id_hash u32 |
//   checksum u32 (low half of the Seal; place = hour and number)
//   A tombstone has location = number of its target, size = 0.
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
inline constexpr uint32_t kHourVersion = 1;
inline constexpr size_t kHourHeaderBytes = 64;
inline constexpr size_t kFrameHeaderBytes = 16;
inline constexpr size_t kIndexRecordBytes = 32;

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

// "2026-11-21T03.delaylog" / ".delayindex": sorts by time.
std::string DelayLogName(Hour hour);
std::string DelayIndexName(Hour hour);
// The hour and which of the two, from a file name.
struct HourFileName {
  Hour hour;
  bool is_index = false;
};
absl::StatusOr<HourFileName> ParseHourFileName(std::string_view name);

// One index record to and from its 32 bytes. Decode: DATA_LOSS on a wrong
// checksum, place or field.
void EncodeIndexRecord(uint64_t salt, Hour hour, RecordNumber number,
                       const IndexRecord& record, char* out);
absl::StatusOr<IndexRecord> DecodeIndexRecord(uint64_t salt, Hour hour,
                                              RecordNumber number,
                                              const char* in);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_FORMAT_H_
