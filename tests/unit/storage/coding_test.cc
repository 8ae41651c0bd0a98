#include "storage/coding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hourglass {
namespace {

TEST(CodingTest, VarintsComeBack) {
  for (const uint32_t value :
       {0u, 1u, 127u, 128u, 16'383u, 16'384u, 1u << 28, UINT32_MAX}) {
    std::string bytes;
    AppendVarint32(&bytes, value);
    Decoder in(bytes);
    uint32_t read = 0;
    EXPECT_TRUE(in.Varint32(&read)) << value;
    EXPECT_EQ(read, value);
    EXPECT_TRUE(in.rest().empty());
  }
}

// Found by fuzzing checkpoint keys: two spellings of one consumer group.
TEST(CodingTest, AVarintHasOneSpelling) {
  using namespace std::string_view_literals;
  for (const std::string_view bytes :
       {"\x85\x00"sv, "\x80\x00"sv, "\xff\x80\x00"sv,
        "\x80\x80\x80\x80\x00"sv}) {
    Decoder in(bytes);
    uint32_t value = 0;
    EXPECT_FALSE(in.Varint32(&value));
  }
}

TEST(CodingTest, AVarintThatEndsTooSoonOrTooLateIsNone) {
  using namespace std::string_view_literals;
  for (const std::string_view bytes :
       {""sv, "\x80"sv, "\xff\xff\xff\xff"sv, "\xff\xff\xff\xff\x10"sv,
        "\xff\xff\xff\xff\xff\x01"sv}) {
    Decoder in(bytes);
    uint32_t value = 0;
    EXPECT_FALSE(in.Varint32(&value));
  }
}

}  // namespace
}  // namespace hourglass
