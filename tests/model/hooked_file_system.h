// File: hooked_file_system.h
//
// A file system that calls somebody before a file is read or synced, so that
// a test without threads can do what another thread might do just then.
//
//   HookedFileSystem fs;
//   fs.Use(&memory_file_system);
//   fs.set_hook([&](FileEvent event, const Path& path) { ... });
//
// Ownership: neither the file system below nor its files are owned beyond
// what Open gives out. Threads: as the one below, if the hook allows it.
#ifndef HOURGLASS_TESTS_MODEL_HOOKED_FILE_SYSTEM_H_
#define HOURGLASS_TESTS_MODEL_HOOKED_FILE_SYSTEM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/file_system.h"

namespace hourglass {

enum class FileEvent { kRead, kSync };

class HookedFileSystem final : public FileSystem {
 public:
  // `opened`: a number that grows with every file opened; tells a file that
  // was open before some moment from one that was opened after it.
  struct Call {
    FileEvent event;
    const Path& path;
    uint64_t opened;
    uint64_t offset;  // of a read
  };
  using Hook = std::function<void(const Call&)>;

  void Use(FileSystem* below) { below_ = below; }
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  uint64_t opened() const { return opened_; }

  absl::StatusOr<std::unique_ptr<File>> Open(const Path& path,
                                             OpenFlags flags) override {
    auto file = below_->Open(path, flags);
    if (!file.ok()) return file.status();
    return std::make_unique<HookedFile>(this, path, ++opened_,
                                        *std::move(file));
  }
  absl::Status Rename(const Path& from, const Path& to) override {
    return below_->Rename(from, to);
  }
  absl::Status Remove(const Path& path) override {
    return below_->Remove(path);
  }
  absl::Status RemoveDir(const Path& path) override {
    return below_->RemoveDir(path);
  }
  absl::Status CreateDir(const Path& path) override {
    return below_->CreateDir(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const Path& dir) override {
    return below_->List(dir);
  }
  absl::StatusOr<bool> Exists(const Path& path) override {
    return below_->Exists(path);
  }
  absl::StatusOr<bool> IsDirectory(const Path& path) override {
    return below_->IsDirectory(path);
  }
  absl::StatusOr<uint64_t> FileSize(const Path& path) override {
    return below_->FileSize(path);
  }
  absl::StatusOr<int64_t> ModifiedMs(const Path& path) override {
    return below_->ModifiedMs(path);
  }
  absl::Status SyncDir(const Path& dir) override {
    return below_->SyncDir(dir);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const Path& path) override {
    return below_->Lock(path);
  }
  absl::StatusOr<uint64_t> FreeSpace(const Path& dir) override {
    return below_->FreeSpace(dir);
  }

 private:
  class HookedFile final : public File {
   public:
    HookedFile(HookedFileSystem* fs, Path path, uint64_t opened,
               std::unique_ptr<File> below)
        : fs_(fs),
          path_(std::move(path)),
          opened_(opened),
          below_(std::move(below)) {}

    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t size,
                                  char* out) override {
      fs_->Tell({FileEvent::kRead, path_, opened_, offset});
      return below_->ReadAt(offset, size, out);
    }
    absl::Status WriteAt(uint64_t offset, std::string_view data) override {
      return below_->WriteAt(offset, data);
    }
    absl::Status Allocate(uint64_t offset, uint64_t size) override {
      return below_->Allocate(offset, size);
    }
    absl::Status Truncate(uint64_t size) override {
      return below_->Truncate(size);
    }
    absl::Status Sync() override {
      fs_->Tell({FileEvent::kSync, path_, opened_, 0});
      return below_->Sync();
    }
    absl::StatusOr<uint64_t> Size() override { return below_->Size(); }
    absl::StatusOr<uint64_t> NextData(uint64_t offset) override {
      return below_->NextData(offset);
    }
    void Prefetch(uint64_t offset, uint64_t size) override {
      below_->Prefetch(offset, size);
    }

   private:
    HookedFileSystem* const fs_;
    const Path path_;
    const uint64_t opened_;
    const std::unique_ptr<File> below_;
  };

  void Tell(const Call& call) {
    if (hook_) hook_(call);
  }

  FileSystem* below_ = nullptr;
  Hook hook_;
  // RocksDB opens files from threads of its own.
  std::atomic<uint64_t> opened_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_MODEL_HOOKED_FILE_SYSTEM_H_
