// Every damage that a small pair of hour files can have. Each must be
// reported, under the right record number, and nothing else may be: the
// records beside it are still read.
//
// No byte is exempt: the zeros of the headers are under the header's
// checksum, and there is no other padding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/coding.h"
#include "storage/hour_segment.h"
#include "tests/support/hour_files.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Numbers = std::set<uint32_t>;

// The pair of the worked example in docs/formats/hour_segment.md.
void PutExample(HourSegment* segment) {
  PutMessage(segment, "tea is ready", 1500);
  PutMessage(segment, "cake is ready", 1750);
  const auto cancel = segment->AppendTombstone(
      RecordNumber{1}, {.prev = {},
                        .ms_into_hour = 1500,
                        .location = 64,
                        .size = 28,
                        .kind = IndexKind::kMessage,
                        .flags = 0,
                        .id_hash = IdHash("tea is ready")});
  ASSERT_TRUE(cancel.ok()) << cancel.status();
  PutMessage(segment, "last bus", 3'599'999);
  ASSERT_TRUE(segment->Flush().ok());
}

class HourDamageTest : public ::testing::Test {
 protected:
  HourDamageTest() { Take(files_.Create()); }

  // Makes `segment` the undamaged state that every case begins with.
  void Take(std::shared_ptr<HourSegment> segment) {
    PutExample(segment.get());
    Remember(segment.get());
  }
  void Remember(HourSegment* segment) {
    facts_ = segment->facts();
    heads_ = segment->heads()->Encode(files_.salt, kTestHour, facts_.last);
    good_log_ = files_.fs.Content(files_.log_path());
    good_index_ = files_.fs.Content(files_.index_path());
    records_ = ScanAll(*segment, facts_.last);
    payloads_.clear();
    ASSERT_THAT(Look(*segment, &payloads_).first, IsEmpty());
  }
  void Damage(const std::string& log, const std::string& index) {
    files_.fs.SetContent(files_.log_path(), log);
    files_.fs.SetContent(files_.index_path(), index);
  }

  // The numbers of damaged index records and damaged frames. Every message
  // whose location was ever known is read, wherever that came from.
  std::pair<Numbers, Numbers> Look(const HourSegment& segment,
                                   std::map<RecordNumber, std::string>* texts) {
    std::map<RecordNumber, std::string> damaged;
    const auto scanned = ScanAll(segment, facts_.last, &damaged);
    std::pair<Numbers, Numbers> found;
    for (const auto& [number, message] : damaged) {
      found.first.insert(number.value());
      EXPECT_THAT(message, HasSubstr(files_.index_path().string()));
      EXPECT_THAT(message, HasSubstr(absl::StrCat("record ", number.value())));
    }
    EXPECT_EQ(scanned.size() + damaged.size(), records_.size());
    for (const auto& [number, record] : scanned) {
      EXPECT_EQ(record, records_.at(number)) << "delivered though damaged";
    }
    for (const auto& [number, record] : records_) {
      const absl::Status status =
          record.kind == IndexKind::kMessage
              ? LookAtMessage(segment, number, record, texts)
              : LookAtCancel(segment, number, record);
      if (status.ok()) continue;
      found.second.insert(number.value());
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(MessageOf(status),
                  HasSubstr(absl::StrCat(files_.log_path().string(),
                                         ": record ", number.value())));
    }
    return found;
  }
  absl::Status LookAtMessage(const HourSegment& segment, RecordNumber number,
                             const IndexRecord& record,
                             std::map<RecordNumber, std::string>* texts) {
    std::string buffer;
    const auto payload =
        segment.ReadFrame(number, record.location, record.size, &buffer);
    if (payload.ok()) (*texts)[number] = std::string(*payload);
    return payload.status();
  }
  // A cancel's frame says what its index record said.
  absl::Status LookAtCancel(const HourSegment& segment, RecordNumber number,
                            IndexRecord record) {
    char bytes[kCancelFrameBytes];
    const auto got =
        segment.ReadDelayLog(CancelAt(number), sizeof(bytes), bytes);
    if (!got.ok()) return got.status();
    const auto cancel = segment.VerifyCancel(number, {bytes, *got});
    if (!cancel.ok()) return cancel.status();
    record.prev = RecordNumber();
    EXPECT_EQ(*cancel, record) << "not what was written";
    return absl::OkStatus();
  }
  uint64_t CancelAt(RecordNumber number) {
    const IndexRecord& before = records_.at(number - 1);
    EXPECT_EQ(before.kind, IndexKind::kMessage);
    return before.location + before.size;
  }

