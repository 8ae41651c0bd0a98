// File: message_codec.h
//
// The bytes of a message. They are made once, by the thread that puts it, and
// then travel unchanged: into the commit log, from there into the DelayLog of
// its hour, and back into the commit log when it is due.
//
//   flags       1   bit 0 tag, bit 1 keys, bit 2 properties; others 0
//   due_ms      6   UTC ms, little-endian; 0 = at once
//   stored_ms   6   UTC ms, when it was put
//   topic       varint length, bytes
//   id          varint length, bytes
//   tag         varint length, bytes                    if bit 0
//   keys        varint count, then each as length+bytes if bit 1
//   properties  varint count, then key and value each   if bit 2
//   body        the rest
//
// No checksum here: whoever stores the bytes seals them (checksum.h).
//
// Serves promise 5: what is no message is refused.
#ifndef HOURGLASS_STORAGE_MESSAGE_CODEC_H_
#define HOURGLASS_STORAGE_MESSAGE_CODEC_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hourglass/message.h"

namespace hourglass {

inline constexpr size_t kTopicBytesMax = 255;
inline constexpr size_t kIdBytesMax = 255;
// What 6 bytes hold, cut to the end of the year 9999 so that every due time
// has an RFC 3339 spelling.
inline constexpr int64_t kDueMsMax = 253'402'300'799'999;

// Bytes that EncodeMessage will append.
size_t EncodedMessageSize(const MessageView& message);

// Appends the encoded message. The caller has checked all limits.
void EncodeMessage(const MessageView& message, std::string* out);

// The same, into memory that has room for EncodedMessageSize(message) bytes.
// Returns the end of what was written.
char* EncodeMessageTo(const MessageView& message, char* out);

// The views point into `payload`. DATA_LOSS if the bytes are not a message.
absl::StatusOr<MessageView> DecodeMessage(std::string_view payload);

// The fields in front, for the paths that need no more. The payload has been
// verified by its seal; a malformed one gives an empty topic.
struct PeekedMessage {
  int64_t due_ms = 0;
  int64_t stored_ms = 0;
  std::string_view topic;
  std::string_view id;
  std::string_view tag;
};
PeekedMessage PeekMessage(std::string_view payload);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_MESSAGE_CODEC_H_
