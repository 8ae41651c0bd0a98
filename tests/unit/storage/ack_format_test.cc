#include "storage/ack_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/random.h"

namespace hourglass {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::Pair;

QueueIndex At(uint64_t index) { return QueueIndex(index); }

GroupProgress SomeMarks(Random* random) {
  GroupProgress marks;
  for (uint64_t n = random->Uniform(5); n > 0; --n) {
    const uint64_t from = random->Uniform(1u << random->Uniform(20));
    marks.Ack(At(from), At(from + 1 + random->Uniform(300)));
  }
  for (uint64_t n = random->Uniform(5); n > 0; --n) {
    marks.NoteAttempts(At(random->Uniform(1u << random->Uniform(20))),
                       static_cast<uint32_t>(1 + random->Uniform(200)));
  }
  return marks;
}

// The example of docs/formats/commit_log.md.
TEST(AckFormatTest, WorkedExample) {
  GroupProgress marks;
  marks.Ack(At(7), At(8));
  marks.Ack(At(300), At(302));
  marks.NoteAttempts(At(9), 2);
  const std::string payload = EncodeMarks("orders", "billing", marks);
  EXPECT_EQ(absl::BytesToHexString(payload),
            "066f7264657273"
            "0762696c6c696e67"
            "02"
            "0701"
            "a40202"
            "01"
            "0902");
  const auto decoded = DecodeMarks(payload);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->topic, "orders");
  EXPECT_EQ(decoded->group, "billing");
  EXPECT_TRUE(decoded->marks == marks);
}

TEST(AckFormatTest, WhatBeginsAtZeroIsTheNextIndex) {
  GroupProgress marks(At(3));
  marks.Ack(At(5), At(6));
  const auto decoded = DecodeMarks(EncodeMarks("t", "g", marks));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->marks.next, At(3));
  EXPECT_THAT(decoded->marks.acked, ElementsAre(Pair(At(5), At(6))));
}

TEST(AckFormatTest, AnyMarksComeBackInBothForms) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const GroupProgress marks = SomeMarks(&random);
    const auto decoded = DecodeMarks(EncodeMarks("t", "g", marks));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_TRUE(decoded->marks == marks);
    if (!marks.HasMarks()) continue;
    std::string above;
    AppendMarksAbove(marks, &above);
    GroupProgress taken(marks.next);
    Decoder in(above);
    ASSERT_TRUE(TakeMarksAbove(&in, &taken));
    EXPECT_TRUE(taken == marks);
  }
}

TEST(AckFormatTest, TheLastIndexesThereAre) {
  GroupProgress marks;
  marks.Ack(QueueIndex::Max() - 1, QueueIndex::Max());
  marks.NoteAttempts(QueueIndex::Max() - 2, UINT32_MAX);
  const auto decoded = DecodeMarks(EncodeMarks("t", "g", marks));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->marks == marks);
}

TEST(AckFormatTest, ManyMarksAreSplitAndAddUp) {
  GroupProgress marks(At(5));
  for (uint64_t i = 0; i < 20'000; ++i) {
    marks.Ack(At(10 + 3 * i), At(11 + 3 * i));
    if (i % 2 == 0) marks.NoteAttempts(At(11 + 3 * i), 1);
  }
  const auto payloads = EncodeManyMarks("t", "g", marks);
  EXPECT_GT(payloads.size(), 4u);
  GroupProgress sum;
  for (const std::string& payload : payloads) {
    EXPECT_LT(payload.size(), 64u << 10);
    const auto decoded = DecodeMarks(payload);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    sum.Merge(decoded->marks);
  }
  EXPECT_TRUE(sum == marks);
  EXPECT_THAT(EncodeManyMarks("t", "g", GroupProgress()), ElementsAre());
}

// --- damage ------------------------------------------------------------------

// The record's seal covers every bit; these are payloads under a right seal.
TEST(AckFormatTest, ThereIsOneSpelling) {
  const std::string names = "\x01t\x01g";
  for (const std::string_view marks :
       {""sv, "\x01"sv, "\x00"sv,      // cut
        "\x00\x00\x00"sv,              // more behind it
        "\x01\x05\x00\x00"sv,          // a range of nothing
        "\x02\x05\x01\x00\x01\x00"sv,  // ranges that touch
        "\x02\x00\x01\x00\x01\x00"sv,  // the same, from 0
        "\x00\x01\x05\x00"sv,          // no attempts
        "\x01\x05\x01\x01\x05\x01"sv,  // attempts of what is acknowledged
        "\x81\x00\x05\x01\x00"sv,      // a long way to write 1
        // Beyond the last index.
        "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x00"sv,
        "\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"sv}) {
    SCOPED_TRACE(absl::CHexEscape(std::string(marks)));
    const auto decoded = DecodeMarks(names + std::string(marks));
    EXPECT_TRUE(absl::IsDataLoss(decoded.status())) << decoded.status();
  }
  EXPECT_TRUE(DecodeMarks(names + std::string("\x00\x00"sv)).ok());
}

TEST(AckFormatTest, EveryCutIsRefused) {
  Random random(7);
  for (int n = 0; n < 50; ++n) {
    const std::string whole = EncodeMarks("topic", "group", SomeMarks(&random));
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(DecodeMarks(whole.substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(DecodeMarks(whole + '\0').ok());
  }
}

TEST(AckFormatTest, EveryFlipIsRefusedOrSaysSomethingElse) {
  Random random(8);
  for (int n = 0; n < 50; ++n) {
    const std::string whole = EncodeMarks("topic", "group", SomeMarks(&random));
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const auto decoded = DecodeMarks(bytes);
      if (!decoded.ok()) continue;
      EXPECT_EQ(EncodeMarks(decoded->topic, decoded->group, decoded->marks),
                bytes);
    }
  }
}

TEST(AckFormatTest, MarksThatTouchTheNextIndexAreRefused) {
  GroupProgress taken(At(5));
  Decoder touching("\x01\x00\x01\x00"sv);
  EXPECT_FALSE(TakeMarksAbove(&touching, &taken));
  taken = GroupProgress(At(5));
  Decoder none("\x00\x00"sv);
  EXPECT_FALSE(TakeMarksAbove(&none, &taken));
}

}  // namespace
}  // namespace hourglass
