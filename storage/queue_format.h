// File: queue_format.h
//
// Names and bytes of a consume queue's files. Grammar, worked example and
// damages: docs/formats/consume_queue.md.
//
//   <escaped topic>/<20 digits of first index>.queue
//   file   = header(512) entry(24)*
//   header = magic "HGLASSCQ" 8 | version u32 | topic size u32 |
//            store id 16 | first index u64 | topic | zeros |
//            checksum u64 at 504 (HashBytes of the 504 bytes before)
//   entry  = log offset u64 | size u32 | tag hash u32 |
//            checksum u64 (Seal: place = index, fields = HashBytes(topic),
//            content = the 16 bytes before)
//
// Threads: functions only.
//
// Keeps promise 5: every entry is sealed with its topic and index.
#ifndef HOURGLASS_STORAGE_QUEUE_FORMAT_H_
#define HOURGLASS_STORAGE_QUEUE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/types.h"
#include "storage/consume_queue.h"
#include "storage/store_id.h"

namespace hourglass {

inline constexpr char kQueueMagic[] = "HGLASSCQ";
inline constexpr uint32_t kQueueVersion = 1;
inline constexpr size_t kQueueHeaderBytes = 512;
inline constexpr size_t kQueueHeaderFixedBytes = 40;  // before the topic
inline constexpr size_t kQueueChecksumAt = kQueueHeaderBytes - 8;
inline constexpr size_t kQueueTopicBytesMax =
    kQueueChecksumAt - kQueueHeaderFixedBytes;
inline constexpr size_t kQueueEntryBytes = 24;
// Escaped names beyond this are cut and get a hash: NAME_MAX is 255.
inline constexpr size_t kQueueDirNameBytesMax = 200;

// The topic's directory: every byte outside [A-Za-z0-9_.-], and a leading
// dot, as %XX. A name too long for a directory is cut, and "~" with 16 hex
// digits of the topic's hash follows; "~" itself is always escaped.
std::string QueueDirName(std::string_view topic);

// "00000000000001048576.queue" and back; INVALID_ARGUMENT if it is none.
std::string QueueFileName(QueueIndex first);
absl::StatusOr<QueueIndex> ParseQueueFileName(std::string_view name);

struct QueueHeader {
  StoreId store;
  std::string topic;
  QueueIndex first;
};
std::string EncodeQueueHeader(const QueueHeader& header);
// DATA_LOSS if damaged; FAILED_PRECONDITION if of a later version.
absl::StatusOr<QueueHeader> DecodeQueueHeader(std::string_view bytes);
// The same, and the header must be this one: FAILED_PRECONDITION if the file
// is another store's, DATA_LOSS if it is another topic's or index's.
absl::Status CheckQueueHeader(std::string_view bytes,
                              const QueueHeader& expected);

// What of an entry's place is the same for a whole topic.
struct QueueSeal {
  QueueSeal(const StoreId& store, std::string_view topic);
  uint64_t salt;
  uint64_t topic_hash;
};
void EncodeQueueEntry(const QueueSeal& seal, QueueIndex index,
                      const QueueEntry& entry, char* out);
// False if the bytes are damaged or belong to another place.
bool DecodeQueueEntry(const QueueSeal& seal, QueueIndex index, const char* in,
                      QueueEntry* entry);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_QUEUE_FORMAT_H_
