// File: sim_disk.h
//
// A disk that can lose power: the tree of files as programs see it (the page
// cache and the directory cache), and beside it what has reached the device.
//
//   SimDisk disk(NameOrder::kJournal);
//   auto file = *disk.CreateFile("/store/log");
//   file->content.Write(0, "abc");
//   disk.SyncFile(file.get());
//   std::unique_ptr<SimDisk> after = disk.AfterPowerLoss(how, &rng, &counts);
//
// Content is PagedContent: pages, sizes and torn sectors draw for themselves.
// Names are a journal of operations, applied to the durable tree when they are
// synced:
//   * kJournal (ext4, XFS): a sync of any file or directory makes all changes
//     of names durable, and a power loss keeps a prefix of the rest.
//   * kAnySubset: only a sync of the directory does, only for its own names,
//     and a power loss keeps any of the rest. A rename is one operation.
//
// A file lives as long as any tree, the journal or an open File refers to it:
// so a name that was removed and not synced comes back with its content.
//
// SimFileSystem puts calls, faults and counters around it; use that one.
//
// Threads: none; the owner locks.
//
// Limitations: a rename between two directories counts as an operation of
// both, durable when either is synced. No links. An unsynced page has its
// newest content or what was last written back.
#ifndef HOURGLASS_TESTS_SIMULATION_SIM_DISK_H_
#define HOURGLASS_TESTS_SIMULATION_SIM_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/simulation/fault_plan.h"
#include "tests/support/paged_content.h"

namespace hourglass {

struct SimInode;
using SimInodePtr = std::shared_ptr<SimInode>;
using SimEntries = std::map<std::string, SimInodePtr, std::less<>>;

struct SimInode {
  bool directory = false;
  bool locked = false;
  bool sync_error_pending = false;  // the next sync reports it
  int64_t modified_ms = 0;
  PagedContent content;
  std::set<uint64_t> bad_sectors;

  SimEntries entries;
  SimEntries durable_entries;
};

class SimDisk {
 public:
  explicit SimDisk(NameOrder order);
  // Directories refer to each other in two trees: taken apart by hand.
  ~SimDisk();

  // Errors carry only the reason; the caller names operation and path.
  absl::StatusOr<SimInodePtr> Find(std::string_view path) const;
  absl::StatusOr<SimInodePtr> FindFile(std::string_view path) const;
  absl::StatusOr<SimInodePtr> FindDir(std::string_view path) const;

  absl::StatusOr<SimInodePtr> CreateFile(std::string_view path);
  // OK if it is there already.
  absl::Status CreateDir(std::string_view path);
  absl::Status Rename(std::string_view from, std::string_view to);
  absl::Status Remove(std::string_view path);
  absl::Status RemoveDir(std::string_view path);

  void SyncFile(SimInode* file);
  void SyncDir(SimInode* dir);

  // What the device holds when power is back: a new disk, all of it durable.
  // This one is as before.
  std::unique_ptr<SimDisk> AfterPowerLoss(
      const std::function<PowerLoss(const std::string& path)>& how,
      SplitMix64* rng, FaultCounts* counts) const;

  // Paths of all files, sorted.
  std::vector<std::string> Files() const;
  uint64_t UsedBytes() const;

 private:
  enum class Kind { kCreate, kRemove, kRename };
  struct Change {
    Kind kind;
    SimInodePtr dir;  // where `name` was made or removed
    std::string name;
    SimInodePtr from_dir;  // kRename
    std::string from_name;
    SimInodePtr inode;  // null: removed
  };
  struct Place {
    SimInodePtr dir;
    std::string name;
  };
  struct Cloning;

  absl::StatusOr<Place> FindPlace(std::string_view path) const;
  void Commit(const Change& change);
  void CommitAll();
  std::vector<const Change*> Surviving(int keep_percent, SplitMix64* rng,
                                       FaultCounts* counts) const;

  const NameOrder order_;
  SimInodePtr root_;
  std::vector<Change> journal_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_SIM_DISK_H_
