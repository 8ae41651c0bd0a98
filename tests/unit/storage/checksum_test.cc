#include "storage/checksum.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <string>

#include "storage/random.h"

namespace hourglass {
namespace {

// These values are on disks: they may never change.
TEST(Checksum, IsXxh3) {
  EXPECT_EQ(HashBytes(""), 0x2d06800538d394c2u);
  EXPECT_EQ(HashBytes("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(HashBytes("abc"), 0x78af5f94892f3950u);
  EXPECT_EQ(IdHash("abc"), 0x892f3950u);
  EXPECT_EQ(Seal(1, 2, 3, 4), 0x53e911333a923397u);
}

TEST(Checksum, SeesEveryBitOfSmallInputs) {
  for (const size_t size : {1u, 3u, 8u, 16u, 17u, 64u, 200u, 300u}) {
    const std::string bytes(size, '\0');
    std::set<uint64_t> seen{HashBytes(bytes)};
    for (size_t bit = 0; bit < size * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(1 << bit % 8);
      seen.insert(HashBytes(flipped));
    }
    EXPECT_EQ(seen.size(), size * 8 + 1) << size;
  }
}

uint64_t SealOf(const std::array<uint64_t, 4>& words) {
  return Seal(words[0], words[1], words[2], words[3]);
}

// A flip of any one bit of any word changes about half of the seal, whole and
// in each half: formats may keep 32 bits of it.
TEST(Seal, MixesEveryBitOfEveryWord) {
  Random random(1);
  for (int word = 0; word < 4; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      int changed_low = 0;
      int changed_high = 0;
      constexpr int kRounds = 200;
      for (int round = 0; round < kRounds; ++round) {
        std::array<uint64_t, 4> words;
        for (uint64_t& w : words) w = random.Next() >> random.Uniform(64);
        const uint64_t before = SealOf(words);
        words[word] ^= uint64_t{1} << bit;
        const uint64_t change = before ^ SealOf(words);
        ASSERT_NE(static_cast<uint32_t>(change), 0u);
        changed_low += std::popcount(static_cast<uint32_t>(change));
        changed_high += std::popcount(change >> 32);
      }
      // 16 bits of 32 on average; 1 is over five standard deviations.
      EXPECT_NEAR(changed_low / double{kRounds}, 16, 1.0) << word << " " << bit;
      EXPECT_NEAR(changed_high / double{kRounds}, 16, 1.0)
          << word << " " << bit;
    }
  }
}

TEST(Seal, DependsOnTheOrderOfItsWords) {
  const std::set<uint64_t> seals = {
      Seal(1, 2, 3, 4), Seal(2, 1, 3, 4), Seal(1, 3, 2, 4), Seal(1, 2, 4, 3),
      Seal(4, 2, 3, 1), Seal(1, 4, 3, 2), Seal(3, 2, 1, 4)};
  EXPECT_EQ(seals.size(), 7u);
}

// Neighbouring places, as those of records in a file, with the same content.
TEST(Seal, NeighbouringPlacesDiffer) {
  std::set<uint64_t> seals;
  for (uint64_t place = 0; place < 100'000; ++place) {
    seals.insert(Seal(7, place, 0, 0));
  }
  EXPECT_EQ(seals.size(), 100'000u);
}

}  // namespace
}  // namespace hourglass
