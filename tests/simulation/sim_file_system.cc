#include "tests/simulation/sim_file_system.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/status_macros.h"
#include "storage/text.h"
#include "tests/simulation/sim_disk.h"
#include "tests/simulation/sim_machine.h"

namespace hourglass {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 32;
constexpr uint64_t kDirectAlignment = 512;

}  // namespace

// --- an open file ---

class SimFileSystem::OpenFile final : public File {
 public:
  OpenFile(std::shared_ptr<Machine> machine, SimInodePtr inode, Path path,
           OpenFlags flags)
      : machine_(std::move(machine)),
        inode_(std::move(inode)),
        path_(path.native()),
        flags_(flags) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t size,
                                char* out) override {
    const auto lock = Enter();
    const SimVerdict verdict =
        machine_->Begin(SimOp::kRead, path_, offset, size);
    if (!verdict.status.ok()) return End(SimOp::kRead, verdict.status);
    RETURN_IF_ERROR(CheckAligned(SimOp::kRead, offset, size, out));
    if (HitsBadSector(offset, size)) {
      ++machine_->errors;
      return End(SimOp::kRead, SimIoError(FaultKind::kBadSector));
    }
    return inode_->content.Read(offset, size, out);
  }

  absl::Status WriteAt(uint64_t offset, std::string_view data) override {
    const auto lock = Enter();
    const SimVerdict verdict =
        machine_->Begin(SimOp::kWrite, path_, offset, data.size());
    machine_->NoteContent(path_, data);
    RETURN_IF_ERROR(CheckWritable(SimOp::kWrite, offset, data.size()));
    RETURN_IF_ERROR(
        CheckAligned(SimOp::kWrite, offset, data.size(), data.data()));
    if (verdict.fault == FaultKind::kShortWrite && !data.empty()) {
      Write(offset, data.substr(0, machine_->rng.Uniform(data.size())));
    } else if (verdict.perform) {
      const size_t fits = Fitting(offset, data.size());
      Write(offset, data.substr(0, fits));
      if (verdict.status.ok() && fits < data.size()) {
        return End(SimOp::kWrite, NoSpace());
      }
    }
    return End(SimOp::kWrite, verdict.status);
  }

  absl::Status Allocate(uint64_t offset, uint64_t size) override {
    const auto lock = Enter();
    const SimVerdict verdict =
        machine_->Begin(SimOp::kAllocate, path_, offset, size);
    RETURN_IF_ERROR(CheckWritable(SimOp::kAllocate, offset, size));
    if (verdict.perform) {
      if (verdict.status.ok() && Fitting(offset, size) < size) {
        return End(SimOp::kAllocate, NoSpace());
      }
      inode_->content.Reserve(offset, size);
      machine_->NoteWritten(inode_);
    }
    return End(SimOp::kAllocate, verdict.status);
  }

  absl::Status Truncate(uint64_t size) override {
    const auto lock = Enter();
    const SimVerdict verdict =
        machine_->Begin(SimOp::kTruncate, path_, 0, size);
    RETURN_IF_ERROR(CheckWritable(SimOp::kTruncate, 0, size));
    if (verdict.perform) {
      inode_->content.Resize(size);
      machine_->NoteWritten(inode_);
    }
    return End(SimOp::kTruncate, verdict.status);
  }

  absl::Status Sync() override {
    const auto lock = Enter();
    const SimVerdict verdict = machine_->Begin(SimOp::kSync, path_, 0, 0);
    if (verdict.fault == FaultKind::kPowerLoss) {
      for (uint64_t n = machine_->rng.Uniform(4); n > 0; --n) {
        inode_->content.WriteBack(machine_->rng.Next());
      }
      return End(SimOp::kSync, verdict.status);
    }
    if (!machine_->power) return End(SimOp::kSync, verdict.status);
    if (inode_->sync_error_pending && verdict.status.ok()) {
      inode_->sync_error_pending = false;
      inode_->content.ForgetDirty();
      ++machine_->errors;
      return End(SimOp::kSync, SimIoError(FaultKind::kSyncErrorLate));
    }
    if (!verdict.status.ok()) return FailSync(verdict);
    SlowDown();
    machine_->disk->SyncFile(inode_.get());
    return End(SimOp::kSync, absl::OkStatus());
  }

  absl::StatusOr<uint64_t> Size() override {
    const auto lock = Enter();
    const SimVerdict verdict = machine_->Begin(SimOp::kStat, path_, 0, 0);
    if (!verdict.status.ok()) return End(SimOp::kStat, verdict.status);
    return inode_->content.size();
  }

  void Prefetch(uint64_t, uint64_t) override {}

 private:
  std::unique_lock<std::mutex> Enter() {
    if (machine_->observer) machine_->observer(machine_->calls + 1);
    return std::unique_lock(machine_->mutex);
  }
  absl::Status End(SimOp op, absl::Status status) {
    return machine_->End(op, path_, std::move(status));
  }
  static absl::Status NoSpace() {
    return absl::ResourceExhaustedError("no space left on the simulated disk");
  }
  size_t Fitting(uint64_t offset, uint64_t size) {
    if (machine_->capacity == kSimUnlimited) return size;
    const uint64_t fits =
        inode_->content.Fitting(offset, size, machine_->FreeBytes());
    if (fits < size) {
      ++machine_->errors;
      Count(machine_->counts, FaultKind::kNoSpaceBudget);
    }
    return fits;
  }
  void Write(uint64_t offset, std::string_view data) {
    inode_->content.Write(offset, data);
    machine_->NoteWritten(inode_);
    if (inode_->bad_sectors.empty() || data.empty()) return;
    // The device takes a spare sector.
    inode_->bad_sectors.erase(
        inode_->bad_sectors.lower_bound(offset / kMemorySectorBytes),
        inode_->bad_sectors.upper_bound((offset + data.size() - 1) /
                                        kMemorySectorBytes));
  }
  bool HitsBadSector(uint64_t offset, uint64_t size) const {
    if (inode_->bad_sectors.empty() || size == 0) return false;
    const auto at =
        inode_->bad_sectors.lower_bound(offset / kMemorySectorBytes);
    return at != inode_->bad_sectors.end() &&
           *at * kMemorySectorBytes < offset + size;
  }
  absl::Status FailSync(const SimVerdict& verdict) {
    if (verdict.fault == FaultKind::kSyncErrorRevert) {
      inode_->content.Revert();
    } else {
      inode_->content.ForgetDirty();
    }
    if (verdict.fault == FaultKind::kSyncErrorLate) {
      inode_->sync_error_pending = true;
      return End(SimOp::kSync, absl::OkStatus());
    }
    return End(SimOp::kSync, verdict.status);
  }
  void SlowDown() {
    if (machine_->plan->slow_sync_percent == 0 ||
        machine_->rng.Uniform(100) >= machine_->plan->slow_sync_percent) {
      return;
    }
    machine_->clock->AdvanceMs(
        static_cast<int64_t>(1 + machine_->rng.Uniform(3000)));
    Count(machine_->counts, FaultKind::kSlowSync);
  }
  absl::Status CheckAligned(SimOp op, uint64_t offset, uint64_t size,
                            const char* address) {
    if (!flags_.direct ||
        (offset % kDirectAlignment == 0 && size % kDirectAlignment == 0 &&
         reinterpret_cast<uintptr_t>(address) % kDirectAlignment == 0)) {
      return absl::OkStatus();
    }
    return End(op, absl::InvalidArgumentError(
                       "opened direct, but not a multiple of 512"));
  }
  absl::Status CheckWritable(SimOp op, uint64_t offset, uint64_t size) {
    if (flags_.mode == OpenMode::kRead) {
      return End(op, absl::FailedPreconditionError("opened for reading"));
    }
    if (offset > kFileBytesMax || size > kFileBytesMax - offset) {
      return End(op, absl::InvalidArgumentError("file would be too large"));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<Machine> machine_;
  const SimInodePtr inode_;
  const std::string path_;
  const OpenFlags flags_;
};

class SimFileSystem::HeldLock final : public FileLock {
 public:
  HeldLock(std::shared_ptr<Machine> machine, SimInodePtr inode)
      : machine_(std::move(machine)), inode_(std::move(inode)) {
    inode_->locked = true;
  }
  ~HeldLock() override {
    const std::lock_guard lock(machine_->mutex);
    // The locks of a process that was killed are gone already.
    if (machine_->power) inode_->locked = false;
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const SimInodePtr inode_;
};

// --- the machine ---

SimFileSystem::SimFileSystem(VirtualClock* clock, const FaultPlan& plan,
                             uint64_t seed, FaultCounts* counts)
    : machine_(std::make_shared<Machine>()) {
  machine_->clock = clock;
  machine_->plan = &plan;
  machine_->counts = counts;
  machine_->rng = SplitMix64(seed);
  machine_->disk = std::make_shared<SimDisk>(plan.order);
}

SimFileSystem::SimFileSystem(std::shared_ptr<Machine> machine)
    : machine_(std::move(machine)) {}

SimFileSystem::~SimFileSystem() = default;

std::unique_ptr<SimFileSystem> SimFileSystem::PowerLoss(uint64_t seed) {
  auto after = PeekPowerLoss(seed);
  const std::lock_guard lock(machine_->mutex);
  machine_->power = false;
  return after;
}

std::unique_ptr<SimFileSystem> SimFileSystem::PeekPowerLoss(uint64_t seed) {
  const std::lock_guard lock(machine_->mutex);
  auto after = machine_->Successor(seed);
  SplitMix64 rng(seed);
  after->disk = machine_->DiskAfterPowerLoss(&rng);
  Count(machine_->counts, FaultKind::kPowerLoss);
  return std::unique_ptr<SimFileSystem>(new SimFileSystem(std::move(after)));
}

std::unique_ptr<SimFileSystem> SimFileSystem::Kill() {
  const std::lock_guard lock(machine_->mutex);
  auto after = machine_->Successor(machine_->rng.Next());
  after->disk = machine_->disk;
  after->written = machine_->written;
  machine_->power = false;
  for (const std::string& path : after->disk->Files()) {
    (*after->disk->FindFile(path))->locked = false;
  }
  Count(machine_->counts, FaultKind::kProcessKill);
  return std::unique_ptr<SimFileSystem>(new SimFileSystem(std::move(after)));
}

void SimFileSystem::PowerOffAfter(uint64_t calls) {
  const std::lock_guard lock(machine_->mutex);
  machine_->power_off_at = calls == 0 ? 0 : machine_->calls + calls;
}

bool SimFileSystem::power_is_off() {
  const std::lock_guard lock(machine_->mutex);
  return !machine_->power;
}

void SimFileSystem::Arm(const Fault& fault) {
  const std::lock_guard lock(machine_->mutex);
  machine_->faults.push_back(fault);
  machine_->errors = 0;
}

void SimFileSystem::Disarm() {
  const std::lock_guard lock(machine_->mutex);
  machine_->faults.clear();
  machine_->capacity = kSimUnlimited;
}

uint64_t SimFileSystem::errors() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->errors;
}

void SimFileSystem::SetFreeBytes(uint64_t bytes) {
  const std::lock_guard lock(machine_->mutex);
  machine_->capacity = machine_->disk->UsedBytes() + bytes;
  machine_->errors = 0;
}

std::vector<std::string> SimFileSystem::Files() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->disk->Files();
}

