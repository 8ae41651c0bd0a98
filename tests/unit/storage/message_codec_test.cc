#include "storage/message_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hourglass {
namespace {

Message FullMessage() {
  Message message;
  message.topic = "orders";
  message.id = "A1";
  message.tag = "red";
  message.keys = {"k1", "", "k22"};
  message.properties = {{"p", "v"}, {"", ""}};
  message.body = "body";
  message.due_ms = 1'800'000'000'123;
  message.stored_ms = 1'700'000'000'456;
  return message;
}

void ExpectSame(const MessageView& got, const MessageView& want) {
  EXPECT_EQ(got.topic, want.topic);
  EXPECT_EQ(got.id, want.id);
  EXPECT_EQ(got.tag, want.tag);
  EXPECT_EQ(got.keys, want.keys);
  EXPECT_EQ(got.properties, want.properties);
  EXPECT_EQ(got.body, want.body);
  EXPECT_EQ(got.due_ms, want.due_ms);
  EXPECT_EQ(got.stored_ms, want.stored_ms);
}

std::string Encode(const MessageView& message) {
  std::string bytes;
  EncodeMessage(message, &bytes);
  return bytes;
}

void ExpectRoundTrip(const MessageView& message) {
  const std::string bytes = Encode(message);
  EXPECT_EQ(bytes.size(), EncodedMessageSize(message));
  const absl::StatusOr<MessageView> decoded = DecodeMessage(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ExpectSame(*decoded, message);
  const PeekedMessage peeked = PeekMessage(bytes);
  EXPECT_EQ(peeked.due_ms, message.due_ms);
  EXPECT_EQ(peeked.stored_ms, message.stored_ms);
  EXPECT_EQ(peeked.topic, message.topic);
  EXPECT_EQ(peeked.id, message.id);
  EXPECT_EQ(peeked.tag, message.tag);
}

// The worked example of docs/formats/message.md.
TEST(MessageCodecTest, WorkedExample) {
  const std::string bytes = Encode(FullMessage().View());
  const std::string want(
      "\x07"                      // tag, keys and properties
      "\x7b\x50\x5c\x18\xa3\x01"  // due 1800000000123
      "\xc8\x69\xe5\xcf\x8b\x01"  // stored 1700000000456
      "\x06orders"
      "\x02"
      "A1"
      "\x03red"
      "\x03\x02k1\x00\x03k22"
      "\x02\x01p\x01v\x00\x00"
      "body",
      47);
  EXPECT_EQ(bytes, want);
}

TEST(MessageCodecTest, RoundTripOfLeastAndMost) {
  MessageView least;
  least.topic = "t";
  ExpectRoundTrip(least);
  EXPECT_EQ(EncodedMessageSize(least), 16u);

  ExpectRoundTrip(FullMessage().View());

  Message most = FullMessage();
  most.topic = std::string(kTopicBytesMax, 't');
  most.id = std::string(kIdBytesMax, 'i');
  most.tag = std::string(40'000, 'g');
  most.keys.assign(300, std::string(200, 'k'));
  most.properties.assign(200, {"name", std::string(127, 'v')});
  most.body = std::string(4u << 20, '\xff');
  most.due_ms = kDueMsMax;
  most.stored_ms = kDueMsMax;
  ExpectRoundTrip(most.View());
}

TEST(MessageCodecTest, AppendsToWhatIsThere) {
  std::string bytes = "before";
  EncodeMessage(FullMessage().View(), &bytes);
  EXPECT_EQ(bytes, "before" + Encode(FullMessage().View()));
  // Also by the path for a head that is too large for the stack.
  Message large = FullMessage();
  large.tag = std::string(5000, 'g');
  bytes = "before";
  EncodeMessage(large.View(), &bytes);
  EXPECT_EQ(bytes, "before" + Encode(large.View()));
}

TEST(MessageCodecTest, HeadsAroundTheStackBufferRoundTrip) {
  Message message = FullMessage();
  for (size_t size = 900; size < 1100; ++size) {
    message.tag = std::string(size, 'g');
    ExpectRoundTrip(message.View());
  }
}

TEST(MessageCodecTest, EncodeToMemoryWritesTheSameAndNoMore) {
  const Message message = FullMessage();
  const std::string want = Encode(message.View());
  std::string memory(want.size() + 8, '#');
  EXPECT_EQ(EncodeMessageTo(message.View(), memory.data()),
            memory.data() + want.size());
  EXPECT_EQ(memory, want + "########");

  MessageView least;
  least.topic = "t";
  std::string small(16 + 8, '#');
  EncodeMessageTo(least, small.data());
  EXPECT_EQ(small.substr(16), "########");
}

TEST(MessageCodecTest, EveryCutIsRefusedOrShortensTheBodyOnly) {
  const std::string bytes = Encode(FullMessage().View());
  const size_t head = bytes.size() - 4;
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const absl::StatusOr<MessageView> decoded =
        DecodeMessage(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(decoded.ok(), size >= head) << size;
    if (!decoded.ok()) {
      EXPECT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss);
    }
    // The peeks must stand anything, too.
    PeekMessage(std::string_view(bytes).substr(0, size));
  }
  EXPECT_EQ(PeekMessage("123456789012").due_ms, 0);
  EXPECT_EQ(PeekMessage("1234567890123\x05").topic, "");
}

TEST(MessageCodecTest, RefusesWhatIsNoMessage) {
  const std::string good = Encode(FullMessage().View());
  std::string flags = good;
  flags[0] |= 0x08;
  std::string due = good;
  due.replace(1, 6, 6, '\xff');
  std::string stored = good;
  stored.replace(7, 6, 6, '\xff');
  const std::string head(13, '\0');
  for (const std::string& bad : {
           flags,
           due,
           stored,
           head + std::string("\0\0", 2),                          // no topic
           head + "\x80\x02" + std::string(256, 't') + '\0',       // long topic
           head + "\x01t\x80\x02" + std::string(256, 'i'),         // long id
           "\x01" + head.substr(1) + std::string("\x01t\0\0", 4),  // no tag
           "\x02" + head.substr(1) + std::string("\x01t\0\0", 4),  // no keys
           "\x02" + head.substr(1) +
               std::string("\x01t\0\xff\xff\xff\xff\x0f", 8),  // 4 Gi keys
           "\x04" + head.substr(1) +
               std::string("\x01t\0\xff\xff\xff\xff\x0f", 8),
       }) {
    EXPECT_EQ(DecodeMessage(bad).status().code(), absl::StatusCode::kDataLoss);
  }
}

std::string RandomText(std::mt19937* random, size_t bytes_max) {
  std::string text((*random)() % (bytes_max + 1), '\0');
  for (char& c : text) c = static_cast<char>((*random)());
  return text;
}

Message RandomMessage(std::mt19937* random) {
  Message message;
  message.topic = "t" + RandomText(random, kTopicBytesMax - 1);
  message.id = RandomText(random, kIdBytesMax);
  message.tag = RandomText(random, 300);
  message.keys.resize((*random)() % 5);
  for (auto& key : message.keys) key = RandomText(random, 200);
  message.properties.resize((*random)() % 5);
  for (auto& [key, value] : message.properties) {
    key = RandomText(random, 20);
    value = RandomText(random, 200);
  }
  message.body = RandomText(random, 1000);
  message.due_ms = ((*random)() * int64_t{50'000});
  message.stored_ms = ((*random)() * int64_t{40'000});
  return message;
}

TEST(MessageCodecTest, RandomMessagesRoundTrip) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    ExpectRoundTrip(RandomMessage(&random).View());
    if (HasFailure()) return;
  }
}

TEST(MessageCodecTest, RandomBytesNeverHarm) {
  for (uint32_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::string bytes = Encode(RandomMessage(&random).View());
    for (int flips = 0; flips < 4; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<MessageView> decoded = DecodeMessage(bytes);
    // What is accepted is a message: it can be encoded again.
    if (decoded.ok()) ExpectRoundTrip(*decoded);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hourglass
