// The machine's files: the only place of Hourglass that calls the operating
// system for them. See hourglass/file_system.h for what each call promises.
//
// Limitations: Linux. A file opened `direct` turns into a buffered one, for
// good, at the first request that the device refuses (a sector larger than 512
// bytes, a file system without O_DIRECT or fallocate).
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hourglass/file_system.h"
#include "storage/file_mode.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr uint64_t kDirectAlignment = 512;
constexpr size_t kZeroBlockBytes = 64 * 1024;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kSecretFileMode = 0600;
constexpr mode_t kDirMode = 0755;

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case EIO:
    case EREMOTEIO:
    case EUCLEAN:  // the file system found itself damaged
      return absl::StatusCode::kDataLoss;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EISDIR:
    case ENOTEMPTY:
    case EBADF:
    case EBUSY:
    case ETXTBSY:
      return absl::StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::ErrnoToStatusCode(error);
  }
}

absl::Status Error(int error, const char* operation, const Path& path) {
  return absl::Status(CodeOf(error),
                      absl::StrCat(operation, " ", path.native(), ": ",
                                   std::generic_category().message(error)));
}

// Calls until it is not a signal that ended the call.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Negative, with errno set, when it cannot be opened.
Descriptor OpenDescriptor(const Path& path, int flags,
                          mode_t mode = kFileMode) {
  return Descriptor(
      Retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

absl::StatusOr<struct stat> StatOf(const char* operation, const Path& path) {
  struct stat info;
  if (Retry([&] { return ::stat(path.c_str(), &info); }) < 0) {
    return Error(errno, operation, path);
  }
  return info;
}

class PosixFile final : public File {
 public:
  // `aligned`: opened with the flag `direct`, so the caller owes alignment;
  // `bypass`: the descriptor really has O_DIRECT.
  PosixFile(Descriptor fd, Path path, bool aligned, bool bypass)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        aligned_(aligned),
        bypass_(bypass) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t size,
                                char* out) override;
  absl::Status WriteAt(uint64_t offset, std::string_view data) override;
  absl::Status Allocate(uint64_t offset, uint64_t size) override;
  absl::Status Truncate(uint64_t size) override;
  absl::Status Sync() override;
  absl::StatusOr<uint64_t> Size() override;
  absl::StatusOr<uint64_t> NextData(uint64_t offset) override;
  void Prefetch(uint64_t offset, uint64_t size) override;

 private:
  absl::Status CheckAligned(const char* operation, uint64_t offset,
                            uint64_t size, const char* address) const;
  // Whether the call that failed with `error` is worth repeating through the
  // page cache.
  bool FallBackToBuffered(int error);
  void StopBypassing();
  absl::Status WriteZeros(uint64_t from, uint64_t to);
  absl::Status Write(const char* operation, uint64_t offset,
                     std::string_view data);

  const Descriptor fd_;
  const Path path_;
  const bool aligned_;
  std::atomic<bool> bypass_;
};

absl::Status PosixFile::CheckAligned(const char* operation, uint64_t offset,
                                     uint64_t size, const char* address) const {
  if (!aligned_) return absl::OkStatus();
  const uint64_t all = offset | size | reinterpret_cast<uintptr_t>(address);
  if (all % kDirectAlignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      operation, " ", path_.native(), ": opened direct, but offset ", offset,
      ", size ", size, " or the address is not a multiple of 512"));
}

void PosixFile::StopBypassing() {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags >= 0) ::fcntl(fd_.get(), F_SETFL, flags & ~O_DIRECT);
  bypass_ = false;
}

bool PosixFile::FallBackToBuffered(int error) {
  if (error != EINVAL || !bypass_) return false;
  StopBypassing();
  return true;
}

absl::StatusOr<size_t> PosixFile::ReadAt(uint64_t offset, size_t size,
                                         char* out) {
  RETURN_IF_ERROR(CheckAligned("read", offset, size, out));
  size_t done = 0;
  while (done < size) {
    const ssize_t n = Retry([&] {
      return ::pread(fd_.get(), out + done, size - done,
                     static_cast<off_t>(offset + done));
    });
    if (n < 0 && FallBackToBuffered(errno)) continue;
    if (n < 0) return Error(errno, "read", path_);
    done += n;
    // A direct read that ends inside a sector ends at the end of the file;
    // asking on from there would be refused as unaligned.
    if (n == 0 || (bypass_ && n % kDirectAlignment != 0)) break;
  }
  return done;
}

