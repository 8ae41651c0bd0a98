// File: log_format.h
//
// Constants of the commit log's files, shared by writer and reader. The
// grammar, with a worked example and what each damage means, stands in
// docs/formats.md ("Commit log").
//
//   file    = header(512) group*
//   group   = group header(48) record* zeros up to a multiple of 512
//   record  = record header(24) payload
//
// File header, 512 bytes, the rest zero:
//   magic "HGLASSCL" 8 | version u32 | store id 16 | base offset u64 |
//   previous end u64 | checksum u64 (HashBytes of all before it)
//
// Group header, 48 bytes:
//   magic u32 | records u32 | bytes u32 (header + records, without padding) |
//   flags u32 (0) | offset u64 (own place) | durable_before u64 |
//   written_ms u64 | checksum u64 (Seal of the 40 bytes before it)
//
// Record header, 24 bytes:
//   size u32 (header + payload) | kind u8 | flags u8 | reserved u16 (0) |
//   hour i32 | number u32 | checksum u64 (place = log offset of the record)
#ifndef HOURGLASS_STORAGE_LOG_FORMAT_H_
#define HOURGLASS_STORAGE_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hourglass/types.h"

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

enum class RecordKind : uint8_t {
  kReady = 1,       // payload: message. Deliver now.
  kDelayed = 2,     // payload: message. hour and number: where it went.
  kDelivered = 3,   // payload: message, now ready (or empty, see flags).
  kCancel = 4,      // number: of the tombstone; payload: target number u32,
                    // ms into hour u32
  kAck = 5,         // payload: topic, group (prefixed), next index u64
  kCheckpoint = 6,  // payload: see storage/checkpoint.h
};

// A Delivered record whose message went to a host's own sink: no payload.
inline constexpr uint8_t kFlagMarkOnly = 1;

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

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_LOG_FORMAT_H_
