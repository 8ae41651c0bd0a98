#include "storage/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/checksum.h"
#include "storage/coding.h"
#include "tests/support/log_script.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

constexpr uint64_t kFileBytes = 16u << 10;

class LogReaderTest : public testing::Test {
 protected:
  // Groups of three records of about 500 bytes, each synced, over three
  // files.
  void MakeThreeFiles() {
    ASSERT_TRUE(script_.Create().ok());
    while (script_.log().end() < LogOffset(2 * kFileBytes + 4096)) {
      ASSERT_TRUE(script_
                      .Append({std::string(300, 'a'), std::string(), "ccc",
                               std::string(180, 'd')})
                      .ok());
      ASSERT_TRUE(script_.Sync().ok());
    }
  }

  void ExpectDamage(const LogContent& content, const std::string& text) {
    EXPECT_EQ(content.status.code(), absl::StatusCode::kDataLoss)
        << content.status;
    EXPECT_THAT(std::string(content.status.message()), HasSubstr(text));
  }

  // Changes the file header of `base` and seals it again.
  void PatchHeader(LogOffset base, size_t at, uint64_t value, size_t bytes) {
    std::string content = fs_.Content(LogScript::FilePath(base));
    content.replace(at, bytes, reinterpret_cast<const char*>(&value), bytes);
    PutFixed<uint64_t>(content.data() + 504, HashBytes(content.substr(0, 504)));
    fs_.SetContent(LogScript::FilePath(base), content);
  }

  MemoryFileSystem fs_;
  LogScript script_{&fs_};
  const LogOffset second_{kFileBytes};
  const LogOffset third_{2 * kFileBytes};
};

TEST_F(LogReaderTest, EmptyLogEndsAtItsFirstGroup) {
  ASSERT_TRUE(script_.Create().ok());
  const LogContent content = ReadLog(&fs_);
  EXPECT_TRUE(content.status.ok()) << content.status;
  EXPECT_TRUE(content.records.empty());
  EXPECT_EQ(content.end, LogOffset(512));
  EXPECT_FALSE(content.torn);
}

TEST_F(LogReaderTest, ReadsAcrossFiles) {
  MakeThreeFiles();
  const LogContent content = ReadLog(&fs_);
  EXPECT_TRUE(content.status.ok()) << content.status;
  EXPECT_EQ(content.records, script_.records());
  EXPECT_EQ(content.end, script_.log().end());
  EXPECT_FALSE(content.torn);
}

TEST_F(LogReaderTest, TellsTheGroupOfTheLastRecord) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"a", "b"}).ok());
  ASSERT_TRUE(script_.Sync().ok());
  ASSERT_TRUE(script_.Append({"c"}).ok());
  LogReader reader(&fs_, kTestLogDir, TestStoreId());
  ASSERT_TRUE(reader.Seek(LogOffset()).ok());
  LogRecord record;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(*reader.Next(&record));
    EXPECT_EQ(reader.group_start(), LogOffset(512));
    EXPECT_EQ(reader.durable_before(), LogOffset(512));
    EXPECT_EQ(reader.written_ms(), 1'700'000'000'000);
  }
  ASSERT_TRUE(*reader.Next(&record));
  EXPECT_EQ(reader.group_start(), LogOffset(1024));
  EXPECT_EQ(reader.durable_before(), LogOffset(1024));
  EXPECT_EQ(reader.written_ms(), 1'700'000'000'001);
  ASSERT_FALSE(*reader.Next(&record));
  ASSERT_FALSE(*reader.Next(&record));
  EXPECT_EQ(reader.group_start(), LogOffset(1024));
}

TEST_F(LogReaderTest, NextBeforeSeekIsRefused) {
  LogReader reader(&fs_, kTestLogDir, TestStoreId());
  LogRecord record;
  EXPECT_EQ(reader.Next(&record).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(LogReaderTest, SeeksToEveryRecordAndGroup) {
  MakeThreeFiles();
  const std::vector<LogEntry>& all = script_.records();
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "record " << i);
    const LogContent content = ReadLog(&fs_, all[i].offset);
    ASSERT_TRUE(content.status.ok()) << content.status;
    EXPECT_EQ(content.records,
              std::vector<LogEntry>(all.begin() + i, all.end()));
  }
  for (size_t g = 0; g < script_.groups().size(); ++g) {
    const LogContent content = ReadLog(&fs_, script_.groups()[g]);
    ASSERT_TRUE(content.status.ok()) << content.status;
    EXPECT_EQ(content.records.size(), all.size() - 4 * g);
  }
}

