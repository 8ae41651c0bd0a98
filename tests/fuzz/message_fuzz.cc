// The envelope of a message. What decodes encodes to a message that is equal,
// and the short way of reading it agrees with the long one.
#include <string>
#include <string_view>

#include "storage/message_codec.h"
#include "tests/fuzz/fuzz.h"

namespace hourglass {
namespace {

void CheckSame(const MessageView& a, const MessageView& b) {
  FUZZ_CHECK(a.topic == b.topic);
  FUZZ_CHECK(a.id == b.id);
  FUZZ_CHECK(a.tag == b.tag);
  FUZZ_CHECK(a.body == b.body);
  FUZZ_CHECK(a.due_ms == b.due_ms);
  FUZZ_CHECK(a.stored_ms == b.stored_ms);
  FUZZ_CHECK(a.keys == b.keys);
  FUZZ_CHECK(a.properties == b.properties);
}

FUZZ_TARGET(std::string_view data) {
  const PeekedMessage peeked = PeekMessage(data);
  const auto message = DecodeMessage(data);
  if (!message.ok()) return;
  FUZZ_CHECK(peeked.topic == message->topic);
  FUZZ_CHECK(peeked.id == message->id);
  FUZZ_CHECK(peeked.tag == message->tag);
  FUZZ_CHECK(peeked.due_ms == message->due_ms);
  FUZZ_CHECK(peeked.stored_ms == message->stored_ms);
  std::string encoded;
  EncodeMessage(*message, &encoded);
  FUZZ_CHECK(encoded.size() == EncodedMessageSize(*message));
  const auto again = DecodeMessage(encoded);
  FUZZ_CHECK(again.ok());
  CheckSame(*message, *again);
}

}  // namespace
}  // namespace hourglass
