// Tests what MemoryFileSystem adds to a FileSystem: crashes, faults, capacity.
// What every FileSystem must do is in file_system_test.cc.
#include "tests/support/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "tests/support/paged_content.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<File> MustOpen(MemoryFileSystem* fs, const Path& path,
                               OpenMode mode = OpenMode::kReadWrite) {
  auto file = fs->Open(path, {mode});
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

// A durable empty file.
std::unique_ptr<File> MustCreate(MemoryFileSystem* fs, const Path& path) {
  auto file = MustOpen(fs, path, OpenMode::kCreate);
  EXPECT_TRUE(fs->SyncDir(path.parent_path()).ok());
  return file;
}

TEST(MemoryFileSystemCrash, LosesAllThatWasNotSynced) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  ASSERT_TRUE(file->WriteAt(0, "kept").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->WriteAt(2, "lost and longer").ok());
  auto after = fs.CrashClone(1, 0);
  EXPECT_EQ(after->Content("/f"), "kept");
}

TEST(MemoryFileSystemCrash, KeepsAllWhenOnlyTheProcessDied) {
  MemoryFileSystem fs;
  auto file = MustOpen(&fs, "/f", OpenMode::kCreate);
  ASSERT_TRUE(fs.CreateDir("/d").ok());
  const std::string big(3 * kMemoryPageBytes + 17, 'x');
  ASSERT_TRUE(file->WriteAt(0, big).ok());
  auto after = fs.CrashClone(1, 100);
  EXPECT_EQ(after->Content("/f"), big);
  EXPECT_THAT(*after->List("/"), ElementsAre("d", "f"));
}

TEST(MemoryFileSystemCrash, LosesAFileWhoseDirectoryWasNotSynced) {
  MemoryFileSystem fs;
  auto file = MustOpen(&fs, "/f", OpenMode::kCreate);
  ASSERT_TRUE(file->WriteAt(0, "synced, but without a name").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_THAT(*fs.CrashClone(1, 0)->List("/"), IsEmpty());
}

TEST(MemoryFileSystemCrash, KeepsASyncedNameOfAnEmptyFile) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  ASSERT_TRUE(file->WriteAt(0, "not synced").ok());
  EXPECT_EQ(fs.CrashClone(1, 0)->Content("/f"), "");
}

TEST(MemoryFileSystemCrash, DirectoryCountsAsEntryOfItsParent) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDir("/d").ok());
  MustCreate(&fs, "/d/f");
  auto after = fs.CrashClone(1, 0);
  EXPECT_FALSE(*after->Exists("/d"));

  ASSERT_TRUE(after->CreateDir("/d").ok());
  ASSERT_TRUE(after->SyncDir("/").ok());
  MustCreate(after.get(), "/d/f");
  EXPECT_TRUE(*after->CrashClone(1, 0)->Exists("/d/f"));
}

TEST(MemoryFileSystemCrash, UndoesARemoveUntilSyncDir) {
  MemoryFileSystem fs;
  fs.SetContent("/f", "here");
  ASSERT_TRUE(fs.Remove("/f").ok());
  auto undone = fs.CrashClone(1, 0);
  EXPECT_EQ(undone->Content("/f"), "here");
  ASSERT_TRUE(undone->Remove("/f").ok());
  ASSERT_TRUE(undone->SyncDir("/").ok());
  EXPECT_FALSE(*undone->CrashClone(1, 0)->Exists("/f"));
}

TEST(MemoryFileSystemCrash, NeverKeepsHalfARename) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    MemoryFileSystem fs;
    fs.SetContent("/old", "old");
    fs.SetContent("/new", "new");
    ASSERT_TRUE(fs.Rename("/new", "/old").ok());
    auto after = fs.CrashClone(seed, 50);
    if (*after->Exists("/new")) {
      EXPECT_EQ(after->Content("/new"), "new");
      EXPECT_EQ(after->Content("/old"), "old");
    }
    seen.insert(after->Content("/old"));
  }
  EXPECT_THAT(seen, ElementsAre("new", "old"));
}

TEST(MemoryFileSystemCrash, KeepsAChainOfRenamesTogether) {
  for (uint64_t seed = 0; seed < 64; ++seed) {
    MemoryFileSystem fs;
    fs.SetContent("/a", "a");
    ASSERT_TRUE(fs.Rename("/a", "/b").ok());
    ASSERT_TRUE(fs.Rename("/b", "/c").ok());
    auto names = *fs.CrashClone(seed, 50)->List("/");
    ASSERT_EQ(names.size(), 1u) << "seed " << seed;
  }
}