TEST_F(LogReaderTest, SeekAcceptsTheEndsOfRecordsGroupsAndFiles) {
  MakeThreeFiles();
  // The end of a group's last record, before and after padding.
  const LogOffset end = script_.groups()[1];
  EXPECT_EQ(ReadLog(&fs_, end - 3).records.size(),
            script_.records().size() - 4);
  // The unused rest of the first file.
  EXPECT_EQ(ReadLog(&fs_, second_ - 1).records, ReadLog(&fs_, second_).records);
  EXPECT_EQ(ReadLog(&fs_, second_).records,
            ReadLog(&fs_, second_ + 512).records);
  // The end of the log, exactly and as the last record has it.
  const LogContent at_end = ReadLog(&fs_, script_.log().end());
  EXPECT_TRUE(at_end.status.ok()) << at_end.status;
  EXPECT_TRUE(at_end.records.empty());
  EXPECT_EQ(at_end.end, script_.log().end());
  EXPECT_TRUE(ReadLog(&fs_, script_.log().end() - 1).status.ok());
}

TEST_F(LogReaderTest, SeekInsideARecordIsRefused) {
  MakeThreeFiles();
  EXPECT_EQ(ReadLog(&fs_, script_.records()[5].offset + 1).status.code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LogReaderTest, SeekBeyondTheEndIsOutOfRange) {
  MakeThreeFiles();
  for (const LogOffset from :
       {script_.log().end() + 512, script_.log().end() + 1,
        LogOffset(3 * kFileBytes), LogOffset(4 * kFileBytes),
        LogOffset::Max()}) {
    EXPECT_EQ(ReadLog(&fs_, from).status.code(), absl::StatusCode::kOutOfRange)
        << from.value();
    EXPECT_EQ(ReadLog(&fs_, from, from).status.code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(LogReaderTest, SeekBeforeTheStartGoesToTheFirstGroup) {
  MakeThreeFiles();
  ASSERT_TRUE(script_.log().RemoveBefore(third_).ok());
  const LogContent content = ReadLog(&fs_, LogOffset(5));
  EXPECT_TRUE(content.status.ok()) << content.status;
  ASSERT_FALSE(content.records.empty());
  EXPECT_EQ(content.records.front().offset, third_ + 512 + 48);
}

TEST_F(LogReaderTest, NoFileIsReported) {
  ASSERT_TRUE(fs_.CreateDir(kTestLogDir).ok());
  ExpectDamage(ReadLog(&fs_), "no log file");
}

TEST_F(LogReaderTest, MissingFileIsNamed) {
  MakeThreeFiles();
  ASSERT_TRUE(fs_.Remove(LogScript::FilePath(second_)).ok());
  ExpectDamage(ReadLog(&fs_), "00000000000000016384.log is missing");
  // Also when the place sought for was in it.
  ExpectDamage(ReadLog(&fs_, second_ + 512), "is missing");
  // What stands after it can still be read.
  EXPECT_TRUE(ReadLog(&fs_, third_ + 512).status.ok());
}

TEST_F(LogReaderTest, MissingLastFileIsDamageIfItWasKnown) {
  MakeThreeFiles();
  const LogOffset end = script_.log().end();
  ASSERT_TRUE(fs_.Remove(LogScript::FilePath(third_)).ok());
  ExpectDamage(ReadLog(&fs_, LogOffset(), end), "the checkpoint knows");
}

TEST_F(LogReaderTest, ForeignFileIsNamed) {
  MakeThreeFiles();
  const uint64_t foreign = 0x4141414141414141;
  PatchHeader(second_, 12, foreign, 8);
  const LogContent content = ReadLog(&fs_);
  EXPECT_EQ(content.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(content.status.message()),
              testing::AllOf(HasSubstr("00000000000000016384.log"),
                             HasSubstr("4141414141414141"),
                             HasSubstr(TestStoreId().ToHex())));
}

TEST_F(LogReaderTest, OtherVersionIsNamed) {
  MakeThreeFiles();
  PatchHeader(LogOffset(), 8, 2, 4);
  const LogContent content = ReadLog(&fs_);
  EXPECT_EQ(content.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(content.status.message()),
              testing::AllOf(HasSubstr("00000000000000000000.log"),
                             HasSubstr("version 2"), HasSubstr("version 1")));
}

TEST_F(LogReaderTest, FileUnderAnotherNameIsRefused) {
  MakeThreeFiles();
  fs_.SetContent(LogScript::FilePath(second_),
                 fs_.Content(LogScript::FilePath(third_)));
  ExpectDamage(ReadLog(&fs_), "the name says 16384");
}

TEST_F(LogReaderTest, PreviousEndMustMatchTheGroups) {
  MakeThreeFiles();
  const uint64_t end = script_.groups()[1].value();
  // Earlier than the file's groups end: a group stands where none should.
  PatchHeader(second_, 44, end, 8);
  ExpectDamage(ReadLog(&fs_), "ends at log offset");
  // In the middle of a group.
  PatchHeader(second_, 44, end - 512, 8);
  ExpectDamage(ReadLog(&fs_), "ends at log offset");
  // Later than they end: a group is lost.
  PatchHeader(second_, 44, kFileBytes, 8);
  ExpectDamage(ReadLog(&fs_), "before the next one was begun");
  // Not in that file at all, or where no group can end.
  PatchHeader(second_, 44, 100, 8);
  ExpectDamage(ReadLog(&fs_), "not inside");
  PatchHeader(second_, 44, end + 1, 8);
  ExpectDamage(ReadLog(&fs_), "not inside");
}

TEST_F(LogReaderTest, DiskErrorIsNoTornTail) {
  MakeThreeFiles();
  for (int n = 1; n <= 8; ++n) {
    fs_.FailAfter(MemoryOp::kRead, n, absl::DataLossError("bad sector"), false);
    const LogContent content = ReadLog(&fs_);
    fs_.ClearFaults();
    if (content.status.ok()) {
      EXPECT_EQ(content.records, script_.records());
      EXPECT_GT(n, 3);
      return;
    }
    EXPECT_THAT(std::string(content.status.message()), HasSubstr("bad sector"));
  }
  FAIL() << "more reads than there can be";
}

TEST_F(LogReaderTest, ErrorsStick) {
  MakeThreeFiles();
  std::string content = fs_.Content(LogScript::FilePath(second_));
  content[600] = static_cast<char>(content[600] ^ 1);
  fs_.SetContent(LogScript::FilePath(second_), content);
  LogReader reader(&fs_, kTestLogDir, TestStoreId());
  ASSERT_TRUE(reader.Seek(LogOffset()).ok());
  LogRecord record;
  absl::Status first;
  while (first.ok()) first = reader.Next(&record).status();
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(reader.Next(&record).status(), first);
}

TEST_F(LogReaderTest, GroupsLargerThanTheWindowAreRead) {
  CommitLogOptions options;
  options.segment_bytes = 32u << 20;
  LogScript script(&fs_, options);
  ASSERT_TRUE(script.Create().ok());
  for (const size_t bytes : {100u, 5u << 20, 900'000u, (8u << 20) - 1024u, 1u,
                             (1u << 20) - 72u, (1u << 20)}) {
    ASSERT_TRUE(script.Append({std::string(bytes, 'x'), "y"}).ok());
  }
  const LogContent content = ReadLog(&fs_);
  EXPECT_TRUE(content.status.ok()) << content.status;
  EXPECT_EQ(content.records, script.records());
  for (const LogEntry& entry : script.records()) {
    EXPECT_EQ(ReadLog(&fs_, entry.offset).records.front(), entry);
  }
}

// A header that is sealed and yet wrong: only a fault of the writer makes it.
TEST_F(LogReaderTest, RecordsMustFillTheirGroup) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({"first", "second"}).ok());
  std::string content = fs_.Content(LogScript::FilePath());
  GroupHeader header;
  header.offset = LogOffset(512);
  header.durable_before = LogOffset(512);
  header.bytes = 48 + 29 + 30;
  for (const uint32_t records : {1u, 3u, 1'000'000u}) {
    header.records = records;
    EncodeGroupHeader(HashBytes(TestStoreId().view()), header,
                      content.data() + 512);
    fs_.SetContent(LogScript::FilePath(), content);
    const LogContent read = ReadLog(&fs_);
    EXPECT_TRUE(read.torn);
    EXPECT_TRUE(read.records.empty());
    EXPECT_EQ(read.end, LogOffset(512));
  }
}

TEST_F(LogReaderTest, EmptyGroupsAreSkipped) {
  ASSERT_TRUE(script_.Create().ok());
  ASSERT_TRUE(script_.Append({}).ok());
  ASSERT_TRUE(script_.Append({"a"}).ok());
  ASSERT_TRUE(script_.Append({}).ok());
  const LogContent content = ReadLog(&fs_);
  EXPECT_TRUE(content.status.ok());
  EXPECT_EQ(content.records, script_.records());
  EXPECT_EQ(content.end, LogOffset(2048));
}

}  // namespace
}  // namespace hourglass
