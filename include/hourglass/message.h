// File: message.h
//
// A message as hosts see it: `MessageView` points at bytes that somebody
// else owns (what `Put` takes, what a batch hands out), `Message` owns them.
// `Handle` names one delayed message for Cancel, Reschedule and DeliverNow.
//
// Serves promise 4: the handle that a cancel is answered by.
#ifndef HOURGLASS_MESSAGE_H_
#define HOURGLASS_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hourglass/types.h"

namespace hourglass {

// Due at once: a message that is not delayed.
inline constexpr int64_t kDueNow = 0;

struct MessageView {
  std::string_view topic;  // 1..255 bytes
  std::string_view id;     // up to 255 bytes; empty: the store makes one
  std::string_view tag;
  std::vector<std::string_view> keys;
  std::vector<std::pair<std::string_view, std::string_view>> properties;
  std::string_view body;
  int64_t due_ms = kDueNow;  // UTC ms; kDueNow or the past: deliver at once
  int64_t stored_ms = 0;     // set by the store: when it was put
};

struct Message {
  std::string topic;
  std::string id;
  std::string tag;
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, std::string>> properties;
  std::string body;
  int64_t due_ms = kDueNow;
  int64_t stored_ms = 0;

  // Valid while this message lives and does not change.
  MessageView View() const;
  static Message From(const MessageView& view);
};

// Names one delayed message of one store. Small, comparable, and made into
// text of 32 characters for people and protocols. `seal` binds the other
// fields to the store that made the handle, so a mistyped or foreign handle
// is told apart from one whose message is gone.
struct Handle {
  Hour hour;
  RecordNumber number;  // 0: the message was due at once, nothing to name
  uint32_t ms_into_hour = 0;
  uint32_t id_hash = 0;
  uint32_t seal = 0;

  int64_t due_ms() const { return StartMs(hour) + ms_into_hour; }
  bool IsNone() const { return number == RecordNumber(); }

  // 32 characters of lower-case base32 (RFC 4648 without padding); "-" for
  // none.
  std::string ToString() const;
  // INVALID_ARGUMENT if `text` is not what ToString() makes.
  static absl::StatusOr<Handle> Parse(std::string_view text);

  bool operator==(const Handle&) const = default;
};

}  // namespace hourglass

#endif  // HOURGLASS_MESSAGE_H_
