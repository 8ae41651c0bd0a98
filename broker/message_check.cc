#include "broker/message_check.h"

#include "absl/strings/str_cat.h"
#include "storage/message_codec.h"
#include "storage/text.h"

namespace hourglass {
namespace {

absl::Status TooLong(std::string_view field, size_t bytes, size_t max) {
  return absl::InvalidArgumentError(absl::StrCat(
      ToAbsl(field), ": ", bytes, " bytes; expected at most ", max));
}

size_t PropertiesBytes(const MessageView& message) {
  size_t bytes = message.tag.size();
  for (const auto& key : message.keys) bytes += key.size() + 5;
  for (const auto& [key, value] : message.properties) {
    bytes += key.size() + value.size() + 10;
  }
  return bytes;
}

}  // namespace

absl::Status CheckDue(int64_t due_ms, const StoreOptions& options,
                      int64_t now_ms) {
  if (due_ms < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "due_ms: ", due_ms, "; expected UTC milliseconds, 0 for at once"));
  }
  if (due_ms - now_ms > options.delay_ms_max || due_ms > kDueMsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("due_ms: ", due_ms, " is ", due_ms - now_ms,
                     " ms ahead; expected at most ", options.delay_ms_max,
                     " ms (delay_ms_max)"));
  }
  return absl::OkStatus();
}

absl::Status CheckMessage(const MessageView& message,
                          const StoreOptions& options, int64_t now_ms) {
  if (message.topic.empty()) {
    return absl::InvalidArgumentError("topic: empty; expected 1 to 255 bytes");
  }
  if (message.topic.size() > kTopicBytesMax) {
    return TooLong("topic", message.topic.size(), kTopicBytesMax);
  }
  if (message.id.size() > kIdBytesMax) {
    return TooLong("id", message.id.size(), kIdBytesMax);
  }
  if (message.body.size() > options.body_bytes_max) {
    return TooLong("body (body_bytes_max)", message.body.size(),
                   options.body_bytes_max);
  }
  const size_t properties = PropertiesBytes(message);
  if (properties > options.properties_bytes_max) {
    return TooLong("tag, keys and properties (properties_bytes_max)",
                   properties, options.properties_bytes_max);
  }
  return CheckDue(message.due_ms, options, now_ms);
}

}  // namespace hourglass
