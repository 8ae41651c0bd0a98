#include "broker/text/json_lines.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "broker/text/duration.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/message_codec.h"

namespace hourglass {
namespace {

InputError Error(std::string_view field, std::string_view was,
                 std::string_view expected) {
  return {0, std::string(field), std::string(was), std::string(expected)};
}

InputError TooLong(std::string_view field, size_t bytes, size_t bytes_max,
                   std::string_view option = "") {
  return Error(field, Concat("is ", bytes, " bytes"),
               Concat("at most ", bytes_max, " bytes", option));
}

size_t PropertiesBytes(const Message& message) {
  size_t bytes = message.tag.size();
  for (const std::string& key : message.keys) bytes += key.size();
  for (const auto& [name, value] : message.properties) {
    bytes += name.size() + value.size();
  }
  return bytes;
}

std::optional<InputError> DueAfter(std::string_view field,
                                   std::string_view text, int64_t delay_ms,
                                   int64_t now_ms, const InputLimits& limits,
                                   int64_t* due_ms) {
  if (delay_ms > limits.delay_ms_max || delay_ms > kDueMsMax - now_ms) {
    return Error(
        field, Concat(text, " is longer than the maximum delay"),
        Concat("at most \"", FormatDuration(limits.delay_ms_max), "\""));
  }
  *due_ms = now_ms + delay_ms;
  return std::nullopt;
}

std::optional<InputError> DueAt(std::string_view text, int64_t at_ms,
                                int64_t now_ms, const InputLimits& limits,
                                int64_t* due_ms) {
  const int64_t latest_ms = std::min(kDueMsMax, now_ms + limits.delay_ms_max);
  if (at_ms > latest_ms) {
    return Error("deliver_at",
                 Concat(Quoted(text), " is past the maximum delay"),
                 Concat("at the latest \"", FormatTimestamp(latest_ms),
                        "\" (a delay of \"",
                        FormatDuration(limits.delay_ms_max), "\")"));
  }
  *due_ms = at_ms;
  return std::nullopt;
}

void AppendBody(std::string_view body, JsonObject* object, std::string* out) {
  if (IsValidUtf8(body)) {
    object->Text("body", body);
    return;
  }
  object->Name("body_base64");
  out->push_back('"');
  out->append(absl::Base64Escape(ToAbsl(body)));
  out->push_back('"');
}

// What else was given with the message.
void AppendExtras(const Message& message, JsonObject* object,
                  std::string* out) {
  if (!message.tag.empty()) object->Text("tag", message.tag);
  if (!message.keys.empty()) object->Texts("keys", message.keys);
  if (message.properties.empty()) return;
  object->Name("properties");
  JsonObject properties(out);
  for (const auto& [name, value] : message.properties) {
    properties.Text(name, value);
  }
  properties.End();
}

// The first field, but for the body, that JSON would have to garble.
std::optional<std::string_view> NotUtf8(const Message& message) {
  if (!IsValidUtf8(message.id)) return "id";
  if (!IsValidUtf8(message.topic)) return "topic";
  if (!IsValidUtf8(message.tag)) return "tag";
  for (const std::string& key : message.keys) {
    if (!IsValidUtf8(key)) return "key";
  }
  for (const auto& [name, value] : message.properties) {
    if (!IsValidUtf8(name) || !IsValidUtf8(value)) return "property";
  }
  return std::nullopt;
}

// A message that was due at once was due when it was stored.
int64_t DueMs(const Message& message) {
  return message.due_ms == kDueNow ? message.stored_ms : message.due_ms;
}

}  // namespace

std::string InputError::ToString() const {
  std::string out;
  if (line > 0) Append(&out, "line ", line, ": ");
  if (!field.empty()) Append(&out, field, ": ");
  Append(&out, was);
  if (!expected.empty()) Append(&out, "; expected ", expected);
  return out;
}

InputLimits InputLimits::From(const StoreOptions& options) {
  return {options.body_bytes_max, options.properties_bytes_max,
          options.delay_ms_max};
}

size_t InputLimits::line_bytes_max() const {
  constexpr size_t kOtherBytesMax = 16 << 10;  // names, topic, id, spaces
  return 6 * (body_bytes_max + properties_bytes_max) + kOtherBytesMax;
}

std::optional<InputError> ResolveDue(const DueFields& fields, int64_t now_ms,
                                     const InputLimits& limits,
                                     int64_t* due_ms) {
  *due_ms = kDueNow;
  if (fields.delay) {
    const absl::StatusOr<int64_t> delay_ms = ParseDuration(*fields.delay);
    if (!delay_ms.ok()) {
      return Error("delay", MessageOf(delay_ms.status()), kDurationExpected);
    }
    return DueAfter("delay", Quoted(*fields.delay), *delay_ms, now_ms, limits,
                    due_ms);
  }
  if (fields.delay_ms) {
    if (*fields.delay_ms < 0) {
      return Error("delay_ms", Concat(*fields.delay_ms, " is negative"),
                   "a whole number of milliseconds, 0 or more");
    }
    return DueAfter("delay_ms", Concat(*fields.delay_ms), *fields.delay_ms,
                    now_ms, limits, due_ms);
  }
  if (fields.deliver_at) {
    const absl::StatusOr<int64_t> at_ms = ParseTimestamp(*fields.deliver_at);
    if (!at_ms.ok()) {
      return Error("deliver_at", MessageOf(at_ms.status()), kTimestampExpected);
    }
    return DueAt(*fields.deliver_at, *at_ms, now_ms, limits, due_ms);
  }
  return std::nullopt;
}

std::optional<InputError> CheckLimits(const Message& message,
                                      const InputLimits& limits) {
  if (message.topic.empty()) {
    return Error("topic", "is empty", "a name of 1 to 255 bytes");
  }
  if (message.topic.size() > kTopicBytesMax) {
    return TooLong("topic", message.topic.size(), kTopicBytesMax);
  }
  if (message.id.size() > kIdBytesMax) {
    return TooLong("id", message.id.size(), kIdBytesMax);
  }
  if (message.body.size() > limits.body_bytes_max) {
    return TooLong("body", message.body.size(), limits.body_bytes_max,
                   " (--body-bytes-max)");
  }
  const size_t bytes = PropertiesBytes(message);
  if (bytes > limits.properties_bytes_max) {
    return TooLong("tag, keys and properties", bytes,
                   limits.properties_bytes_max, " (--properties-bytes-max)");
  }
  return std::nullopt;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void AppendReadyLine(const ReadyMessage& ready, std::string* out) {
  JsonObject object(out);
  object.Text("id", ready.message.id).Text("topic", ready.message.topic);
  AppendBody(ready.message.body, &object, out);
  object.Int("due_ms", DueMs(ready.message));
  object.Int("delivered_ms", ready.delivered_ms);
  AppendExtras(ready.message, &object, out);
  object.End();
  out->push_back('\n');
}

void AppendPendingLine(const PendingMessage& pending, std::string* out) {
  JsonObject object(out);
  object.Text("id", pending.message.id).Text("topic", pending.message.topic);
  AppendBody(pending.message.body, &object, out);
  object.Int("due_ms", DueMs(pending.message));
  object.Int("stored_ms", pending.message.stored_ms);
  object.Text("handle", pending.handle.ToString());
  AppendExtras(pending.message, &object, out);
  object.End();
  out->push_back('\n');
}

std::optional<std::string> AppendExportLine(const Message& message,
                                            std::string* out) {
  if (const auto field = NotUtf8(message)) {
    return Concat(*field, " is not UTF-8, which JSON cannot write");
  }
  JsonObject object(out);
  object.Text("id", message.id).Text("topic", message.topic);
  AppendBody(message.body, &object, out);
  object.Text("deliver_at", FormatTimestamp(DueMs(message)));
  AppendExtras(message, &object, out);
  object.End();
  out->push_back('\n');
  return std::nullopt;
}

void AppendAckLine(const PutResult& put, std::string* out) {
  JsonObject object(out);
  object.Text("id", put.id);
  if (put.handle.IsNone()) {
    object.Null("handle");  // was due at once: nothing to cancel
  } else {
    object.Text("handle", put.handle.ToString());
  }
  object.End();
  out->push_back('\n');
}

}  // namespace hourglass
