#include "hourglass/message.h"

#include <array>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/coding.h"

namespace hourglass {
namespace {

// Five little-endian u32: 160 bits, which are 32 characters of 5 bits with
// nothing left over, so that every text of 32 characters is one bit pattern.
constexpr size_t kHandleBytes = 20;
constexpr size_t kHandleChars = 32;
constexpr std::string_view kNoneText = "-";
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";

using HandleBytes = std::array<char, kHandleBytes>;

std::string ToBase32(const HandleBytes& bytes) {
  std::string text;
  text.reserve(kHandleChars);
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    count += 8;
    for (; count >= 5; count -= 5) text += kAlphabet[bits >> (count - 5) & 31];
  }
  return text;
}

bool FromBase32(std::string_view text, HandleBytes* bytes) {
  if (text.size() != kHandleChars) return false;
  uint32_t bits = 0;
  int count = 0;
  size_t used = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return false;
    bits = bits << 5 | static_cast<uint32_t>(value);
    count += 5;
    if (count < 8) continue;
    count -= 8;
    (*bytes)[used++] = static_cast<char>(bits >> count);
  }
  return true;
}

// Names the text, but never at a length or with bytes that a log would choke
// on: it may come from anybody.
absl::Status NotAHandle(std::string_view text, const char* why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(std::string(text.substr(0, 64))),
                   "\" is not a message handle: ", why));
}

}  // namespace

MessageView Message::View() const {
  MessageView view;
  view.topic = topic;
  view.id = id;
  view.tag = tag;
  view.keys.assign(keys.begin(), keys.end());
  view.properties.assign(properties.begin(), properties.end());
  view.body = body;
  view.due_ms = due_ms;
  view.stored_ms = stored_ms;
  return view;
}

Message Message::From(const MessageView& view) {
  Message message;
  message.topic = view.topic;
  message.id = view.id;
  message.tag = view.tag;
  message.keys.assign(view.keys.begin(), view.keys.end());
  message.properties.assign(view.properties.begin(), view.properties.end());
  message.body = view.body;
  message.due_ms = view.due_ms;
  message.stored_ms = view.stored_ms;
  return message;
}

std::string Handle::ToString() const {
  if (IsNone()) return std::string(kNoneText);
  HandleBytes bytes;
  PutFixed<int32_t>(&bytes[0], hour.value());
  PutFixed<uint32_t>(&bytes[4], number.value());
  PutFixed<uint32_t>(&bytes[8], ms_into_hour);
  PutFixed<uint32_t>(&bytes[12], id_hash);
  PutFixed<uint32_t>(&bytes[16], seal);
  return ToBase32(bytes);
}

absl::StatusOr<Handle> Handle::Parse(std::string_view text) {
  if (text == kNoneText) return Handle();
  HandleBytes bytes;
  if (!FromBase32(text, &bytes)) {
    return NotAHandle(text,
                      "it must be 32 characters of a-z and 2-7, or \"-\"");
  }
  Handle handle;
  handle.hour = Hour(GetFixed<int32_t>(&bytes[0]));
  handle.number = RecordNumber(GetFixed<uint32_t>(&bytes[4]));
  handle.ms_into_hour = GetFixed<uint32_t>(&bytes[8]);
  handle.id_hash = GetFixed<uint32_t>(&bytes[12]);
  handle.seal = GetFixed<uint32_t>(&bytes[16]);
  if (handle.IsNone()) return NotAHandle(text, "its record number is 0");
  if (handle.hour < Hour(0) || handle.ms_into_hour >= kMsPerHour) {
    return NotAHandle(text, "its time does not exist");
  }
  return handle;
}

}  // namespace hourglass
