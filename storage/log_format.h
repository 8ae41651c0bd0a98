// File: log_format.h
//
// Constants of the commit log's files, shared by writer and reader. The
// grammar, with a worked example and what each damage means, stands in
// docs/formats/commit_log.md.
//
//   file    = header(512) group*
//   group   = group header(48) record* zeros up to a multiple of 512
//   record  = record header(24) payload
//
// File header, 512 bytes (magic, version and checksum stay where they are in
// every later version, so that "other version" is never mistaken for damage):
//   magic "HGLASSCL" 8 | version u32 | store id 16 | base offset u64 |
//   segment bytes u64 | previous end u64 | zeros to 504 |
//   checksum u64 (HashBytes of the 504 bytes before it)
//   The next file's base is this base + segment bytes. `previous end`: where
//   the groups of the file before end; the rest of that file is unused.
//
// Group header, 48 bytes:
//   magic u32 | records u32 | bytes u32 (header + records, without padding) |
//   flags u32 (0) | offset u64 (own place) | durable_before u64 |
//   written_ms u64 | checksum u64
//   checksum = Seal(salt, place = offset, fields = magic,
//                   content = HashBytes(the 40 bytes before it))
//
// Record header, 24 bytes:
//   size u32 (header + payload) | kind u8 | flags u8 | reserved u16 (0) |
//   hour i32 | number u32 | checksum u64
//   checksum = Seal(salt, place = log offset of the record header,
//                   fields = the first 8 bytes of the header as one u64,
//                   content = HashBytes(payload) ^ (the next 8 bytes, hour
//                             and number, as one u64) * kHourNumberMix)
//   The multiplier is odd, so the product is a bijection of (hour, number):
//   two headers that differ only there never share a content, and a change of
//   both payload and hour or number goes unseen with probability 2^-64, the
//   same as for the payload alone.
//
//   salt = HashBytes(store id), so each seal also names the store.
//
// Keeps promise 5: groups and records are sealed with their offset.
#ifndef HOURGLASS_STORAGE_LOG_FORMAT_H_
#define HOURGLASS_STORAGE_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/types.h"
#include "storage/store_id.h"

namespace hourglass {

inline constexpr char kLogMagic[] = "HGLASSCL";
inline constexpr uint32_t kLogVersion = 1;
inline constexpr size_t kLogBlockBytes = 512;
inline constexpr size_t kLogFileHeaderBytes = 512;
inline constexpr uint32_t kGroupMagic = 0x50524748;  // "HGRP"
inline constexpr size_t kGroupHeaderBytes = 48;
inline constexpr size_t kRecordHeaderBytes = 24;
// A group never spans files; a record never spans groups.
inline constexpr size_t kGroupBytesMax = 8u << 20;
inline constexpr uint64_t kHourNumberMix = 0x9e3779b97f4a7c15;
static_assert(kHourNumberMix % 2 == 1, "must be a bijection");
static_assert(kGroupBytesMax % kLogBlockBytes == 0);
static_assert(kGroupHeaderBytes + kRecordHeaderBytes <= kLogBlockBytes);

enum class RecordKind : uint8_t {
  kReady = 1,       // payload: message. Deliver now.
  kDelayed = 2,     // payload: message. hour and number: where it went.
  kDelivered = 3,   // payload: message, now ready (or empty, see flags).
  kCancel = 4,      // number: of the tombstone; payload: target number u32,
                    // ms into hour u32
  kAck = 5,         // payload: storage/ack_format.h, as the flags say
  kCheckpoint = 6,  // payload: see storage/checkpoint.h
};

// A Delivered record whose message went to a host's own sink: no payload.
inline constexpr uint8_t kFlagMarkOnly = 1;
// An Ack record of single messages and attempts, not of a watermark.
inline constexpr uint8_t kFlagMarks = 2;

// Names for people and for `hourglass log`: "ready", "delayed", ...
std::string_view RecordKindName(RecordKind kind);

struct LogRecord {
  LogOffset offset;  // of the record header
  RecordKind kind = RecordKind::kReady;
  uint8_t flags = 0;
  Hour hour;
  RecordNumber number;
  std::string_view payload;

  uint32_t size() const {
    return static_cast<uint32_t>(kRecordHeaderBytes + payload.size());
  }
  LogOffset end() const { return offset + size(); }
};

constexpr uint64_t RoundUpToBlock(uint64_t bytes) {
  return (bytes + kLogBlockBytes - 1) / kLogBlockBytes * kLogBlockBytes;
}

// "00000000000268435456.log"
std::string LogFileName(LogOffset base);
// The base offset; nothing if `name` is not what LogFileName makes.
std::optional<LogOffset> ParseLogFileName(std::string_view name);

struct LogFileHeader {
  StoreId id;
  LogOffset base;
  uint64_t segment_bytes = 0;
  LogOffset previous_end;

  LogOffset first_group() const { return base + kLogFileHeaderBytes; }
  LogOffset segment_end() const { return base + segment_bytes; }
};

// Writes kLogFileHeaderBytes to `out`.
void EncodeLogFileHeader(const LogFileHeader& header, char* out);
// DATA_LOSS if the bytes are no header, FAILED_PRECONDITION if they are one
// of another version (the text names both).
absl::StatusOr<LogFileHeader> DecodeLogFileHeader(std::string_view bytes);

struct GroupHeader {
  uint32_t records = 0;
  uint32_t bytes = 0;  // header and records, without padding
  LogOffset offset;
  LogOffset durable_before;
  int64_t written_ms = 0;

  LogOffset records_end() const { return offset + bytes; }
  LogOffset end() const { return offset + RoundUpToBlock(bytes); }
};

// Writes kGroupHeaderBytes to `out`.
void EncodeGroupHeader(uint64_t salt, const GroupHeader& header, char* out);
// DATA_LOSS if `bytes` does not begin with the header of a group that was
// written at `offset`.
absl::StatusOr<GroupHeader> DecodeGroupHeader(uint64_t salt, LogOffset offset,
                                              std::string_view bytes);

// Writes kRecordHeaderBytes to `out`; the payload follows it by other means.
void EncodeRecordHeader(uint64_t salt, const LogRecord& record,
                        uint64_t payload_hash, char* out);
// The record that begins `bytes`, which stand at `offset`. The payload points
// into `bytes`. DATA_LOSS, with the reason, if there is none.
absl::StatusOr<LogRecord> DecodeRecord(uint64_t salt, LogOffset offset,
                                       std::string_view bytes);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_LOG_FORMAT_H_
