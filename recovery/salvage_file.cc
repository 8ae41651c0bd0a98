#include "recovery/salvage_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/status_macros.h"

namespace hourglass {
namespace {

// What the disk is asked for ahead of the window.
constexpr uint64_t kAheadBytes = 8u << 20;
// Beyond what the system reads ahead by itself: pages that it has read are
// data to it, written or not.
constexpr uint64_t kProbeBytes = 16u << 20;
// What is tried on its own where a larger read fails.
constexpr size_t kPieceBytes = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<SalvageFile>> SalvageFile::Open(
    const SalvageSource& source, const Path& path) {
  ASSIGN_OR_RETURN(auto file, source.fs->Open(path, {.mode = OpenMode::kRead}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  return std::unique_ptr<SalvageFile>(
      new SalvageFile(source, std::move(file), size));
}

std::string_view SalvageFile::View(uint64_t offset, size_t bytes) {
  if (offset >= size_) return {};
  bytes = std::min<uint64_t>(bytes, size_ - offset);
  if (!window_.Has(offset, bytes)) {
    const ReadWindow::Gap gap = window_.MoveTo(offset, bytes);
    window_.Got(Read(gap.offset, gap.bytes, gap.out));
  }
  return window_.View(offset, bytes);
}

size_t SalvageFile::Read(uint64_t offset, size_t bytes, char* out) {
  const uint64_t end = offset + bytes;
  if (end + kAheadBytes / 2 > prefetched_ && end < size_) {
    const uint64_t from = std::max(end, prefetched_);
    const auto data = file_->NextData(from);
    if (!data.ok() || *data < from + kAheadBytes) {
      file_->Prefetch(from, kAheadBytes);
    }
    prefetched_ = from + kAheadBytes;
  }
  const auto got = file_->ReadAt(offset, bytes, out);
  const size_t read = got.ok() ? *got : ReadPieces(offset, bytes, out);
  if (source_.on_bytes) source_.on_bytes(read);
  return read;
}

size_t SalvageFile::ReadPieces(uint64_t offset, size_t bytes, char* out) {
  bytes = std::min<uint64_t>(bytes, size_ - offset);
  size_t done = 0;
  while (done < bytes) {
    // To the next multiple, so that a bad sector takes no neighbours along.
    const uint64_t at = offset + done;
    const size_t piece =
        std::min<size_t>(kPieceBytes - at % kPieceBytes, bytes - done);
    const auto got = file_->ReadAt(at, piece, out + done);
    if (!got.ok() || *got < piece) {
      std::memset(out + done, 0, piece);
      NoteUnreadable(at, at + piece,
                     got.ok() ? "the file is shorter than it says"
                              : std::string(got.status().message()));
    }
    done += piece;
  }
  return done;
}

void SalvageFile::NoteUnreadable(uint64_t from, uint64_t to, std::string why) {
  for (Range& range : unreadable_) {
    if (from >= range.from && from <= range.to) {
      range.to = std::max(range.to, to);
      return;
    }
  }
  unreadable_.push_back({from, to, std::move(why)});
}

uint64_t SalvageFile::EndOfData(uint64_t offset) {
  for (uint64_t at = offset; at < size_; at += kProbeBytes) {
    const auto next = file_->NextData(at);
    if (!next.ok()) break;
    if (*next >= size_) return at;
  }
  return size_;
}

absl::StatusOr<std::string> ReadWhole(FileSystem* fs, const Path& path,
                                      size_t bytes_max) {
  ASSIGN_OR_RETURN(const auto file, fs->Open(path, {.mode = OpenMode::kRead}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  std::string bytes(std::min<uint64_t>(size, bytes_max), '\0');
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(0, bytes.size(), bytes.data()));
  bytes.resize(got);
  return bytes;
}

}  // namespace hourglass
