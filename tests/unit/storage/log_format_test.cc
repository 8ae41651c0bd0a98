#include "storage/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "storage/checksum.h"
#include "storage/coding.h"
#include "tests/support/log_script.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

uint64_t Salt() { return HashBytes(TestStoreId().view()); }

std::string EncodedFileHeader() {
  std::string bytes(kLogFileHeaderBytes, '#');
  EncodeLogFileHeader(
      {TestStoreId(), LogOffset(1u << 20), 1u << 20, LogOffset(1'000'448)},
      bytes.data());
  return bytes;
}

GroupHeader SomeGroup() {
  GroupHeader header;
  header.records = 3;
  header.bytes = 1000;
  header.offset = LogOffset(1024);
  header.durable_before = LogOffset(512);
  header.written_ms = 1'700'000'000'000;
  return header;
}

LogRecord SomeRecord(std::string_view payload) {
  LogRecord record;
  record.offset = LogOffset(1072);
  record.kind = RecordKind::kDelayed;
  record.flags = 2;
  record.hour = Hour(480'001);
  record.number = RecordNumber(9);
  record.payload = payload;
  return record;
}

std::string EncodedRecord(const LogRecord& record) {
  std::string bytes(kRecordHeaderBytes, '#');
  EncodeRecordHeader(Salt(), record, HashBytes(record.payload), bytes.data());
  return bytes + std::string(record.payload);
}

// Calls `check(damaged)` for `bytes` with each single bit flipped.
template <typename Check>
void ForEachFlip(const std::string& bytes, Check check) {
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    SCOPED_TRACE(testing::Message() << "bit " << bit);
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    check(damaged);
  }
}

TEST(LogFormatTest, FileNamesSortByOffset) {
  EXPECT_EQ(LogFileName(LogOffset(268'435'456)), "00000000000268435456.log");
  EXPECT_EQ(LogFileName(LogOffset::Max()), "18446744073709551615.log");
  for (const uint64_t base : {uint64_t{0}, uint64_t{4096}, UINT64_MAX}) {
    EXPECT_EQ(ParseLogFileName(LogFileName(LogOffset(base))), LogOffset(base));
  }
}

TEST(LogFormatTest, OtherNamesAreNoLogFiles) {
  for (const char* name :
       {"", "next.tmp", "0.log", "00000000000268435456.lof",
        "0000000000026843545x.log", "-0000000000268435456.log",
        "+0000000000268435456.log", " 0000000000268435456.log",
        "99999999999999999999.log", "000000000000268435456.log"}) {
    EXPECT_EQ(ParseLogFileName(name), std::nullopt) << name;
  }
}

TEST(LogFormatTest, EveryKindHasAName) {
  std::set<std::string_view> names;
  for (uint8_t kind = 1; kind <= 6; ++kind) {
    names.insert(RecordKindName(static_cast<RecordKind>(kind)));
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(RecordKindName(static_cast<RecordKind>(7)), "unknown");
}

TEST(LogFormatTest, FileHeaderRoundTrip) {
  const auto header = DecodeLogFileHeader(EncodedFileHeader());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->id, TestStoreId());
  EXPECT_EQ(header->base, LogOffset(1u << 20));
  EXPECT_EQ(header->segment_bytes, 1u << 20);
  EXPECT_EQ(header->previous_end, LogOffset(1'000'448));
  EXPECT_EQ(header->first_group(), LogOffset((1u << 20) + 512));
  EXPECT_EQ(header->segment_end(), LogOffset(2u << 20));
}

TEST(LogFormatTest, EveryFlipInTheFileHeaderIsDamage) {
  ForEachFlip(EncodedFileHeader(), [](const std::string& bytes) {
    EXPECT_EQ(DecodeLogFileHeader(bytes).status().code(),
              absl::StatusCode::kDataLoss);
  });
  EXPECT_EQ(
      DecodeLogFileHeader(EncodedFileHeader().substr(0, 511)).status().code(),
      absl::StatusCode::kDataLoss);
}

TEST(LogFormatTest, AnotherVersionIsNamedAndIsNoDamage) {
  std::string bytes = EncodedFileHeader();
  PutFixed<uint32_t>(bytes.data() + 8, 7);
  PutFixed<uint64_t>(bytes.data() + 504, HashBytes(bytes.substr(0, 504)));
  const absl::Status status = DecodeLogFileHeader(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 7"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 1"));
}

