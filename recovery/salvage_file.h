// File: salvage_file.h
//
// A file read for what can still be read of it: a window that slides forward,
// and sectors that the disk refuses read as zeros, which no checksum accepts.
//
//   ASSIGN_OR_RETURN(auto file, SalvageFile::Open(source, path));
//   std::string_view bytes = file->View(offset, 4096);   // shorter at the end
//   for (const auto& range : file->unreadable()) Report(range);
//
// A view is valid until the next call of View.
//
// Threads: one. Ownership: the file system is the caller's.
//
// Keeps promise 6: reads on behind a bad sector.
#ifndef HOURGLASS_RECOVERY_SALVAGE_FILE_H_
#define HOURGLASS_RECOVERY_SALVAGE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "storage/read_window.h"

namespace hourglass {

// Where the tool reads, and whom it tells how much it has read.
struct SalvageSource {
  FileSystem* fs = nullptr;
  Path dir;  // of the store
  // Called with the bytes read since the last call; may be null.
  std::function<void(uint64_t)> on_bytes = nullptr;
  // Whether somebody asked to stop; may be null.
  std::function<bool()> stopped = nullptr;

  // CANCELLED if so.
  absl::Status CheckStopped() const {
    if (!stopped || !stopped()) return absl::OkStatus();
    return absl::CancelledError("stopped before the end");
  }
};

class SalvageFile {
 public:
  struct Range {
    uint64_t from = 0;
    uint64_t to = 0;
    std::string why;
  };

  // Errors are those of opening: NOT_FOUND, PERMISSION_DENIED, ...
  static absl::StatusOr<std::unique_ptr<SalvageFile>> Open(
      const SalvageSource& source, const Path& path);

  uint64_t size() const { return size_; }
  std::string_view View(uint64_t offset, size_t bytes);
  // Where from `offset` on the file holds nothing but zeros to its end, as far
  // as the disk can tell without reading; size() if it cannot.
  uint64_t EndOfData(uint64_t offset);
  const std::vector<Range>& unreadable() const { return unreadable_; }

 private:
  SalvageFile(const SalvageSource& source, std::unique_ptr<File> file,
              uint64_t size)
      : source_(source), file_(std::move(file)), size_(size) {}
  size_t Read(uint64_t offset, size_t bytes, char* out);
  size_t ReadPieces(uint64_t offset, size_t bytes, char* out);
  void NoteUnreadable(uint64_t from, uint64_t to, std::string why);

  const SalvageSource source_;
  const std::unique_ptr<File> file_;
  const uint64_t size_;
  std::vector<Range> unreadable_;

  ReadWindow window_{1u << 20};
  uint64_t prefetched_ = 0;
};

// The whole of a small file, at most `bytes_max`.
absl::StatusOr<std::string> ReadWhole(FileSystem* fs, const Path& path,
                                      size_t bytes_max);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_SALVAGE_FILE_H_
