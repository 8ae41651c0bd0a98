// File: file_system.h
//
// The disk as an argument: the one border between Hourglass and the
// operating system's files. The store, and RocksDB inside it, reach a disk
// only through these two classes, so a test can put a simulated disk under
// the whole of it.
//
// What is durable when:
//   * WriteAt and Allocate change what readers see; a power loss may undo
//     any part of them until Sync() of the same file has returned OK.
//   * Creating, renaming and removing change a directory; a power loss may
//     undo each until SyncDir() of that directory has returned OK.
//   * After a Sync() or WriteAt() that failed, the content of the file since
//     its last good Sync() is unknown. Do not retry; stop writing.
//
// Errors, on every call:
//   NOT_FOUND            the file or directory does not exist
//   ALREADY_EXISTS       kCreate met an existing file
//   PERMISSION_DENIED    also a read-only file system
//   RESOURCE_EXHAUSTED   the disk or the file table is full
//   FAILED_PRECONDITION  the lock is held by another process
//   DATA_LOSS            the device reported an I/O error
// The message always names the operation and the path.
//
// Threads: a FileSystem may be used from any thread. One File may be read
// from many threads while one thread writes it.
//
// Keeps promise 1: what "durable" means is written here, and can be simulated.
#ifndef HOURGLASS_FILE_SYSTEM_H_
#define HOURGLASS_FILE_SYSTEM_H_

#include <boost/filesystem/path.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hourglass {

using Path = boost::filesystem::path;

class File {
 public:
  // Closes without syncing.
  virtual ~File() = default;

  // Reads up to `size` bytes at `offset` into `out` and returns how many
  // were there: fewer than `size` only at the end of the file.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t size,
                                        char* out) = 0;

  // Writes all of `data` at `offset`; grows the file as needed (a gap reads
  // as zeros). A file opened with `direct` takes only offsets, sizes and
  // addresses that are multiples of 512.
  virtual absl::Status WriteAt(uint64_t offset, std::string_view data) = 0;

  // Reserves disk space for [offset, offset + size) and grows the file to
  // cover it; new bytes read as zeros.
  virtual absl::Status Allocate(uint64_t offset, uint64_t size) = 0;

  // Cuts the file to `size`, or grows it with zeros.
  virtual absl::Status Truncate(uint64_t size) = 0;

  // Makes content and size durable (fdatasync).
  virtual absl::Status Sync() = 0;

  virtual absl::StatusOr<uint64_t> Size() = 0;

  // A place at or after `offset` from which on there may be bytes other than
  // zero; Size() if there are none. Space that was allocated and never written
  // is passed over without reading it, where the disk can tell.
  virtual absl::StatusOr<uint64_t> NextData(uint64_t offset) { return offset; }

  // Hints that [offset, offset + size) will be read soon. Never fails.
  virtual void Prefetch(uint64_t offset, uint64_t size) = 0;
};

// Held until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode {
  kRead,       // must exist
  kReadWrite,  // must exist
  kCreate,     // must not exist
};

struct OpenFlags {
  OpenMode mode = OpenMode::kRead;
  // Bypass the page cache where the disk can; silently buffered where not.
  bool direct = false;
  // With kCreate: nobody but its owner may read it.
  bool secret = false;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<File>> Open(const Path& path,
                                                     OpenFlags flags) = 0;
  // Replaces `to` if it exists.
  virtual absl::Status Rename(const Path& from, const Path& to) = 0;
  virtual absl::Status Remove(const Path& path) = 0;
  virtual absl::Status RemoveDir(const Path& path) = 0;
  // OK also when the directory is there already. The parent must exist.
  virtual absl::Status CreateDir(const Path& path) = 0;
  // Names (not paths) in the directory, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const Path& dir) = 0;
  virtual absl::StatusOr<bool> Exists(const Path& path) = 0;
  virtual absl::StatusOr<bool> IsDirectory(const Path& path) = 0;
  virtual absl::StatusOr<uint64_t> FileSize(const Path& path) = 0;
  // UTC milliseconds of the last change of content.
  virtual absl::StatusOr<int64_t> ModifiedMs(const Path& path) = 0;
  // Makes created, renamed and removed entries of `dir` durable.
  virtual absl::Status SyncDir(const Path& dir) = 0;
  // Creates `path` if needed and locks it against every other process and
  // every other call. FAILED_PRECONDITION if somebody has it.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(const Path& path) = 0;
  // Bytes that may still be written below `dir`.
  virtual absl::StatusOr<uint64_t> FreeSpace(const Path& dir) = 0;
};

// The machine's file system. Lives for ever.
FileSystem* RealFileSystem();

}  // namespace hourglass

#endif  // HOURGLASS_FILE_SYSTEM_H_
