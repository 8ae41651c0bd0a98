// Names, headers and records of an hour's files, each on its own.
#include "storage/hour_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/hour_files.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSalt = 77;
constexpr Hour kHour{498'675};
constexpr Hour kOtherHour{498'676};

TEST(HourNames, AreUtcDateAndHour) {
  EXPECT_EQ(DelayLogName(kHour), "2026-11-21T03.delaylog");
  EXPECT_EQ(DelayIndexName(kHour), "2026-11-21T03.delayindex");
  EXPECT_EQ(DelayLogName(HourOf(1'709'164'800'000)),  // a leap day
            "2024-02-29T00.delaylog");
}

TEST(HourNames, ReachFrom1970To9999) {
  EXPECT_EQ(DelayLogName(Hour{0}), "1970-01-01T00.delaylog");
  EXPECT_EQ(DelayIndexName(kHourMax), "9999-12-31T23.delayindex");
  EXPECT_EQ(HourOf(253'402'300'799'999), kHourMax);
}

TEST(HourNames, SortByTime) {
  std::mt19937 random(1);
  std::vector<Hour> hours = {Hour{0}, kHourMax};
  for (int i = 0; i < 2000; ++i) {
    hours.push_back(Hour(static_cast<int32_t>(random() % kHourMax.value())));
  }
  std::sort(hours.begin(), hours.end());
  for (size_t i = 1; i < hours.size(); ++i) {
    if (hours[i - 1] == hours[i]) continue;
    EXPECT_LT(DelayLogName(hours[i - 1]), DelayLogName(hours[i]));
  }
}

TEST(HourNames, ParseWhatTheyPrint) {
  for (int32_t hour = 0; hour <= kHourMax.value();
       hour += hour < 100'000 ? 1 : 997) {
    const auto log = ParseHourFileName(DelayLogName(Hour{hour}));
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_EQ(log->hour, Hour{hour});
    ASSERT_FALSE(log->is_index);
    const auto index = ParseHourFileName(DelayIndexName(Hour{hour}));
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(index->hour, Hour{hour});
    ASSERT_TRUE(index->is_index);
  }
}

TEST(HourNames, RefuseEveryOtherName) {
  for (const char* name : {"",
                           "a",
                           ".delaylog",
                           "2026-11-21T03",
                           "2026-11-21T03.",
                           "2026-11-21T03.delay",
                           "2026-11-21T03.delaylog2",
                           "2026-11-21T03.delaylog ",
                           " 2026-11-21T03.delaylog",
                           "2026-11-21T24.delaylog",
                           "2026-11-21T3.delaylog",
                           "2026-11-31T03.delaylog",
                           "2026-13-21T03.delaylog",
                           "2026-00-21T03.delaylog",
                           "2026-11-00T03.delaylog",
                           "2025-02-29T03.delaylog",
                           "2026/11/21T03.delaylog",
                           "2026-11-21t03.delaylog",
                           "2026-11-21T03.DELAYLOG",
                           "2026-11-21T+3.delaylog",
                           "2026-11-21T-1.delaylog",
                           "2026-11-21T 3.delaylog",
                           "1969-12-31T23.delaylog",
                           "10000-01-01T00.delaylog",
                           "-001-01-01T00.delaylog",
                           "0000-01-01T00.delaylog",
                           "2026-11-21T03.delayindex.tmp",
                           "checkpoint",
                           "00000000000268435456.log"}) {
    const auto parsed = ParseHourFileName(name);
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << name;
    EXPECT_THAT(MessageOf(parsed.status()), HasSubstr(name));
  }
}

std::string Header(bool is_index) {
  std::string bytes(kHourHeaderBytes, '?');
  EncodeHourHeader({kHour, TestStoreId(), RecordNumber{41}}, is_index,
                   bytes.data());
  return bytes;
}

TEST(HourHeader, ComesBack) {
  for (const bool is_index : {false, true}) {
    const auto header = DecodeHourHeader(Header(is_index), is_index);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(*header, (HourHeader{kHour, TestStoreId(), RecordNumber{41}}));
  }
}

TEST(HourHeader, NoticesEveryFlippedBitAndMissingByte) {
  for (const bool is_index : {false, true}) {
    for (size_t bit = 0; bit < kHourHeaderBytes * 8; ++bit) {
      std::string bytes = Header(is_index);
      bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
      EXPECT_TRUE(absl::IsDataLoss(DecodeHourHeader(bytes, is_index).status()))
          << "bit " << bit;
    }
    for (size_t size = 0; size < kHourHeaderBytes; ++size) {
      EXPECT_TRUE(absl::IsDataLoss(
          DecodeHourHeader(Header(is_index).substr(0, size), is_index)
              .status()));
    }
  }
}

TEST(HourHeader, OfTheOtherFileIsRefused) {
  EXPECT_TRUE(absl::IsDataLoss(DecodeHourHeader(Header(false), true).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeHourHeader(Header(true), false).status()));
}

TEST(HourHeader, OfAnotherVersionIsNoDamage) {
  std::string bytes = Header(false);
  bytes[8] = 3;
  const uint64_t sum = HashBytes({bytes.data(), 56});
  std::memcpy(bytes.data() + 56, &sum, sizeof(sum));
  const auto header = DecodeHourHeader(bytes, false);
  EXPECT_TRUE(absl::IsFailedPrecondition(header.status()));
  EXPECT_THAT(MessageOf(header.status()), HasSubstr("version is 3"));
  EXPECT_THAT(MessageOf(header.status()), HasSubstr("reads version 2"));
}

std::string Frame(RecordNumber number, std::string_view payload) {
  std::string frame(kFrameHeaderBytes, '?');
  EncodeFrameHeader(kSalt, kHour, number, payload.size(), HashBytes(payload),
                    frame.data());
  return frame.append(payload);
}

TEST(Frame, ComesBackWithItsHash) {
  for (const std::string payload : {"", "x", "a longer payload than sixteen"}) {
    uint64_t hash = 0;
    const std::string frame = Frame(RecordNumber{7}, payload);
    const auto read = DecodeFrame(kSalt, kHour, RecordNumber{7}, frame, &hash);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, payload);
    EXPECT_EQ(hash, HashBytes(payload));
  }
}

TEST(Frame, IsGoodInItsPlaceOnly) {
  const std::string frame = Frame(RecordNumber{7}, "payload");
  const auto at = [&](uint64_t salt, Hour hour, RecordNumber number) {
    return DecodeFrame(salt, hour, number, frame, nullptr).status();
  };
  EXPECT_TRUE(at(kSalt, kHour, RecordNumber{7}).ok());
  EXPECT_TRUE(absl::IsDataLoss(at(kSalt + 1, kHour, RecordNumber{7})));
  EXPECT_TRUE(absl::IsDataLoss(at(kSalt, kOtherHour, RecordNumber{7})));
  const absl::Status other = at(kSalt, kHour, RecordNumber{8});
  EXPECT_TRUE(absl::IsDataLoss(other));
  EXPECT_THAT(MessageOf(other), HasSubstr("says record 7, expected 8"));
}

TEST(Frame, NoticesEveryFlippedBitAndEveryOtherLength) {
  const std::string good = Frame(RecordNumber{7}, "payload");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string frame = good;
    frame[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(
        DecodeFrame(kSalt, kHour, RecordNumber{7}, frame, nullptr).status()))
        << "bit " << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeFrame(kSalt, kHour, RecordNumber{7},
                                             good.substr(0, size), nullptr)
                                     .status()));
  }
  EXPECT_TRUE(absl::IsDataLoss(
      DecodeFrame(kSalt, kHour, RecordNumber{7}, good + '\0', nullptr)
          .status()));
}

