// What fails while a log is written or opened, and what a power loss leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "tests/support/commit_log_fixture.h"
#include "tests/support/log_script.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

TEST_F(CommitLogTest, AFailedWriteStopsTheLog) {
  ASSERT_TRUE(script_.Create().ok());
  fs_.FailAfter(MemoryOp::kWrite, 1, absl::DataLossError("bad block"), false);
  const absl::Status first = script_.Append({"one"});
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss);
  const uint64_t writes = fs_.operations(MemoryOp::kWrite);
  EXPECT_EQ(script_.Append({"two"}), first);
  EXPECT_EQ(script_.Sync(), first);
  EXPECT_EQ(fs_.operations(MemoryOp::kWrite), writes);
  EXPECT_EQ(script_.log().end(), LogOffset(512));
}

TEST_F(CommitLogTest, AFailedSyncStopsTheLog) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"one"}).ok());
  fs_.FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad block"), false);
  const absl::Status first = script_.Sync();
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss);
  const uint64_t syncs = fs_.syncs();
  EXPECT_EQ(script_.Sync(), first);
  EXPECT_EQ(script_.Append({"two"}), first);
  EXPECT_EQ(fs_.syncs(), syncs);
  EXPECT_EQ(script_.log().durable(), LogOffset(512));
}