std::string SimFileSystem::Content(const std::string& path) {
  const std::lock_guard lock(machine_->mutex);
  const auto inode = machine_->disk->FindFile(path);
  if (!inode.ok()) return "";
  std::string content((*inode)->content.size(), '\0');
  (*inode)->content.Read(0, content.size(), content.data());
  return content;
}

uint64_t SimFileSystem::calls() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->calls;
}

uint64_t SimFileSystem::trace_hash() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->trace;
}

std::string SimFileSystem::LastCalls() {
  const std::lock_guard lock(machine_->mutex);
  std::string text;
  const uint64_t n = std::min<uint64_t>(machine_->calls, kSimCallsKept);
  for (uint64_t i = machine_->calls - n + 1; i <= machine_->calls; ++i) {
    const SimCall& call = machine_->last[i % kSimCallsKept];
    absl::StrAppend(
        &text, "  ", i, " ", ToAbsl(SimOpName(call.op)), " ", call.path, " ",
        call.offset, "+", call.size,
        call.code == absl::StatusCode::kOk
            ? ""
            : absl::StrCat(" -> ", absl::StatusCodeToString(call.code)),
        "\n");
  }
  return text;
}

void SimFileSystem::set_observer(std::function<void(uint64_t)> observer) {
  machine_->observer = std::move(observer);
}

