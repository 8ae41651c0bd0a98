// File: recall_handle.h
//
// What a client recalls a delayed message by: the store's handle, a check of
// the topic, and the message's id, in one printable text.
//
//   hg1-<32 characters of the handle>-<8 hex digits>-<message id>
//
// The handle names hour and record, and is sealed by its store, so that a
// mistyped or foreign one is told from one whose message is gone. The check
// covers topic, handle and id: a handle of one topic recalls nothing in
// another.
//
//   const std::string text = RecallHandle{put.handle, put.id}.ToString(topic);
//   const auto handle = RecallHandle::Parse(text, topic);
//
// Keeps promise 4: a recall has one definite answer.
#ifndef HOURGLASS_BROKER_FRONT_RECALL_HANDLE_H_
#define HOURGLASS_BROKER_FRONT_RECALL_HANDLE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hourglass/message.h"

namespace hourglass {

struct RecallHandle {
  Handle handle;
  std::string message_id;

  std::string ToString(std::string_view topic) const;
  // INVALID_ARGUMENT if `text` is none at all, NOT_FOUND if it is none of
  // `topic`.
  static absl::StatusOr<RecallHandle> Parse(std::string_view text,
                                            std::string_view topic);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_RECALL_HANDLE_H_
