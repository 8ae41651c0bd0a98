// The simulator's disk must itself be believed: what it keeps, what it may
// lose, and that it loses everything it may lose.
#include "tests/simulation/sim_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kSeeds = 300;

std::string Read(const SimDisk& disk, const std::string& path) {
  const auto file = disk.FindFile(path);
  if (!file.ok()) return "(none)";
  std::string content((*file)->content.size(), '\0');
  (*file)->content.Read(0, content.size(), content.data());
  return content;
}

class SimDiskTest : public ::testing::TestWithParam<NameOrder> {
 protected:
  SimInodePtr Make(const std::string& path, std::string_view content = "") {
    const SimInodePtr file = *disk_.CreateFile(path);
    file->content.Write(0, content);
    return file;
  }
  void SyncDir(const std::string& path) {
    disk_.SyncDir(disk_.FindDir(path)->get());
  }
  std::unique_ptr<SimDisk> Crash(uint64_t seed, int keep_percent = 50) {
    PowerLoss how;
    how.keep_percent = keep_percent;
    how.torn_percent = 0;
    return Crash(seed, how);
  }
  std::unique_ptr<SimDisk> Crash(uint64_t seed, const PowerLoss& how) {
    SplitMix64 rng(seed);
    return disk_.AfterPowerLoss([&](const std::string&) { return how; }, &rng,
                                &counts_);
  }
  // What is seen in the states that a power loss can leave.
  template <typename Look>
  auto Outcomes(Look look) {
    std::set<decltype(look(disk_))> seen;
    for (int seed = 0; seed < kSeeds; ++seed) seen.insert(look(*Crash(seed)));
    return seen;
  }
  bool InOrder() const { return GetParam() == NameOrder::kJournal; }

  SimDisk disk_{GetParam()};
  FaultCounts counts_{};
};

INSTANTIATE_TEST_SUITE_P(Orders, SimDiskTest,
                         ::testing::Values(NameOrder::kJournal,
                                           NameOrder::kAnySubset),
                         [](const auto& info) {
                           return info.param == NameOrder::kJournal
                                      ? "Journal"
                                      : "AnySubset";
                         });

TEST_P(SimDiskTest, WhatIsSyncedStays) {
  disk_.SyncFile(Make("/a", "content").get());
  SyncDir("/");
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/a"); });
  EXPECT_THAT(seen, ElementsAre("content"));
}

TEST_P(SimDiskTest, WhatIsNotSyncedMayGoOrStay) {
  const SimInodePtr file = Make("/a", "old");
  disk_.SyncFile(file.get());
  SyncDir("/");
  file->content.Write(0, "new");
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/a"); });
  EXPECT_THAT(seen, ElementsAre("new", "old"));
}

TEST_P(SimDiskTest, AFileMayHaveGrownAndBeZero) {
  const SimInodePtr file = Make("/a");
  disk_.SyncFile(file.get());
  SyncDir("/");
  file->content.Write(0, "xyz");
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/a"); });
  EXPECT_TRUE(seen.contains(std::string(3, '\0')));
  EXPECT_TRUE(seen.contains("xyz"));
  EXPECT_TRUE(seen.contains(""));
  EXPECT_GT(counts_[static_cast<size_t>(FaultKind::kPageGrownZero)], 0u);
}

TEST_P(SimDiskTest, ASyncOfTheFileAloneKeepsItsNameOnlyInAJournal) {
  disk_.SyncFile(Make("/a", "content").get());
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/a"); });
  if (InOrder()) {
    EXPECT_THAT(seen, ElementsAre("content"));
  } else {
    EXPECT_THAT(seen, ElementsAre("(none)", "content"));
  }
}

TEST_P(SimDiskTest, NamesAreLostInOrderOrInAnyOrder) {
  Make("/a");
  Make("/b");
  const auto seen = Outcomes([](const SimDisk& d) { return d.Files(); });
  using Names = std::vector<std::string>;
  std::set<Names> expected = {Names{}, Names{"/a"}, Names{"/a", "/b"}};
  if (!InOrder()) expected.insert(Names{"/b"});
  EXPECT_EQ(seen, expected);
}

TEST_P(SimDiskTest, ARenameIsWhole) {
  disk_.SyncFile(Make("/old", "1").get());
  SyncDir("/");
  ASSERT_TRUE(disk_.Rename("/old", "/new").ok());
  const auto seen = Outcomes([](const SimDisk& d) { return d.Files(); });
  using Names = std::vector<std::string>;
  EXPECT_THAT(seen, ElementsAre(Names{"/new"}, Names{"/old"}));
}

