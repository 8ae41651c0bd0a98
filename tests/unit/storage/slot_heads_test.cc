// The heads of an hour's slots, against a plain array.
#include "storage/slot_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace hourglass {
namespace {

constexpr uint64_t kSalt = 99;
constexpr Hour kHour{498'675};

TEST(SlotHeads, AreEmptyAtFirst) {
  const SlotHeads heads;
  EXPECT_EQ(heads.Get(Slot{0}), RecordNumber{});
  EXPECT_EQ(heads.Get(Slot{3599}), RecordNumber{});
  EXPECT_EQ(heads.NextNonEmpty(Slot{0}), std::nullopt);
  EXPECT_EQ(heads.CountNonEmpty(), 0u);
}

TEST(SlotHeads, FindTheNextNonEmptySlotOverWordEdges) {
  for (const uint32_t at : {0u, 1u, 63u, 64u, 65u, 127u, 3583u, 3584u, 3599u}) {
    SlotHeads heads;
    heads.Set(Slot{at}, RecordNumber{5});
    for (uint32_t from = 0; from <= at; ++from) {
      ASSERT_EQ(heads.NextNonEmpty(Slot{from}), Slot{at});
    }
    for (uint32_t from = at + 1; from <= kSlotsPerHour; ++from) {
      ASSERT_EQ(heads.NextNonEmpty(Slot{from}), std::nullopt);
    }
    heads.Set(Slot{at}, RecordNumber{0});
    EXPECT_EQ(heads.NextNonEmpty(Slot{0}), std::nullopt);
  }
}

TEST(SlotHeads, BehaveLikeAnArray) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  SlotHeads heads;
  std::array<uint32_t, kSlotsPerHour> model{};
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t slot = random() % kSlotsPerHour;
    const uint32_t number = random() % 3 == 0 ? 0 : random();
    heads.Set(Slot{slot}, RecordNumber{number});
    model[slot] = number;
    const uint32_t from = random() % kSlotsPerHour;
    const auto next = std::find_if(model.begin() + from, model.end(),
                                   [](uint32_t head) { return head != 0; });
    ASSERT_EQ(heads.Get(Slot{from}).value(), model[from]);
    ASSERT_EQ(heads.NextNonEmpty(Slot{from}),
              next == model.end() ? std::nullopt
                                  : std::optional(Slot(next - model.begin())));
  }
  EXPECT_EQ(heads.CountNonEmpty(),
            kSlotsPerHour - std::count(model.begin(), model.end(), 0u));
}

SlotHeads WithHeads(uint32_t count) {
  SlotHeads heads;
  for (uint32_t i = 0; i < count; ++i) {
    heads.Set(Slot{kSlotsPerHour - 1 - i}, RecordNumber{i + 1});
  }
  return heads;
}

TEST(SlotHeads, ComeBackFromTheCheckpointInTheShorterForm) {
  for (const uint32_t count : {0u, 1u, 2399u, 2400u, 3600u}) {
    const SlotHeads heads = WithHeads(count);
    const std::string bytes = heads.Encode(kSalt, kHour, RecordNumber{4000});
    EXPECT_EQ(bytes.size(), 16 + std::min(6 * count, 14'400u)) << count;
    SlotHeads read = WithHeads(7);
    RecordNumber upto;
    const absl::Status status = read.Decode(kSalt, kHour, bytes, &upto);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(upto, RecordNumber{4000});
    for (uint32_t slot = 0; slot < kSlotsPerHour; ++slot) {
      ASSERT_EQ(read.Get(Slot{slot}), heads.Get(Slot{slot}));
    }
    EXPECT_EQ(read.CountNonEmpty(), count);
  }
}

// The bytes of docs/formats/hour_segment.md.
TEST(SlotHeads, TheWorkedExampleIsWhatIsWritten) {
  SlotHeads heads;
  heads.Set(Slot{1}, RecordNumber{3});
  heads.Set(Slot{3599}, RecordNumber{4});
  const std::string expected =
      "04000000"
      "0100"
      "0200"
      "0100"
      "03000000"
      "0f0e"
      "04000000"
      "decc28259df68ba2";
  const std::string bytes = heads.Encode(kSalt, kHour, RecordNumber{4});
  EXPECT_EQ(absl::BytesToHexString(bytes), expected);
  SlotHeads again;
  RecordNumber upto{0};
  ASSERT_TRUE(
      again.Decode(kSalt, kHour, absl::HexStringToBytes(expected), &upto).ok());
  EXPECT_EQ(upto, RecordNumber{4});
  EXPECT_EQ(again.Get(Slot{1}), RecordNumber{3});
  EXPECT_EQ(again.Get(Slot{3599}), RecordNumber{4});
}

TEST(SlotHeads, NoticeEveryFlippedBitAndEveryOtherLength) {
  const std::string good = WithHeads(9).Encode(kSalt, kHour, RecordNumber{9});
  std::vector<std::string> damaged;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    damaged.push_back(good);
    damaged.back()[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  for (size_t size = 0; size < good.size(); ++size) {
    damaged.push_back(good.substr(0, size));
  }
  damaged.push_back(good + '\0');
  for (const std::string& bytes : damaged) {
    SlotHeads heads = WithHeads(3);
    RecordNumber upto{77};
    EXPECT_TRUE(absl::IsDataLoss(heads.Decode(kSalt, kHour, bytes, &upto)));
    EXPECT_EQ(upto, RecordNumber{77});
    EXPECT_EQ(heads.CountNonEmpty(), 3u) << "changed by a failed Decode";
  }
}

TEST(SlotHeads, NoticeFlippedBitsInTheFullForm) {
  const std::string good =
      WithHeads(3600).Encode(kSalt, kHour, RecordNumber{3600});
  for (size_t bit = 0; bit < good.size() * 8; bit += 13) {
    std::string bytes = good;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    SlotHeads heads;
    RecordNumber upto;
    EXPECT_TRUE(absl::IsDataLoss(heads.Decode(kSalt, kHour, bytes, &upto)));
  }
}

TEST(SlotHeads, OfAnotherHourOrStoreAreRefused) {
  const std::string bytes = WithHeads(9).Encode(kSalt, kHour, RecordNumber{9});
  SlotHeads heads;
  RecordNumber upto;
  EXPECT_TRUE(absl::IsDataLoss(heads.Decode(kSalt, kHour + 1, bytes, &upto)));
  EXPECT_TRUE(absl::IsDataLoss(heads.Decode(kSalt + 1, kHour, bytes, &upto)));
}

TEST(SlotHeads, BeyondTheRecordsTheyCoverAreRefused) {
  const std::string bytes = WithHeads(9).Encode(kSalt, kHour, RecordNumber{8});
  SlotHeads heads;
  RecordNumber upto;
  EXPECT_TRUE(absl::IsDataLoss(heads.Decode(kSalt, kHour, bytes, &upto)));
}

}  // namespace
}  // namespace hourglass
