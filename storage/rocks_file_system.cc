#include "storage/rocks_file_system.h"

#include <rocksdb/env.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/crash_point.h"
#include "storage/sst_tail.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::string_view View(const Slice& slice) {
  return {slice.data(), slice.size()};
}

absl::Status CheckSst(hourglass::FileSystem* fs, const std::string& name) {
  ASSIGN_OR_RETURN(const auto file, fs->Open(name, {.mode = OpenMode::kRead}));
  return CheckSstTail(file.get(), name);
}

// OPTIONS-000007, and OPTIONS-000007.dbtmp before it gets its name.
bool IsOptionsFile(std::string_view path) {
  const size_t slash = path.rfind('/');
  return path.substr(slash == path.npos ? 0 : slash + 1)
      .starts_with("OPTIONS-");
}

// For the two calls whose contract says NotFound where others say
// PathNotFound.
IOStatus WithPlainNotFound(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return ToRocksStatus(status);
  return IOStatus::NotFound(std::string(status.message()));
}

IOStatus ReadInto(File* file, uint64_t offset, size_t size, Slice* result,
                  char* scratch) {
  *result = Slice();
  const auto got = file->ReadAt(offset, size, scratch);
  if (!got.ok()) return ToRocksStatus(got.status());
  *result = Slice(scratch, *got);
  return IOStatus::OK();
}

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<File> file)
      : file_(std::move(file)) {}

  IOStatus Read(size_t size, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    const IOStatus status =
        ReadInto(file_.get(), offset_, size, result, scratch);
    offset_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t size) override {
    const auto file_size = file_->Size();
    if (!file_size.ok()) return ToRocksStatus(file_size.status());
    offset_ = std::max(offset_, std::min(offset_ + size, *file_size));
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<File> file_;
  uint64_t offset_ = 0;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<File> file)
      : file_(std::move(file)) {}

  IOStatus Read(uint64_t offset, size_t size, const IOOptions&, Slice* result,
                char* scratch, IODebugContext*) const override {
    return ReadInto(file_.get(), offset, size, result, scratch);
  }
  IOStatus Prefetch(uint64_t offset, size_t size, const IOOptions&,
                    IODebugContext*) override {
    file_->Prefetch(offset, size);
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<File> file_;
};

// Appends. What a failed write or sync left is unknown, so after one the file
// takes nothing more: RocksDB must not retry its way past it.
class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<File> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}

  using rocksdb::FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&,
                  IODebugContext*) override {
    if (!failed_.ok()) return failed_;
    failed_ = ToRocksStatus(file_->WriteAt(size_, View(data)));
    if (failed_.ok()) size_ += data.size();
    return failed_;
  }
  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    if (!failed_.ok() || size == size_) return failed_;
    failed_ = ToRocksStatus(file_->Truncate(size));
    if (failed_.ok()) size_ = size;
    return failed_;
  }
  // Nothing is buffered here.
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return failed_; }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    CrashPoint("checkpoint.batch_written");
    if (failed_.ok()) failed_ = ToRocksStatus(file_->Sync());
    return failed_;
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    file_.reset();
    if (failed_.ok()) failed_ = IOStatus::IOError("file is closed");
    return IOStatus::OK();
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    return size_;
  }

 private:
  std::unique_ptr<File> file_;
  uint64_t size_;
  IOStatus failed_;
};

class Directory : public rocksdb::FSDirectory {
 public:
  Directory(hourglass::FileSystem* fs, Path path)
      : fs_(fs), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return ToRocksStatus(fs_->SyncDir(path_));
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  hourglass::FileSystem* const fs_;
  const Path path_;
};

class Lock : public rocksdb::FileLock {
 public:
  explicit Lock(std::unique_ptr<hourglass::FileLock> lock)
      : lock_(std::move(lock)) {}

 private:
  const std::unique_ptr<hourglass::FileLock> lock_;
};

class SilentLogger : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::HEADER_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

template <typename Wrapper, typename Base>
IOStatus OpenAs(hourglass::FileSystem* fs, const std::string& name,
                std::unique_ptr<Base>* result) {
  auto file = fs->Open(name, {.mode = OpenMode::kRead});
  if (!file.ok()) return ToRocksStatus(file.status());
  *result = std::make_unique<Wrapper>(*std::move(file));
  return IOStatus::OK();
}

