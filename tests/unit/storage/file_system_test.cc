// What every FileSystem must do, run against the real one and the one in
// memory: tests on the latter are worth as much as the two agree.
#include "hourglass/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/filesystem/operations.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file system and an empty directory on it.
class Place {
 public:
  virtual ~Place() = default;
  virtual FileSystem* fs() = 0;
  virtual Path dir() = 0;
};

class RealPlace final : public Place {
 public:
  RealPlace() {
    std::string name = ::testing::TempDir() + "/hourglass_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name;
    dir_ = name;
  }
  ~RealPlace() override { boost::filesystem::remove_all(dir_); }
  FileSystem* fs() override { return RealFileSystem(); }
  Path dir() override { return dir_; }

 private:
  Path dir_;
};

class MemoryPlace final : public Place {
 public:
  FileSystem* fs() override { return &fs_; }
  Path dir() override { return "/"; }

 private:
  MemoryFileSystem fs_;
};

struct PlaceKind {
  const char* name;
  std::unique_ptr<Place> (*make)();
};

class FileSystemTest : public ::testing::TestWithParam<PlaceKind> {
 protected:
  FileSystemTest()
      : place_(GetParam().make()), fs_(place_->fs()), dir_(place_->dir()) {}

  std::unique_ptr<File> Open(const std::string& name, OpenFlags flags) {
    auto file = fs_->Open(dir_ / name, flags);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::unique_ptr<File> Create(const std::string& name,
                               const std::string& content = "") {
    auto file = Open(name, {OpenMode::kCreate});
    EXPECT_TRUE(file->WriteAt(0, content).ok());
    return file;
  }
  std::string Read(File* file, uint64_t offset = 0, size_t size = 1 << 20) {
    std::string out(size, '?');
    auto n = file->ReadAt(offset, size, out.data());
    EXPECT_TRUE(n.ok()) << n.status();
    out.resize(n.value_or(0));
    return out;
  }
  std::string Read(const std::string& name) {
    return Read(Open(name, {OpenMode::kRead}).get());
  }

  const std::unique_ptr<Place> place_;
  FileSystem* const fs_;
  const Path dir_;
};

INSTANTIATE_TEST_SUITE_P(
    All, FileSystemTest,
    ::testing::Values(PlaceKind{"Real",
                                []() -> std::unique_ptr<Place> {
                                  return std::make_unique<RealPlace>();
                                }},
                      PlaceKind{"Memory",
                                []() -> std::unique_ptr<Place> {
                                  return std::make_unique<MemoryPlace>();
                                }}),
    [](const auto& kind) { return kind.param.name; });

// 512-aligned memory for direct files.
struct AlignedBytes {
  explicit AlignedBytes(size_t size, char fill = 0)
      : data(static_cast<char*>(::aligned_alloc(4096, (size + 4095) & ~4095))),
        size(size) {
    std::fill_n(data, size, fill);
  }
  ~AlignedBytes() { ::free(data); }
  std::string_view view() const { return {data, size}; }
  char* const data;
  const size_t size;
};

void ExpectNames(const absl::Status& status, const std::string& operation,
                 const Path& path) {
  EXPECT_THAT(std::string(status.message()), HasSubstr(operation));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path.native()));
}

TEST_P(FileSystemTest, OpenModes) {
  const absl::Status missing = fs_->Open(dir_ / "f", {}).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  ExpectNames(missing, "open", dir_ / "f");
  EXPECT_TRUE(
      absl::IsNotFound(fs_->Open(dir_ / "f", {OpenMode::kReadWrite}).status()));
  EXPECT_TRUE(absl::IsNotFound(
      fs_->Open(dir_ / "no" / "f", {OpenMode::kCreate}).status()));
  Create("f", "abc");
  const absl::Status exists =
      fs_->Open(dir_ / "f", {OpenMode::kCreate}).status();
  EXPECT_TRUE(absl::IsAlreadyExists(exists)) << exists;
  ExpectNames(exists, "create", dir_ / "f");
  EXPECT_EQ(Read("f"), "abc");
  auto file = Open("f", {OpenMode::kReadWrite});
  EXPECT_TRUE(file->WriteAt(3, "d").ok());
  EXPECT_EQ(Read("f"), "abcd");
}

TEST_P(FileSystemTest, OpenedForReadingCannotChange) {
  Create("f", "abc");
  auto file = Open("f", {OpenMode::kRead});
  const absl::Status refused = file->WriteAt(0, "x");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  ExpectNames(refused, "write", dir_ / "f");
  EXPECT_FALSE(file->Truncate(0).ok());
  EXPECT_FALSE(file->Allocate(0, 10).ok());
  EXPECT_EQ(Read(file.get()), "abc");
}