TEST(LogFormatTest, GroupHeaderRoundTrip) {
  std::string bytes(kGroupHeaderBytes, '#');
  EncodeGroupHeader(Salt(), SomeGroup(), bytes.data());
  const auto header = DecodeGroupHeader(Salt(), LogOffset(1024), bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->records, 3u);
  EXPECT_EQ(header->bytes, 1000u);
  EXPECT_EQ(header->offset, LogOffset(1024));
  EXPECT_EQ(header->durable_before, LogOffset(512));
  EXPECT_EQ(header->written_ms, 1'700'000'000'000);
  EXPECT_EQ(header->records_end(), LogOffset(2024));
  EXPECT_EQ(header->end(), LogOffset(2048));
}

TEST(LogFormatTest, GroupHeaderIsBoundToPlaceAndStore) {
  std::string bytes(kGroupHeaderBytes, '#');
  EncodeGroupHeader(Salt(), SomeGroup(), bytes.data());
  EXPECT_FALSE(DecodeGroupHeader(Salt(), LogOffset(1536), bytes).ok());
  EXPECT_FALSE(DecodeGroupHeader(Salt() + 1, LogOffset(1024), bytes).ok());
  ForEachFlip(bytes, [](const std::string& damaged) {
    EXPECT_FALSE(DecodeGroupHeader(Salt(), LogOffset(1024), damaged).ok());
  });
}

TEST(LogFormatTest, GroupHeaderMustMakeSense) {
  const auto decode = [](const GroupHeader& header) {
    std::string bytes(kGroupHeaderBytes, '#');
    EncodeGroupHeader(Salt(), header, bytes.data());
    return DecodeGroupHeader(Salt(), header.offset, bytes).ok();
  };
  GroupHeader header = SomeGroup();
  EXPECT_TRUE(decode(header));
  header.bytes = kGroupHeaderBytes - 1;
  EXPECT_FALSE(decode(header));
  header.bytes = kGroupBytesMax + 1;
  EXPECT_FALSE(decode(header));
  header = SomeGroup();
  header.durable_before = header.offset + 1;
  EXPECT_FALSE(decode(header));
}

TEST(LogFormatTest, RecordRoundTrip) {
  for (const std::string& payload :
       {std::string(), std::string("p"), std::string(100'000, 'x')}) {
    // What follows a record does not matter.
    const std::string bytes = EncodedRecord(SomeRecord(payload)) + "next";
    const auto record = DecodeRecord(Salt(), LogOffset(1072), bytes);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(EntryOf(*record), EntryOf(SomeRecord(payload)));
    EXPECT_EQ(record->end(), LogOffset(1072 + 24 + payload.size()));
  }
}

TEST(LogFormatTest, RecordIsBoundToPlaceStoreAndEveryBit) {
  const std::string bytes = EncodedRecord(SomeRecord("payload"));
  EXPECT_FALSE(DecodeRecord(Salt(), LogOffset(1073), bytes).ok());
  EXPECT_FALSE(DecodeRecord(Salt() + 1, LogOffset(1072), bytes).ok());
  // Followed by more, so that a larger size finds bytes to cover.
  ForEachFlip(bytes, [](const std::string& damaged) {
    EXPECT_FALSE(
        DecodeRecord(Salt(), LogOffset(1072), damaged + std::string(70'000, 0))
            .ok());
  });
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        DecodeRecord(Salt(), LogOffset(1072), bytes.substr(0, size)).ok());
  }
}

TEST(LogFormatTest, HourAndNumberDoNotCancelEachOtherOut) {
  // Records of one place and one payload that differ in hour or number only
  // must all have seals of their own.
  std::set<uint64_t> seals;
  for (int32_t hour = -20; hour < 20; ++hour) {
    for (uint32_t number = 0; number < 100; ++number) {
      LogRecord record = SomeRecord("payload");
      record.hour = Hour(hour);
      record.number = RecordNumber(number);
      seals.insert(GetFixed<uint64_t>(EncodedRecord(record).data() + 16));
    }
  }
  EXPECT_EQ(seals.size(), 4000u);
}

TEST(LogFormatTest, UnknownKindsAreRefusedEvenWhenSealed) {
  LogRecord record = SomeRecord("payload");
  for (const uint8_t kind : {0, 7, 255}) {
    record.kind = static_cast<RecordKind>(kind);
    EXPECT_FALSE(
        DecodeRecord(Salt(), LogOffset(1072), EncodedRecord(record)).ok());
  }
}

}  // namespace
}  // namespace hourglass
