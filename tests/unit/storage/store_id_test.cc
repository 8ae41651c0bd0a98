#include "storage/store_id.h"

#include <gtest/gtest.h>

namespace hourglass {
namespace {

TEST(StoreId, ToHexWritesEveryByteInOrder) {
  StoreId id;
  EXPECT_EQ(id.ToHex(), "00000000000000000000000000000000");
  for (size_t i = 0; i < kStoreIdBytes; ++i) {
    id.bytes[i] = static_cast<char>(i * 0x11);
  }
  EXPECT_EQ(id.ToHex(), "00112233445566778899aabbccddeeff");
}

TEST(StoreId, ComparesAllBytes) {
  const StoreId zero;
  for (size_t i = 0; i < kStoreIdBytes; ++i) {
    StoreId other;
    other.bytes[i] = 1;
    EXPECT_NE(zero, other) << i;
  }
  EXPECT_EQ(zero.view().size(), kStoreIdBytes);
}

}  // namespace
}  // namespace hourglass
