#include "storage/hour_rescue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/hour_segment.h"
#include "storage/message_codec.h"
#include "storage/random.h"
#include "tests/support/hour_files.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

// An hour of real messages and cancels, and its undamaged index.
class HourRescueTest : public ::testing::Test {
 protected:
  void Put(uint32_t ms_into_hour, size_t body_bytes) {
    const std::string id = absl::StrCat("message-", records_.size());
    const std::string body(body_bytes, 'b');
    MessageView message;
    message.topic = "tea";
    message.id = id;
    message.due_ms = StartMs(kTestHour) + ms_into_hour;
    message.body = body;
    std::string payload;
    EncodeMessage(message, &payload);
    const auto number = segment_->Append(payload, HashBytes(payload),
                                         message.due_ms, IdHash(id));
    ASSERT_TRUE(number.ok()) << number.status();
    Remember();
  }
  void Cancel(uint32_t target) {
    ASSERT_TRUE(
        segment_->AppendTombstone(RecordNumber{target}, records_.at(target - 1))
            .ok());
    Remember();
  }
  void Remember() {
    ASSERT_TRUE(segment_->Flush().ok());
    records_.push_back(*segment_->ReadIndex(segment_->facts().last));
  }
  void Spoil(uint32_t number) {
    std::string index = files_.fs.Content(files_.index_path());
    const uint32_t after = segment_->facts().base.value();
    index[kHourHeaderBytes + kIndexRecordBytes * (number - after - 1)] ^= 1;
    files_.fs.SetContent(files_.index_path(), index);
  }
  void SpoilLog(uint64_t offset) {
    std::string log = files_.fs.Content(files_.log_path());
    log[offset] ^= 1;
    files_.fs.SetContent(files_.log_path(), log);
  }
  void ExpectRescued(HourRescue* rescue, uint32_t number) {
    const auto record = rescue->Read(RecordNumber{number});
    ASSERT_TRUE(record.ok()) << record.status();
    IndexRecord expected = records_.at(number - 1);
    expected.prev = RecordNumber();
    EXPECT_EQ(*record, expected) << number;
  }

  HourFiles files_;
  std::shared_ptr<HourSegment> segment_ = files_.Create();
  std::vector<IndexRecord> records_;
};

TEST_F(HourRescueTest, EveryRecordComesBackWhateverStandsBeforeIt) {
  Put(1500, 10);
  Put(1750, 2000);
  Cancel(1);
  Cancel(2);
  Put(3'599'999, 0);
  for (uint32_t first = 1; first <= 5; ++first) {
    // All the records before it damaged too, one more each time.
    Spoil(first);
    HourRescue rescue(segment_.get());
    ExpectRescued(&rescue, first);
    HourRescue from_the_start(segment_.get());
    for (uint32_t n = 1; n <= first; ++n) ExpectRescued(&from_the_start, n);
  }
}

TEST_F(HourRescueTest, AnySubsetInAnyOrder) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(seed);
  Random random(seed);
  std::set<uint32_t> live;
  for (uint32_t n = 1; n <= 200; ++n) {
    if (!live.empty() && random.Uniform(3) == 0) {
      const uint32_t target = *live.begin();
      live.erase(target);
      Cancel(target);
    } else {
      live.insert(n);
      Put(static_cast<uint32_t>(random.Uniform(kMsPerHour)),
          random.Uniform(300));
    }
  }
  std::vector<uint32_t> spoiled;
  for (uint32_t n = 1; n <= 200; ++n) {
    if (random.Uniform(2) == 0) continue;
    Spoil(n);
    spoiled.push_back(n);
  }
  HourRescue rescue(segment_.get());
  for (const uint32_t n : spoiled) ExpectRescued(&rescue, n);
  for (int i = 0; i < 200; ++i) {
    ExpectRescued(&rescue, spoiled[random.Uniform(spoiled.size())]);
  }
}

TEST_F(HourRescueTest, AfterFilesThatAreGone) {
  ASSERT_TRUE(files_.fs.Remove(files_.log_path()).ok());
  ASSERT_TRUE(files_.fs.Remove(files_.index_path()).ok());
  segment_ = files_.Create(RecordNumber{7});
  records_.resize(7);
  Put(1500, 10);
  Cancel(8);
  Spoil(8);
  Spoil(9);
  HourRescue rescue(segment_.get());
  ExpectRescued(&rescue, 9);
  ExpectRescued(&rescue, 8);
  EXPECT_TRUE(absl::IsNotFound(rescue.Read(RecordNumber{7}).status()));
  EXPECT_TRUE(absl::IsNotFound(rescue.Read(RecordNumber{10}).status()));
}

TEST_F(HourRescueTest, WhatIsDamagedTwiceIsLostAndNamed) {
  Put(1500, 10);
  Put(1750, 10);
  Cancel(1);
  Put(2000, 10);
  for (uint32_t n = 1; n <= 4; ++n) Spoil(n);
  // The second frame's payload: it alone is lost.
  SpoilLog(records_[1].location + kFrameHeaderBytes);
  HourRescue rescue(segment_.get());
  ExpectRescued(&rescue, 1);
  const auto second = rescue.Read(RecordNumber{2});
  EXPECT_TRUE(absl::IsDataLoss(second.status())) << second.status();
  ExpectRescued(&rescue, 3);
  ExpectRescued(&rescue, 4);
  // Its size: nobody knows where the third begins, or what it was.
  SpoilLog(records_[1].location);
  for (const uint32_t n : {2, 3, 4}) {
    const auto lost = rescue.Read(RecordNumber{n});
    EXPECT_TRUE(absl::IsDataLoss(lost.status())) << lost.status();
    EXPECT_THAT(MessageOf(lost.status()), HasSubstr("record"));
  }
  ExpectRescued(&rescue, 1);
}

// A segment opens though records behind its stored heads are damaged.
TEST_F(HourRescueTest, HeadsAreFoundAroundDamage) {
  Put(1500, 10);
  Put(7000, 10);
  Cancel(1);
  Spoil(2);
  Spoil(3);
  const auto opened = files_.Open(segment_->facts());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)->heads()->Get(Slot(1)), RecordNumber{3});
  EXPECT_EQ((*opened)->heads()->Get(Slot(7)), RecordNumber{2});
  // Lost in both files: the chain's end is not known, and that is said.
  SpoilLog(records_[1].location + kFrameHeaderBytes);
  EXPECT_TRUE(absl::IsDataLoss(files_.Open(segment_->facts()).status()));
}

}  // namespace
}  // namespace hourglass
