#include "tests/support/memory_disk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/status_macros.h"

namespace hourglass {
namespace {

// The names on the way from the root, with "." and ".." worked out.
std::vector<std::string_view> Names(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(name.size() + (slash == path.npos ? 0 : 1));
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (!names.empty()) {
      names.pop_back();
    }
  }
  return names;
}

// Whether `names` goes on below `start`.
bool StartsWith(const std::vector<std::string_view>& names,
                const std::vector<std::string_view>& start) {
  return names.size() > start.size() &&
         std::equal(start.begin(), start.end(), names.begin());
}

absl::StatusOr<InodePtr> Child(const InodePtr& dir, std::string_view name) {
  if (!dir->directory) return absl::NotFoundError("not a directory on the way");
  const auto found = dir->entries.find(name);
  if (found == dir->entries.end()) {
    return absl::NotFoundError("no such file or directory");
  }
  return found->second;
}

}  // namespace

MemoryDisk::MemoryDisk() : root_(std::make_shared<MemoryInode>()) {
  root_->directory = true;
  root_->links = 1;
}

absl::StatusOr<InodePtr> MemoryDisk::Find(std::string_view path) const {
  InodePtr inode = root_;
  for (std::string_view name : Names(path)) {
    ASSIGN_OR_RETURN(inode, Child(inode, name));
  }
  return inode;
}

absl::StatusOr<InodePtr> MemoryDisk::FindFile(std::string_view path) const {
  ASSIGN_OR_RETURN(InodePtr inode, Find(path));
  if (inode->directory) return absl::FailedPreconditionError("is a directory");
  return inode;
}

absl::StatusOr<InodePtr> MemoryDisk::FindDir(std::string_view path) const {
  ASSIGN_OR_RETURN(InodePtr inode, Find(path));
  if (!inode->directory) return absl::NotFoundError("not a directory");
  return inode;
}

absl::StatusOr<MemoryDisk::Place> MemoryDisk::FindPlace(
    std::string_view path) const {
  std::vector<std::string_view> names = Names(path);
  if (names.empty()) return absl::FailedPreconditionError("is the root");
  Place place{root_, std::string(names.back())};
  names.pop_back();
  for (std::string_view name : names) {
    ASSIGN_OR_RETURN(place.dir, Child(place.dir, name));
  }
  if (!place.dir->directory) return absl::NotFoundError("not a directory");
  return place;
}

absl::StatusOr<InodePtr> MemoryDisk::Create(std::string_view path,
                                            bool directory) {
  if (directory && Names(path).empty()) return root_;
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  const auto found = place.dir->entries.find(place.name);
  if (found != place.dir->entries.end()) {
    if (directory && found->second->directory) return found->second;
    return absl::AlreadyExistsError("exists already");
  }
  auto inode = std::make_shared<MemoryInode>();
  inode->directory = directory;
  SetEntry(place, inode, JoinGroups(place, place));
  return inode;
}

absl::Status MemoryDisk::CheckReplace(const MemoryInode& from,
                                      const MemoryInode& to) {
  if (to.directory && !from.directory) {
    return absl::FailedPreconditionError("the target is a directory");
  }
  if (!to.directory && from.directory) {
    return absl::NotFoundError("the target is not a directory");
  }
  if (!to.entries.empty()) {
    return absl::FailedPreconditionError("the target is not empty");
  }
  return absl::OkStatus();
}

absl::Status MemoryDisk::Rename(std::string_view from, std::string_view to) {
  ASSIGN_OR_RETURN(InodePtr moved, Find(from));
  ASSIGN_OR_RETURN(Place source, FindPlace(from));
  ASSIGN_OR_RETURN(Place target, FindPlace(to));
  if (StartsWith(Names(to), Names(from))) {
    return absl::InvalidArgumentError("the target is below the source");
  }
  const auto replaced = target.dir->entries.find(target.name);
  if (replaced != target.dir->entries.end()) {
    if (replaced->second == moved) return absl::OkStatus();
    RETURN_IF_ERROR(CheckReplace(*moved, *replaced->second));
  }
  const uint64_t group = JoinGroups(source, target);
  SetEntry(target, moved, group);
  ClearEntry(source, group);
  return absl::OkStatus();
}

absl::Status MemoryDisk::Remove(std::string_view path) {
  RETURN_IF_ERROR(FindFile(path).status());
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  ClearEntry(place, JoinGroups(place, place));
  return absl::OkStatus();
}