TEST_P(FileSystemTest, NextDataPassesOverOnlyZeros) {
  constexpr uint64_t kSize = 1u << 20;
  Create("f", "");
  auto file = Open("f", {OpenMode::kReadWrite});
  ASSERT_TRUE(file->Allocate(0, kSize).ok());
  ASSERT_TRUE(file->WriteAt(500'000, "x").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_LE(file->NextData(0).value(), 500'000u);
  EXPECT_EQ(file->NextData(500'000).value(), 500'000u);
  EXPECT_LE(file->NextData(600'000).value(), kSize);
}

TEST_P(FileSystemTest, ADirectoryIsNotAFile) {
  ASSERT_TRUE(fs_->CreateDir(dir_ / "d").ok());
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite}) {
    for (const bool direct : {false, true}) {
      const auto status = fs_->Open(dir_ / "d", {mode, direct}).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    }
  }
  EXPECT_TRUE(absl::IsAlreadyExists(
      fs_->Open(dir_ / "d", {OpenMode::kCreate}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_->Remove(dir_ / "d")));
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_->FileSize(dir_ / "d").status()));
  EXPECT_TRUE(*fs_->IsDirectory(dir_ / "d"));
  EXPECT_TRUE(*fs_->Exists(dir_ / "d"));
}

TEST_P(FileSystemTest, AFileIsNotADirectory) {
  Create("f", "abc");
  EXPECT_TRUE(absl::IsNotFound(fs_->List(dir_ / "f").status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->RemoveDir(dir_ / "f")));
  EXPECT_TRUE(absl::IsNotFound(fs_->SyncDir(dir_ / "f")));
  EXPECT_TRUE(absl::IsAlreadyExists(fs_->CreateDir(dir_ / "f")));
  EXPECT_TRUE(absl::IsNotFound(fs_->Open(dir_ / "f" / "g", {}).status()));
  EXPECT_TRUE(absl::IsNotFound(
      fs_->Open(dir_ / "f" / "g", {OpenMode::kCreate}).status()));
  EXPECT_FALSE(*fs_->Exists(dir_ / "f" / "g"));
  EXPECT_FALSE(*fs_->IsDirectory(dir_ / "f"));
}

TEST_P(FileSystemTest, MissingThings) {
  const Path no = dir_ / "no";
  EXPECT_FALSE(*fs_->Exists(no));
  EXPECT_TRUE(absl::IsNotFound(fs_->IsDirectory(no).status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->FileSize(no).status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->ModifiedMs(no).status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->List(no).status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->Remove(no)));
  EXPECT_TRUE(absl::IsNotFound(fs_->RemoveDir(no)));
  EXPECT_TRUE(absl::IsNotFound(fs_->SyncDir(no)));
  EXPECT_TRUE(absl::IsNotFound(fs_->Rename(no, dir_ / "x")));
  EXPECT_TRUE(absl::IsNotFound(fs_->CreateDir(no / "d")));
  EXPECT_TRUE(absl::IsNotFound(fs_->Lock(no / "lock").status()));
  EXPECT_TRUE(absl::IsNotFound(fs_->FreeSpace(no).status()));
  ExpectNames(fs_->Remove(no), "remove", no);
  ExpectNames(fs_->Rename(no, dir_ / "x"), "rename", no);
  ExpectNames(fs_->SyncDir(no), "sync directory", no);
  ExpectNames(fs_->List(no).status(), "list", no);
}

TEST_P(FileSystemTest, ReadsWhatIsThere) {
  auto file = Create("f", "0123456789");
  EXPECT_EQ(Read(file.get(), 0, 4), "0123");
  EXPECT_EQ(Read(file.get(), 8, 4), "89");
  EXPECT_EQ(Read(file.get(), 10, 4), "");
  EXPECT_EQ(Read(file.get(), 1000, 4), "");
  EXPECT_EQ(Read(file.get(), 3, 0), "");
  EXPECT_EQ(*file->Size(), 10u);
  EXPECT_EQ(*fs_->FileSize(dir_ / "f"), 10u);
}

TEST_P(FileSystemTest, WritesOverAndBeyond) {
  auto file = Create("f", "0123456789");
  ASSERT_TRUE(file->WriteAt(4, "ab").ok());
  ASSERT_TRUE(file->WriteAt(12, "z").ok());
  EXPECT_EQ(Read(file.get()), std::string("0123ab6789\0\0z", 13));
  ASSERT_TRUE(file->WriteAt(100, "").ok());
  EXPECT_EQ(*file->Size(), 13u);
  ASSERT_TRUE(file->Sync().ok());
}

TEST_P(FileSystemTest, WritesLargePieces) {
  std::string content(3 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<char>(i * 2654435761u >> 13);
  }
  auto file = Create("f", content);
  EXPECT_EQ(Read(file.get(), 0, content.size() + 5), content);
  EXPECT_EQ(Read(file.get(), 4095, 8194), content.substr(4095, 8194));
}

TEST_P(FileSystemTest, AllocateGrowsWithZerosAndKeepsContent) {
  auto file = Create("f", "abc");
  ASSERT_TRUE(file->Allocate(0, 10000).ok());
  EXPECT_EQ(Read(file.get()), "abc" + std::string(9997, '\0'));
  ASSERT_TRUE(file->Allocate(0, 5).ok());
  EXPECT_EQ(*file->Size(), 10000u);
  ASSERT_TRUE(file->Allocate(20000, 5).ok());
  EXPECT_EQ(*file->Size(), 20005u);
  ASSERT_TRUE(file->Allocate(50000, 0).ok());
  EXPECT_EQ(*file->Size(), 20005u);
}

TEST_P(FileSystemTest, TruncateCutsAndGrows) {
  auto file = Create("f", "0123456789");
  ASSERT_TRUE(file->Truncate(4).ok());
  EXPECT_EQ(Read(file.get()), "0123");
  ASSERT_TRUE(file->Truncate(8).ok());
  EXPECT_EQ(Read(file.get()), std::string("0123\0\0\0\0", 8));
  ASSERT_TRUE(file->Truncate(0).ok());
  ASSERT_TRUE(file->WriteAt(6000, "x").ok());
  EXPECT_EQ(Read(file.get()), std::string(6000, '\0') + "x");
}

TEST_P(FileSystemTest, DirectFilesWorkWhenAligned) {
  const AlignedBytes block(8192, 'd');
  {
    auto file = Open("f", {OpenMode::kCreate, /*direct=*/true});
    ASSERT_TRUE(file->Allocate(0, 65536).ok());
    ASSERT_TRUE(file->WriteAt(0, block.view()).ok());
    ASSERT_TRUE(file->WriteAt(8192 + 512, block.view().substr(0, 512)).ok());
    ASSERT_TRUE(file->Sync().ok());
    file->Prefetch(0, 8192);
  }
  const std::string content = Read("f");
  EXPECT_EQ(content.size(), 65536u);
  EXPECT_EQ(content.substr(0, 8192), block.view());
  EXPECT_EQ(content.substr(8192, 512), std::string(512, '\0'));
  EXPECT_EQ(content.substr(8704, 512), std::string(512, 'd'));
}

TEST_P(FileSystemTest, DirectReadStopsAtTheEnd) {
  Create("f", std::string(5000, 'x'));
  auto file = Open("f", {OpenMode::kRead, /*direct=*/true});
  AlignedBytes out(8192);
  EXPECT_EQ(*file->ReadAt(0, 8192, out.data), 5000u);
  EXPECT_EQ(std::string(out.data, 5000), std::string(5000, 'x'));
  EXPECT_EQ(*file->ReadAt(4096, 4096, out.data), 904u);
  EXPECT_EQ(*file->ReadAt(8192, 4096, out.data), 0u);
}

TEST_P(FileSystemTest, DirectFilesRefuseWhatIsNotAligned) {
  AlignedBytes block(4096, 'd');
  auto file = Open("f", {OpenMode::kCreate, /*direct=*/true});
  const std::string_view good = block.view();
  EXPECT_TRUE(absl::IsInvalidArgument(file->WriteAt(1, good)));
  EXPECT_TRUE(absl::IsInvalidArgument(file->WriteAt(0, good.substr(0, 100))));
  EXPECT_TRUE(absl::IsInvalidArgument(file->WriteAt(0, good.substr(8, 512))));
  const absl::Status read = file->ReadAt(0, 10, block.data).status();
  EXPECT_TRUE(absl::IsInvalidArgument(read));
  ExpectNames(read, "read", dir_ / "f");
  EXPECT_EQ(*file->Size(), 0u);
  EXPECT_TRUE(file->WriteAt(512, good).ok());
}

TEST_P(FileSystemTest, ListsSortedNames) {
  EXPECT_THAT(*fs_->List(dir_), IsEmpty());
  Create("b");
  Create("a");
  ASSERT_TRUE(fs_->CreateDir(dir_ / "c").ok());
  Create("c/inside");
  EXPECT_THAT(*fs_->List(dir_), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*fs_->List(dir_ / "c"), ElementsAre("inside"));
  EXPECT_THAT(*fs_->List(dir_ / "c" / ".." / "." / "c"), ElementsAre("inside"));
}

TEST_P(FileSystemTest, Directories) {
  ASSERT_TRUE(fs_->CreateDir(dir_ / "d").ok());
  ASSERT_TRUE(fs_->CreateDir(dir_ / "d").ok());
  Create("d/f");
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_->RemoveDir(dir_ / "d")));
  ASSERT_TRUE(fs_->Remove(dir_ / "d" / "f").ok());
  ASSERT_TRUE(fs_->SyncDir(dir_ / "d").ok());
  ASSERT_TRUE(fs_->RemoveDir(dir_ / "d").ok());
  EXPECT_FALSE(*fs_->Exists(dir_ / "d"));
  EXPECT_TRUE(fs_->SyncDir(dir_).ok());
}

