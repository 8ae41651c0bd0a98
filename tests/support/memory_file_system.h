// File: memory_file_system.h
//
// A disk in memory that can lose power, fill up and fail: what tests put
// under the store instead of a real one.
//
//   MemoryFileSystem fs;
//   auto file = *fs.Open("/store/log", {OpenMode::kCreate});
//   fs.FailAfter(MemoryOp::kSync, 3, absl::DataLossError("bad block"), true);
//   ...
//   auto after = fs.CrashClone(/*seed=*/7, /*keep_percent=*/50);
//   // `fs` is dead from here on; open the store again on `after`.
//
// The fault model, deliberately no kinder than a real disk:
//   * A crash keeps what was synced. Of the rest each 4096-byte page, each
//     file size and each directory entry is kept or lost on its own; a page
//     may also be torn between its 512-byte sectors. The two names of a
//     rename are kept or lost together. 0 percent loses all that was not
//     synced; 100 percent loses nothing, as when only the process was killed.
//   * A write that fails has written the first half of its data.
//   * After a sync that failed, what was written before it is never made
//     durable by a later sync, unless it is written again (as on Linux); a
//     crash loses it at any percentage.
//
// Names: "/" exists; a relative path counts from it.
//
// Ownership: Files and FileLocks may outlive the MemoryFileSystem.
// Threads: everything may be called from any thread; one mutex guards all.
//
// Limitations: no permissions, no links. An unsynced page is lost or has its
// newest content; versions in between are not modelled.
#ifndef HOURGLASS_TESTS_SUPPORT_MEMORY_FILE_SYSTEM_H_
#define HOURGLASS_TESTS_SUPPORT_MEMORY_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/file_system.h"

namespace hourglass {

enum class MemoryOp {
  kRead,
  kWrite,
  kSync,
  kCreate,  // Open with kCreate, CreateDir, Lock
  kRename,
  kRemove,  // Remove, RemoveDir
  kSyncDir,
  kAllocate,
  kTruncate,
  kOpen,  // Open of an existing file
  kStat,  // List, Exists, IsDirectory, sizes, times, free space
  kAny,   // every one of the above
};

class MemoryFileSystem final : public FileSystem {
 public:
  // Without a clock, the n-th change of any file happens at millisecond n.
  explicit MemoryFileSystem(Clock* clock = nullptr);
  ~MemoryFileSystem() override;

  // The disk as a power loss now would leave it. From then on this one
  // answers every call with UNAVAILABLE.
  std::unique_ptr<MemoryFileSystem> CrashClone(uint64_t seed, int keep_percent);

  // The n-th operation of this kind from now (1 = the next) fails with
  // `status`; with `sticky` all later ones too. Several may be set at once.
  void FailAfter(MemoryOp op, int n, absl::Status status, bool sticky);
  void ClearFaults();

  // Writes beyond it fail with RESOURCE_EXHAUSTED. Counts whole pages.
  void SetCapacity(uint64_t bytes);

  // What readers of the file see. Fails the test if it does not exist.
  std::string Content(const Path& path);
  // Replaces the content, durably and past all faults: damages a disk at
  // rest. Creates the file if needed; its directory must exist.
  void SetContent(const Path& path, std::string content);

  uint64_t bytes_written();
  // Syncs of files, without those of directories.
  uint64_t syncs();
  // Operations of this kind so far, failed ones included: tells a test how
  // many places there are at which FailAfter can strike.
  uint64_t operations(MemoryOp op);

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

 private:
  struct Machine;
  class OpenFile;
  class HeldLock;

  explicit MemoryFileSystem(std::shared_ptr<Machine> machine);

  std::shared_ptr<Machine> machine_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_MEMORY_FILE_SYSTEM_H_