absl::Status MemoryDisk::RemoveDir(std::string_view path) {
  ASSIGN_OR_RETURN(InodePtr dir, FindDir(path));
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  if (!dir->entries.empty()) {
    return absl::FailedPreconditionError("directory is not empty");
  }
  ClearEntry(place, JoinGroups(place, place));
  return absl::OkStatus();
}

void MemoryDisk::SyncDir(MemoryInode* dir) {
  for (const auto& [name, group] : dir->unsynced_groups) {
    const auto found = dir->entries.find(name);
    if (found == dir->entries.end()) {
      dir->durable_entries.erase(name);
    } else {
      dir->durable_entries[name] = found->second;
    }
  }
  dir->unsynced_groups.clear();
}

void MemoryDisk::SyncEntry(std::string_view path) {
  const absl::StatusOr<Place> place = FindPlace(path);
  if (!place.ok()) return;
  const auto found = place->dir->entries.find(place->name);
  if (found == place->dir->entries.end()) return;
  place->dir->durable_entries[place->name] = found->second;
  place->dir->unsynced_groups.erase(place->name);
}

void MemoryDisk::ReleaseIfUnreachable(MemoryInode* inode) {
  if (inode->links > 0 || inode->opens > 0) return;
  // A crash may bring the name back, and then its content too: only the space
  // is given back, by dropping it from the account for good.
  used_bytes_ -= inode->content.reserved_bytes();
}

void MemoryDisk::SetEntry(const Place& place, InodePtr inode, uint64_t group) {
  ClearEntry(place, group);
  ++inode->links;
  place.dir->entries[place.name] = std::move(inode);
}

void MemoryDisk::ClearEntry(const Place& place, uint64_t group) {
  place.dir->unsynced_groups[place.name] = group;
  const auto found = place.dir->entries.find(place.name);
  if (found == place.dir->entries.end()) return;
  const InodePtr inode = std::move(found->second);
  place.dir->entries.erase(found);
  --inode->links;
  ReleaseIfUnreachable(inode.get());
}

// The group of both names from now on; older groups they were in come along.
uint64_t MemoryDisk::JoinGroups(const Place& a, const Place& b) {
  const uint64_t joined = next_group_++;
  uint64_t old[2] = {0, 0};
  const Place* places[2] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    const auto& groups = places[i]->dir->unsynced_groups;
    const auto found = groups.find(places[i]->name);
    if (found != groups.end()) old[i] = found->second;
  }
  if (old[0] == 0 && old[1] == 0) return joined;
  for (const Place* place : places) {
    for (auto& [name, group] : place->dir->unsynced_groups) {
      if (group == old[0] || group == old[1]) group = joined;
    }
  }
  return joined;
}

bool MemoryDisk::Crash::Kept(uint64_t group) {
  const auto [at, inserted] = kept_groups.try_emplace(group, false);
  if (inserted) at->second = rng->Percent(keep_percent);
  return at->second;
}

std::unique_ptr<MemoryDisk> MemoryDisk::AfterCrash(SplitMix64* rng,
                                                   int keep_percent) const {
  auto disk = std::make_unique<MemoryDisk>();
  Crash crash{rng, keep_percent, disk.get(), {}, {}};
  disk->root_ = CrashInode(root_, &crash);
  disk->root_->links = 1;
  return disk;
}

InodePtr MemoryDisk::CrashInode(const InodePtr& inode, Crash* crash) {
  auto [at, inserted] = crash->done.try_emplace(inode.get(), nullptr);
  if (!inserted) return at->second;
  const auto copy = std::make_shared<MemoryInode>();
  at->second = copy;
  copy->directory = inode->directory;
  copy->modified_ms = inode->modified_ms;
  copy->content = inode->content.AfterCrash(crash->rng, crash->keep_percent);
  crash->to->used_bytes_ += copy->content.reserved_bytes();
  CrashEntries(*inode, copy.get(), crash);
  return copy;
}

void MemoryDisk::CrashEntries(const MemoryInode& dir, MemoryInode* to,
                              Crash* crash) {
  EntryMap left = dir.durable_entries;
  for (const auto& [name, group] : dir.unsynced_groups) {
    if (!crash->Kept(group)) continue;
    const auto found = dir.entries.find(name);
    if (found == dir.entries.end()) {
      left.erase(name);
    } else {
      left[name] = found->second;
    }
  }
  for (const auto& [name, inode] : left) {
    to->entries[name] = CrashInode(inode, crash);
    ++to->entries[name]->links;
  }
  to->durable_entries = to->entries;
}

}  // namespace hourglass