// Gives the value of a StatusOr through a pointer, as RocksDB wants it.
template <typename T, typename U>
IOStatus Give(const absl::StatusOr<T>& value, U* result) {
  if (value.ok()) *result = static_cast<U>(*value);
  return ToRocksStatus(value.status());
}

}  // namespace

absl::Status FromRocksStatus(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat("RocksDB: ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  if (status.IsNotFound() || status.IsPathNotFound()) {
    return absl::NotFoundError(message);
  }
  if (status.IsBusy()) return absl::FailedPreconditionError(message);
  if (status.IsIOError() || status.IsCorruption()) {
    return absl::DataLossError(message);
  }
  if (status.IsInvalidArgument()) return absl::InvalidArgumentError(message);
  return absl::InternalError(message);
}

IOStatus ToRocksStatus(const absl::Status& status) {
  if (status.ok()) return IOStatus::OK();
  const std::string message = status.ToString();
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return IOStatus::PathNotFound(message);
    case absl::StatusCode::kResourceExhausted:
      return IOStatus::NoSpace(message);
    case absl::StatusCode::kFailedPrecondition:
      return IOStatus::Busy(message);
    default:
      return IOStatus::IOError(message);
  }
}

std::shared_ptr<rocksdb::Logger> NewSilentLogger() {
  return std::make_shared<SilentLogger>();
}

IOStatus RocksFileSystem::NewSequentialFile(
    const std::string& name, const rocksdb::FileOptions&,
    std::unique_ptr<rocksdb::FSSequentialFile>* result, IODebugContext*) {
  return OpenAs<SequentialFile>(fs_, name, result);
}

IOStatus RocksFileSystem::NewRandomAccessFile(
    const std::string& name, const rocksdb::FileOptions&,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext*) {
  if (name.ends_with(".sst")) {
    const absl::Status sound = CheckSst(fs_, name);
    if (!sound.ok()) return ToRocksStatus(sound);
  }
  return OpenAs<RandomAccessFile>(fs_, name, result);
}

IOStatus RocksFileSystem::NewWritableFile(
    const std::string& name, const rocksdb::FileOptions&,
    std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  if (IsOptionsFile(name)) {
    return IOStatus::NotSupported(name, "options come from the program");
  }
  auto file = fs_->Open(name, {.mode = OpenMode::kCreate});
  if (absl::IsAlreadyExists(file.status())) {
    const absl::Status removed = fs_->Remove(name);
    if (!removed.ok()) return ToRocksStatus(removed);
    file = fs_->Open(name, {.mode = OpenMode::kCreate});
  }
  if (!file.ok()) return ToRocksStatus(file.status());
  *result = std::make_unique<WritableFile>(*std::move(file), 0);
  return IOStatus::OK();
}

IOStatus RocksFileSystem::ReopenWritableFile(
    const std::string& name, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* debug) {
  auto file = fs_->Open(name, {.mode = OpenMode::kReadWrite});
  if (absl::IsNotFound(file.status())) {
    return NewWritableFile(name, options, result, debug);
  }
  if (!file.ok()) return ToRocksStatus(file.status());
  const auto size = (*file)->Size();
  if (!size.ok()) return ToRocksStatus(size.status());
  *result = std::make_unique<WritableFile>(*std::move(file), *size);
  return IOStatus::OK();
}

IOStatus RocksFileSystem::NewDirectory(
    const std::string& name, const IOOptions&,
    std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  const auto is_directory = fs_->IsDirectory(name);
  if (!is_directory.ok()) return ToRocksStatus(is_directory.status());
  if (!*is_directory) return IOStatus::IOError(name, "is not a directory");
  *result = std::make_unique<Directory>(fs_, name);
  return IOStatus::OK();
}

IOStatus RocksFileSystem::FileExists(const std::string& name, const IOOptions&,
                                     IODebugContext*) {
  const auto exists = fs_->Exists(name);
  if (!exists.ok()) return ToRocksStatus(exists.status());
  return *exists ? IOStatus::OK() : IOStatus::NotFound(name);
}

IOStatus RocksFileSystem::GetChildren(const std::string& dir, const IOOptions&,
                                      std::vector<std::string>* result,
                                      IODebugContext*) {
  auto names = fs_->List(dir);
  result->clear();
  if (names.ok()) *result = *std::move(names);
  return WithPlainNotFound(names.status());
}

