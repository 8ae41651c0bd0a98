#include "storage/commit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "tests/support/commit_log_fixture.h"
#include "tests/support/log_script.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

TEST_F(CommitLogTest, CreateMakesOneDurableFile) {
  ASSERT_TRUE(script_.Create().ok());
  EXPECT_EQ(script_.log().start(), LogOffset(512));
  EXPECT_EQ(script_.log().end(), LogOffset(512));
  EXPECT_EQ(script_.log().durable(), LogOffset(512));
  const auto after = fs_.CrashClone(1, 0);
  const LogContent content = ReadLog(after.get());
  EXPECT_TRUE(content.status.ok()) << content.status;
  EXPECT_EQ(content.end, LogOffset(512));
}

TEST_F(CommitLogTest, CreateRefusesADirectoryWithALog) {
  ASSERT_TRUE(script_.Create().ok());
  EXPECT_EQ(LogScript(&fs_).Create().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CommitLogTest, CreateRefusesOddFileSizes) {
  ASSERT_TRUE(fs_.CreateDir(kTestLogDir).ok());
  for (const uint64_t bytes : {0u, 512u, 4097u, 6144u}) {
    EXPECT_EQ(
        CommitLog::Create(&fs_, kTestLogDir, TestStoreId(), Options(bytes))
            .status()
            .code(),
        absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(CommitLogTest, AppendIsOneWriteAndSyncIsOneSync) {
  ASSERT_TRUE(script_.Create().ok());
  const uint64_t writes = fs_.operations(MemoryOp::kWrite);
  const uint64_t syncs = fs_.syncs();
  ASSERT_TRUE(script_.Append({"one", "two", std::string(900, '3')}).ok());
  EXPECT_EQ(fs_.operations(MemoryOp::kWrite), writes + 1);
  EXPECT_EQ(fs_.syncs(), syncs);
  EXPECT_EQ(script_.log().durable(), LogOffset(512));
  EXPECT_EQ(script_.log().end(), LogOffset(512 + 1536));

  ASSERT_TRUE(script_.Sync().ok());
  ASSERT_TRUE(script_.Sync().ok());  // nothing left to do
  EXPECT_EQ(fs_.syncs(), syncs + 1);
  EXPECT_EQ(fs_.operations(MemoryOp::kWrite), writes + 1);
  EXPECT_EQ(script_.log().durable(), script_.log().end());
}

TEST_F(CommitLogTest, NextStartIsTheEndOrTheNextFile) {
  ASSERT_TRUE(script_.Create().ok());
  const CommitLog& log = script_.log();
  const auto next = [&](uint64_t end, uint64_t bytes) {
    return log.NextStart(LogOffset(end), bytes).value();
  };
  EXPECT_EQ(next(512, 1), 512u);
  EXPECT_EQ(next(512, kFileBytes - 512), 512u);
  EXPECT_EQ(next(512, kFileBytes - 511), kFileBytes + 512);
  EXPECT_EQ(next(kFileBytes - 512, 512), kFileBytes - 512);
  EXPECT_EQ(next(kFileBytes - 512, 513), kFileBytes + 512);
  EXPECT_EQ(next(kFileBytes, 1), kFileBytes + 512);
  EXPECT_EQ(next(kFileBytes + 512, 1), kFileBytes + 512);
  EXPECT_EQ(next(5 * kFileBytes, 1), 5 * kFileBytes + 512);
  EXPECT_EQ(next(5 * kFileBytes + 1024, 1), 5 * kFileBytes + 1024);
  EXPECT_EQ(next(6 * kFileBytes - 512, 513), 6 * kFileBytes + 512);
}

TEST_F(CommitLogTest, RollsExactlyAtTheEndOfAFile) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(AppendBytes(kFileBytes - 512).ok());  // fills the file
  EXPECT_EQ(script_.log().end(), LogOffset(kFileBytes));
  ASSERT_TRUE(AppendBytes(512).ok());
  EXPECT_EQ(script_.log().end(), LogOffset(kFileBytes + 1024));
  // The roll synced the old file, not the new group.
  EXPECT_EQ(script_.log().durable(), LogOffset(kFileBytes));
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
  EXPECT_EQ(Names(), (std::vector<std::string>{"00000000000000000000.log",
                                               "00000000000000016384.log"}));
}

TEST_F(CommitLogTest, AGroupThatDoesNotFitAFileIsRefused) {
  ASSERT_TRUE(script_.Create().ok());
  EXPECT_EQ(AppendBytes(kFileBytes).code(), absl::StatusCode::kInvalidArgument);
  // Not sticky: nothing was written.
  EXPECT_TRUE(AppendBytes(512).ok());
}

TEST_F(CommitLogTest, AGroupInTheWrongPlaceIsRefused) {
  ASSERT_TRUE(script_.Create().ok());
  GroupBuilder group(HashBytes(TestStoreId().view()));
  group.Start(LogOffset(1024), LogOffset(512), 0);
  group.Finish();
  EXPECT_EQ(script_.log().Append(group).code(),
            absl::StatusCode::kFailedPrecondition);
  // Unfinished, and of another store.
  group.Start(LogOffset(512), LogOffset(512), 0);
  EXPECT_EQ(script_.log().Append(group).code(),
            absl::StatusCode::kInvalidArgument);
  GroupBuilder foreign(1);
  foreign.Start(LogOffset(512), LogOffset(512), 0);
  foreign.Finish();
  EXPECT_EQ(script_.log().Append(foreign).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(AppendBytes(512).ok());
}

TEST_F(CommitLogTest, GroupBuilderKnowsItsRoom) {
  GroupBuilder group(1);
  group.Start(LogOffset(512), LogOffset(512), 0);
  EXPECT_TRUE(group.HasRoomFor(kGroupBytesMax - 48 - 24));
  EXPECT_FALSE(group.HasRoomFor(kGroupBytesMax - 48 - 24 + 1));
  const std::string payload(kGroupBytesMax - 48 - 24, 'x');
  EXPECT_EQ(group.Add(RecordKind::kReady, 0, Hour(), RecordNumber(), payload,
                      HashBytes(payload)),
            LogOffset(512 + 48));
  EXPECT_EQ(group.end(), LogOffset(512 + kGroupBytesMax));
  EXPECT_FALSE(group.HasRoomFor(0));
  group.Finish();
  EXPECT_EQ(group.bytes().size(), kGroupBytesMax);
  EXPECT_EQ(group.records(), 1u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(group.bytes().data()) % 4096, 0u);
}

TEST_F(CommitLogTest, PreparedFileIsUsedByTheRoll) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.log().PrepareNextFile().ok());
  ASSERT_TRUE(script_.log().PrepareNextFile().ok());
  EXPECT_THAT(Names(), testing::Contains("next.tmp"));
  const uint64_t allocations = fs_.operations(MemoryOp::kAllocate);
  ASSERT_TRUE(AppendBytes(12'000).ok());
  ASSERT_TRUE(AppendBytes(12'000).ok());
  EXPECT_EQ(fs_.operations(MemoryOp::kAllocate), allocations);
  EXPECT_THAT(Names(), testing::Not(testing::Contains("next.tmp")));
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
}

TEST_F(CommitLogTest, LeftOverSpareIsNoObstacle) {
  ASSERT_TRUE(fs_.CreateDir(kTestLogDir).ok());
  fs_.SetContent(Path(kTestLogDir) / "next.tmp", "left over");
  ASSERT_TRUE(script_.Create().ok());
  fs_.SetContent(Path(kTestLogDir) / "next.tmp", "left over");
  ASSERT_TRUE(script_.Reopen(ReadLog(&fs_)).ok());
  EXPECT_THAT(Names(), testing::Not(testing::Contains("next.tmp")));
}

TEST_F(CommitLogTest, ReadRecordReturnsEveryRecord) {
  ASSERT_TRUE(script_.Create().ok());
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(script_.Append({std::string(i * 20, 'x'), "y"}).ok());
  }
  std::string buffer;
  for (const LogEntry& entry : script_.records()) {
    const auto size =
        static_cast<uint32_t>(kRecordHeaderBytes + entry.payload.size());
    const auto record = script_.log().ReadRecord(entry.offset, size, &buffer);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(EntryOf(*record), entry);
  }
}

TEST_F(CommitLogTest, ReadRecordRefusesWhatIsNoRecord) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"payload", "other"}).ok());
  const LogOffset at = script_.records()[0].offset;
  std::string buffer;
  const auto code = [&](LogOffset offset, uint32_t size) {
    return script_.log().ReadRecord(offset, size, &buffer).status().code();
  };
  EXPECT_EQ(code(at, 31), absl::StatusCode::kOk);
  EXPECT_EQ(code(at, 30), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(at, 32), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(at + 1, 31), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(at, 23), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code(script_.log().end(), 24), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code(LogOffset::Max(), 24), absl::StatusCode::kOutOfRange);

  std::string content = fs_.Content(LogScript::FilePath());
  content[at.value() + 26] ^= 1;
  fs_.SetContent(LogScript::FilePath(), content);
  const auto damaged = script_.log().ReadRecord(at, 31, &buffer);
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.status().message()),
              testing::AllOf(HasSubstr("00000000000000000000.log"),
                             HasSubstr("at byte 560")));
  // The record behind it is not affected.
  EXPECT_EQ(code(script_.records()[1].offset, 29), absl::StatusCode::kOk);
}