// --- damage ---

void SimFileSystem::FlipBit(const std::string& path, uint64_t offset, int bit) {
  const std::lock_guard lock(machine_->mutex);
  const auto inode = machine_->disk->FindFile(path);
  if (!inode.ok() || offset >= (*inode)->content.size()) return;
  char byte = 0;
  (*inode)->content.Read(offset, 1, &byte);
  byte = static_cast<char>(byte ^ (1 << bit));
  (*inode)->content.Damage(offset, {&byte, 1});
}

void SimFileSystem::CutFile(const std::string& path, uint64_t size) {
  const std::lock_guard lock(machine_->mutex);
  const auto inode = machine_->disk->FindFile(path);
  if (!inode.ok()) return;
  (*inode)->content.Resize(size);
  (*inode)->content.Sync();
}

std::string SimFileSystem::Damage(FaultKind kind, Random* random) {
  constexpr size_t kBlock = kMemorySectorBytes;
  const std::lock_guard lock(machine_->mutex);
  std::vector<std::string> files = machine_->disk->Files();
  // Most files are RocksDB's; the messages stand in these.
  if (random->Uniform(2) == 0) {
    std::erase_if(files, [](const std::string& path) {
      return path.find("/hours/") == path.npos &&
             path.find("/commitlog/") == path.npos;
    });
  }
  // Zeros are no data: a place is sought where something stands.
  for (int attempt = 0; attempt < 30 && !files.empty(); ++attempt) {
    const std::string& path = files[random->Uniform(files.size())];
    const SimInodePtr inode = *machine_->disk->FindFile(path);
    PagedContent& content = inode->content;
    if (content.size() == 0) continue;
    const uint64_t offset = random->Uniform(content.size());
    char block[kBlock] = {};
    const uint64_t start = offset / kBlock * kBlock;
    const size_t got = content.Read(start, kBlock, block);
    if (std::all_of(block, block + got, [](char c) { return c == 0; })) {
      continue;
    }
    std::string what =
        absl::StrCat(ToAbsl(FaultKindName(kind)), " in ", path, " at ", offset);
    if (kind == FaultKind::kBadSector) {
      inode->bad_sectors.insert(offset / kBlock);
    } else if (kind == FaultKind::kBitRot) {
      char byte = block[offset - start];
      byte = static_cast<char>(byte ^ (1 << random->Uniform(8)));
      content.Damage(offset, {&byte, 1});
    } else if (kind == FaultKind::kFileCut) {
      content.Resize(offset);
      content.Sync();
    } else {
      const uint64_t blocks = (content.size() + kBlock - 1) / kBlock;
      const uint64_t other = random->Uniform(blocks) * kBlock;
      if (other == start) continue;
      char target[kBlock] = {};
      content.Read(other, kBlock, target);
      if (std::equal(block, block + kBlock, target)) continue;
      absl::StrAppend(&what, ", to ", other);
      content.Damage(other, {block, kBlock});
      if (kind == FaultKind::kBlockMisdirected) {
        content.Damage(start, {target, kBlock});
      }
    }
    Count(machine_->counts, kind);
    machine_->trace = SimMix(machine_->trace, HashBytes(what));
    return what;
  }
  return "";
}