IOStatus RocksFileSystem::DeleteFile(const std::string& name, const IOOptions&,
                                     IODebugContext*) {
  return ToRocksStatus(fs_->Remove(name));
}

IOStatus RocksFileSystem::Truncate(const std::string& name, size_t size,
                                   const IOOptions&, IODebugContext*) {
  const auto file = fs_->Open(name, {.mode = OpenMode::kReadWrite});
  if (!file.ok()) return ToRocksStatus(file.status());
  return ToRocksStatus((*file)->Truncate(size));
}

IOStatus RocksFileSystem::CreateDir(const std::string& name,
                                    const IOOptions& options,
                                    IODebugContext* debug) {
  const auto exists = fs_->Exists(name);
  if (!exists.ok()) return ToRocksStatus(exists.status());
  if (*exists) return IOStatus::IOError(name, "exists");
  return CreateDirIfMissing(name, options, debug);
}

IOStatus RocksFileSystem::CreateDirIfMissing(const std::string& name,
                                             const IOOptions&,
                                             IODebugContext*) {
  // RocksDB asks for it even to open for reading, where we must not write.
  const auto exists = fs_->IsDirectory(name);
  if (exists.ok() && *exists) return IOStatus::OK();
  return ToRocksStatus(fs_->CreateDir(name));
}

IOStatus RocksFileSystem::DeleteDir(const std::string& name, const IOOptions&,
                                    IODebugContext*) {
  return ToRocksStatus(fs_->RemoveDir(name));
}

IOStatus RocksFileSystem::GetFileSize(const std::string& name, const IOOptions&,
                                      uint64_t* size, IODebugContext*) {
  return Give(fs_->FileSize(name), size);
}

IOStatus RocksFileSystem::GetFileModificationTime(const std::string& name,
                                                  const IOOptions&,
                                                  uint64_t* seconds,
                                                  IODebugContext*) {
  const IOStatus status = Give(fs_->ModifiedMs(name), seconds);
  if (status.ok()) *seconds /= 1000;
  return status;
}

IOStatus RocksFileSystem::RenameFile(const std::string& from,
                                     const std::string& to, const IOOptions&,
                                     IODebugContext*) {
  // RocksDB renames CURRENT onto a new MANIFEST whose own directory entry it
  // has not synced; a disk that keeps the one and loses the other could not
  // be opened again.
  const absl::Status synced = fs_->SyncDir(Path(from).parent_path());
  if (!synced.ok()) return ToRocksStatus(synced);
  return ToRocksStatus(fs_->Rename(from, to));
}

IOStatus RocksFileSystem::LockFile(const std::string& name, const IOOptions&,
                                   rocksdb::FileLock** lock, IODebugContext*) {
  *lock = nullptr;
  auto held = fs_->Lock(name);
  if (!held.ok()) return ToRocksStatus(held.status());
  *lock = new Lock(*std::move(held));
  return IOStatus::OK();
}

IOStatus RocksFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions&,
                                     IODebugContext*) {
  delete lock;
  return IOStatus::OK();
}

IOStatus RocksFileSystem::GetTestDirectory(const IOOptions&, std::string*,
                                           IODebugContext*) {
  return IOStatus::NotSupported("GetTestDirectory");
}

IOStatus RocksFileSystem::NewLogger(const std::string&, const IOOptions&,
                                    std::shared_ptr<rocksdb::Logger>* result,
                                    IODebugContext*) {
  *result = NewSilentLogger();
  return IOStatus::OK();
}

IOStatus RocksFileSystem::GetAbsolutePath(const std::string& path,
                                          const IOOptions&,
                                          std::string* absolute,
                                          IODebugContext*) {
  *absolute = path;
  return IOStatus::OK();
}

// After a full disk RocksDB asks for this from a thread of its own, and
// resumes by itself when there is room: beside us, who open it again, and at
// no moment that a test could decide. Without an answer it leaves that to us.
IOStatus RocksFileSystem::GetFreeSpace(const std::string&, const IOOptions&,
                                       uint64_t*, IODebugContext*) {
  return IOStatus::NotSupported("free space");
}

IOStatus RocksFileSystem::IsDirectory(const std::string& path, const IOOptions&,
                                      bool* is_directory, IODebugContext*) {
  return Give(fs_->IsDirectory(path), is_directory);
}

}  // namespace hourglass
