#include "tests/support/memory_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "storage/status_macros.h"
#include "tests/support/memory_disk.h"

namespace hourglass {
namespace {

constexpr uint64_t kUnlimitedBytes = uint64_t{1} << 40;
// A file larger than this is a mistake of the test.
constexpr uint64_t kFileBytesMax = uint64_t{1} << 36;
constexpr uint64_t kDirectAlignment = 512;

bool IsAligned(uint64_t offset, uint64_t size, const char* address) {
  return offset % kDirectAlignment == 0 && size % kDirectAlignment == 0 &&
         reinterpret_cast<uintptr_t>(address) % kDirectAlignment == 0;
}

// Names the operation and the path.
absl::Status Describe(absl::string_view operation, const Path& path,
                      const absl::Status& why) {
  if (why.ok()) return why;
  return absl::Status(why.code(), absl::StrCat(operation, " ", path.native(),
                                               ": ", why.message()));
}

struct Fault {
  MemoryOp op;
  int left;  // strikes when it reaches zero
  absl::Status status;
  bool sticky;
};

}  // namespace

// All that Files and locks share with the file system they come from. Whoever
// calls a method holds the mutex.
struct MemoryFileSystem::Machine {
  // Every call starts here: counts it, and says whether it must fail.
  absl::Status Begin(MemoryOp op);
  void Touch(MemoryInode* inode) {
    inode->modified_ms = clock != nullptr ? clock->NowMs() : ++changes;
  }
  uint64_t FreeBytes() const {
    return capacity - std::min(capacity, disk->used_bytes());
  }
  // Writes what fits.
  absl::Status Write(MemoryInode* inode, uint64_t offset,
                     std::string_view data);

  // Guards all below. Not absl::Mutex: the packaged library hides its locking
  // from the thread sanitizer.
  std::mutex mutex;
  std::unique_ptr<MemoryDisk> disk = std::make_unique<MemoryDisk>();
  Clock* clock = nullptr;
  std::vector<Fault> faults;
  std::array<uint64_t, static_cast<size_t>(MemoryOp::kAny) + 1> counts = {};
  bool crashed = false;
  uint64_t capacity = kUnlimitedBytes;
  uint64_t bytes_written = 0;
  uint64_t syncs = 0;
  int64_t changes = 0;
};

absl::Status MemoryFileSystem::Machine::Begin(MemoryOp op) {
  if (crashed) {
    return absl::UnavailableError("the simulated machine has lost power");
  }
  ++counts[static_cast<size_t>(op)];
  ++counts[static_cast<size_t>(MemoryOp::kAny)];
  absl::Status status;
  for (Fault& fault : faults) {
    if (fault.op != op && fault.op != MemoryOp::kAny) continue;
    if (fault.left > 0) --fault.left;
    if (fault.left == 0 && status.ok()) status = fault.status;
  }
  std::erase_if(faults,
                [](const Fault& f) { return f.left == 0 && !f.sticky; });
  return status;
}

absl::Status MemoryFileSystem::Machine::Write(MemoryInode* inode,
                                              uint64_t offset,
                                              std::string_view data) {
  const uint64_t fits =
      inode->content.Fitting(offset, data.size(), FreeBytes());
  const std::string_view part = data.substr(0, fits);
  disk->Account(inode, [&](PagedContent* c) { c->Write(offset, part); });
  bytes_written += part.size();
  Touch(inode);
  if (part.size() == data.size()) return absl::OkStatus();
  return absl::ResourceExhaustedError("no space left on the simulated disk");
}

class MemoryFileSystem::OpenFile final : public File {
 public:
  OpenFile(std::shared_ptr<Machine> machine, InodePtr inode, Path path,
           OpenFlags flags)
      : machine_(std::move(machine)),
        inode_(std::move(inode)),
        path_(std::move(path)),
        flags_(flags) {
    ++inode_->opens;
  }
  ~OpenFile() override {
    const std::lock_guard lock(machine_->mutex);
    --inode_->opens;
    machine_->disk->ReleaseIfUnreachable(inode_.get());
  }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t size,
                                char* out) override {
    const std::lock_guard lock(machine_->mutex);
    RETURN_IF_ERROR(Begin("read", MemoryOp::kRead));
    RETURN_IF_ERROR(CheckAligned("read", offset, size, out));
    return inode_->content.Read(offset, size, out);
  }