// Record 9 cancels record 6.
IndexRecord CancelOfSix() {
  IndexRecord record;
  record.ms_into_hour = 3'599'999;
  record.location = 6;
  record.kind = IndexKind::kTombstone;
  record.id_hash = 0xdeadbeef;
  return record;
}

std::string CancelFrame(RecordNumber number, const IndexRecord& record) {
  std::string frame(kCancelFrameBytes, '?');
  EncodeCancelFrame(kSalt, kHour, number, record, frame.data());
  return frame;
}

absl::Status DecodeCancel(RecordNumber number, std::string_view frame) {
  return DecodeCancelFrame(kSalt, kHour, number, frame).status();
}

TEST(CancelFrame, SaysWhatItsIndexRecordSays) {
  const std::string frame = CancelFrame(RecordNumber{9}, CancelOfSix());
  const auto read = DecodeCancelFrame(kSalt, kHour, RecordNumber{9}, frame);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, CancelOfSix());
  const FrameHead head = PeekFrame(frame.data());
  EXPECT_TRUE(head.is_cancel);
  EXPECT_EQ(head.bytes, kCancelFrameBytes);
  EXPECT_EQ(head.number, RecordNumber{9});
}

TEST(CancelFrame, IsNoMessageAndAMessageNoCancel) {
  const std::string cancel = CancelFrame(RecordNumber{9}, CancelOfSix());
  EXPECT_TRUE(absl::IsDataLoss(
      DecodeFrame(kSalt, kHour, RecordNumber{9}, cancel, nullptr).status()));
  // A message whose payload is a cancel's.
  const std::string message =
      Frame(RecordNumber{9}, std::string_view(cancel).substr(16));
  EXPECT_FALSE(PeekFrame(message.data()).is_cancel);
  EXPECT_TRUE(absl::IsDataLoss(DecodeCancel(RecordNumber{9}, message)));
}

TEST(CancelFrame, NoticesEveryFlippedBitAndEveryOtherLength) {
  const std::string good = CancelFrame(RecordNumber{9}, CancelOfSix());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string frame = good;
    frame[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeCancel(RecordNumber{9}, frame))) << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(
        absl::IsDataLoss(DecodeCancel(RecordNumber{9}, good.substr(0, size))));
  }
  EXPECT_TRUE(absl::IsDataLoss(DecodeCancel(RecordNumber{9}, good + '\0')));
  EXPECT_TRUE(absl::IsDataLoss(DecodeCancel(RecordNumber{8}, good)));
}