TEST(MemoryFileSystemCrash, UndoesATruncateUntilSync) {
  MemoryFileSystem fs;
  const std::string content(2 * kMemoryPageBytes + 100, 'a');
  fs.SetContent("/f", content);
  ASSERT_TRUE(MustOpen(&fs, "/f")->Truncate(10).ok());
  EXPECT_EQ(fs.Content("/f"), content.substr(0, 10));
  auto undone = fs.CrashClone(1, 0);
  EXPECT_EQ(undone->Content("/f"), content);
  auto file = MustOpen(undone.get(), "/f");
  ASSERT_TRUE(file->Truncate(10).ok());
  ASSERT_TRUE(file->Sync().ok());
  auto cut = undone->CrashClone(1, 0);
  ASSERT_TRUE(MustOpen(cut.get(), "/f")->Truncate(30).ok());
  EXPECT_EQ(cut->Content("/f"), content.substr(0, 10) + std::string(20, '\0'));
}

TEST(MemoryFileSystemCrash, KeepsOrUndoesACutWhole) {
  std::set<std::string> seen;
  const std::string content(3 * kMemoryPageBytes, 'a');
  for (uint64_t seed = 0; seed < 64; ++seed) {
    MemoryFileSystem fs;
    fs.SetContent("/f", content);
    ASSERT_TRUE(MustOpen(&fs, "/f")->Truncate(kMemoryPageBytes).ok());
    seen.insert(fs.CrashClone(seed, 50)->Content("/f"));
  }
  EXPECT_THAT(seen, ElementsAre(content.substr(0, kMemoryPageBytes), content));
}

TEST(MemoryFileSystemCrash, KeepsPagesAndSizesAtRandom) {
  std::set<size_t> sizes;
  int lost = 0;
  int kept = 0;
  int torn = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    MemoryFileSystem fs;
    const std::string before(8 * kMemoryPageBytes, 'a');
    fs.SetContent("/f", before);
    auto file = MustOpen(&fs, "/f");
    ASSERT_TRUE(file->WriteAt(0, std::string(10 * kMemoryPageBytes, 'b')).ok());
    auto after = fs.CrashClone(seed, 50);
    const std::string content = after->Content("/f");
    sizes.insert(content.size());
    ASSERT_GE(content.size(), before.size());
    for (size_t at = 0; at < before.size(); at += kMemoryPageBytes) {
      const std::string page = content.substr(at, kMemoryPageBytes);
      const size_t last_b = page.find_last_of('b');
      if (last_b == std::string::npos) {
        ++lost;
      } else if (page.find('a') == std::string::npos) {
        ++kept;
      } else {
        ++torn;
        for (size_t s = 0; s < page.size(); s += kMemorySectorBytes) {
          ASSERT_EQ(page.substr(s, kMemorySectorBytes),
                    std::string(kMemorySectorBytes, page[s]));
        }
      }
    }
  }
  EXPECT_GT(lost, 1400);
  EXPECT_GT(kept, 1400);
  EXPECT_GT(torn, 300);
  EXPECT_GT(sizes.size(), 50u);
}

TEST(MemoryFileSystemCrash, IsTheSameForTheSameSeed) {
  std::string contents[2];
  for (std::string& content : contents) {
    MemoryFileSystem fs;
    auto file = MustCreate(&fs, "/f");
    ASSERT_TRUE(file->WriteAt(0, std::string(50 * kMemoryPageBytes, 'b')).ok());
    content = fs.CrashClone(42, 30)->Content("/f");
  }
  EXPECT_EQ(contents[0], contents[1]);
}

