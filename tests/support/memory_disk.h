// File: memory_disk.h
//
// The tree of a simulated disk: directories and files as programs see them,
// beside what a power loss would leave. MemoryFileSystem puts locks, faults
// and counters around it; use that one.
//
// A directory keeps two maps, cached and durable, and the names in which they
// differ. Each such name belongs to a group: the two names of a rename are one
// group, because no file system loses one half of a rename; a crash keeps or
// undoes a group as a whole. Apart from that, entries are kept in no order.
//
// Limitations: a rename between two directories is made durable by SyncDir of
// each on its own. Moving a directory below a former child of its own leaks.
//
// Threads: none; the owner locks.
#ifndef HOURGLASS_TESTS_SUPPORT_MEMORY_DISK_H_
#define HOURGLASS_TESTS_SUPPORT_MEMORY_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/support/paged_content.h"

namespace hourglass {

struct MemoryInode;
using InodePtr = std::shared_ptr<MemoryInode>;
using EntryMap = std::map<std::string, InodePtr, std::less<>>;

struct MemoryInode {
  bool directory = false;
  bool locked = false;
  int links = 0;  // names that lead here, as programs see it
  int opens = 0;
  int64_t modified_ms = 0;

  PagedContent content;

  EntryMap entries;
  EntryMap durable_entries;
  std::map<std::string, uint64_t> unsynced_groups;  // by name
};

class MemoryDisk {
 public:
  MemoryDisk();

  // Errors carry only the reason ("no such file"); the caller adds the rest.
  absl::StatusOr<InodePtr> Find(std::string_view path) const;
  absl::StatusOr<InodePtr> FindFile(std::string_view path) const;
  absl::StatusOr<InodePtr> FindDir(std::string_view path) const;

  absl::StatusOr<InodePtr> Create(std::string_view path, bool directory);
  absl::Status Rename(std::string_view from, std::string_view to);
  absl::Status Remove(std::string_view path);
  absl::Status RemoveDir(std::string_view path);
  static void SyncDir(MemoryInode* dir);
  // Makes one existing entry durable and leaves the others of its directory.
  void SyncEntry(std::string_view path);

  // Frees what an inode holds once nobody can reach it any more.
  void ReleaseIfUnreachable(MemoryInode* inode);
  // Runs `change` on a file and accounts for the space it took or gave back.
  template <typename Change>
  void Account(MemoryInode* inode, Change change) {
    used_bytes_ -= inode->content.reserved_bytes();
    change(&inode->content);
    used_bytes_ += inode->content.reserved_bytes();
  }
  uint64_t used_bytes() const { return used_bytes_; }

  std::unique_ptr<MemoryDisk> AfterCrash(SplitMix64* rng,
                                         int keep_percent) const;

 private:
  struct Place {
    InodePtr dir;
    std::string name;
  };
  struct Crash {
    SplitMix64* rng;
    int keep_percent;
    MemoryDisk* to;
    std::unordered_map<uint64_t, bool> kept_groups;
    std::unordered_map<const MemoryInode*, InodePtr> done;

    bool Kept(uint64_t group);
  };

  absl::StatusOr<Place> FindPlace(std::string_view path) const;
  void SetEntry(const Place& place, InodePtr inode, uint64_t group);
  void ClearEntry(const Place& place, uint64_t group);
  static absl::Status CheckReplace(const MemoryInode& from,
                                   const MemoryInode& to);
  uint64_t JoinGroups(const Place& a, const Place& b);
  static InodePtr CrashInode(const InodePtr& inode, Crash* crash);
  static void CrashEntries(const MemoryInode& dir, MemoryInode* to,
                           Crash* crash);

  InodePtr root_;
  uint64_t next_group_ = 1;
  uint64_t used_bytes_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_MEMORY_DISK_H_
