// File: topics_file.h
//
// The file `topics` of a store's directory: the topics that operators made,
// and the kinds that each takes. Text:
//
//   HOURGLASS-TOPICS 1
//   bills NORMAL+DELAY
//   orders NORMAL+DELAY+FIFO+TRANSACTION
//   checksum 0123456789abcdef
//
// Names ascend; the checksum is XXH3-64 of all bytes before its line.
//
//   RETURN_IF_ERROR(WriteTopicsFile(fs, dir, topics));
//   ASSIGN_OR_RETURN(KeptTopics again, ReadTopicsFile(fs, dir));
//
// It is no part of the store's truth: without it messages are what they were.
//
// Threads: none needed; the catalogue writes one at a time.
//
// Keeps promise 5: a damaged or foreign file is told, never guessed at.
#ifndef HOURGLASS_BROKER_TOPICS_TOPICS_FILE_H_
#define HOURGLASS_BROKER_TOPICS_TOPICS_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/topics/topic_kinds.h"
#include "hourglass/file_system.h"

namespace hourglass {

inline constexpr char kTopicsFileName[] = "topics";
inline constexpr uint32_t kTopicsFileVersion = 1;
// Larger than any that is written, so that no foreign file fills the memory.
inline constexpr uint64_t kTopicsFileBytesMax = 512u << 20;

using KeptTopics = std::map<std::string, TopicKinds, std::less<>>;

// No file: no topics. Changes nothing.
// FAILED_PRECONDITION  a file in another format version
// DATA_LOSS            the file is damaged
absl::StatusOr<KeptTopics> ReadTopicsFile(FileSystem* fs, const Path& dir);

// Replaces what is there, or nothing at all: after a crash the old or the new
// topics are read, and once this returned OK only the new ones.
absl::Status WriteTopicsFile(FileSystem* fs, const Path& dir,
                             const KeptTopics& topics);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TOPICS_TOPICS_FILE_H_
