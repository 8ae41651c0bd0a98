#include "tests/simulation/sim_disk.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "storage/status_macros.h"

namespace hourglass {
namespace {

// The next name of a path, and the path behind it.
std::string_view NextName(std::string_view* path) {
  while (!path->empty() && path->front() == '/') path->remove_prefix(1);
  const std::string_view name = path->substr(0, path->find('/'));
  path->remove_prefix(name.size());
  while (!path->empty() && path->front() == '/') path->remove_prefix(1);
  return name;
}

void TakeApart(SimInode* dir) {
  SimEntries cached = std::move(dir->entries);
  SimEntries durable = std::move(dir->durable_entries);
  dir->entries.clear();
  dir->durable_entries.clear();
  for (auto& [name, inode] : cached) TakeApart(inode.get());
  for (auto& [name, inode] : durable) TakeApart(inode.get());
}

uint64_t BytesUnder(const SimInode& inode) {
  uint64_t bytes = inode.content.reserved_bytes();
  for (const auto& [name, child] : inode.entries) bytes += BytesUnder(*child);
  return bytes;
}

void ListFiles(const SimInode& dir, const std::string& path,
               std::vector<std::string>* files) {
  for (const auto& [name, child] : dir.entries) {
    std::string at = path;
    at += '/';
    at += name;
    if (child->directory) {
      ListFiles(*child, at, files);
    } else {
      files->push_back(std::move(at));
    }
  }
}

}  // namespace

SimDisk::SimDisk(NameOrder order)
    : order_(order), root_(std::make_shared<SimInode>()) {
  root_->directory = true;
}

SimDisk::~SimDisk() {
  TakeApart(root_.get());
  for (const Change& change : journal_) {
    if (change.inode != nullptr) TakeApart(change.inode.get());
  }
}

absl::StatusOr<SimInodePtr> SimDisk::Find(std::string_view path) const {
  SimInodePtr inode = root_;
  while (true) {
    const std::string_view name = NextName(&path);
    if (name.empty()) return inode;
    if (name == ".") continue;
    if (!inode->directory) return absl::NotFoundError("not a directory");
    const auto found = inode->entries.find(name);
    if (found == inode->entries.end()) {
      return absl::NotFoundError("no such file or directory");
    }
    inode = found->second;
  }
}

absl::StatusOr<SimInodePtr> SimDisk::FindFile(std::string_view path) const {
  ASSIGN_OR_RETURN(SimInodePtr inode, Find(path));
  if (inode->directory) return absl::FailedPreconditionError("is a directory");
  return inode;
}

absl::StatusOr<SimInodePtr> SimDisk::FindDir(std::string_view path) const {
  ASSIGN_OR_RETURN(SimInodePtr inode, Find(path));
  if (!inode->directory) return absl::NotFoundError("not a directory");
  return inode;
}

absl::StatusOr<SimDisk::Place> SimDisk::FindPlace(std::string_view path) const {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  const size_t at = slash == path.npos ? 0 : slash + 1;
  Place place;
  place.name = std::string(path.substr(at));
  if (place.name.empty()) return absl::FailedPreconditionError("is the root");
  ASSIGN_OR_RETURN(place.dir, FindDir(path.substr(0, at)));
  return place;
}

// --- changes of names ---

absl::StatusOr<SimInodePtr> SimDisk::CreateFile(std::string_view path) {
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  auto [at, inserted] = place.dir->entries.try_emplace(place.name, nullptr);
  if (!inserted) return absl::AlreadyExistsError("exists already");
  at->second = std::make_shared<SimInode>();
  journal_.push_back(
      {Kind::kCreate, place.dir, place.name, nullptr, "", at->second});
  return at->second;
}

absl::Status SimDisk::CreateDir(std::string_view path) {
  const auto there = Find(path);
  if (there.ok() && (*there)->directory) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SimInodePtr dir, CreateFile(path));
  dir->directory = true;
  return absl::OkStatus();
}

absl::Status SimDisk::Rename(std::string_view from, std::string_view to) {
  ASSIGN_OR_RETURN(const SimInodePtr moved, Find(from));
  ASSIGN_OR_RETURN(Place source, FindPlace(from));
  ASSIGN_OR_RETURN(Place target, FindPlace(to));
  const auto replaced = target.dir->entries.find(target.name);
  if (replaced != target.dir->entries.end()) {
    if (replaced->second == moved) return absl::OkStatus();
    if (replaced->second->directory != moved->directory ||
        !replaced->second->entries.empty()) {
      return absl::FailedPreconditionError("the target cannot be replaced");
    }
  }
  target.dir->entries[target.name] = moved;
  source.dir->entries.erase(source.name);
  journal_.push_back(
      {Kind::kRename, target.dir, target.name, source.dir, source.name, moved});
  return absl::OkStatus();
}

absl::Status SimDisk::Remove(std::string_view path) {
  RETURN_IF_ERROR(FindFile(path).status());
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  place.dir->entries.erase(place.name);
  journal_.push_back({Kind::kRemove, place.dir, place.name, nullptr, "", {}});
  return absl::OkStatus();
}

