// File: message_check.h
//
// The limits of a message, checked before it is let in: INVALID_ARGUMENT
// names the field, what it was and what would be right.
//
// Keeps promise 7: limits are checked before anything is stored.
#ifndef HOURGLASS_BROKER_MESSAGE_CHECK_H_
#define HOURGLASS_BROKER_MESSAGE_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "hourglass/message.h"
#include "hourglass/options.h"

namespace hourglass {

absl::Status CheckMessage(const MessageView& message,
                          const StoreOptions& options, int64_t now_ms);
absl::Status CheckDue(int64_t due_ms, const StoreOptions& options,
                      int64_t now_ms);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_MESSAGE_CHECK_H_
