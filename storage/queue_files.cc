#include "storage/queue_files.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/crash_point.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// The same error, saying where.
absl::Status At(const Path& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path.string(), ": ", status.message()));
}

absl::Status CheckHeader(File* file, const Path& path,
                         const QueueHeader& expected) {
  std::string bytes(kQueueHeaderBytes, '\0');
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(0, bytes.size(), bytes.data()));
  bytes.resize(got);
  const absl::Status status = CheckQueueHeader(bytes, expected);
  return status.ok() ? status : At(path, status);
}

// First indexes of the queue files in `dir`, ascending.
absl::StatusOr<std::vector<QueueIndex>> ListStarts(FileSystem* fs,
                                                   const Path& dir) {
  const auto names = fs->List(dir);
  if (absl::IsNotFound(names.status())) return std::vector<QueueIndex>();
  RETURN_IF_ERROR(names.status());
  std::vector<QueueIndex> starts;
  for (const std::string& name : *names) {
    const auto start = ParseQueueFileName(name);
    if (start.ok()) starts.push_back(*start);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

absl::Status Missing(const Path& dir, QueueIndex from, QueueIndex end) {
  return absl::DataLossError(absl::StrCat(
      dir.string(), ": entries ", from.value(), " to ", end.value() - 1,
      " are missing: the checkpoint has them, and no file does"));
}

// Makes the file hold the entries [start, end) and no more.
absl::Status CutFile(FileSystem* fs, const Path& path, QueueIndex start,
                     QueueIndex end) {
  ASSIGN_OR_RETURN(const uint64_t size, fs->FileSize(path));
  const uint64_t wanted = kQueueHeaderBytes + kQueueEntryBytes * (end - start);
  if (size == wanted) return absl::OkStatus();
  if (size < wanted) {
    return absl::DataLossError(
        absl::StrCat(path.string(), ": ", size, " bytes; the checkpoint has ",
                     end - start, " entries in it, ", wanted, " bytes"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   fs->Open(path, {.mode = OpenMode::kReadWrite}));
  RETURN_IF_ERROR(file->Truncate(wanted));
  CrashPoint("queues.file_cut");
  return file->Sync();
}

// Removes the files outside [first, next) and takes them off the list.
absl::Status RemoveOutside(FileSystem* fs, const Path& dir,
                           const QueueFacts& facts,
                           std::vector<QueueIndex>* starts) {
  const auto inside = [&](QueueIndex start) {
    return start >= facts.first && start < facts.next;
  };
  const auto kept =
      std::stable_partition(starts->begin(), starts->end(), inside);
  if (kept == starts->end()) return absl::OkStatus();
  for (auto it = kept; it != starts->end(); ++it) {
    RETURN_IF_ERROR(fs->Remove(dir / QueueFileName(*it)));
  }
  starts->erase(kept, starts->end());
  return fs->SyncDir(dir);
}

}  // namespace

QueueFiles::QueueFiles(FileSystem* fs, size_t open_max)
    : fs_(fs), open_max_(std::max<size_t>(open_max, 1)) {}

absl::Status QueueFiles::Create(const Path& path, const QueueHeader& header) {
  ASSIGN_OR_RETURN(std::shared_ptr<File> file,
                   fs_->Open(path, {.mode = OpenMode::kCreate}));
  const absl::Status written = file->WriteAt(0, EncodeQueueHeader(header));
  if (!written.ok()) {
    // A file without a header would be in the way of the next attempt.
    fs_->Remove(path).IgnoreError();
    return written;
  }
  Insert(path.string(), std::move(file), /*writable=*/true);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<File>> QueueFiles::ForRead(
    const Path& path, const QueueHeader& header) {
  return Get(path, header, /*writable=*/false);
}

absl::StatusOr<std::shared_ptr<File>> QueueFiles::ForWrite(
    const Path& path, const QueueHeader& header) {
  unsynced_.insert(path.string());
  return Get(path, header, /*writable=*/true);
}

absl::StatusOr<std::shared_ptr<File>> QueueFiles::Get(const Path& path,
                                                      const QueueHeader& header,
                                                      bool writable) {
  const std::string& key = path.string();
  const auto it = open_.find(key);
  if (it != open_.end() && (it->second.writable || !writable)) {
    recency_.splice(recency_.begin(), recency_, it->second.recency);
    return it->second.file;
  }
  // Reading opens for reading only, so that a store can be read where it
  // must not be written.
  auto file = fs_->Open(
      path, {.mode = writable ? OpenMode::kReadWrite : OpenMode::kRead});
  if (absl::IsNotFound(file.status())) {
    return absl::DataLossError(
        absl::StrCat(path.string(), ": this queue file is missing"));
  }
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR(CheckHeader(file->get(), path, header));
  std::shared_ptr<File> shared = *std::move(file);
  Insert(key, shared, writable);
  return shared;
}

void QueueFiles::Insert(const std::string& key, std::shared_ptr<File> file,
                        bool writable) {
  Close(key);
  recency_.push_front(key);
  open_[key] = {std::move(file), writable, recency_.begin()};
  while (open_.size() > open_max_) {
    open_.erase(recency_.back());
    recency_.pop_back();
  }
}

void QueueFiles::TakeUnsynced(std::vector<std::shared_ptr<File>>* open,
                              std::vector<Path>* closed) {
  // A simulated disk must see the same order in every run.
  std::vector<std::string> keys(unsynced_.begin(), unsynced_.end());
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    const auto it = open_.find(key);
    if (it != open_.end() && it->second.writable) {
      open->push_back(it->second.file);
    } else {
      closed->push_back(key);
    }
  }
  unsynced_.clear();
}

void QueueFiles::Close(const std::string& key) {
  const auto it = open_.find(key);
  if (it == open_.end()) return;
  recency_.erase(it->second.recency);
  open_.erase(it);
}

void QueueFiles::Forget(const Path& path) {
  Close(path.string());
  unsynced_.erase(path.string());
}

absl::StatusOr<std::vector<QueueIndex>> CutQueueDir(FileSystem* fs,
                                                    const Path& dir,
                                                    const QueueFacts& facts) {
  if (facts.first > facts.next) {
    return absl::DataLossError(absl::StrCat(
        dir.string(), ": the checkpoint says entries ", facts.first.value(),
        " to ", facts.next.value(), ", which is backward"));
  }
  ASSIGN_OR_RETURN(std::vector<QueueIndex> starts, ListStarts(fs, dir));
  RETURN_IF_ERROR(RemoveOutside(fs, dir, facts, &starts));
  QueueIndex end = facts.first;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] != end) return Missing(dir, end, starts[i]);
    end = i + 1 < starts.size() ? starts[i + 1] : facts.next;
    RETURN_IF_ERROR(
        CutFile(fs, dir / QueueFileName(starts[i]), starts[i], end));
  }
  if (end != facts.next) return Missing(dir, end, facts.next);
  return starts;
}

absl::StatusOr<bool> RemoveQueueDir(FileSystem* fs, const Path& dir) {
  ASSIGN_OR_RETURN(const bool is_directory, fs->IsDirectory(dir));
  if (!is_directory) return false;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs->List(dir));
  bool only_queue_files = true;
  for (const std::string& name : names) {
    if (ParseQueueFileName(name).ok()) {
      RETURN_IF_ERROR(fs->Remove(dir / name));
      CrashPoint("queues.unknown_removed");
    } else {
      only_queue_files = false;
    }
  }
  if (!only_queue_files) return false;
  RETURN_IF_ERROR(fs->RemoveDir(dir));
  return true;
}

}  // namespace hourglass