TEST(MemoryFileSystemCrash, EndsTheOldMachine) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  auto lock = fs.Lock("/lock");
  ASSERT_TRUE(lock.ok());
  auto after = fs.CrashClone(1, 100);
  char byte;
  EXPECT_TRUE(absl::IsUnavailable(file->ReadAt(0, 1, &byte).status()));
  EXPECT_TRUE(absl::IsUnavailable(file->WriteAt(0, "x")));
  EXPECT_TRUE(absl::IsUnavailable(file->Allocate(0, 1)));
  EXPECT_TRUE(absl::IsUnavailable(file->Truncate(0)));
  EXPECT_TRUE(absl::IsUnavailable(file->Sync()));
  EXPECT_TRUE(absl::IsUnavailable(file->Size().status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.Open("/f", {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.Rename("/f", "/g")));
  EXPECT_TRUE(absl::IsUnavailable(fs.Remove("/f")));
  EXPECT_TRUE(absl::IsUnavailable(fs.RemoveDir("/d")));
  EXPECT_TRUE(absl::IsUnavailable(fs.CreateDir("/d")));
  EXPECT_TRUE(absl::IsUnavailable(fs.List("/").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.Exists("/f").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.IsDirectory("/f").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.FileSize("/f").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.ModifiedMs("/f").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.SyncDir("/")));
  EXPECT_TRUE(absl::IsUnavailable(fs.Lock("/other").status()));
  EXPECT_TRUE(absl::IsUnavailable(fs.FreeSpace("/").status()));
  // The lock died with the machine that held it.
  EXPECT_TRUE(after->Lock("/lock").ok());
  EXPECT_EQ(after->Content("/f"), "");
}

TEST(MemoryFileSystemCrash, CloneDoesNotShareWrites) {
  MemoryFileSystem fs;
  fs.SetContent("/f", "shared");
  auto after = fs.CrashClone(1, 0);
  ASSERT_TRUE(MustOpen(after.get(), "/f")->WriteAt(0, "own").ok());
  EXPECT_EQ(fs.Content("/f"), "shared");
  EXPECT_EQ(after->Content("/f"), "ownred");
}

TEST(MemoryFileSystemFault, FailsTheNthOperationOnce) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  fs.FailAfter(MemoryOp::kWrite, 2, absl::DataLossError("bad block"), false);
  EXPECT_TRUE(file->WriteAt(0, "1").ok());
  const absl::Status failed = file->WriteAt(1, "2222");
  EXPECT_TRUE(absl::IsDataLoss(failed));
  EXPECT_THAT(failed.message(), HasSubstr("write /f: bad block"));
  EXPECT_EQ(fs.Content("/f"), "122");  // half of it
  EXPECT_TRUE(file->WriteAt(1, "3").ok());
}

TEST(MemoryFileSystemFault, StaysWhenSticky) {
  MemoryFileSystem fs;
  fs.FailAfter(MemoryOp::kCreate, 2, absl::PermissionDeniedError("ro"), true);
  EXPECT_TRUE(fs.CreateDir("/a").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(fs.CreateDir("/b")));
  EXPECT_TRUE(
      absl::IsPermissionDenied(fs.Open("/c", {OpenMode::kCreate}).status()));
  EXPECT_THAT(*fs.List("/"), ElementsAre("a"));
  fs.ClearFaults();
  EXPECT_TRUE(fs.CreateDir("/b").ok());
}

TEST(MemoryFileSystemFault, AnyStrikesEveryKind) {
  MemoryFileSystem fs;
  fs.FailAfter(MemoryOp::kAny, 1, absl::DataLossError("gone"), true);
  EXPECT_TRUE(absl::IsDataLoss(fs.CreateDir("/a")));
  EXPECT_TRUE(absl::IsDataLoss(fs.List("/").status()));
  EXPECT_TRUE(absl::IsDataLoss(fs.SyncDir("/")));
  EXPECT_EQ(fs.operations(MemoryOp::kAny), 3u);
  EXPECT_EQ(fs.operations(MemoryOp::kSyncDir), 1u);
}

TEST(MemoryFileSystemFault, FailedSyncIsNotHealedByTheNext) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  ASSERT_TRUE(file->WriteAt(0, std::string(kMemoryPageBytes, 'a')).ok());
  fs.FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad block"), false);
  ASSERT_TRUE(absl::IsDataLoss(file->Sync()));
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(fs.Content("/f")[0], 'a');
  EXPECT_EQ(fs.CrashClone(1, 100)->Content("/f"),
            std::string(kMemoryPageBytes, '\0'));
}