  absl::Status WriteAt(uint64_t offset, std::string_view data) override {
    const std::lock_guard lock(machine_->mutex);
    const absl::Status begun = Begin("write", MemoryOp::kWrite);
    if (absl::IsUnavailable(begun) && machine_->crashed) return begun;
    RETURN_IF_ERROR(CheckWritable("write", offset, data.size()));
    RETURN_IF_ERROR(CheckAligned("write", offset, data.size(), data.data()));
    if (!begun.ok()) data = data.substr(0, data.size() / 2);
    const absl::Status written = machine_->Write(inode_.get(), offset, data);
    return begun.ok() ? Describe("write", path_, written) : begun;
  }

  absl::Status Allocate(uint64_t offset, uint64_t size) override {
    const std::lock_guard lock(machine_->mutex);
    RETURN_IF_ERROR(Begin("allocate", MemoryOp::kAllocate));
    RETURN_IF_ERROR(CheckWritable("allocate", offset, size));
    const uint64_t fits =
        inode_->content.Fitting(offset, size, machine_->FreeBytes());
    if (fits < size) {
      return Describe(
          "allocate", path_,
          absl::ResourceExhaustedError("no space left on the simulated disk"));
    }
    Change([&](PagedContent* c) { c->Reserve(offset, size); });
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size) override {
    const std::lock_guard lock(machine_->mutex);
    RETURN_IF_ERROR(Begin("truncate", MemoryOp::kTruncate));
    RETURN_IF_ERROR(CheckWritable("truncate", 0, size));
    Change([&](PagedContent* c) { c->Resize(size); });
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    const std::lock_guard lock(machine_->mutex);
    const absl::Status begun = Begin("sync", MemoryOp::kSync);
    if (!begun.ok()) {
      inode_->content.ForgetDirty();
      return begun;
    }
    inode_->content.Sync();
    ++machine_->syncs;
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Size() override {
    const std::lock_guard lock(machine_->mutex);
    RETURN_IF_ERROR(Begin("size of", MemoryOp::kStat));
    return inode_->content.size();
  }

  void Prefetch(uint64_t, uint64_t) override {}

 private:
  absl::Status Begin(absl::string_view operation, MemoryOp op) {
    return Describe(operation, path_, machine_->Begin(op));
  }
  absl::Status CheckAligned(absl::string_view operation, uint64_t offset,
                            uint64_t size, const char* address) const {
    if (!flags_.direct || IsAligned(offset, size, address)) {
      return absl::OkStatus();
    }
    return Describe(operation, path_,
                    absl::InvalidArgumentError(absl::StrCat(
                        "opened direct, but offset ", offset, ", size ", size,
                        " or the address is not a multiple of 512")));
  }
  absl::Status CheckWritable(absl::string_view operation, uint64_t offset,
                             uint64_t size) const {
    if (flags_.mode == OpenMode::kRead) {
      return Describe(operation, path_,
                      absl::FailedPreconditionError("opened for reading"));
    }
    if (offset > kFileBytesMax || size > kFileBytesMax - offset) {
      return Describe(operation, path_,
                      absl::InvalidArgumentError("file would be too large"));
    }
    return absl::OkStatus();
  }
  template <typename F>
  void Change(F change) {
    machine_->disk->Account(inode_.get(), change);
    machine_->Touch(inode_.get());
  }

  const std::shared_ptr<Machine> machine_;
  const InodePtr inode_;
  const Path path_;
  const OpenFlags flags_;
};

class MemoryFileSystem::HeldLock final : public FileLock {
 public:
  HeldLock(std::shared_ptr<Machine> machine, InodePtr inode)
      : machine_(std::move(machine)), inode_(std::move(inode)) {
    inode_->locked = true;
  }
  ~HeldLock() override {
    const std::lock_guard lock(machine_->mutex);
    inode_->locked = false;
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const InodePtr inode_;
};

MemoryFileSystem::MemoryFileSystem(Clock* clock)
    : machine_(std::make_shared<Machine>()) {
  machine_->clock = clock;
}

MemoryFileSystem::MemoryFileSystem(std::shared_ptr<Machine> machine)
    : machine_(std::move(machine)) {}

MemoryFileSystem::~MemoryFileSystem() = default;

std::unique_ptr<MemoryFileSystem> MemoryFileSystem::CrashClone(
    uint64_t seed, int keep_percent) {
  auto after = std::make_shared<Machine>();
  SplitMix64 rng(seed);
  const std::lock_guard lock(machine_->mutex);
  machine_->crashed = true;
  const std::lock_guard after_lock(after->mutex);
  after->disk = machine_->disk->AfterCrash(&rng, keep_percent);
  after->clock = machine_->clock;
  after->changes = machine_->changes;
  after->capacity = machine_->capacity;
  return std::unique_ptr<MemoryFileSystem>(new MemoryFileSystem(after));
}

void MemoryFileSystem::FailAfter(MemoryOp op, int n, absl::Status status,
                                 bool sticky) {
  const std::lock_guard lock(machine_->mutex);
  machine_->faults.push_back({op, std::max(n, 1), std::move(status), sticky});
}

void MemoryFileSystem::ClearFaults() {
  const std::lock_guard lock(machine_->mutex);
  machine_->faults.clear();
}

void MemoryFileSystem::SetCapacity(uint64_t bytes) {
  const std::lock_guard lock(machine_->mutex);
  machine_->capacity = bytes;
}

std::string MemoryFileSystem::Content(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  const auto inode = machine_->disk->FindFile(path.native());
  if (!inode.ok()) {
    ADD_FAILURE() << "Content: " << path << ": " << inode.status();
    return "";
  }
  std::string content((*inode)->content.size(), '\0');
  (*inode)->content.Read(0, content.size(), content.data());
  return content;
}

void MemoryFileSystem::SetContent(const Path& path, std::string content) {
  const std::lock_guard lock(machine_->mutex);
  auto inode = machine_->disk->FindFile(path.native());
  if (absl::IsNotFound(inode.status())) {
    inode = machine_->disk->Create(path.native(), /*directory=*/false);
    machine_->disk->SyncEntry(path.native());
  }
  if (!inode.ok()) {
    ADD_FAILURE() << "SetContent: " << path << ": " << inode.status();
    return;
  }
  machine_->disk->Account(inode->get(), [&](PagedContent* c) {
    c->Resize(0);
    c->Write(0, content);
    c->Sync();
  });
  machine_->Touch(inode->get());
}

uint64_t MemoryFileSystem::bytes_written() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->bytes_written;
}

uint64_t MemoryFileSystem::syncs() {
  const std::lock_guard lock(machine_->mutex);
  return machine_->syncs;
}

uint64_t MemoryFileSystem::operations(MemoryOp op) {
  const std::lock_guard lock(machine_->mutex);
  return machine_->counts[static_cast<size_t>(op)];
}

absl::StatusOr<std::unique_ptr<File>> MemoryFileSystem::Open(const Path& path,
                                                             OpenFlags flags) {
  const std::lock_guard lock(machine_->mutex);
  const bool create = flags.mode == OpenMode::kCreate;
  const char* operation = create ? "create" : "open";
  RETURN_IF_ERROR(
      Describe(operation, path,
               machine_->Begin(create ? MemoryOp::kCreate : MemoryOp::kOpen)));
  auto inode = create ? machine_->disk->Create(path.native(), false)
                      : machine_->disk->FindFile(path.native());
  if (!inode.ok()) return Describe(operation, path, inode.status());
  if (create) machine_->Touch(inode->get());
  return std::make_unique<OpenFile>(machine_, *std::move(inode), path, flags);
}

absl::Status MemoryFileSystem::Rename(const Path& from, const Path& to) {
  const std::lock_guard lock(machine_->mutex);
  absl::Status status = machine_->Begin(MemoryOp::kRename);
  if (status.ok()) {
    status = machine_->disk->Rename(from.native(), to.native());
  }
  return Describe("rename", from.native() + " to " + to.native(), status);
}

absl::Status MemoryFileSystem::Remove(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  absl::Status status = machine_->Begin(MemoryOp::kRemove);
  if (status.ok()) status = machine_->disk->Remove(path.native());
  return Describe("remove", path, status);
}

absl::Status MemoryFileSystem::RemoveDir(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  absl::Status status = machine_->Begin(MemoryOp::kRemove);
  if (status.ok()) status = machine_->disk->RemoveDir(path.native());
  return Describe("remove directory", path, status);
}

absl::Status MemoryFileSystem::CreateDir(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  absl::Status status = machine_->Begin(MemoryOp::kCreate);
  if (status.ok()) {
    status = machine_->disk->Create(path.native(), true).status();
  }
  return Describe("create directory", path, status);
}

absl::StatusOr<std::vector<std::string>> MemoryFileSystem::List(
    const Path& dir) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("list", dir, machine_->Begin(MemoryOp::kStat)));
  const auto inode = machine_->disk->FindDir(dir.native());
  if (!inode.ok()) return Describe("list", dir, inode.status());
  std::vector<std::string> names;
  for (const auto& [name, child] : (*inode)->entries) names.push_back(name);
  return names;
}

