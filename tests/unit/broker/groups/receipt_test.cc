#include "broker/groups/receipt.h"

#include <gtest/gtest.h>

#include <string>

namespace hourglass {
namespace {

TEST(ReceiptTest, ComesBack) {
  for (const Receipt& receipt :
       {Receipt{QueueIndex(0), 0}, Receipt{QueueIndex(7), 1},
        Receipt{QueueIndex::Max(), UINT64_MAX}}) {
    const std::string text = EncodeReceipt(receipt);
    EXPECT_EQ(text.size(), 40u);
    const auto decoded = DecodeReceipt(text);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, receipt);
  }
}

TEST(ReceiptTest, EveryChangeIsRefused) {
  const std::string text = EncodeReceipt({QueueIndex(123456), 987654321});
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_TRUE(absl::IsInvalidArgument(DecodeReceipt(changed).status()))
          << changed;
    }
    EXPECT_FALSE(DecodeReceipt(text.substr(0, at)).ok());
  }
  EXPECT_FALSE(DecodeReceipt(text + "0").ok());
}

}  // namespace
}  // namespace hourglass