// --- calls that name a path ---

absl::StatusOr<std::unique_ptr<File>> SimFileSystem::Open(const Path& path,
                                                          OpenFlags flags) {
  if (machine_->observer) machine_->observer(machine_->calls + 1);
  const std::lock_guard lock(machine_->mutex);
  const bool create = flags.mode == OpenMode::kCreate;
  const SimOp op = create ? SimOp::kCreate : SimOp::kOpen;
  const SimVerdict verdict = machine_->Begin(op, path.native(), 0, 0);
  if (!verdict.perform) {
    return machine_->End(op, path.native(), verdict.status);
  }
  if (create && machine_->FreeBytes() == 0) {
    ++machine_->errors;
    Count(machine_->counts, FaultKind::kNoSpaceBudget);
    return machine_->End(op, path.native(),
                         SimIoError(FaultKind::kNoSpaceCall));
  }
  auto inode = create ? machine_->disk->CreateFile(path.native())
                      : machine_->disk->FindFile(path.native());
  const absl::Status status =
      verdict.status.ok() ? inode.status() : verdict.status;
  if (!status.ok()) return machine_->End(op, path.native(), status);
  if (create) (*inode)->modified_ms = machine_->clock->NowMs();
  return std::make_unique<OpenFile>(machine_, *std::move(inode), path, flags);
}

