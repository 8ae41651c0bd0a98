#include "broker/client/request_signature.h"

#include <gtest/gtest.h>

#include "broker/front/signature.h"

namespace hourglass {
namespace {

TEST(RequestSignature, DateIsWithoutPunctuation) {
  EXPECT_EQ(SignatureDate(1'795'230'000'999), "20261121T030000Z");
}

// The HMAC-SHA1 of RFC 2202, test case 2.
TEST(RequestSignature, IsReadByTheServersOwnParser) {
  const std::string header =
      SignRequest("key-1", "Jefe", "what do ya want for nothing?");
  const auto read = Signature::Parse(header, "what do ya want for nothing?");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->access_key, "key-1");
  EXPECT_EQ(read->hmac_hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
}

}  // namespace
}  // namespace hourglass