absl::Status PosixFile::WriteAt(uint64_t offset, std::string_view data) {
  RETURN_IF_ERROR(CheckAligned("write", offset, data.size(), data.data()));
  return Write("write", offset, data);
}

absl::Status PosixFile::Write(const char* operation, uint64_t offset,
                              std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = Retry([&] {
      return ::pwrite(fd_.get(), data.data(), data.size(),
                      static_cast<off_t>(offset));
    });
    if (n < 0 && FallBackToBuffered(errno)) continue;
    if (n < 0) return Error(errno, operation, path_);
    if (n == 0) return Error(EIO, operation, path_);
    offset += n;
    data.remove_prefix(n);
  }
  return absl::OkStatus();
}

absl::Status PosixFile::Allocate(uint64_t offset, uint64_t size) {
  if (size == 0) return absl::OkStatus();
  const int result = Retry([&] {
    return ::fallocate(fd_.get(), 0, static_cast<off_t>(offset),
                       static_cast<off_t>(size));
  });
  if (result == 0) return absl::OkStatus();
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    return Error(errno, "allocate", path_);
  }
  ASSIGN_OR_RETURN(const uint64_t end, Size());
  return WriteZeros(std::max(end, offset), offset + size);
}

// Stands in for fallocate where the file system has none. Holes inside the
// file stay holes: there is no safe way to fill them under readers.
absl::Status PosixFile::WriteZeros(uint64_t from, uint64_t to) {
  static constexpr char kZeros[kZeroBlockBytes] = {};
  if (bypass_) StopBypassing();
  while (from < to) {
    const size_t n = std::min<uint64_t>(to - from, kZeroBlockBytes);
    RETURN_IF_ERROR(Write("allocate", from, {kZeros, n}));
    from += n;
  }
  return absl::OkStatus();
}

absl::Status PosixFile::Truncate(uint64_t size) {
  const int result =
      Retry([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); });
  return result < 0 ? Error(errno, "truncate", path_) : absl::OkStatus();
}

absl::Status PosixFile::Sync() {
  const int result = Retry([&] { return ::fdatasync(fd_.get()); });
  return result < 0 ? Error(errno, "sync", path_) : absl::OkStatus();
}

