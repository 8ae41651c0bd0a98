#include "broker/program/ack_file.h"

#include <utility>

#include "broker/text/json_lines.h"
#include "storage/status_macros.h"

namespace hourglass {

AckFile::AckFile(std::unique_ptr<File> file, uint64_t end)
    : file_(std::move(file)), end_(end) {}

absl::StatusOr<std::unique_ptr<AckFile>> AckFile::Open(FileSystem* fs,
                                                       const Path& path) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(path));
  const OpenMode mode = exists ? OpenMode::kReadWrite : OpenMode::kCreate;
  ASSIGN_OR_RETURN(auto file, fs->Open(path, {.mode = mode}));
  ASSIGN_OR_RETURN(const uint64_t end, file->Size());
  std::unique_ptr<AckFile> acks(new AckFile(std::move(file), end));
  RETURN_IF_ERROR(acks->EndCutLine());
  return acks;
}

absl::Status AckFile::EndCutLine() {
  if (end_ == 0) return absl::OkStatus();
  char last = '\n';
  RETURN_IF_ERROR(file_->ReadAt(end_ - 1, 1, &last).status());
  if (last == '\n') return absl::OkStatus();
  RETURN_IF_ERROR(file_->WriteAt(end_, "\n"));
  ++end_;
  return absl::OkStatus();
}

absl::Status AckFile::Append(const std::vector<PutResult>& puts) {
  buffer_.clear();
  for (const PutResult& put : puts) AppendAckLine(put, &buffer_);
  RETURN_IF_ERROR(file_->WriteAt(end_, buffer_));
  end_ += buffer_.size();
  return absl::OkStatus();
}

}  // namespace hourglass
