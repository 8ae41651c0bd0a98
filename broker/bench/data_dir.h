// File: data_dir.h
//
// The directory that a job fills: the one named by --data, or a fresh one in
// the current directory. What the job made is removed when the job is done,
// unless it is to be kept; a store that was there before always stays.
//
//   ASSIGN_OR_RETURN(DataDir dir, DataDir::Make(fs, "", /*keep=*/false));
//   DelayStore::Open(dir.path(), ...);
//
// Threads: none of its own.
//
// Serves promise 2: never touches a directory that was not its own.
#ifndef HOURGLASS_BROKER_BENCH_DATA_DIR_H_
#define HOURGLASS_BROKER_BENCH_DATA_DIR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"

namespace hourglass {

class DataDir {
 public:
  // FAILED_PRECONDITION if `path` is there and not empty. `path` "": a fresh
  // directory in the current one.
  static absl::StatusOr<DataDir> Make(FileSystem* fs, const std::string& path,
                                      bool keep);
  // A directory that has a store: never removed.
  static DataDir Existing(FileSystem* fs, const std::string& path);

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  const Path& path() const { return path_; }

 private:
  DataDir(FileSystem* fs, Path path, bool made, bool remove)
      : fs_(fs), path_(std::move(path)), made_(made), remove_(remove) {}

  FileSystem* const fs_;
  const Path path_;
  const bool made_;  // the directory itself, not only what is in it
  bool remove_;
};

// True if `path` is a directory with something in it.
absl::StatusOr<bool> HasContent(FileSystem* fs, const Path& path);
// Sum of the sizes of the files in `dir`, not those of its directories.
absl::StatusOr<uint64_t> FileBytes(FileSystem* fs, const Path& dir);
absl::Status RemoveContent(FileSystem* fs, const Path& dir);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_DATA_DIR_H_