TEST_P(FileSystemTest, RenameReplaces) {
  Create("old", "old");
  Create("new", "new");
  auto open = Open("old", {OpenMode::kRead});
  ASSERT_TRUE(fs_->Rename(dir_ / "new", dir_ / "old").ok());
  EXPECT_THAT(*fs_->List(dir_), ElementsAre("old"));
  EXPECT_EQ(Read("old"), "new");
  EXPECT_EQ(Read(open.get()), "old");
  EXPECT_TRUE(fs_->Rename(dir_ / "old", dir_ / "old").ok());
  EXPECT_EQ(Read("old"), "new");
}

TEST_P(FileSystemTest, RenameBetweenDirectories) {
  ASSERT_TRUE(fs_->CreateDir(dir_ / "d").ok());
  ASSERT_TRUE(fs_->CreateDir(dir_ / "e").ok());
  Create("d/f", "abc");
  ASSERT_TRUE(fs_->Rename(dir_ / "d" / "f", dir_ / "e" / "g").ok());
  EXPECT_EQ(Read("e/g"), "abc");
  EXPECT_FALSE(fs_->Rename(dir_ / "e" / "g", dir_ / "d").ok());
  EXPECT_FALSE(fs_->Rename(dir_ / "e", dir_ / "e" / "sub").ok());
  ASSERT_TRUE(fs_->Rename(dir_ / "e", dir_ / "d").ok());
  EXPECT_EQ(Read("d/g"), "abc");
  EXPECT_THAT(*fs_->List(dir_), ElementsAre("d"));
}

