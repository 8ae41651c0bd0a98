#include "tests/simulation/sim_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SimFileSystemTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> Create(const std::string& path) {
    auto file = fs_->Open(path, {OpenMode::kCreate});
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  std::string Read(const std::string& path) { return fs_->Content(path); }
  void PowerLoss(int keep_percent) {
    plan_.power_loss.keep_percent = keep_percent;
    fs_ = fs_->PowerLoss(++seed_);
  }
  uint64_t Fired(FaultKind kind) { return counts_[static_cast<size_t>(kind)]; }

  VirtualClock clock_{1'000'000};
  FaultPlan plan_;
  FaultCounts counts_{};
  uint64_t seed_ = 1;
  std::unique_ptr<SimFileSystem> fs_ =
      std::make_unique<SimFileSystem>(&clock_, plan_, seed_, &counts_);
};

TEST_F(SimFileSystemTest, AMachineWithoutPowerAnswersNothing) {
  auto file = Create("/a");
  auto lock = fs_->Lock("/LOCK");
  ASSERT_TRUE(lock.ok());
  const auto old = std::exchange(fs_, fs_->PowerLoss(1));
  char byte;
  EXPECT_TRUE(absl::IsUnavailable(file->WriteAt(0, "x")));
  EXPECT_TRUE(absl::IsUnavailable(file->ReadAt(0, 1, &byte).status()));
  EXPECT_TRUE(absl::IsUnavailable(file->Sync()));
  EXPECT_TRUE(absl::IsUnavailable(old->Rename("/a", "/b")));
  EXPECT_TRUE(absl::IsUnavailable(old->Exists("/a").status()));
  EXPECT_TRUE(absl::IsUnavailable(old->SyncDir("/")));
  // The lock is free again, also while the dead one is still held.
  EXPECT_TRUE(fs_->Lock("/LOCK").ok());
}

TEST_F(SimFileSystemTest, PowerGoesInTheMiddleOfACall) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimFileSystem fs(&clock_, plan_, seed, &counts_);
    auto file = *fs.Open("/a", {OpenMode::kCreate});
    ASSERT_TRUE(file->WriteAt(0, "old").ok());
    fs.PowerOffAfter(2);
    ASSERT_TRUE(file->WriteAt(0, "ol2").ok());
    EXPECT_TRUE(absl::IsUnavailable(file->WriteAt(0, "new")));
    EXPECT_TRUE(fs.power_is_off());
    EXPECT_TRUE(absl::IsUnavailable(file->Sync()));
    seen.insert(fs.Kill()->Content("/a"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ol2", "new"}));
}

TEST_F(SimFileSystemTest, AProcessThatDiesLosesNothingButItsLocks) {
  auto file = Create("/a");
  ASSERT_TRUE(file->WriteAt(0, "content").ok());
  auto lock = fs_->Lock("/LOCK");
  ASSERT_TRUE(absl::IsFailedPrecondition(fs_->Lock("/LOCK").status()));
  const auto old = std::exchange(fs_, fs_->Kill());
  EXPECT_EQ(Read("/a"), "content");
  const auto again = fs_->Lock("/LOCK");
  EXPECT_TRUE(again.ok());
  lock = absl::NotFoundError("let go");
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_->Lock("/LOCK").status()));
  PowerLoss(0);
  EXPECT_THAT(fs_->Files(), IsEmpty());
}

TEST_F(SimFileSystemTest, APeekChangesNothing) {
  auto file = Create("/a");
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  plan_.power_loss.keep_percent = 0;
  EXPECT_THAT(fs_->PeekPowerLoss(1)->Files(), IsEmpty());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_TRUE(fs_->SyncDir("/").ok());
  EXPECT_EQ(fs_->PeekPowerLoss(1)->Content("/a"), "x");
}

// --- the three ways in which a sync fails ---

TEST_F(SimFileSystemTest, AfterASyncErrorPagesCountAsCleanAndAreNeverWritten) {
  auto file = Create("/a");
  ASSERT_TRUE(fs_->SyncDir("/").ok());
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  fs_->Arm({FaultKind::kSyncErrorClean, "", 1, false});
  EXPECT_TRUE(absl::IsDataLoss(file->Sync()));
  EXPECT_TRUE(file->Sync().ok());  // as Linux says
  EXPECT_EQ(Read("/a"), "x");      // the cache has it
  PowerLoss(100);
  EXPECT_EQ(Read("/a"), std::string(1, '\0'));  // the disk never got it
}

TEST_F(SimFileSystemTest, ASyncErrorMayTakeTheContentBack) {
  auto file = Create("/a");
  ASSERT_TRUE(file->WriteAt(0, "old").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->WriteAt(0, "new and longer").ok());
  fs_->Arm({FaultKind::kSyncErrorRevert, "", 1, false});
  EXPECT_TRUE(absl::IsDataLoss(file->Sync()));
  EXPECT_EQ(Read("/a"), "old");
}

