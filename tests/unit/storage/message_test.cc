#include "hourglass/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace hourglass {
namespace {

Handle SomeHandle() {
  Handle handle;
  handle.hour = Hour(498'123);
  handle.number = RecordNumber(77);
  handle.ms_into_hour = 3'599'999;
  handle.id_hash = 0xdeadbeef;
  handle.seal = 0x01020304;
  return handle;
}

TEST(MessageTest, ViewPointsAtTheMessage) {
  Message message;
  message.topic = "orders";
  message.id = "id-1";
  message.tag = "red";
  message.keys = {"k1", "", "k3"};
  message.properties = {{"a", "1"}, {"b", ""}};
  message.body = std::string("bo\0dy", 5);
  message.due_ms = 5;
  message.stored_ms = 4;
  const MessageView view = message.View();
  EXPECT_EQ(view.body.data(), message.body.data());
  EXPECT_EQ(view.topic.data(), message.topic.data());
  EXPECT_THAT(view.keys, testing::ElementsAre("k1", "", "k3"));

  const Message copy = Message::From(view);
  EXPECT_EQ(copy.topic, message.topic);
  EXPECT_EQ(copy.id, message.id);
  EXPECT_EQ(copy.tag, message.tag);
  EXPECT_EQ(copy.keys, message.keys);
  EXPECT_EQ(copy.properties, message.properties);
  EXPECT_EQ(copy.body, message.body);
  EXPECT_EQ(copy.due_ms, 5);
  EXPECT_EQ(copy.stored_ms, 4);
}

TEST(HandleTest, TextIsThirtyTwoLowerCaseCharacters) {
  // As Python says: b32encode(struct.pack("<iIIII", 498123, 77, 3599999,
  // 0xdeadbeef, 0x01020304)).lower()
  EXPECT_EQ(SomeHandle().ToString(), "zomqoacnaaaaa77ogyao7pvn3ycagaqb");
  EXPECT_EQ(SomeHandle().ToString().size(), 32u);
}

TEST(HandleTest, ParseIsTheInverseOfToString) {
  const absl::StatusOr<Handle> parsed = Handle::Parse(SomeHandle().ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, SomeHandle());
  EXPECT_EQ(parsed->due_ms(), 498'123 * kMsPerHour + 3'599'999);
}

TEST(HandleTest, NoneIsADash) {
  EXPECT_EQ(Handle().ToString(), "-");
  const absl::StatusOr<Handle> parsed = Handle::Parse("-");
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->IsNone());
}

TEST(HandleTest, EveryOtherCharacterIsAnotherHandleOrNone) {
  const std::string text = SomeHandle().ToString();
  std::set<std::string> seen = {text};
  for (size_t at = 0; at < text.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[at] = static_cast<char>(c);
      if (changed == text) continue;
      const absl::StatusOr<Handle> parsed = Handle::Parse(changed);
      if (!parsed.ok()) {
        EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
        continue;
      }
      EXPECT_EQ(parsed->ToString(), changed);
      EXPECT_TRUE(seen.insert(parsed->ToString()).second);
    }
  }
}

TEST(HandleTest, RefusesWhatToStringDoesNotMake) {
  const std::string text = SomeHandle().ToString();
  Handle late = SomeHandle();
  late.ms_into_hour = 3'600'000;
  Handle early = SomeHandle();
  early.hour = Hour(-1);
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& bad :
       {std::string(), text.substr(1), text + "a", "--" + text.substr(2), upper,
        std::string(32, 'a'), std::string(32, '1'), std::string(1000, 'a'),
        late.ToString(), early.ToString(), std::string("-\0", 2)}) {
    const absl::StatusOr<Handle> parsed = Handle::Parse(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << bad;
    EXPECT_LT(parsed.status().message().size(), 400u);
  }
}

}  // namespace
}  // namespace hourglass