  // Opens with stored heads, so that opening itself scans nothing, and
  // expects exactly this damage.
  void ExpectDamage(const Numbers& index, const Numbers& frames) {
    auto segment = files_.Open(facts_, heads_);
    ASSERT_TRUE(segment.ok()) << segment.status();
    std::map<RecordNumber, std::string> texts;
    const auto found = Look(**segment, &texts);
    EXPECT_EQ(found.first, index);
    EXPECT_EQ(found.second, frames);
    for (const auto& [number, text] : texts) {
      EXPECT_EQ(text, payloads_.at(number)) << "delivered though damaged";
    }
    if (!index.empty()) ExpectStrictReadersStop(segment->get(), *index.begin());
    // Opening without stored heads makes up for records from their frames.
    // These payloads are no messages: only a cancel's is understood.
    Numbers unknown = index;
    if (!frames.contains(3)) unknown.erase(3);
    const absl::Status opened = files_.Open(facts_).status();
    EXPECT_EQ(opened.ok(), unknown.empty()) << opened;
    if (!unknown.empty()) ExpectNames(opened, *unknown.begin());
  }
  // Without somebody to report to, a scan ends at the first damaged record.
  void ExpectStrictReadersStop(HourSegment* segment, uint32_t first) {
    ExpectNames(
        segment->ScanIndex(RecordNumber{1}, facts_.last,
                           [&](RecordNumber number, const IndexRecord&) {
                             EXPECT_LT(number.value(), first);
                             return true;
                           }),
        first);
  }
  void ExpectNames(const absl::Status& status, uint32_t number) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(absl::StrCat("record ", number)));
  }
  void ExpectNotOpened(const std::string& file, const std::string& why) {
    const absl::Status status = files_.Open(facts_, heads_).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(file));
    EXPECT_THAT(MessageOf(status), HasSubstr(why));
  }

  // The record whose frame holds this byte of the DelayLog.
  uint32_t FrameAt(size_t offset) {
    for (const auto& [number, record] : records_) {
      const bool is_message = record.kind == IndexKind::kMessage;
      const uint64_t at = is_message ? record.location : CancelAt(number);
      const uint64_t size = is_message ? record.size : kCancelFrameBytes;
      if (offset >= at && offset < at + size) return number.value();
    }
    ADD_FAILURE() << "no frame at " << offset;
    return 0;
  }
  static size_t IndexAt(uint32_t number) { return 64 + 32 * (number - 1); }

  HourFiles files_;
  HourFacts facts_;
  std::string heads_, good_log_, good_index_;
  std::map<RecordNumber, IndexRecord> records_;
  std::map<RecordNumber, std::string> payloads_;
};

TEST_F(HourDamageTest, NoneWithoutDamage) {
  ExpectDamage({}, {});
  EXPECT_EQ(payloads_.size(), 3u);
}

