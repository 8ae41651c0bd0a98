// File: message_limits.h
//
// What a message in a SendMessage may be, checked before anything is stored.
// Each fault has its own code; the text names the limit.
//
//   const Verdict verdict = CheckMessage(message, options, now_ms);
//
// Serves promise 7: limits are checked before anything is kept.
#ifndef HOURGLASS_BROKER_FRONT_MESSAGE_LIMITS_H_
#define HOURGLASS_BROKER_FRONT_MESSAGE_LIMITS_H_

#include <cstdint>
#include <string_view>

#include "broker/front/front_options.h"
#include "broker/front/verdict.h"

namespace hourglass {

// Names of properties that are the protocol's or ours.
bool IsReservedProperty(std::string_view name);

// Without the topic (names.h, topics.h).
Verdict CheckMessage(const proto::Message& message, const FrontOptions& options,
                     int64_t now_ms);

// ILLEGAL_DELIVERY_TIME. A time that is past is none: it means now.
Verdict CheckDeliveryTime(int64_t due_ms, const FrontOptions& options,
                          int64_t now_ms);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_MESSAGE_LIMITS_H_