TEST(CancelFrame, OfWhatCannotBeCancelledIsRefused) {
  IndexRecord itself = CancelOfSix();
  itself.location = 9;
  IndexRecord nothing = CancelOfSix();
  nothing.location = 0;
  IndexRecord late = CancelOfSix();
  late.ms_into_hour = kMsPerHour;
  for (const IndexRecord& wrong : {itself, nothing, late}) {
    const absl::Status status =
        DecodeCancel(RecordNumber{9}, CancelFrame(RecordNumber{9}, wrong));
    EXPECT_THAT(MessageOf(status), HasSubstr("values that cannot be"));
  }
}

IndexRecord Message() {
  return {.prev = RecordNumber{5},
          .ms_into_hour = 3'599'999,
          .location = 0x123456789abc,
          .size = 300,
          .kind = IndexKind::kMessage,
          .flags = 3,
          .id_hash = 0xdeadbeef};
}

IndexRecord Tombstone() {
  return {.prev = RecordNumber{0},
          .ms_into_hour = 0,
          .location = 6,
          .size = 0,
          .kind = IndexKind::kTombstone,
          .flags = 0,
          .id_hash = 1};
}

absl::StatusOr<IndexRecord> RoundTrip(const IndexRecord& record,
                                      RecordNumber number = RecordNumber{7}) {
  char bytes[kIndexRecordBytes];
  EncodeIndexRecord(kSalt, kHour, number, record, bytes);
  return DecodeIndexRecord(kSalt, kHour, number, bytes);
}

TEST(IndexRecords, ComeBack) {
  for (const IndexRecord& record : {Message(), Tombstone()}) {
    const auto read = RoundTrip(record);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, record);
  }
  EXPECT_EQ(Message().slot(), Slot{3599});
  EXPECT_EQ(Tombstone().target(), RecordNumber{6});
}

TEST(IndexRecords, NoticeEveryFlippedBit) {
  for (const IndexRecord& record : {Message(), Tombstone()}) {
    for (size_t bit = 0; bit < kIndexRecordBytes * 8; ++bit) {
      char bytes[kIndexRecordBytes];
      EncodeIndexRecord(kSalt, kHour, RecordNumber{7}, record, bytes);
      bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
      const auto read = DecodeIndexRecord(kSalt, kHour, RecordNumber{7}, bytes);
      EXPECT_TRUE(absl::IsDataLoss(read.status())) << "bit " << bit;
      EXPECT_THAT(MessageOf(read.status()), HasSubstr("record 7"));
      IndexRecord unused;
      EXPECT_FALSE(
          TryDecodeIndexRecord(kSalt, kHour, RecordNumber{7}, bytes, &unused));
    }
  }
}

TEST(IndexRecords, AreGoodInTheirPlaceOnly) {
  char bytes[kIndexRecordBytes];
  EncodeIndexRecord(kSalt, kHour, RecordNumber{7}, Message(), bytes);
  EXPECT_FALSE(DecodeIndexRecord(kSalt, kHour, RecordNumber{8}, bytes).ok());
  EXPECT_FALSE(
      DecodeIndexRecord(kSalt, kOtherHour, RecordNumber{7}, bytes).ok());
  EXPECT_FALSE(
      DecodeIndexRecord(kSalt + 1, kHour, RecordNumber{7}, bytes).ok());
}

TEST(IndexRecords, OfZerosAreNoRecords) {
  const char zeros[kIndexRecordBytes] = {};
  for (uint32_t number = 1; number < 1000; ++number) {
    EXPECT_FALSE(
        DecodeIndexRecord(kSalt, kHour, RecordNumber{number}, zeros).ok());
  }
}

// Sealed by a writer with a bug: a good checksum does not make these true.
TEST(IndexRecords, WithValuesThatCannotBeAreRefused) {
  std::vector<IndexRecord> wrong(9, Message());
  wrong[0].ms_into_hour = 3'600'000;
  wrong[1].prev = RecordNumber{7};  // itself: a chain without an end
  wrong[2].prev = RecordNumber{8};
  wrong[3].kind = static_cast<IndexKind>(0);
  wrong[4].kind = static_cast<IndexKind>(3);
  wrong[5].location = kHourHeaderBytes - 1;
  wrong[6].size = kFrameHeaderBytes - 1;
  wrong[7] = Tombstone();
  wrong[7].location = 7;  // its own target
  wrong[8] = Tombstone();
  wrong[8].size = 1;
  for (size_t i = 0; i < wrong.size(); ++i) {
    const auto read = RoundTrip(wrong[i]);
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << "case " << i;
    EXPECT_THAT(MessageOf(read.status()), HasSubstr("cannot be"));
  }
}

}  // namespace
}  // namespace hourglass