TEST_F(SimFileSystemTest, ASyncErrorMayBeReportedLate) {
  auto file = Create("/a");
  ASSERT_TRUE(fs_->SyncDir("/").ok());
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  fs_->Arm({FaultKind::kSyncErrorLate, "", 1, false});
  EXPECT_TRUE(file->Sync().ok());  // a lie
  EXPECT_TRUE(absl::IsDataLoss(file->Sync()));
  EXPECT_TRUE(file->Sync().ok());
  PowerLoss(100);
  EXPECT_EQ(Read("/a"), std::string(1, '\0'));
}

// --- errors ---

TEST_F(SimFileSystemTest, FaultsCountTheirOwnCallsOnly) {
  ASSERT_TRUE(fs_->CreateDir("/log").ok());
  auto other = Create("/other");
  auto file = Create("/log/a");
  fs_->Arm({FaultKind::kWriteError, "/log/", 2, true});
  EXPECT_TRUE(other->WriteAt(0, "x").ok());
  EXPECT_TRUE(file->WriteAt(0, "1").ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_TRUE(other->WriteAt(0, "x").ok());
  const absl::Status failed = file->WriteAt(1, "2");
  EXPECT_TRUE(absl::IsDataLoss(failed));
  EXPECT_THAT(failed.ToString(), HasSubstr("write /log/a"));
  EXPECT_TRUE(absl::IsDataLoss(file->WriteAt(1, "2")));  // sticky
  EXPECT_EQ(Read("/log/a"), "1");
  EXPECT_EQ(fs_->errors(), 2u);
  fs_->Disarm();
  EXPECT_TRUE(file->WriteAt(1, "2").ok());
  EXPECT_EQ(Fired(FaultKind::kWriteError), 2u);
}

TEST_F(SimFileSystemTest, AShortWriteLeavesAPart) {
  std::set<size_t> sizes;
  auto file = Create("/a");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(file->Truncate(0).ok());
    fs_->Arm({FaultKind::kShortWrite, "", 1, false});
    EXPECT_TRUE(absl::IsDataLoss(file->WriteAt(0, "abcd")));
    const std::string left = Read("/a");
    EXPECT_EQ(left, std::string("abcd").substr(0, left.size()));
    sizes.insert(left.size());
  }
  EXPECT_EQ(sizes, (std::set<size_t>{0, 1, 2, 3}));
}

TEST_F(SimFileSystemTest, EveryKindOfErrorStrikesItsCall) {
  const std::pair<FaultKind, std::function<absl::Status()>> kinds[] = {
      {FaultKind::kOpenError,
       [&] { return fs_->Open("/a", {OpenMode::kRead}).status(); }},
      {FaultKind::kCreateError,
       [&] { return fs_->Open("/b", {OpenMode::kCreate}).status(); }},
      {FaultKind::kCreateError, [&] { return fs_->CreateDir("/d"); }},
      {FaultKind::kNoSpaceCall, [&] { return fs_->CreateDir("/d"); }},
      {FaultKind::kRenameError, [&] { return fs_->Rename("/a", "/c"); }},
      {FaultKind::kRemoveError, [&] { return fs_->Remove("/a"); }},
      {FaultKind::kSyncDirError, [&] { return fs_->SyncDir("/"); }},
      {FaultKind::kListError, [&] { return fs_->List("/").status(); }},
  };
  auto file = Create("/a");
  for (const auto& [kind, call] : kinds) {
    SCOPED_TRACE(FaultKindName(kind));
    fs_->Arm({kind, "", 1, false});
    const uint64_t before = Fired(kind);
    EXPECT_FALSE(call().ok());
    EXPECT_EQ(Fired(kind), before + 1);
    EXPECT_EQ(fs_->Files(), std::vector<std::string>{"/a"});
  }
  fs_->Arm({FaultKind::kAllocateError, "", 1, false});
  EXPECT_FALSE(file->Allocate(0, 10).ok());
  fs_->Arm({FaultKind::kTruncateError, "", 1, false});
  EXPECT_FALSE(file->Truncate(10).ok());
  EXPECT_EQ(*file->Size(), 0u);
  fs_->Arm({FaultKind::kReadError, "", 1, false});
  char byte;
  EXPECT_TRUE(absl::IsDataLoss(file->ReadAt(0, 1, &byte).status()));
  EXPECT_TRUE(file->ReadAt(0, 1, &byte).ok());
}

