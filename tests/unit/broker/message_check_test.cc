#include "broker/message_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/message_codec.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

constexpr int64_t kNowMs = 1'800'000'000'000;

class MessageCheckTest : public testing::Test {
 protected:
  MessageCheckTest() {
    message_.topic = "t";
    message_.body = "b";
  }
  absl::Status Check() { return CheckMessage(message_, options_, kNowMs); }
  void ExpectRefused(const std::string& text) {
    const absl::Status status = Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(TextOf(status), HasSubstr(text));
  }

  StoreOptions options_;
  MessageView message_;
};

TEST_F(MessageCheckTest, TakesAnOrdinaryMessage) {
  EXPECT_TRUE(Check().ok());
  message_.due_ms = kNowMs - 5;
  EXPECT_TRUE(Check().ok());
}

TEST_F(MessageCheckTest, TopicHasOneTo255Bytes) {
  message_.topic = "";
  ExpectRefused("topic");
  const std::string longest(255, 't');
  message_.topic = longest;
  EXPECT_TRUE(Check().ok());
  const std::string too_long(256, 't');
  message_.topic = too_long;
  ExpectRefused("topic: 256 bytes; expected at most 255");
}

TEST_F(MessageCheckTest, IdHasUpTo255Bytes) {
  const std::string longest(255, 'i');
  message_.id = longest;
  EXPECT_TRUE(Check().ok());
  const std::string too_long(256, 'i');
  message_.id = too_long;
  ExpectRefused("id: 256 bytes");
}

TEST_F(MessageCheckTest, BodyIsBounded) {
  options_.body_bytes_max = 10;
  const std::string longest(10, 'b');
  message_.body = longest;
  EXPECT_TRUE(Check().ok());
  const std::string too_long(11, 'b');
  message_.body = too_long;
  ExpectRefused("body_bytes_max");
}

TEST_F(MessageCheckTest, TagKeysAndPropertiesAreBoundedTogether) {
  options_.properties_bytes_max = 100;
  const std::string half(40, 'x');
  message_.tag = half;
  EXPECT_TRUE(Check().ok());
  message_.keys = {half};
  EXPECT_TRUE(Check().ok());
  message_.properties = {{"a", half}};
  ExpectRefused("properties_bytes_max");
}

TEST_F(MessageCheckTest, DueTimeHasTwoEnds) {
  message_.due_ms = -1;
  ExpectRefused("due_ms: -1");
  options_.delay_ms_max = 1000;
  message_.due_ms = kNowMs + 1000;
  EXPECT_TRUE(Check().ok());
  message_.due_ms = kNowMs + 1001;
  ExpectRefused("delay_ms_max");
}

TEST_F(MessageCheckTest, TheLastYearIs9999) {
  options_.delay_ms_max = INT64_MAX / 2;
  message_.due_ms = kDueMsMax;
  EXPECT_TRUE(Check().ok());
  message_.due_ms = kDueMsMax + 1;
  ExpectRefused("due_ms");
}

TEST_F(MessageCheckTest, TheFarthestNumberIsRefusedAndNoOverflow) {
  message_.due_ms = INT64_MAX;
  ExpectRefused("delay_ms_max");
}

}  // namespace
}  // namespace hourglass
