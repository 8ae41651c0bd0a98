// File: checkpoint_format.h
//
// Keys and values of the checkpoint database, and how each counts into the
// state hash. Grammar and damages: docs/formats/checkpoint.md.
//
//   "h" hour (u32 big-endian, sign bit flipped)    -> hour facts, 49 bytes
//   "i"                                            -> version u8, store id 16
//   "p" topic (varint length, bytes) group         -> next index u64, and the
//                                                   marks above it, if any
//                                                   (storage/ack_format.h)
//   "q" topic                                      -> first u64 | next u64
//   "r"                                            -> checkpoint record, 41
//   "s" hour                                       -> encoded SlotHeads
//
// Keys sort so that everything a start needs comes before the heads.
//
// Threads: functions only.
//
// Keeps promise 5: every value counts into the state hash.
#ifndef HOURGLASS_STORAGE_CHECKPOINT_FORMAT_H_
#define HOURGLASS_STORAGE_CHECKPOINT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "storage/checkpoint.h"

namespace hourglass {

inline constexpr uint8_t kCheckpointVersion = 1;
inline constexpr size_t kHourFactsBytes = 49;
inline constexpr size_t kCheckpointRecordBytes = 41;

inline constexpr char kHourPrefix = 'h';
inline constexpr char kIdentityPrefix = 'i';
inline constexpr char kProgressPrefix = 'p';
inline constexpr char kQueuePrefix = 'q';
inline constexpr char kRecordPrefix = 'r';
inline constexpr char kHeadsPrefix = 's';

std::string HourKey(Hour hour);
std::string HeadsKey(Hour hour);
std::string IdentityKey();
std::string RecordKey();
std::string QueueKey(std::string_view topic);
std::string ProgressKey(const ConsumerKey& consumer);

std::string EncodeIdentity(const StoreId& id);
std::string EncodeHourFacts(const HourFacts& facts);
std::string EncodeQueueFacts(const QueueFacts& facts);
std::string EncodeProgress(const GroupProgress& progress);

// What one key and its value add (by XOR) to the state hash.
uint64_t EntryHash(std::string_view key, std::string_view value);
// What the record's own fields add; its state_hash does not count.
uint64_t RecordHash(const CheckpointRecord& record);

// Puts a pair from the database where it belongs in `state`. DATA_LOSS if key
// or value is not of this format. Not for identity and heads.
absl::Status DecodeEntry(std::string_view key, std::string_view value,
                         CheckpointState* state);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CHECKPOINT_FORMAT_H_