TEST_F(SimFileSystemTest, AFullDiskTakesWhatFits) {
  auto file = Create("/a");
  fs_->SetFreeBytes(8192);
  EXPECT_EQ(*fs_->FreeSpace("/"), 8192u);
  EXPECT_TRUE(
      absl::IsResourceExhausted(file->WriteAt(0, std::string(10000, 'x'))));
  EXPECT_EQ(Read("/a").size(), 8192u);
  EXPECT_EQ(*fs_->FreeSpace("/"), 0u);
  EXPECT_TRUE(
      absl::IsResourceExhausted(fs_->Open("/b", {OpenMode::kCreate}).status()));
  EXPECT_TRUE(file->WriteAt(0, "over").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(file->Allocate(8192, 1)));
  ASSERT_TRUE(file->Truncate(0).ok());
  EXPECT_EQ(*fs_->FreeSpace("/"), 8192u);
  EXPECT_TRUE(file->Allocate(0, 8192).ok());
  fs_->Disarm();
  EXPECT_TRUE(file->WriteAt(0, std::string(10000, 'x')).ok());
}

// --- damage ---

TEST_F(SimFileSystemTest, ABadSectorStaysBadUntilItIsWritten) {
  auto file = Create("/a");
  ASSERT_TRUE(file->WriteAt(0, std::string(2000, 'x')).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(fs_->SyncDir("/").ok());
  Random random(1);
  EXPECT_THAT(fs_->Damage(FaultKind::kBadSector, &random), HasSubstr("/a"));
  char buffer[2000];
  EXPECT_TRUE(absl::IsDataLoss(file->ReadAt(0, 2000, buffer).status()));
  EXPECT_TRUE(absl::IsDataLoss(file->ReadAt(0, 2000, buffer).status()));
  int bad = 0;
  for (uint64_t at = 0; at < 2000; at += 512) {
    bad += file->ReadAt(at, 1, buffer).ok() ? 0 : 1;
  }
  EXPECT_EQ(bad, 1);
  PowerLoss(100);
  file = *fs_->Open("/a", {OpenMode::kReadWrite});
  EXPECT_FALSE(file->ReadAt(0, 2000, buffer).ok());
  ASSERT_TRUE(file->WriteAt(0, std::string(2000, 'y')).ok());
  EXPECT_TRUE(file->ReadAt(0, 2000, buffer).ok());
}

TEST_F(SimFileSystemTest, DamageChangesWhatItSaysAndNothingElse) {
  for (const FaultKind kind :
       {FaultKind::kBitRot, FaultKind::kBlockDuplicated,
        FaultKind::kBlockMisdirected, FaultKind::kFileCut}) {
    SCOPED_TRACE(FaultKindName(kind));
    SimFileSystem fs(&clock_, plan_, 3, &counts_);
    auto file = *fs.Open("/a", {OpenMode::kCreate});
    std::string content;
    for (int i = 0; i < 3000; ++i) content += static_cast<char>(1 + i / 100);
    ASSERT_TRUE(file->WriteAt(0, content).ok());
    ASSERT_TRUE(file->Sync().ok());
    Random random(1);
    ASSERT_NE(fs.Damage(kind, &random), "");
    std::string now = fs.Content("/a");
    EXPECT_NE(now, content);
    if (kind == FaultKind::kFileCut) {
      EXPECT_EQ(now, content.substr(0, now.size()));
      continue;
    }
    ASSERT_EQ(now.size(), content.size());
    int blocks = 0;
    for (size_t at = 0; at < 3000; at += 512) {
      blocks += now.substr(at, 512) != content.substr(at, 512) ? 1 : 0;
    }
    EXPECT_EQ(blocks, kind == FaultKind::kBlockMisdirected ? 2 : 1);
    EXPECT_EQ(Fired(kind), 1u);
  }
}

// --- time and the trace ---

TEST_F(SimFileSystemTest, ASlowSyncTakesTime) {
  plan_.slow_sync_percent = 100;
  auto file = Create("/a");
  const int64_t before_ms = clock_.NowMs();
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_GT(clock_.NowMs(), before_ms);
  EXPECT_EQ(Fired(FaultKind::kSlowSync), 1u);
}

TEST_F(SimFileSystemTest, TheTraceTellsRunsApart) {
  const auto run = [&](const std::string& path, uint64_t size) {
    SimFileSystem fs(&clock_, plan_, 1, &counts_);
    auto file = *fs.Open(path, {OpenMode::kCreate});
    file->Truncate(size).IgnoreError();
    EXPECT_THAT(fs.LastCalls(), HasSubstr("truncate " + path));
    return fs.trace_hash();
  };
  EXPECT_EQ(run("/a", 1), run("/a", 1));
  EXPECT_NE(run("/a", 1), run("/b", 1));
  EXPECT_NE(run("/a", 1), run("/a", 2));
}

TEST_F(SimFileSystemTest, WriteBackReachesTheDiskUnasked) {
  plan_.write_back_permille = 1000;
  auto file = Create("/a");
  ASSERT_TRUE(fs_->SyncDir("/").ok());
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->WriteAt(0, "y").ok());
  char byte;
  ASSERT_TRUE(file->ReadAt(0, 1, &byte).ok());
  PowerLoss(0);
  EXPECT_EQ(Read("/a"), "y");
  EXPECT_GT(Fired(FaultKind::kWriteBack), 0u);
}

}  // namespace
}  // namespace hourglass
