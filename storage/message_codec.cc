#include "storage/message_codec.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr uint8_t kHasTag = 1;
constexpr uint8_t kHasKeys = 2;
constexpr uint8_t kHasProperties = 4;
constexpr uint8_t kKnownFlags = kHasTag | kHasKeys | kHasProperties;

constexpr size_t kTimeBytes = 6;
constexpr size_t kDueAt = 1;
constexpr size_t kStoredAt = kDueAt + kTimeBytes;
constexpr size_t kTopicAt = kStoredAt + kTimeBytes;

constexpr size_t VarintSize(size_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}
constexpr size_t PrefixedSize(std::string_view value) {
  return VarintSize(value.size()) + value.size();
}

char* PutBytes(char* out, std::string_view value) {
  if (!value.empty()) std::memcpy(out, value.data(), value.size());
  return out + value.size();
}
char* PutPrefixed(char* out, std::string_view value) {
  return PutBytes(PutVarint32(out, static_cast<uint32_t>(value.size())), value);
}

uint8_t FlagsOf(const MessageView& message) {
  return (message.tag.empty() ? 0 : kHasTag) |
         (message.keys.empty() ? 0 : kHasKeys) |
         (message.properties.empty() ? 0 : kHasProperties);
}

// Size of everything before the body.
size_t HeadSize(const MessageView& message) {
  size_t size =
      kTopicAt + PrefixedSize(message.topic) + PrefixedSize(message.id);
  if (!message.tag.empty()) size += PrefixedSize(message.tag);
  if (!message.keys.empty()) {
    size += VarintSize(message.keys.size());
    for (const auto& key : message.keys) size += PrefixedSize(key);
  }
  if (!message.properties.empty()) {
    size += VarintSize(message.properties.size());
    for (const auto& [key, value] : message.properties) {
      size += PrefixedSize(key) + PrefixedSize(value);
    }
  }
  return size;
}

char* PutKeys(const MessageView& message, char* out) {
  out = PutVarint32(out, static_cast<uint32_t>(message.keys.size()));
  for (const auto& key : message.keys) out = PutPrefixed(out, key);
  return out;
}

char* PutProperties(const MessageView& message, char* out) {
  out = PutVarint32(out, static_cast<uint32_t>(message.properties.size()));
  for (const auto& [key, value] : message.properties) {
    out = PutPrefixed(PutPrefixed(out, key), value);
  }
  return out;
}

char* PutHead(const MessageView& message, char* out) {
  out[0] = static_cast<char>(FlagsOf(message));
  // Eight bytes each, where six count: the two too many are zero and are
  // overwritten by what follows, which is always at least two bytes.
  PutFixed<int64_t>(out + kDueAt, message.due_ms);
  PutFixed<int64_t>(out + kStoredAt, message.stored_ms);
  out = PutPrefixed(out + kTopicAt, message.topic);
  out = PutPrefixed(out, message.id);
  if (!message.tag.empty()) out = PutPrefixed(out, message.tag);
  if (!message.keys.empty()) out = PutKeys(message, out);
  if (!message.properties.empty()) out = PutProperties(message, out);
  return out;
}

int64_t GetTime(const char* in) {
  uint64_t value = 0;
  std::memcpy(&value, in, kTimeBytes);
  return static_cast<int64_t>(value);
}

absl::Status Malformed(const char* field) {
  return absl::DataLossError(
      absl::StrCat("malformed message: its ", field, " cannot be read"));
}

absl::Status DecodeTimes(std::string_view payload, MessageView* message) {
  if (payload.size() < kTopicAt) return Malformed("head");
  if ((payload[0] & ~kKnownFlags) != 0) return Malformed("flags");
  message->due_ms = GetTime(payload.data() + kDueAt);
  message->stored_ms = GetTime(payload.data() + kStoredAt);
  if (message->due_ms > kDueMsMax) return Malformed("due time");
  if (message->stored_ms > kDueMsMax) return Malformed("stored time");
  return absl::OkStatus();
}

