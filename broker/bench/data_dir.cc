#include "broker/bench/data_dir.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/random.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

Path FreshName() {
  return absl::StrFormat("hourglass-bench-%08x", SystemEntropy() & 0xffffffff);
}

}  // namespace

absl::StatusOr<bool> HasContent(FileSystem* fs, const Path& path) {
  const auto names = fs->List(path);
  if (absl::IsNotFound(names.status())) return false;
  RETURN_IF_ERROR(names.status());
  return !names->empty();
}

absl::StatusOr<uint64_t> FileBytes(FileSystem* fs, const Path& dir) {
  uint64_t bytes = 0;
  ASSIGN_OR_RETURN(const auto names, fs->List(dir));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const bool is_dir, fs->IsDirectory(dir / name));
    if (is_dir) continue;
    ASSIGN_OR_RETURN(const uint64_t size, fs->FileSize(dir / name));
    bytes += size;
  }
  return bytes;
}

absl::Status RemoveContent(FileSystem* fs, const Path& dir) {
  ASSIGN_OR_RETURN(const auto names, fs->List(dir));
  for (const std::string& name : names) {
    const Path path = dir / name;
    ASSIGN_OR_RETURN(const bool is_dir, fs->IsDirectory(path));
    if (is_dir) RETURN_IF_ERROR(RemoveContent(fs, path));
    RETURN_IF_ERROR(is_dir ? fs->RemoveDir(path) : fs->Remove(path));
  }
  return absl::OkStatus();
}

absl::StatusOr<DataDir> DataDir::Make(FileSystem* fs, const std::string& path,
                                      bool keep) {
  const Path dir = path.empty() ? FreshName() : Path(path);
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
  ASSIGN_OR_RETURN(const bool full, HasContent(fs, dir));
  if (full) {
    return absl::FailedPreconditionError(absl::StrCat(
        dir.string(), " is not empty; this job needs a directory of its own"));
  }
  RETURN_IF_ERROR(fs->CreateDir(dir));
  return DataDir(fs, dir, /*made=*/!exists, /*remove=*/!keep);
}

DataDir DataDir::Existing(FileSystem* fs, const std::string& path) {
  return DataDir(fs, path, /*made=*/false, /*remove=*/false);
}

DataDir::DataDir(DataDir&& other) noexcept
    : fs_(other.fs_),
      path_(other.path_),
      made_(other.made_),
      remove_(std::exchange(other.remove_, false)) {}

DataDir::~DataDir() {
  if (!remove_) return;
  // What cannot be removed stays: the report is there, and that counts.
  RemoveContent(fs_, path_).IgnoreError();
  if (made_) fs_->RemoveDir(path_).IgnoreError();
}

}  // namespace hourglass