TEST_P(FileSystemTest, OpenFilesSurviveTheirName) {
  auto file = Create("f", "abc");
  ASSERT_TRUE(fs_->Remove(dir_ / "f").ok());
  EXPECT_FALSE(*fs_->Exists(dir_ / "f"));
  ASSERT_TRUE(file->WriteAt(3, "def").ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_EQ(Read(file.get()), "abcdef");
  Create("f", "other");
  EXPECT_EQ(Read(file.get()), "abcdef");
  EXPECT_EQ(Read("f"), "other");
}

TEST_P(FileSystemTest, TwoHandlesSeeOneFile) {
  auto a = Create("f", "abc");
  auto b = Open("f", {OpenMode::kReadWrite});
  ASSERT_TRUE(b->WriteAt(0, "xyz!").ok());
  EXPECT_EQ(Read(a.get()), "xyz!");
}

TEST_P(FileSystemTest, ALockKeepsEverybodyElseOut) {
  auto lock = fs_->Lock(dir_ / "lock");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(*fs_->Exists(dir_ / "lock"));
  const absl::Status held = fs_->Lock(dir_ / "lock").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(held)) << held;
  ExpectNames(held, "lock", dir_ / "lock");
  EXPECT_TRUE(fs_->Lock(dir_ / "other").ok());
  lock->reset();
  EXPECT_TRUE(fs_->Lock(dir_ / "lock").ok());
}

TEST_P(FileSystemTest, ModifiedTimeMovesForward) {
  auto file = Create("f", "abc");
  const int64_t created = *fs_->ModifiedMs(dir_ / "f");
  EXPECT_GT(created, 0);
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  EXPECT_GE(*fs_->ModifiedMs(dir_ / "f"), created);
}

TEST_P(FileSystemTest, FreeSpaceIsPlausible) {
  const auto free = fs_->FreeSpace(dir_);
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_GT(*free, 1u << 20);
}

// One writer, several readers of what is written already: the promise of the
// header. Meant for the thread sanitizer.
TEST_P(FileSystemTest, ReadersBesideAWriter) {
  auto file = Create("f", std::string(4096, 'a'));
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        char out[4096];
        auto got = file->ReadAt(0, sizeof(out), out);
        ASSERT_TRUE(got.ok());
        ASSERT_EQ(std::string(out, *got), std::string(4096, 'a'));
      }
    });
  }
  for (int n = 1; n < 200; ++n) {
    ASSERT_TRUE(file->WriteAt(n * 4096, std::string(4096, 'b')).ok());
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace hourglass
