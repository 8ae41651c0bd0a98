// Walks every damage that a small commit log can have, and states for each
// what the reader must say. Nothing here may ever deliver a wrong record or
// lose one without a word.
//
// Bytes that are provably irrelevant, so that damage to them needs no report:
//   * padding between a group's last record and the next 512-byte boundary:
//     the sealed header says where the records end;
//   * the rest of a file after `previous end` of the next file's header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "storage/log_reader.h"
#include "tests/support/log_script.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

constexpr uint64_t kFileBytes = 16u << 10;

bool IsPrefix(const std::vector<LogEntry>& part,
              const std::vector<LogEntry>& whole) {
  return part.size() <= whole.size() &&
         std::equal(part.begin(), part.end(), whole.begin());
}

class LogDamageTest : public testing::Test {
 protected:
  // Three groups of 1024, 1024 and 512 bytes at 512, 1536 and 2560.
  void SetUp() override {
    ASSERT_TRUE(script_.Create().ok());
    AppendGroup({"alpha", std::string(700, 'b'), ""});
    AppendGroup({std::string(600, 'c'), "delta"});
    AppendGroup({"epsilon", "zeta"});
    good_ = fs_.Content(path_);
    ASSERT_EQ(script_.groups(),
              (std::vector<LogOffset>{LogOffset(512), LogOffset(1536),
                                      LogOffset(2560)}));
    ASSERT_EQ(script_.log().end(), LogOffset(3072));
  }

  virtual void AppendGroup(const std::vector<std::string>& payloads) {
    ASSERT_TRUE(script_.Append(payloads).ok());
    ASSERT_TRUE(script_.Sync().ok());
  }

  LogContent ReadDamaged(const std::string& content,
                         LogOffset known_durable = LogOffset()) {
    fs_.SetContent(path_, content);
    return ReadLog(&fs_, LogOffset(), known_durable);
  }

  // Where the records of a group end.
  uint64_t RecordsEnd(size_t group) const {
    uint64_t end = 0;
    for (const LogEntry& entry : script_.records()) {
      const uint64_t next = group + 1 < script_.groups().size()
                                ? script_.groups()[group + 1].value()
                                : 3072;
      if (entry.offset.value() < next) {
        end = entry.offset.value() + kRecordHeaderBytes + entry.payload.size();
      }
    }
    return end;
  }

  // The group that holds byte `at`, or -1 (file header), or 3 (unused).
  int GroupOf(uint64_t at) const {
    if (at < 512) return -1;
    if (at < 1536) return 0;
    if (at < 2560) return 1;
    return at < 3072 ? 2 : 3;
  }
  bool IsPadding(uint64_t at) const {
    const int group = GroupOf(at);
    return group >= 0 && group < 3 && at >= RecordsEnd(group);
  }

  void ExpectWhole(const LogContent& content) {
    EXPECT_TRUE(content.status.ok()) << content.status;
    EXPECT_EQ(content.records, script_.records());
    EXPECT_EQ(content.end, LogOffset(3072));
  }
  void ExpectDamageAt(const LogContent& content, uint64_t offset) {
    EXPECT_EQ(content.status.code(), absl::StatusCode::kDataLoss)
        << content.status;
    EXPECT_THAT(std::string(content.status.message()),
                testing::AllOf(HasSubstr("00000000000000000000.log"),
                               HasSubstr(absl::StrCat("log offset ", offset))));
    EXPECT_TRUE(IsPrefix(content.records, script_.records()));
  }
  void ExpectTornAt(const LogContent& content, uint64_t offset) {
    EXPECT_TRUE(content.status.ok()) << content.status;
    EXPECT_TRUE(content.torn);
    EXPECT_EQ(content.end, LogOffset(offset));
    EXPECT_TRUE(IsPrefix(content.records, script_.records()));
    for (const LogEntry& entry : content.records) {
      EXPECT_LT(entry.offset, LogOffset(offset));
    }
  }

  MemoryFileSystem fs_;
  LogScript script_{&fs_};
  const Path path_ = LogScript::FilePath();
  std::string good_;
};

TEST_F(LogDamageTest, TheUndamagedLogIsRead) {
  const LogContent content = ReadLog(&fs_);
  ExpectWhole(content);
  EXPECT_FALSE(content.torn);
}