TEST_P(SimDiskTest, ARenameOverAFileLeavesOneOfTheTwo) {
  disk_.SyncFile(Make("/CURRENT", "1").get());
  disk_.SyncFile(Make("/tmp", "2").get());
  SyncDir("/");
  ASSERT_TRUE(disk_.Rename("/tmp", "/CURRENT").ok());
  const auto seen = Outcomes(
      [](const SimDisk& d) { return Read(d, "/CURRENT") + Read(d, "/tmp"); });
  EXPECT_THAT(seen, ElementsAre("12", "2(none)"));
}

TEST_P(SimDiskTest, ARemovedFileMayComeBackWithItsContent) {
  disk_.SyncFile(Make("/a", "content").get());
  SyncDir("/");
  ASSERT_TRUE(disk_.Remove("/a").ok());
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/a"); });
  EXPECT_THAT(seen, ElementsAre("(none)", "content"));
  SyncDir("/");
  EXPECT_THAT(Outcomes([](const SimDisk& d) { return d.Files().size(); }),
              ElementsAre(0u));
}

TEST_P(SimDiskTest, ASyncOfOneDirectoryKeepsAnotherOnlyInAJournal) {
  ASSERT_TRUE(disk_.CreateDir("/x").ok());
  ASSERT_TRUE(disk_.CreateDir("/y").ok());
  SyncDir("/");
  Make("/x/a");
  Make("/y/b");
  SyncDir("/y");
  const auto seen = Outcomes([](const SimDisk& d) { return Read(d, "/x/a"); });
  EXPECT_EQ(seen.size(), InOrder() ? 1u : 2u);
  EXPECT_THAT(Outcomes([](const SimDisk& d) { return Read(d, "/y/b"); }),
              ElementsAre(""));
}

TEST_P(SimDiskTest, FilesOfALostDirectoryAreLost) {
  ASSERT_TRUE(disk_.CreateDir("/x").ok());
  disk_.SyncFile(Make("/x/a", "1").get());
  if (!InOrder()) SyncDir("/x");
  const auto seen = Outcomes([](const SimDisk& d) { return d.Files(); });
  EXPECT_EQ(seen.size(), InOrder() ? 1u : 2u);
}

TEST_P(SimDiskTest, ZeroPercentKeepsOnlyWhatIsSyncedAndHundredKeepsAll) {
  disk_.SyncFile(Make("/a", "1").get());
  SyncDir("/");
  disk_.FindFile("/a").value()->content.Write(0, "2");
  Make("/b", "3");
  for (int seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(Read(*Crash(seed, 0), "/a"), "1");
    EXPECT_EQ(Crash(seed, 0)->Files().size(), 1u);
    EXPECT_EQ(Read(*Crash(seed, 100), "/a"), "2");
    EXPECT_EQ(Read(*Crash(seed, 100), "/b"), "3");
  }
}

TEST_P(SimDiskTest, WhatCameBackIsDurable) {
  Make("/a", "1");
  const auto after = Crash(1, 100);
  SplitMix64 rng(1);
  PowerLoss nothing_kept;
  nothing_kept.keep_percent = 0;
  const auto again = after->AfterPowerLoss(
      [&](const std::string&) { return nothing_kept; }, &rng, &counts_);
  EXPECT_EQ(Read(*again, "/a"), "1");
}

// --- sectors ---

class TornTest : public SimDiskTest {
 protected:
  // 1000 bytes are synced, 600 are appended; then the power goes.
  std::string TornAppend(uint64_t seed, bool powersafe, int garbage_percent) {
    SimDisk disk(GetParam());
    const SimInodePtr file = *disk.CreateFile("/a");
    file->content.Write(0, std::string(1000, 'o'));
    disk.SyncFile(file.get());
    disk.SyncDir(disk.FindDir("/")->get());
    file->content.Write(1000, std::string(600, 'n'));
    PowerLoss how;
    how.keep_percent = 50;
    how.torn_percent = 100;
    how.garbage_percent = garbage_percent;
    how.powersafe_overwrite = powersafe;
    SplitMix64 rng(seed);
    const auto after = disk.AfterPowerLoss(
        [&](const std::string&) { return how; }, &rng, &counts_);
    return Read(*after, "/a");
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, TornTest,
                         ::testing::Values(NameOrder::kJournal));

TEST_P(TornTest, SectorsAreOldOrNew) {
  std::set<std::string> sectors;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::string content = TornAppend(seed, true, 0);
    content.resize(2048);
    EXPECT_EQ(content.substr(0, 1000), std::string(1000, 'o'));
    sectors.insert({content[1000], content[1024], content[1536]});
  }
  const char zero = '\0';
  EXPECT_TRUE(sectors.contains({'n', zero, 'n'}));  // a hole
  EXPECT_TRUE(sectors.contains({zero, 'n', zero}));
}

