// File: ack_file.h
//
// `hourglass pipe --acks FILE`: one line for every durable put, appended. A
// line may be lost or cut by a power loss, never by a crash of the program:
// the file is a convenience for the caller, the store is the truth.
//
//   auto file = AckFile::Open(file_system, "acks.jsonl");
//   (*file)->Append(puts);       // written when it returns
//
// A line that a crash cut short is ended before new ones are written.
//
// Threads: one.
//
// Keeps promise 1: a line only for what is durable.
#ifndef HOURGLASS_BROKER_PROGRAM_ACK_FILE_H_
#define HOURGLASS_BROKER_PROGRAM_ACK_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/delay_store.h"
#include "hourglass/file_system.h"

namespace hourglass {

class AckFile {
 public:
  // Opens or creates `path`.
  static absl::StatusOr<std::unique_ptr<AckFile>> Open(FileSystem* fs,
                                                       const Path& path);
  absl::Status Append(const std::vector<PutResult>& puts);

 private:
  AckFile(std::unique_ptr<File> file, uint64_t end);
  absl::Status EndCutLine();

  const std::unique_ptr<File> file_;
  uint64_t end_;
  std::string buffer_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_ACK_FILE_H_