TEST_F(CommitLogTest, ReadRecordReportsAMissingFile) {
  ASSERT_TRUE(script_.Create().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendBytes(12'000).ok());
  ASSERT_TRUE(fs_.Remove(LogScript::FilePath(LogOffset(kFileBytes))).ok());
  std::string buffer;
  const auto read = [&](size_t n) {
    return script_.log()
        .ReadRecord(script_.records()[n].offset, 12'000 - kGroupHeaderBytes,
                    &buffer)
        .status()
        .code();
  };
  EXPECT_EQ(read(0), absl::StatusCode::kOk);
  EXPECT_EQ(read(1), absl::StatusCode::kDataLoss);
  // Also after the log has been opened anew, without that file.
  const LogContent content = ReadLog(&fs_, script_.records()[2].offset);
  const std::vector<LogEntry> records = script_.records();
  ASSERT_TRUE(script_.Reopen(content).ok());
  EXPECT_EQ(
      script_.log()
          .ReadRecord(records[1].offset, 12'000 - kGroupHeaderBytes, &buffer)
          .status()
          .code(),
      absl::StatusCode::kDataLoss);
}

// A file system that calls back before each rename.
class RenameHook final : public FileSystem {
 public:
  explicit RenameHook(FileSystem* fs) : fs_(fs) {}
  std::function<void()> before_rename = [] {};

  absl::StatusOr<std::unique_ptr<File>> Open(const Path& path,
                                             OpenFlags flags) override {
    return fs_->Open(path, flags);
  }
  absl::Status Rename(const Path& from, const Path& to) override {
    before_rename();
    return fs_->Rename(from, to);
  }
  absl::Status Remove(const Path& path) override { return fs_->Remove(path); }
  absl::Status RemoveDir(const Path& path) override {
    return fs_->RemoveDir(path);
  }
  absl::Status CreateDir(const Path& path) override {
    return fs_->CreateDir(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const Path& dir) override {
    return fs_->List(dir);
  }
  absl::StatusOr<bool> Exists(const Path& path) override {
    return fs_->Exists(path);
  }
  absl::StatusOr<bool> IsDirectory(const Path& path) override {
    return fs_->IsDirectory(path);
  }
  absl::StatusOr<uint64_t> FileSize(const Path& path) override {
    return fs_->FileSize(path);
  }
  absl::StatusOr<int64_t> ModifiedMs(const Path& path) override {
    return fs_->ModifiedMs(path);
  }
  absl::Status SyncDir(const Path& dir) override { return fs_->SyncDir(dir); }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const Path& path) override {
    return fs_->Lock(path);
  }
  absl::StatusOr<uint64_t> FreeSpace(const Path& dir) override {
    return fs_->FreeSpace(dir);
  }

 private:
  FileSystem* const fs_;
};

// The file that a roll has taken, and that still has the spare's name, must
// not be taken for a left-over by whoever prepares a file at that moment.
TEST_F(CommitLogTest, PreparingBesideARollTakesNothingAway) {
  RenameHook hook(&fs_);
  LogScript script(&hook);
  ASSERT_TRUE(script.Create().ok());
  Latch prepared(1);
  std::thread preparer;
  hook.before_rename = [&] {
    preparer = std::thread([&] {
      EXPECT_TRUE(script.log().PrepareNextFile().ok());
      prepared.CountDown();
    });
    // It should wait for the rename; it gets time to prove the opposite.
    prepared.WaitForMs(50);
  };
  ASSERT_TRUE(script.Append({std::string(12'000, 'a')}).ok());
  EXPECT_TRUE(script.Append({std::string(12'000, 'b')}).ok());
  if (preparer.joinable()) preparer.join();
  const LogContent content = ReadLog(&fs_);
  EXPECT_TRUE(content.status.ok()) << content.status;
  EXPECT_EQ(content.records, script.records());
}

TEST_F(CommitLogTest, ReadersRunBesideTheWriter) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"first"}).ok());
  const LogEntry first = script_.records()[0];
  std::atomic<bool> done{false};
  std::atomic<uint64_t> failures{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::string buffer;
      while (!done) {
        auto record = script_.log().ReadRecord(first.offset, 29, &buffer);
        if (!record.ok() || record->payload != "first") ++failures;
        if (!script_.log().Files().ok()) ++failures;
        if (!script_.log().PrepareNextFile().ok() && i == 0) ++failures;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(script_.Append({std::string(3000, 'x')}).ok());
    EXPECT_TRUE(script_.Sync().ok());
  }
  done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(failures, 0u);
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
}

TEST_F(CommitLogTest, RemoveBeforeRemovesWholeFilesOnly) {
  ASSERT_TRUE(script_.Create().ok());
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(AppendBytes(8000).ok());
  CommitLog& log = script_.log();
  ASSERT_EQ(log.Files()->size(), 8u);
  EXPECT_EQ(*log.RemoveBefore(LogOffset(kFileBytes - 1)), LogOffset(512));
  EXPECT_EQ(*log.RemoveBefore(LogOffset(3 * kFileBytes - 1)),
            LogOffset(2 * kFileBytes + 512));
  EXPECT_EQ(log.start(), LogOffset(2 * kFileBytes + 512));
  EXPECT_EQ(log.Files()->size(), 6u);
  EXPECT_EQ(log.Files()->front().base, LogOffset(2 * kFileBytes));
  EXPECT_EQ(log.Files()->front().bytes, kFileBytes);
  EXPECT_GT(log.Files()->back().modified_ms, log.Files()->front().modified_ms);

  std::string buffer;
  const uint32_t size = 8000 - kGroupHeaderBytes;
  EXPECT_EQ(log.ReadRecord(script_.records()[0].offset, size, &buffer)
                .status()
                .code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(log.ReadRecord(script_.records()[2].offset, size, &buffer).ok());
  // Never the file that is being written.
  EXPECT_EQ(*log.RemoveBefore(LogOffset::Max()),
            LogOffset(7 * kFileBytes + 512));
  EXPECT_EQ(Names().size(), 1u);
  EXPECT_TRUE(AppendBytes(8000).ok());
}

TEST_F(CommitLogTest, RemovalNeverLeavesAGap) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    MemoryFileSystem fs;
    LogScript script(&fs);
    ASSERT_TRUE(script.Create().ok());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(script.Append({std::string(12'000, 'x')}).ok());
    }
    ASSERT_TRUE(script.Sync().ok());
    fs.FailAfter(MemoryOp::kAny, 1 + seed % 10, absl::DataLossError("power"),
                 true);
    script.log().RemoveBefore(LogOffset::Max()).status().IgnoreError();
    const auto after = fs.CrashClone(seed, 50);
    const LogContent content = ReadLog(after.get());
    EXPECT_TRUE(content.status.ok()) << content.status;
    ASSERT_FALSE(content.records.empty());
    EXPECT_EQ(content.records.back(), script.records().back());
  }
}

TEST_F(CommitLogTest, OpenGoesOnWhereTheLogEnds) {
  ASSERT_TRUE(script_.Create().ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(AppendBytes(6000).ok());
  const LogContent before = ReadLog(&fs_);
  ASSERT_TRUE(script_.Reopen(before).ok());
  EXPECT_EQ(script_.log().end(), before.end);
  EXPECT_EQ(script_.log().durable(), before.end);
  EXPECT_EQ(script_.log().start(), LogOffset(512));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(AppendBytes(6000).ok());
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
  EXPECT_EQ(*fs_.FileSize(LogScript::FilePath(LogOffset(2 * kFileBytes))),
            kFileBytes);
}

TEST_F(CommitLogTest, OpenCutsWhatFollows) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"kept"}).ok());
  const LogContent kept = ReadLog(&fs_);
  ASSERT_TRUE(script_.Append({"cut"}).ok());
  ASSERT_TRUE(script_.Sync().ok());
  ASSERT_TRUE(script_.Reopen(kept).ok());
  const auto after = fs_.CrashClone(1, 0);
  const LogContent content = ReadLog(after.get());
  EXPECT_TRUE(content.status.ok());
  EXPECT_FALSE(content.torn);
  EXPECT_EQ(content.records, kept.records);
}

TEST_F(CommitLogTest, TheCutIsDurableEvenOnAFullDisk) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"kept"}).ok());
  const LogContent kept = ReadLog(&fs_);
  ASSERT_TRUE(script_.Append({"cut"}).ok());
  ASSERT_TRUE(script_.Sync().ok());
  fs_.FailAfter(MemoryOp::kAllocate, 1, absl::ResourceExhaustedError("full"),
                true);
  ASSERT_TRUE(script_.Reopen(kept).ok());
  const auto after = fs_.CrashClone(1, 0);
  EXPECT_EQ(ReadLog(after.get()).records, kept.records);
}

TEST_F(CommitLogTest, OpenRemovesLaterFilesOnlyIfTheyAreEmpty) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(AppendBytes(12'000).ok());
  const LogContent first = ReadLog(&fs_);
  ASSERT_TRUE(AppendBytes(12'000).ok());
  EXPECT_EQ(
      CommitLog::Open(&fs_, kTestLogDir, TestStoreId(), Options(), first.end)
          .status()
          .code(),
      absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
  // The second file loses its group: torn, as nothing was synced.
  const Path second = LogScript::FilePath(LogOffset(kFileBytes));
  std::string content = fs_.Content(second);
  content[600] ^= 1;
  fs_.SetContent(second, content);
  ASSERT_TRUE(
      CommitLog::Open(&fs_, kTestLogDir, TestStoreId(), Options(), first.end)
          .ok());
  EXPECT_EQ(Names().size(), 1u);
}

TEST_F(CommitLogTest, OpenRefusesAnEndThatCannotBe) {
  ASSERT_TRUE(script_.Create().ok());
  for (const uint64_t end :
       {uint64_t{0}, uint64_t{511}, uint64_t{513}, 2 * kFileBytes}) {
    EXPECT_FALSE(CommitLog::Open(&fs_, kTestLogDir, TestStoreId(), Options(),
                                 LogOffset(end))
                     .ok());
  }
  StoreId foreign;
  const absl::Status status =
      CommitLog::Open(&fs_, kTestLogDir, foreign, Options(), LogOffset(512))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CommitLogTest, TheFileSizeMayChangeBetweenRuns) {
  ASSERT_TRUE(script_.Create().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendBytes(6000).ok());
  LogContent content = ReadLog(&fs_);
  for (const uint64_t bytes : {uint64_t{40'960}, uint64_t{8192}, kFileBytes}) {
    LogScript script(&fs_, Options(bytes));
    ASSERT_TRUE(script.Reopen(content).ok());
    for (int i = 0; i < 12; ++i) {
      const std::string payload(1000 + 500 * i, 'x');
      ASSERT_TRUE(script.Append({payload}).ok() || bytes == 8192) << i;
    }
    content = ReadLog(&fs_);
    ASSERT_TRUE(content.status.ok()) << content.status;
    EXPECT_EQ(content.records, script.records());
    std::string buffer;
    for (const LogEntry& entry : script.records()) {
      EXPECT_TRUE(
          script.log()
              .ReadRecord(entry.offset, 24 + entry.payload.size(), &buffer)
              .ok());
    }
  }
}

TEST_F(CommitLogTest, OpenMayWriteTheUnsyncedPartAgain) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"synced"}).ok());
  ASSERT_TRUE(script_.Sync().ok());
  ASSERT_TRUE(script_.Append({"shown", std::string(5000, 'x')}).ok());
  fs_.FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad"), false);
  ASSERT_FALSE(script_.Sync().ok());
  // The process starts again; readers still see what no sync will write.
  const LogContent content = ReadLog(&fs_);
  ASSERT_EQ(content.records.size(), 3u);
  ASSERT_TRUE(CommitLog::Open(&fs_, kTestLogDir, TestStoreId(), Options(),
                              content.end, LogOffset(1024))
                  .ok());
  const auto after = fs_.CrashClone(1, 0);
  EXPECT_EQ(ReadLog(after.get()).records, content.records);
}

}  // namespace
}  // namespace hourglass