// A count of things that take at least `bytes_each`: more than the rest could
// hold is refused before memory is taken for them.
bool DecodeCount(Decoder* in, size_t bytes_each, uint32_t* count) {
  return in->Varint32(count) && *count != 0 &&
         *count <= in->rest().size() / bytes_each;
}

absl::Status DecodeKeys(Decoder* in, MessageView* message) {
  uint32_t count = 0;
  if (!DecodeCount(in, 1, &count)) return Malformed("key count");
  message->keys.resize(count);
  for (auto& key : message->keys) {
    if (!in->Prefixed(&key)) return Malformed("keys");
  }
  return absl::OkStatus();
}

absl::Status DecodeProperties(Decoder* in, MessageView* message) {
  uint32_t count = 0;
  if (!DecodeCount(in, 2, &count)) return Malformed("property count");
  message->properties.resize(count);
  for (auto& [key, value] : message->properties) {
    if (!in->Prefixed(&key) || !in->Prefixed(&value)) {
      return Malformed("properties");
    }
  }
  return absl::OkStatus();
}

}  // namespace

size_t EncodedMessageSize(const MessageView& message) {
  return HeadSize(message) + message.body.size();
}

char* EncodeMessageTo(const MessageView& message, char* out) {
  return PutBytes(PutHead(message, out), message.body);
}

void EncodeMessage(const MessageView& message, std::string* out) {
  // A string cannot grow without being filled with zeros first. So the head
  // is built on the stack, where it nearly always fits, and both parts are
  // appended into memory that was reserved for them.
  constexpr size_t kStackBytes = 1024;
  const size_t head_bytes = HeadSize(message);
  const size_t old_bytes = out->size();
  const size_t bytes = head_bytes + message.body.size();
  if (head_bytes > kStackBytes) {
    out->resize(old_bytes + bytes);
    EncodeMessageTo(message, out->data() + old_bytes);
    return;
  }
  char head[kStackBytes];
  PutHead(message, head);
  // Not `reserve`: that would make a growing string grow by exactly this
  // much, and copy all of it every time.
  if (out->empty()) out->reserve(bytes);
  out->append(head, head_bytes);
  out->append(message.body);
}

absl::StatusOr<MessageView> DecodeMessage(std::string_view payload) {
  MessageView message;
  RETURN_IF_ERROR(DecodeTimes(payload, &message));
  const auto flags = static_cast<uint8_t>(payload[0]);
  Decoder in(payload.substr(kTopicAt));
  if (!in.Prefixed(&message.topic) || message.topic.empty() ||
      message.topic.size() > kTopicBytesMax) {
    return Malformed("topic");
  }
  if (!in.Prefixed(&message.id) || message.id.size() > kIdBytesMax) {
    return Malformed("id");
  }
  if ((flags & kHasTag) != 0 &&
      (!in.Prefixed(&message.tag) || message.tag.empty())) {
    return Malformed("tag");
  }
  if ((flags & kHasKeys) != 0) RETURN_IF_ERROR(DecodeKeys(&in, &message));
  if ((flags & kHasProperties) != 0) {
    RETURN_IF_ERROR(DecodeProperties(&in, &message));
  }
  message.body = in.rest();
  return message;
}

PeekedMessage PeekMessage(std::string_view payload) {
  PeekedMessage peeked;
  if (payload.size() < kTopicAt) return peeked;
  Decoder in(payload.substr(kTopicAt));
  std::string_view topic;
  if (!in.Prefixed(&topic) || !in.Prefixed(&peeked.id)) return peeked;
  const auto flags = static_cast<uint8_t>(payload[0]);
  if ((flags & kHasTag) != 0 && !in.Prefixed(&peeked.tag)) return peeked;
  peeked.due_ms = GetTime(payload.data() + kDueAt);
  peeked.stored_ms = GetTime(payload.data() + kStoredAt);
  peeked.topic = topic;
  return peeked;
}

}  // namespace hourglass