namespace {

// A call that changes names: `change` runs if the verdict lets it.
template <typename Machine, typename Change>
absl::Status ChangeNames(Machine* machine, SimOp op, const std::string& path,
                         Change change) {
  if (machine->observer) machine->observer(machine->calls + 1);
  const std::lock_guard lock(machine->mutex);
  const SimVerdict verdict = machine->Begin(op, path, 0, 0);
  absl::Status status = verdict.status;
  if (verdict.perform) {
    const absl::Status changed = change();
    if (status.ok()) status = changed;
  }
  return machine->End(op, path, status);
}

// A call that only looks.
template <typename T, typename Machine, typename Look>
absl::StatusOr<T> LookAt(Machine* machine, SimOp op, const std::string& path,
                         Look look) {
  if (op != SimOp::kStat && machine->observer) {
    machine->observer(machine->calls + 1);
  }
  const std::lock_guard lock(machine->mutex);
  const SimVerdict verdict = machine->Begin(op, path, 0, 0);
  if (!verdict.status.ok()) return machine->End(op, path, verdict.status);
  absl::StatusOr<T> answer = look();
  const absl::Status status = machine->End(op, path, answer.status());
  if (!status.ok()) return status;
  return answer;
}

}  // namespace

absl::Status SimFileSystem::Rename(const Path& from, const Path& to) {
  return ChangeNames(machine_.get(), SimOp::kRename, to.native(), [&] {
    return machine_->disk->Rename(from.native(), to.native());
  });
}

absl::Status SimFileSystem::Remove(const Path& path) {
  return ChangeNames(machine_.get(), SimOp::kRemove, path.native(),
                     [&] { return machine_->disk->Remove(path.native()); });
}

absl::Status SimFileSystem::RemoveDir(const Path& path) {
  return ChangeNames(machine_.get(), SimOp::kRemove, path.native(),
                     [&] { return machine_->disk->RemoveDir(path.native()); });
}