absl::StatusOr<bool> MemoryFileSystem::Exists(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("look for", path, machine_->Begin(MemoryOp::kStat)));
  return machine_->disk->Find(path.native()).ok();
}

absl::StatusOr<bool> MemoryFileSystem::IsDirectory(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("look at", path, machine_->Begin(MemoryOp::kStat)));
  const auto inode = machine_->disk->Find(path.native());
  if (!inode.ok()) return Describe("look at", path, inode.status());
  return (*inode)->directory;
}

absl::StatusOr<uint64_t> MemoryFileSystem::FileSize(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("size of", path, machine_->Begin(MemoryOp::kStat)));
  const auto inode = machine_->disk->FindFile(path.native());
  if (!inode.ok()) return Describe("size of", path, inode.status());
  return (*inode)->content.size();
}

absl::StatusOr<int64_t> MemoryFileSystem::ModifiedMs(const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("time of", path, machine_->Begin(MemoryOp::kStat)));
  const auto inode = machine_->disk->Find(path.native());
  if (!inode.ok()) return Describe("time of", path, inode.status());
  return (*inode)->modified_ms;
}

absl::Status MemoryFileSystem::SyncDir(const Path& dir) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(
      Describe("sync directory", dir, machine_->Begin(MemoryOp::kSyncDir)));
  const auto inode = machine_->disk->FindDir(dir.native());
  if (!inode.ok()) return Describe("sync directory", dir, inode.status());
  machine_->disk->SyncDir(inode->get());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> MemoryFileSystem::Lock(
    const Path& path) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(Describe("lock", path, machine_->Begin(MemoryOp::kCreate)));
  auto inode = machine_->disk->FindFile(path.native());
  if (absl::IsNotFound(inode.status())) {
    inode = machine_->disk->Create(path.native(), /*directory=*/false);
  }
  if (!inode.ok()) return Describe("lock", path, inode.status());
  if ((*inode)->locked) {
    return Describe("lock", path,
                    absl::FailedPreconditionError("somebody holds it"));
  }
  return std::make_unique<HeldLock>(machine_, *std::move(inode));
}

absl::StatusOr<uint64_t> MemoryFileSystem::FreeSpace(const Path& dir) {
  const std::lock_guard lock(machine_->mutex);
  RETURN_IF_ERROR(
      Describe("free space of", dir, machine_->Begin(MemoryOp::kStat)));
  const auto inode = machine_->disk->FindDir(dir.native());
  if (!inode.ok()) return Describe("free space of", dir, inode.status());
  return machine_->FreeBytes();
}

}  // namespace hourglass