TEST_F(CommitLogTest, AFullDiskRefusesTheNextFileAndRecovers) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(AppendBytes(12'000).ok());
  fs_.SetCapacity(kFileBytes + 4096);
  EXPECT_EQ(script_.log().PrepareNextFile().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(AppendBytes(12'000).code(), absl::StatusCode::kResourceExhausted);
  // What was there can be synced, a small group still fits.
  EXPECT_TRUE(script_.Sync().ok());
  EXPECT_TRUE(AppendBytes(512).ok());
  EXPECT_EQ(AppendBytes(12'000).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Names().size(), 1u);
  fs_.SetCapacity(1u << 20);
  EXPECT_TRUE(AppendBytes(12'000).ok());
  EXPECT_TRUE(script_.Sync().ok());
  EXPECT_EQ(ReadLog(&fs_).records, script_.records());
}

TEST_F(CommitLogTest, OpensOnAFullDiskAndWaitsForSpace) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(AppendBytes(2000).ok());
  ASSERT_TRUE(script_.Sync().ok());
  const LogContent content = ReadLog(&fs_);
  fs_.FailAfter(MemoryOp::kAllocate, 1, absl::ResourceExhaustedError("full"),
                true);
  ASSERT_TRUE(script_.Reopen(content).ok());
  EXPECT_EQ(AppendBytes(512).code(), absl::StatusCode::kResourceExhausted);
  fs_.ClearFaults();
  EXPECT_TRUE(AppendBytes(512).ok());
  EXPECT_EQ(script_.records().back().offset, LogOffset(kFileBytes + 512 + 48));
  const LogContent read = ReadLog(&fs_);
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.records, script_.records());
}

// Every operation of a short life fails once, and then power is lost.
TEST_F(CommitLogTest, EveryFailureKeepsWhatWasSynced) {
  for (const bool sticky : {false, true}) {
    for (int n = 1; n < 200; ++n) {
      SCOPED_TRACE(testing::Message() << "operation " << n << " fails");
      MemoryFileSystem fs;
      LogScript script(&fs);
      ASSERT_TRUE(script.Create().ok());
      fs.FailAfter(MemoryOp::kAny, n, absl::DataLossError("bad"), sticky);
      const uint64_t operations = fs.operations(MemoryOp::kAny);
      absl::Status status;
      for (int i = 0; i < 12 && status.ok(); ++i) {
        if (i % 4 == 1) script.log().PrepareNextFile().IgnoreError();
        status = script.Append({std::string(5000, 'x'), "y"});
        if (status.ok() && i % 3 != 0) status = script.Sync();
      }
      const bool fired = fs.operations(MemoryOp::kAny) - operations >=
                         static_cast<uint64_t>(n);
      for (const int keep : {0, 50, 100}) {
        // A clone is taken of a disk that then is dead; so each has its own.
        if (keep != n % 3 * 50) continue;
        const auto after = fs.CrashClone(n, keep);
        const LogContent content = ReadLog(after.get());
        ASSERT_TRUE(content.status.ok()) << content.status;
        ASSERT_GE(content.records.size(), script.durable_records());
        EXPECT_TRUE(
            std::equal(script.records().begin(),
                       script.records().begin() + script.durable_records(),
                       content.records.begin()));
        LogScript next(after.get());
        ASSERT_TRUE(next.Reopen(content).ok());
        ASSERT_TRUE(next.Append({"again"}).ok());
        ASSERT_TRUE(next.Sync().ok());
        EXPECT_EQ(ReadLog(after.get()).records, next.records());
      }
      if (HasFailure()) return;
      if (!fired) break;
    }
  }
}

// --- crashes ---

// Several lives on one disk; in each, random appends, syncs, rolls and
// removals, then a power loss. The model is a plain vector.
void LiveAndCrash(uint32_t seed) {
  std::mt19937 random(seed);
  auto fs = std::make_unique<MemoryFileSystem>();
  auto script = std::make_unique<LogScript>(fs.get());
  ASSERT_TRUE(script->Create().ok());
  for (int life = 0; life < 5; ++life) {
    SCOPED_TRACE(testing::Message() << "life " << life);
    for (int i = random() % 30; i > 0; --i) {
      std::vector<std::string> payloads(random() % 5);
      for (auto& p : payloads) p.assign(random() % 2500, 'a' + random() % 26);
      ASSERT_TRUE(script->Append(payloads).ok());
      if (random() % 3 == 0) {
        ASSERT_TRUE(script->Sync().ok());
      }
      if (random() % 8 == 0) {
        ASSERT_TRUE(script->log().PrepareNextFile().ok());
      }
    }
    const LogOffset durable = script->log().durable();
    auto after = fs->CrashClone(random(), random() % 4 * 33);
    const LogContent content = ReadLog(after.get(), LogOffset(), durable);
    ASSERT_TRUE(content.status.ok()) << content.status;
    // A prefix of what was appended, and all that was synced.
    ASSERT_GE(content.end, durable);
    ASSERT_LE(content.records.size(), script->records().size());
    ASSERT_TRUE(std::equal(content.records.begin(), content.records.end(),
                           script->records().begin()));
    ASSERT_TRUE(content.records.size() == script->records().size() ||
                script->records()[content.records.size()].offset >= durable);
    fs = std::move(after);
    script = std::make_unique<LogScript>(fs.get());
    ASSERT_TRUE(script->Reopen(content).ok());
  }
}

TEST_F(CommitLogTest, RandomLivesKeepWhatWasSynced) {
  for (uint32_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LiveAndCrash(seed);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CommitLogTest, PowerLossAtEveryStepOfOpening) {
  for (int keep : {0, 50}) {
    for (int n = 1; n < 40; ++n) {
      SCOPED_TRACE(testing::Message() << "operation " << n << " keep " << keep);
      MemoryFileSystem fs;
      LogScript script(&fs);
      ASSERT_TRUE(script.Create().ok());
      ASSERT_TRUE(script.Append({std::string(3000, 'x')}).ok());
      ASSERT_TRUE(script.Sync().ok());
      ASSERT_TRUE(script.Append({std::string(3000, 'y')}).ok());
      ASSERT_TRUE(script.Append({std::string(3000, 'z')}).ok());
      const auto torn = fs.CrashClone(n, 60);
      const LogContent content = ReadLog(torn.get());
      torn->FailAfter(MemoryOp::kAny, n, absl::DataLossError("power"), true);
      const bool opened = LogScript(torn.get()).Reopen(content).ok();
      const auto after = torn->CrashClone(n, keep);
      const LogContent again = ReadLog(after.get());
      ASSERT_TRUE(again.status.ok()) << again.status;
      EXPECT_GE(again.records.size(), 1u);
      ASSERT_TRUE(LogScript(after.get()).Reopen(again).ok());
      if (opened) {
        EXPECT_EQ(again.records, content.records);
        break;
      }
    }
  }
}

// --- golden file ---

// What docs/formats/commit_log.md walks through.
std::string WriteGoldenLog() {
  MemoryFileSystem fs;
  EXPECT_TRUE(fs.CreateDir(kTestLogDir).ok());
  CommitLogOptions options;
  options.segment_bytes = 4096;
  auto log = CommitLog::Create(&fs, kTestLogDir, TestStoreId(), options);
  EXPECT_TRUE(log.ok());
  MessageView message;
  message.topic = "orders";
  message.id = "A1";
  message.body = "hello";
  message.due_ms = 1'800'000'000'123;
  message.stored_ms = 1'700'000'000'456;
  std::string payload;
  EncodeMessage(message, &payload);

  GroupBuilder group(HashBytes(TestStoreId().view()));
  group.Start((*log)->NextStart((*log)->end(), 512), (*log)->durable(),
              1'700'000'000'500);
  group.Add(RecordKind::kDelayed, 0, Hour(500'000), RecordNumber(1), payload,
            HashBytes(payload));
  group.Add(RecordKind::kCancel, 0, Hour(500'000), RecordNumber(2),
            std::string_view("\x01\0\0\0\x7b\0\0\0", 8),
            HashBytes(std::string_view("\x01\0\0\0\x7b\0\0\0", 8)));
  group.Finish();
  EXPECT_TRUE((*log)->Append(group).ok());
  EXPECT_TRUE((*log)->Sync().ok());
  group.Start((*log)->NextStart((*log)->end(), 512), (*log)->durable(),
              1'700'000'000'600);
  group.Add(RecordKind::kDelivered, kFlagMarkOnly, Hour(500'000),
            RecordNumber(1), "", HashBytes(""));
  group.Finish();
  EXPECT_TRUE((*log)->Append(group).ok());
  return fs.Content(LogScript::FilePath());
}

TEST_F(CommitLogTest, GoldenFile) {
  const std::string path =
      std::string(HOURGLASS_GOLDEN_DIR) + "/commit_log.bin";
  const std::string written = WriteGoldenLog();
  if (std::getenv("HOURGLASS_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << written;
  }
  std::stringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_TRUE(written == golden.str())
      << "the commit log's format has changed: files of earlier versions "
         "could no longer be read";

  ASSERT_TRUE(fs_.CreateDir(kTestLogDir).ok());
  fs_.SetContent(LogScript::FilePath(), golden.str());
  const LogContent content = ReadLog(&fs_);
  ASSERT_TRUE(content.status.ok()) << content.status;
  ASSERT_EQ(content.records.size(), 3u);
  EXPECT_EQ(content.end, LogOffset(1536));
  EXPECT_EQ(content.records[0].kind, RecordKind::kDelayed);
  EXPECT_EQ(content.records[0].hour, Hour(500'000));
  const auto message = DecodeMessage(content.records[0].payload);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->body, "hello");
  EXPECT_EQ(content.records[1].kind, RecordKind::kCancel);
  EXPECT_EQ(content.records[2].flags, kFlagMarkOnly);
}

}  // namespace
}  // namespace hourglass