TEST(MemoryFileSystemCapacity, WritesWhatFits) {
  MemoryFileSystem fs;
  fs.SetCapacity(2 * kMemoryPageBytes);
  auto file = MustCreate(&fs, "/f");
  const absl::Status full =
      file->WriteAt(100, std::string(2 * kMemoryPageBytes, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(*file->Size(), 2 * kMemoryPageBytes);
  EXPECT_EQ(*fs.FreeSpace("/"), 0u);
  // What is there can be overwritten.
  EXPECT_TRUE(file->WriteAt(0, std::string(2 * kMemoryPageBytes, 'y')).ok());
}

TEST(MemoryFileSystemCapacity, AllocatedSpaceCannotRunOut) {
  MemoryFileSystem fs;
  fs.SetCapacity(4 * kMemoryPageBytes);
  auto file = MustCreate(&fs, "/f");
  EXPECT_TRUE(
      absl::IsResourceExhausted(file->Allocate(0, 5 * kMemoryPageBytes)));
  EXPECT_EQ(*file->Size(), 0u);
  ASSERT_TRUE(file->Allocate(0, 3 * kMemoryPageBytes).ok());
  auto other = MustCreate(&fs, "/g");
  ASSERT_TRUE(other->WriteAt(0, "g").ok());
  EXPECT_FALSE(other->WriteAt(kMemoryPageBytes, "g").ok());
  EXPECT_TRUE(file->WriteAt(0, std::string(3 * kMemoryPageBytes, 'x')).ok());
}

TEST(MemoryFileSystemCapacity, SpaceComesBack) {
  MemoryFileSystem fs;
  fs.SetCapacity(8 * kMemoryPageBytes);
  auto file = MustCreate(&fs, "/f");
  ASSERT_TRUE(file->WriteAt(0, std::string(8 * kMemoryPageBytes, 'x')).ok());
  ASSERT_TRUE(file->Truncate(4 * kMemoryPageBytes).ok());
  EXPECT_EQ(*fs.FreeSpace("/"), 4 * kMemoryPageBytes);
  ASSERT_TRUE(fs.Remove("/f").ok());
  EXPECT_EQ(*fs.FreeSpace("/"), 4 * kMemoryPageBytes);  // still open
  file.reset();
  EXPECT_EQ(*fs.FreeSpace("/"), 8 * kMemoryPageBytes);
}

TEST(MemoryFileSystemCapacity, ACloneCountsWhatIsLeft) {
  MemoryFileSystem fs;
  fs.SetCapacity(8 * kMemoryPageBytes);
  fs.SetContent("/f", std::string(3 * kMemoryPageBytes, 'x'));
  ASSERT_TRUE(MustOpen(&fs, "/f")->WriteAt(4 * kMemoryPageBytes, "y").ok());
  auto after = fs.CrashClone(1, 0);
  EXPECT_EQ(*after->FreeSpace("/"), 5 * kMemoryPageBytes);
}

TEST(MemoryFileSystem, CountsBytesAndSyncs) {
  MemoryFileSystem fs;
  auto file = MustCreate(&fs, "/f");
  ASSERT_TRUE(file->WriteAt(0, "12345").ok());
  ASSERT_TRUE(file->WriteAt(0, "123").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(fs.bytes_written(), 8u);
  EXPECT_EQ(fs.syncs(), 1u);
}

TEST(MemoryFileSystem, TakesTheTimeFromItsClock) {
  VirtualClock clock(5000);
  MemoryFileSystem fs(&clock);
  auto file = MustCreate(&fs, "/f");
  clock.AdvanceMs(10);
  EXPECT_EQ(*fs.ModifiedMs("/f"), 5000);
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  EXPECT_EQ(*fs.ModifiedMs("/f"), 5010);
}

TEST(MemoryFileSystem, SetContentIsDurable) {
  MemoryFileSystem fs;
  fs.SetContent("/f", std::string(9000, 'a'));
  fs.SetContent("/f", "short");
  EXPECT_EQ(fs.CrashClone(1, 0)->Content("/f"), "short");
}

// A file under random operations against two plain strings: what readers see
// and what was synced last.
TEST(MemoryFileSystem, AgreesWithAPlainModel) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SplitMix64 rng(seed);
    auto fs = std::make_unique<MemoryFileSystem>();
    auto file = MustCreate(fs.get(), "/f");
    std::string cached;
    std::string durable;
    for (int step = 0; step < 400; ++step) {
      const uint64_t at = rng.Uniform(20000);
      const uint64_t size = rng.Uniform(9000);
      switch (rng.Uniform(12)) {
        case 0:
          ASSERT_TRUE(file->Truncate(at).ok());
          cached.resize(at);
          break;
        case 1:
          ASSERT_TRUE(file->Allocate(at, size).ok());
          if (size > 0) cached.resize(std::max(cached.size(), at + size));
          break;
        case 2:
        case 3:
          ASSERT_TRUE(file->Sync().ok());
          durable = cached;
          break;
        case 4:
          fs = fs->CrashClone(rng.Next(), 0);
          file = MustOpen(fs.get(), "/f");
          cached = durable;
          break;
        default: {
          const std::string data(size, static_cast<char>('a' + step % 26));
          ASSERT_TRUE(file->WriteAt(at, data).ok());
          if (size == 0) break;
          cached.resize(std::max(cached.size(), at + size));
          cached.replace(at, size, data);
        }
      }
      ASSERT_EQ(fs->Content("/f"), cached) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace hourglass