absl::Status SimDisk::RemoveDir(std::string_view path) {
  ASSIGN_OR_RETURN(const SimInodePtr dir, FindDir(path));
  if (!dir->entries.empty()) {
    return absl::FailedPreconditionError("directory is not empty");
  }
  ASSIGN_OR_RETURN(Place place, FindPlace(path));
  place.dir->entries.erase(place.name);
  journal_.push_back({Kind::kRemove, place.dir, place.name, nullptr, "", {}});
  return absl::OkStatus();
}

// --- what becomes durable ---

void SimDisk::Commit(const Change& change) {
  if (change.from_dir != nullptr) {
    change.from_dir->durable_entries.erase(change.from_name);
  }
  if (change.inode == nullptr) {
    change.dir->durable_entries.erase(change.name);
  } else {
    change.dir->durable_entries[change.name] = change.inode;
  }
}

void SimDisk::CommitAll() {
  for (const Change& change : journal_) Commit(change);
  journal_.clear();
}

void SimDisk::SyncFile(SimInode* file) {
  file->content.Sync();
  if (order_ == NameOrder::kJournal) CommitAll();
}

void SimDisk::SyncDir(SimInode* dir) {
  if (order_ == NameOrder::kJournal) return CommitAll();
  std::erase_if(journal_, [this, dir](const Change& change) {
    const bool mine = change.dir.get() == dir || change.from_dir.get() == dir;
    if (mine) Commit(change);
    return mine;
  });
}

// --- power loss ---

std::vector<const SimDisk::Change*> SimDisk::Surviving(
    int keep_percent, SplitMix64* rng, FaultCounts* counts) const {
  constexpr FaultKind kLost[] = {FaultKind::kCreateLost, FaultKind::kUnlinkLost,
                                 FaultKind::kRenameLost};
  // In a journal, whole up to some place.
  size_t kept_upto = keep_percent == 0 ? 0 : journal_.size();
  if (keep_percent > 0 && keep_percent < 100) {
    kept_upto = rng->Uniform(journal_.size() + 1);
  }
  std::vector<const Change*> surviving;
  for (size_t i = 0; i < journal_.size(); ++i) {
    const bool kept = order_ == NameOrder::kJournal
                          ? i < kept_upto
                          : rng->Percent(keep_percent);
    if (kept) {
      surviving.push_back(&journal_[i]);
    } else {
      Count(counts, kLost[static_cast<int>(journal_[i].kind)]);
    }
  }
  return surviving;
}

// The durable tree plus what survived of the journal, copied.
struct SimDisk::Cloning {
  const std::function<PowerLoss(const std::string& path)>& how;
  SplitMix64* rng;
  PowerLossCounts counts;
  std::unordered_map<const SimInode*, SimEntries> entries;
  std::unordered_map<const SimInode*, SimInodePtr> done;

  SimEntries& EntriesOf(const SimInode& dir) {
    return entries.try_emplace(&dir, dir.durable_entries).first->second;
  }
  SimInodePtr Clone(const SimInode& inode, const std::string& path) {
    auto [at, inserted] = done.try_emplace(&inode, nullptr);
    if (!inserted) return at->second;
    const auto copy = std::make_shared<SimInode>();
    at->second = copy;
    copy->directory = inode.directory;
    copy->modified_ms = inode.modified_ms;
    copy->bad_sectors = inode.bad_sectors;
    if (!inode.directory) {
      copy->content = inode.content.AfterPowerLoss(how(path), rng, &counts);
      return copy;
    }
    for (const auto& [name, child] : EntriesOf(inode)) {
      std::string below = path;
      below += '/';
      below += name;
      copy->entries[name] = Clone(*child, below);
    }
    copy->durable_entries = copy->entries;
    return copy;
  }
};

std::unique_ptr<SimDisk> SimDisk::AfterPowerLoss(
    const std::function<PowerLoss(const std::string& path)>& how,
    SplitMix64* rng, FaultCounts* counts) const {
  Cloning cloning{how, rng, {}, {}, {}};
  const int keep_percent = how("").keep_percent;
  for (const Change* change : Surviving(keep_percent, rng, counts)) {
    if (change->from_dir != nullptr) {
      cloning.EntriesOf(*change->from_dir).erase(change->from_name);
    }
    SimEntries& entries = cloning.EntriesOf(*change->dir);
    if (change->inode == nullptr) {
      entries.erase(change->name);
    } else {
      entries[change->name] = change->inode;
    }
  }
  auto disk = std::make_unique<SimDisk>(order_);
  disk->root_ = cloning.Clone(*root_, "");
  Count(counts, FaultKind::kPageLost, cloning.counts.pages_lost);
  Count(counts, FaultKind::kPageTorn, cloning.counts.pages_torn);
  Count(counts, FaultKind::kSectorGarbage, cloning.counts.sectors_garbage);
  Count(counts, FaultKind::kSectorTrashed, cloning.counts.sectors_trashed);
  Count(counts, FaultKind::kPageGrownZero, cloning.counts.pages_grown_zero);
  Count(counts, FaultKind::kSizeLost, cloning.counts.sizes_lost);
  return disk;
}

std::vector<std::string> SimDisk::Files() const {
  std::vector<std::string> files;
  ListFiles(*root_, "", &files);
  return files;
}

uint64_t SimDisk::UsedBytes() const { return BytesUnder(*root_); }

}  // namespace hourglass