absl::Status SimFileSystem::CreateDir(const Path& path) {
  return ChangeNames(machine_.get(), SimOp::kCreate, path.native(),
                     [&] { return machine_->disk->CreateDir(path.native()); });
}

absl::Status SimFileSystem::SyncDir(const Path& dir) {
  return ChangeNames(machine_.get(), SimOp::kSyncDir, dir.native(),
                     [&]() -> absl::Status {
                       ASSIGN_OR_RETURN(const auto inode,
                                        machine_->disk->FindDir(dir.native()));
                       machine_->disk->SyncDir(inode.get());
                       return absl::OkStatus();
                     });
}

absl::StatusOr<std::vector<std::string>> SimFileSystem::List(const Path& dir) {
  using Names = std::vector<std::string>;
  return LookAt<Names>(machine_.get(), SimOp::kList, dir.native(),
                       [&]() -> absl::StatusOr<Names> {
                         ASSIGN_OR_RETURN(
                             const auto inode,
                             machine_->disk->FindDir(dir.native()));
                         Names names;
                         for (const auto& [name, child] : inode->entries)
                           names.push_back(name);
                         return names;
                       });
}

absl::StatusOr<bool> SimFileSystem::Exists(const Path& path) {
  return LookAt<bool>(machine_.get(), SimOp::kStat, path.native(),
                      [&]() -> absl::StatusOr<bool> {
                        return machine_->disk->Find(path.native()).ok();
                      });
}

absl::StatusOr<bool> SimFileSystem::IsDirectory(const Path& path) {
  return LookAt<bool>(machine_.get(), SimOp::kStat, path.native(),
                      [&]() -> absl::StatusOr<bool> {
                        ASSIGN_OR_RETURN(const auto inode,
                                         machine_->disk->Find(path.native()));
                        return inode->directory;
                      });
}

absl::StatusOr<uint64_t> SimFileSystem::FileSize(const Path& path) {
  return LookAt<uint64_t>(machine_.get(), SimOp::kStat, path.native(),
                          [&]() -> absl::StatusOr<uint64_t> {
                            ASSIGN_OR_RETURN(
                                const auto inode,
                                machine_->disk->FindFile(path.native()));
                            return inode->content.size();
                          });
}

absl::StatusOr<int64_t> SimFileSystem::ModifiedMs(const Path& path) {
  return LookAt<int64_t>(
      machine_.get(), SimOp::kStat, path.native(),
      [&]() -> absl::StatusOr<int64_t> {
        ASSIGN_OR_RETURN(const auto inode, machine_->disk->Find(path.native()));
        return inode->modified_ms;
      });
}

absl::StatusOr<uint64_t> SimFileSystem::FreeSpace(const Path& dir) {
  return LookAt<uint64_t>(
      machine_.get(), SimOp::kStat, dir.native(),
      [&]() -> absl::StatusOr<uint64_t> { return machine_->FreeBytes(); });
}

absl::StatusOr<std::unique_ptr<FileLock>> SimFileSystem::Lock(
    const Path& path) {
  if (machine_->observer) machine_->observer(machine_->calls + 1);
  const std::lock_guard lock(machine_->mutex);
  const SimVerdict verdict =
      machine_->Begin(SimOp::kCreate, path.native(), 0, 0);
  const auto end = [&](const absl::Status& status) {
    return machine_->End(SimOp::kCreate, path.native(), status);
  };
  if (!verdict.perform) return end(verdict.status);
  auto inode = machine_->disk->FindFile(path.native());
  if (absl::IsNotFound(inode.status())) {
    inode = machine_->disk->CreateFile(path.native());
  }
  if (!verdict.status.ok()) return end(verdict.status);
  if (!inode.ok()) return end(inode.status());
  if ((*inode)->locked) {
    return end(absl::FailedPreconditionError("somebody holds the lock"));
  }
  return std::make_unique<HeldLock>(machine_, *std::move(inode));
}

}  // namespace hourglass