TEST_F(HourDamageTest, EveryBitOfTheIndex) {
  for (size_t bit = 0; bit < good_index_.size() * 8; ++bit) {
    SCOPED_TRACE(absl::StrCat("bit ", bit));
    std::string index = good_index_;
    index[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    Damage(good_log_, index);
    if (bit / 8 < kHourHeaderBytes) {
      ExpectNotOpened(files_.index_path().string(), "header");
    } else {
      ExpectDamage({static_cast<uint32_t>(bit / 8 - 64) / 32 + 1}, {});
    }
  }
}

TEST_F(HourDamageTest, EveryBitOfTheDelayLog) {
  for (size_t bit = 0; bit < good_log_.size() * 8; ++bit) {
    SCOPED_TRACE(absl::StrCat("bit ", bit));
    std::string log = good_log_;
    log[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    Damage(log, good_index_);
    if (bit / 8 < kHourHeaderBytes) {
      ExpectNotOpened(files_.log_path().string(), "header");
    } else {
      ExpectDamage({}, {FrameAt(bit / 8)});
    }
  }
}

TEST_F(HourDamageTest, EveryTruncation) {
  for (const bool of_index : {false, true}) {
    const std::string& good = of_index ? good_index_ : good_log_;
    for (size_t size = 0; size < good.size(); ++size) {
      SCOPED_TRACE(absl::StrCat(of_index ? "index" : "log", " to ", size));
      const std::string cut = good.substr(0, size);
      Damage(of_index ? good_log_ : cut, of_index ? cut : good_index_);
      const Path path = of_index ? files_.index_path() : files_.log_path();
      ExpectNotOpened(
          path.string(),
          size < 64
              ? "header"
              : absl::StrCat("has ", size, " bytes, expected ", good.size()));
    }
  }
}

// Somebody cuts a file that is open.
TEST_F(HourDamageTest, EveryTruncationOfOpenFiles) {
  const auto segment = *files_.Open(facts_, heads_);
  std::map<RecordNumber, std::string> texts;
  for (size_t size = 64; size < good_index_.size(); ++size) {
    Damage(good_log_, good_index_.substr(0, size));
    Numbers gone;
    for (uint32_t n = (size - 64) / 32 + 1; n <= 4; ++n) gone.insert(n);
    EXPECT_EQ(Look(*segment, &texts).first, gone) << size;
  }
  for (size_t size = 64; size < good_log_.size(); ++size) {
    Damage(good_log_.substr(0, size), good_index_);
    Numbers gone;
    for (size_t at = size; at < good_log_.size(); ++at)
      gone.insert(FrameAt(at));
    EXPECT_EQ(Look(*segment, &texts).second, gone) << size;
  }
}

TEST_F(HourDamageTest, MissingFiles) {
  for (const Path& path : {files_.log_path(), files_.index_path()}) {
    Damage(good_log_, good_index_);
    ASSERT_TRUE(files_.fs.Remove(path).ok());
    ExpectNotOpened(path.string(), "is missing");
  }
}

TEST_F(HourDamageTest, SwappedIndexRecords) {
  for (uint32_t a = 1; a <= 4; ++a) {
    for (uint32_t b = a + 1; b <= 4; ++b) {
      std::string index = good_index_;
      index.replace(IndexAt(a), 32, good_index_.substr(IndexAt(b), 32));
      index.replace(IndexAt(b), 32, good_index_.substr(IndexAt(a), 32));
      Damage(good_log_, index);
      ExpectDamage({a, b}, {});
    }
  }
}

TEST_F(HourDamageTest, DuplicatedIndexRecords) {
  for (uint32_t from = 1; from <= 4; ++from) {
    for (uint32_t to = 1; to <= 4; ++to) {
      if (from == to) continue;
      std::string index = good_index_;
      index.replace(IndexAt(to), 32, good_index_.substr(IndexAt(from), 32));
      Damage(good_log_, index);
      ExpectDamage({to}, {});
      // Put in between: all behind it stand in the wrong place.
      index = good_index_;
      index.insert(IndexAt(to), good_index_.substr(IndexAt(from), 32));
      Damage(good_log_, index);
      Numbers wrong;
      for (uint32_t n = to; n <= 4; ++n) {
        if (n != to || index.substr(IndexAt(n), 32) !=
                           good_index_.substr(IndexAt(n), 32)) {
          wrong.insert(n);
        }
      }
      ExpectDamage(wrong, {});
    }
  }
}

TEST_F(HourDamageTest, ZeroedIndexRecords) {
  for (uint32_t number = 1; number <= 4; ++number) {
    std::string index = good_index_;
    index.replace(IndexAt(number), 32, std::string(32, '\0'));
    Damage(good_log_, index);
    ExpectDamage({number}, {});
  }
}

// Frames of one size, two of them with the same payload.
class HourFrameDamageTest : public HourDamageTest {
 protected:
  static constexpr size_t kSize = kFrameHeaderBytes + 4;

  HourFrameDamageTest() {
    EXPECT_TRUE(files_.fs.Remove(files_.log_path()).ok());
    EXPECT_TRUE(files_.fs.Remove(files_.index_path()).ok());
    auto segment = files_.Create();
    for (const char* payload : {"same", "same", "else"}) {
      PutMessage(segment.get(), payload, 5000);
    }
    EXPECT_TRUE(segment->Flush().ok());
    Remember(segment.get());
  }
  std::string GoodFrame(uint32_t number) {
    return good_log_.substr(At(number), kSize);
  }
  static size_t At(uint32_t number) { return 64 + kSize * (number - 1); }
};

TEST_F(HourFrameDamageTest, SwappedFrames) {
  for (uint32_t a = 1; a <= 3; ++a) {
    for (uint32_t b = a + 1; b <= 3; ++b) {
      std::string log = good_log_;
      log.replace(At(a), kSize, GoodFrame(b));
      log.replace(At(b), kSize, GoodFrame(a));
      Damage(log, good_index_);
      ExpectDamage({}, {a, b});
    }
  }
}

TEST_F(HourFrameDamageTest, DuplicatedFrames) {
  for (uint32_t from = 1; from <= 3; ++from) {
    for (uint32_t to = 1; to <= 3; ++to) {
      if (from == to) continue;
      std::string log = good_log_;
      log.replace(At(to), kSize, GoodFrame(from));
      Damage(log, good_index_);
      ExpectDamage({}, {to});
    }
  }
}

TEST_F(HourFrameDamageTest, ZeroedFrames) {
  for (uint32_t number = 1; number <= 3; ++number) {
    std::string log = good_log_;
    log.replace(At(number), kSize, std::string(kSize, '\0'));
    Damage(log, good_index_);
    ExpectDamage({}, {number});
  }
}

// The same messages under the same numbers, but from another hour or store:
// as a disk that mixes up blocks would serve them.
TEST_F(HourFrameDamageTest, BytesOfAnotherHourOrStore) {
  StoreId other_id = files_.id;
  other_id.bytes[0] ^= 1;
  for (const auto& [id, hour] : std::vector<std::pair<StoreId, Hour>>{
           {files_.id, kTestHour + 1}, {other_id, kTestHour}}) {
    MemoryFileSystem fs;
    auto other = *HourSegment::Create(&fs, "/", id, hour, RecordNumber{});
    for (const char* payload : {"same", "same", "else"}) {
      PutMessage(other.get(), payload, 5000);
    }
    ASSERT_TRUE(other->Flush().ok());
    const std::string log = fs.Content(Path("/") / DelayLogName(hour));
    const std::string index = fs.Content(Path("/") / DelayIndexName(hour));
    Damage(good_log_.substr(0, 64) + log.substr(64),
           good_index_.substr(0, 64) + index.substr(64));
    ExpectDamage({1, 2, 3}, {1, 2, 3});
    // With their headers they are whole files, of somebody else.
    const std::string why = id == files_.id ? "is of hour" : "to the store";
    Damage(log, good_index_);
    ExpectNotOpened(files_.log_path().string(), why);
    Damage(good_log_, index);
    ExpectNotOpened(files_.index_path().string(), why);
  }
}

TEST_F(HourFrameDamageTest, FilesOfAnEarlierLifeOfTheHour) {
  facts_.base = RecordNumber{7};
  facts_.last = RecordNumber{10};
  ExpectNotOpened(files_.log_path().string(), "after record 0, expected");
}

TEST_F(HourFrameDamageTest, TheTwoFilesSwapped) {
  Damage(good_index_, good_log_);
  ExpectNotOpened(files_.log_path().string(), "does not begin with HGLASSDL");
}

TEST_F(HourFrameDamageTest, AnotherVersionIsRefusedByName) {
  for (const bool of_index : {false, true}) {
    std::string bytes = of_index ? good_index_ : good_log_;
    PutFixed<uint32_t>(bytes.data() + 8, 9);
    PutFixed<uint64_t>(bytes.data() + 56, HashBytes({bytes.data(), 56}));
    Damage(of_index ? good_log_ : bytes, of_index ? bytes : good_index_);
    const absl::Status status = files_.Open(facts_, heads_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("version is 9"));
    EXPECT_THAT(
        MessageOf(status),
        HasSubstr(
            (of_index ? files_.index_path() : files_.log_path()).string()));
  }
}

// An index record that is whole may still ask for what is not there.
TEST_F(HourFrameDamageTest, FramesOutsideTheFile) {
  const auto segment = *files_.Open(facts_, heads_);
  const uint64_t end = good_log_.size();
  std::string buffer;
  for (const auto& [location, size] :
       std::vector<std::pair<uint64_t, uint32_t>>{{end, 16},
                                                  {end - 15, 16},
                                                  {0, 64},
                                                  {63, 20},
                                                  {UINT64_MAX, 16},
                                                  {64, UINT32_MAX},
                                                  {64, 0},
                                                  {64, 15}}) {
    const auto payload =
        segment->ReadFrame(RecordNumber{1}, location, size, &buffer);
    EXPECT_TRUE(absl::IsDataLoss(payload.status())) << payload.status();
    EXPECT_LT(buffer.size(), 1000u) << "reserved memory for it";
  }
}

// A sector that cannot be read costs its records, not the scan's whole block.
TEST_F(HourFrameDamageTest, ReadErrorsAreReportedByRecord) {
  const auto segment = *files_.Open(facts_, heads_);
  files_.fs.FailAfter(MemoryOp::kRead, 1, absl::DataLossError("EIO"), false);
  files_.fs.FailAfter(MemoryOp::kRead, 3, absl::DataLossError("EIO"), false);
  std::map<RecordNumber, IndexRecord> read;
  std::vector<RecordNumber> damaged;
  EXPECT_TRUE(segment
                  ->ScanIndex(
                      RecordNumber{1}, RecordNumber{3},
                      [&](RecordNumber number, const IndexRecord& record) {
                        read[number] = record;
                        return true;
                      },
                      [&](RecordNumber number, const absl::Status&) {
                        damaged.push_back(number);
                      })
                  .ok());
  EXPECT_THAT(damaged, ElementsAre(RecordNumber{2}));
  EXPECT_EQ(read.size(), 2u);
}

// --- Golden files ---

std::string Golden(const std::string& name) {
  std::ifstream in(absl::StrCat(HOURGLASS_GOLDEN_DIR, "/", name),
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string Hex(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    absl::StrAppend(
        &text, absl::Hex(static_cast<unsigned char>(bytes[i]), absl::kZeroPad2),
        i % 16 == 15 ? "\n" : " ");
  }
  return text;
}

TEST_F(HourDamageTest, TheExampleIsWrittenAsItAlwaysWas) {
  EXPECT_EQ(Hex(good_log_), Hex(Golden(DelayLogName(kTestHour))));
  EXPECT_EQ(Hex(good_index_), Hex(Golden(DelayIndexName(kTestHour))));
}

// Version 1 had no frames for cancels.
TEST_F(HourDamageTest, FilesOfVersion1AreRefusedByName) {
  Damage(Golden("version1/" + DelayLogName(kTestHour)),
         Golden("version1/" + DelayIndexName(kTestHour)));
  const absl::Status status = files_.Open(facts_, heads_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("version is 1"));
  EXPECT_THAT(MessageOf(status), HasSubstr("reads version 2"));
}

TEST_F(HourDamageTest, TheGoldenFilesAreRead) {
  Damage(Golden(DelayLogName(kTestHour)), Golden(DelayIndexName(kTestHour)));
  ExpectDamage({}, {});
  const auto segment = *files_.Open(facts_);
  EXPECT_THAT(WalkChain(segment.get(), Slot{1}),
              ElementsAre(RecordNumber{3}, RecordNumber{2}, RecordNumber{1}));
  EXPECT_THAT(WalkChain(segment.get(), Slot{3599}),
              ElementsAre(RecordNumber{4}));
}

}  // namespace
}  // namespace hourglass