absl::StatusOr<uint64_t> PosixFile::Size() {
  struct stat info;
  if (::fstat(fd_.get(), &info) < 0) return Error(errno, "size of", path_);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<uint64_t> PosixFile::NextData(uint64_t offset) {
  const off_t at = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<uint64_t>(at);
  if (errno == ENXIO) return Size();
  return offset;  // this disk cannot tell
}

void PosixFile::Prefetch(uint64_t offset, uint64_t size) {
  // Through O_DIRECT nobody would look into the page cache.
  if (bypass_) return;
  ::posix_fadvise(fd_.get(), static_cast<off_t>(offset),
                  static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

// flock belongs to the open file, not to the process: a second store in the
// same process is kept out as well.
class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  const Descriptor fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(const Path& path,
                                             OpenFlags flags) override;
  absl::Status Rename(const Path& from, const Path& to) override;
  absl::Status Remove(const Path& path) override;
  absl::Status RemoveDir(const Path& path) override;
  absl::Status CreateDir(const Path& path) override;
  absl::StatusOr<std::vector<std::string>> List(const Path& dir) override;
  absl::StatusOr<bool> Exists(const Path& path) override;
  absl::StatusOr<bool> IsDirectory(const Path& path) override;
  absl::StatusOr<uint64_t> FileSize(const Path& path) override;
  absl::StatusOr<int64_t> ModifiedMs(const Path& path) override;
  absl::Status SyncDir(const Path& dir) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const Path& path) override;
  absl::StatusOr<uint64_t> FreeSpace(const Path& dir) override;
};

int OsFlags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY;
    case OpenMode::kReadWrite:
      return O_RDWR;
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

absl::StatusOr<std::unique_ptr<File>> PosixFileSystem::Open(const Path& path,
                                                            OpenFlags flags) {
  const bool create = flags.mode == OpenMode::kCreate;
  const char* operation = create ? "create" : "open";
  const int os_flags = OsFlags(flags.mode);
  const mode_t mode = flags.secret ? kSecretFileMode : kFileMode;
  bool bypass = flags.direct;
  Descriptor fd =
      OpenDescriptor(path, os_flags | (bypass ? O_DIRECT : 0), mode);
  if (fd.get() < 0 && errno == EINVAL && bypass) {
    // Linux looks at O_DIRECT last: the refused open has passed O_EXCL and
    // has created the file.
    const int again = create ? os_flags & ~O_EXCL : os_flags;
    bypass = false;
    fd = OpenDescriptor(path, again, mode);
  }
  if (fd.get() < 0) return Error(errno, operation, path);
  struct stat info;
  if (::fstat(fd.get(), &info) < 0) return Error(errno, operation, path);
  if (S_ISDIR(info.st_mode)) return Error(EISDIR, operation, path);
  return std::make_unique<PosixFile>(std::move(fd), path, flags.direct, bypass);
}

absl::Status PosixFileSystem::Rename(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return Error(errno, "rename", from.native() + " to " + to.native());
}

absl::Status PosixFileSystem::Remove(const Path& path) {
  if (::unlink(path.c_str()) == 0) return absl::OkStatus();
  return Error(errno, "remove", path);
}

absl::Status PosixFileSystem::RemoveDir(const Path& path) {
  if (::rmdir(path.c_str()) == 0) return absl::OkStatus();
  return Error(errno, "remove directory", path);
}

absl::Status PosixFileSystem::CreateDir(const Path& path) {
  if (::mkdir(path.c_str(), kDirMode) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST) {
    const auto info = StatOf("create directory", path);
    if (info.ok() && S_ISDIR(info->st_mode)) return absl::OkStatus();
  }
  return Error(error, "create directory", path);
}

absl::StatusOr<std::vector<std::string>> PosixFileSystem::List(
    const Path& dir) {
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::opendir(dir.c_str()),
                                                     close);
  if (stream == nullptr) return Error(errno, "list", dir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return Error(errno, "list", dir);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<bool> PosixFileSystem::Exists(const Path& path) {
  const auto info = StatOf("look for", path);
  if (absl::IsNotFound(info.status())) return false;
  if (!info.ok()) return info.status();
  return true;
}

absl::StatusOr<bool> PosixFileSystem::IsDirectory(const Path& path) {
  ASSIGN_OR_RETURN(const struct stat info, StatOf("look at", path));
  return S_ISDIR(info.st_mode);
}

absl::StatusOr<uint64_t> PosixFileSystem::FileSize(const Path& path) {
  ASSIGN_OR_RETURN(const struct stat info, StatOf("size of", path));
  if (S_ISDIR(info.st_mode)) return Error(EISDIR, "size of", path);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<int64_t> PosixFileSystem::ModifiedMs(const Path& path) {
  ASSIGN_OR_RETURN(const struct stat info, StatOf("time of", path));
  return int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

absl::Status PosixFileSystem::SyncDir(const Path& dir) {
  const Descriptor fd = OpenDescriptor(dir, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0) return Error(errno, "sync directory", dir);
  if (Retry([&] { return ::fsync(fd.get()); }) == 0) return absl::OkStatus();
  return Error(errno, "sync directory", dir);
}

absl::StatusOr<std::unique_ptr<FileLock>> PosixFileSystem::Lock(
    const Path& path) {
  Descriptor fd = OpenDescriptor(path, O_RDWR | O_CREAT);
  if (fd.get() < 0) return Error(errno, "lock", path);
  if (Retry([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) {
    return std::make_unique<PosixLock>(std::move(fd));
  }
  if (errno != EWOULDBLOCK) return Error(errno, "lock", path);
  return absl::FailedPreconditionError(absl::StrCat(
      "lock ", path.native(),
      ": another process, or another store in this one, holds it"));
}

absl::StatusOr<uint64_t> PosixFileSystem::FreeSpace(const Path& dir) {
  struct statvfs info;
  if (Retry([&] { return ::statvfs(dir.c_str(), &info); }) < 0) {
    return Error(errno, "free space of", dir);
  }
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace

bool IsOpenToAll(const Path& path) {
  const auto info = StatOf("mode of", path);
  return info.ok() && (info->st_mode & (S_IROTH | S_IWOTH)) != 0;
}

FileSystem* RealFileSystem() {
  // Never destroyed: files may be closed while statics already go.
  static PosixFileSystem* const file_system = new PosixFileSystem();
  return file_system;
}

}  // namespace hourglass