TEST_P(TornTest, GarbageStaysInsideAPowersafeWrite) {
  bool garbage = false;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const std::string content = TornAppend(seed, true, 100);
    ASSERT_EQ(content.substr(0, 1000), std::string(1000, 'o'));
    for (const char c : content.substr(1000)) {
      garbage = garbage || (c != 'n' && c != '\0');
    }
  }
  EXPECT_TRUE(garbage);
}

TEST_P(TornTest, WithoutPowersafeOverwriteItsSectorsAreTrashedAndNoOther) {
  bool trashed = false;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const std::string content = TornAppend(seed, false, 100);
    ASSERT_EQ(content.substr(0, 512), std::string(512, 'o'));
    trashed = trashed || content.substr(512, 488) != std::string(488, 'o');
  }
  EXPECT_TRUE(trashed);
  EXPECT_GT(counts_[static_cast<size_t>(FaultKind::kSectorTrashed)], 0u);
}

TEST_P(TornTest, BytesThatAreWrittenAgainUnchangedAreSafe) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    const SimInodePtr file =
        Make(std::string("/f") + std::to_string(seed), std::string(4096, 'o'));
    disk_.SyncFile(file.get());
    SyncDir("/");
    file->content.Write(0, std::string(4096, 'o'));
    PowerLoss how;
    how.torn_percent = 100;
    how.garbage_percent = 100;
    const auto after = Crash(seed, how);
    ASSERT_EQ(Read(*after, std::string("/f") + std::to_string(seed)),
              std::string(4096, 'o'));
  }
}

// --- the cache without the disk ---

TEST(PagedContentTest, RevertShowsWhatTheDiskHas) {
  PagedContent content;
  content.Write(0, std::string(5000, 'a'));
  content.Sync();
  content.Write(4000, std::string(9000, 'b'));
  content.Revert();
  std::string read(20000, 'x');
  read.resize(content.Read(0, read.size(), read.data()));
  EXPECT_EQ(read, std::string(5000, 'a'));
  EXPECT_EQ(content.reserved_bytes(), 8192u);
  EXPECT_FALSE(content.dirty());
}

TEST(PagedContentTest, RevertBringsBackWhatWasCutOff) {
  PagedContent content;
  content.Write(0, std::string(9000, 'a'));
  content.Sync();
  content.Resize(10);
  content.Revert();
  std::string read(9000, 'x');
  EXPECT_EQ(content.Read(0, read.size(), read.data()), 9000u);
  EXPECT_EQ(read, std::string(9000, 'a'));
  EXPECT_EQ(content.reserved_bytes(), 3 * 4096u);
}

TEST(PagedContentTest, WriteBackMakesOnePageDurable) {
  PagedContent content;
  content.Write(0, std::string(8192, 'a'));
  content.Sync();
  content.Write(0, std::string(8192, 'b'));
  EXPECT_TRUE(content.WriteBack(1));
  SplitMix64 rng(1);
  PowerLossCounts counts;
  const PagedContent after = content.AfterPowerLoss(
      {.keep_percent = 0, .torn_percent = 0}, &rng, &counts);
  std::string read(8192, 'x');
  after.Read(0, read.size(), read.data());
  EXPECT_EQ(read, std::string(4096, 'a') + std::string(4096, 'b'));
  EXPECT_TRUE(content.WriteBack(7));
  EXPECT_FALSE(content.WriteBack(0));
}

TEST(PagedContentTest, DamageHitsBothVersionsAndNoClone) {
  PagedContent content;
  content.Write(0, std::string(100, 'a'));
  content.Sync();
  SplitMix64 rng(1);
  const PagedContent clone = content.AfterCrash(&rng, 0);
  content.Damage(50, "X");
  char byte = 0;
  content.Read(50, 1, &byte);
  EXPECT_EQ(byte, 'X');
  content.AfterCrash(&rng, 0).Read(50, 1, &byte);
  EXPECT_EQ(byte, 'X');
  clone.Read(50, 1, &byte);
  EXPECT_EQ(byte, 'a');
  content.Damage(4096 * 5, "X");  // beyond the end: nothing
  EXPECT_EQ(content.size(), 100u);
}

}  // namespace
}  // namespace hourglass