// Each bit of the file, with what must be said of it.
TEST_F(LogDamageTest, EveryBit) {
  for (uint64_t at = 0; at < kFileBytes; ++at) {
    // Beyond the groups one bit of each byte is enough.
    for (int bit = 0; bit < (at < 3072 ? 8 : 1); ++bit) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      std::string content = good_;
      content[at] = static_cast<char>(content[at] ^ 1 << bit);
      const LogContent read = ReadDamaged(content);
      if (IsPadding(at)) {
        ExpectWhole(read);
        continue;
      }
      switch (GroupOf(at)) {
        case -1:
          EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
          EXPECT_TRUE(read.records.empty());
          break;
        case 0:
          ExpectDamageAt(read, 512);
          break;
        case 1:
          ExpectDamageAt(read, 1536);
          break;
        case 2:
          // Nothing in this file knows that the last group was synced...
          ExpectTornAt(read, 2560);
          // ... but the checkpoint may.
          ExpectDamageAt(ReadDamaged(content, LogOffset(3072)), 2560);
          break;
        default:
          ExpectWhole(read);
          EXPECT_TRUE(read.torn);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(LogDamageTest, EveryTruncation) {
  for (uint64_t size = 0; size < kFileBytes; ++size) {
    SCOPED_TRACE(testing::Message() << "size " << size);
    const LogContent read = ReadDamaged(good_.substr(0, size));
    if (size < 512) {
      EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
      continue;
    }
    // The end of the last group whose records are all there.
    uint64_t end = 512;
    for (size_t g = 0; g < 3 && size >= RecordsEnd(g); ++g) {
      end = g + 1 < 3 ? script_.groups()[g + 1].value() : 3072;
    }
    ExpectTornAt(read, end);
    if (end < 3072) {
      ExpectDamageAt(ReadDamaged(good_.substr(0, size), LogOffset(3072)), end);
    }
    if (HasFailure()) return;
  }
}

TEST_F(LogDamageTest, EveryTailOfZeros) {
  for (uint64_t size = 512; size < 3072; ++size) {
    SCOPED_TRACE(testing::Message() << "zeros from " << size);
    std::string content = good_;
    std::fill(content.begin() + size, content.end(), '\0');
    const LogContent read = ReadDamaged(content);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_TRUE(IsPrefix(read.records, script_.records()));
    // Torn if anything of the cut group is left.
    EXPECT_EQ(read.torn, size > read.end.value());
    if (HasFailure()) return;
  }
}

TEST_F(LogDamageTest, GarbageTails) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::string content = good_;
    const uint64_t from = 512 + random() % 3000;
    for (uint64_t at = from; at < content.size(); ++at) {
      content[at] = static_cast<char>(random());
    }
    const LogContent read = ReadDamaged(content);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_TRUE(read.torn);
    EXPECT_LE(read.end.value(), RoundUpToBlock(from));
    EXPECT_TRUE(IsPrefix(read.records, script_.records()));
    if (HasFailure()) return;
  }
}

// Every block copied over every other: a misdirected write.
TEST_F(LogDamageTest, EveryBlockOverEveryOther) {
  for (uint64_t from = 0; from < 3584; from += 512) {
    for (uint64_t to = 0; to < 3584; to += 512) {
      if (from == to) continue;
      SCOPED_TRACE(testing::Message() << "block " << from << " over " << to);
      std::string content = good_;
      content.replace(to, 512, good_.substr(from, 512));
      const LogContent read = ReadDamaged(content);
      switch (GroupOf(to)) {
        case -1:
          EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
          break;
        case 0:
          ExpectDamageAt(read, 512);
          break;
        case 1:
          ExpectDamageAt(read, 1536);
          break;
        case 2:
          EXPECT_TRUE(read.status.ok());
          EXPECT_EQ(read.end, LogOffset(2560));
          // A block of zeros looks as if nothing had ever been written; the
          // checkpoint is the evidence then.
          EXPECT_EQ(read.torn, from < 3072);
          ExpectDamageAt(ReadDamaged(content, LogOffset(3072)), 2560);
          break;
        default:
          ExpectWhole(read);
          EXPECT_TRUE(read.torn);
      }
      if (HasFailure()) return;
    }
  }
}

// Groups of equal size exchanged, and a group written twice.
TEST_F(LogDamageTest, SwappedAndDuplicatedGroups) {
  std::string swapped = good_;
  swapped.replace(512, 1024, good_.substr(1536, 1024));
  swapped.replace(1536, 1024, good_.substr(512, 1024));
  // No header stands in its own place before the third group's.
  ExpectDamageAt(ReadDamaged(swapped), 512);

  std::string twice = good_;
  twice.replace(3072, 1024, good_.substr(512, 1024));
  const LogContent read = ReadDamaged(twice);
  ExpectWhole(read);
  EXPECT_TRUE(read.torn);
}

TEST_F(LogDamageTest, RecordsSwappedInsideAGroup) {
  // "epsilon" and "zeta" have records of 31 and 28 bytes.
  std::string content = good_;
  const std::string first = good_.substr(2560 + 48, 31);
  const std::string second = good_.substr(2560 + 48 + 31, 28);
  content.replace(2560 + 48, 59, second + first);
  ExpectTornAt(ReadDamaged(content), 2560);
}

// The same log under the policies that do not sync each group.
class LogUnsyncedDamageTest : public LogDamageTest {
 protected:
  void AppendGroup(const std::vector<std::string>& payloads) override {
    ASSERT_TRUE(script_.Append(payloads).ok());
  }
};

TEST_F(LogUnsyncedDamageTest, DamageBeforeLaterUnsyncedGroupsIsATornTail) {
  for (const uint64_t at : {520u, 1540u, 2600u}) {
    std::string content = good_;
    content[at] = static_cast<char>(content[at] ^ 1);
    ExpectTornAt(ReadDamaged(content), at / 512 * 512 == 2560 ? 2560
                                       : at < 1536            ? 512
                                                              : 1536);
  }
}

TEST_F(LogUnsyncedDamageTest, EveryBitIsTornOrKnownToTheCheckpoint) {
  for (uint64_t at = 512; at < 3072; ++at) {
    if (IsPadding(at)) continue;
    SCOPED_TRACE(testing::Message() << "byte " << at);
    std::string content = good_;
    content[at] = static_cast<char>(content[at] ^ 0x10);
    const uint64_t start = script_.groups()[GroupOf(at)].value();
    ExpectTornAt(ReadDamaged(content), start);
    ExpectTornAt(ReadDamaged(content, LogOffset(start)), start);
    ExpectDamageAt(ReadDamaged(content, LogOffset(start + 1)), start);
    if (HasFailure()) return;
  }
}

TEST_F(LogUnsyncedDamageTest, ALaterHeaderIsEvidenceEvenIfItsRecordsAreTorn) {
  ASSERT_TRUE(script_.Sync().ok());
  ASSERT_TRUE(script_.Append({"later", std::string(900, 'x')}).ok());
  std::string content = fs_.Content(path_);
  content[1540] = static_cast<char>(content[1540] ^ 1);
  ExpectDamageAt(ReadDamaged(content), 1536);
  content[4000] = static_cast<char>(content[4000] ^ 1);  // in the last record
  ExpectDamageAt(ReadDamaged(content), 1536);
  content[3080] = static_cast<char>(content[3080] ^ 1);  // in its header
  ExpectTornAt(ReadDamaged(content), 1536);
}

TEST_F(LogUnsyncedDamageTest, ANextFileIsEvidenceForAllOfTheOneBefore) {
  while (script_.log().end() < LogOffset(kFileBytes)) {
    ASSERT_TRUE(script_.Append({std::string(3000, 'x')}).ok());
  }
  const std::string content = fs_.Content(path_);
  for (const LogOffset group : script_.groups()) {
    if (group > LogOffset(kFileBytes)) break;
    SCOPED_TRACE(testing::Message() << "group at " << group.value());
    std::string damaged = content;
    damaged[group.value() + 50] ^= 1;
    ExpectDamageAt(ReadDamaged(damaged), group.value());
  }
  // What is after the last group of a file that has a successor is not used.
  std::string rest = content;
  rest[kFileBytes - 1] = 'x';
  EXPECT_EQ(ReadDamaged(rest).records, script_.records());
}

}  // namespace
}  // namespace hourglass
