// File: message_filter.h
//
// What a subscription wants of a topic: by tag, "a || b || c", or "*" for all;
// or by a condition on the message's properties (broker/filter/sql_filter.h).
//
//   ASSIGN_OR_RETURN(MessageFilter filter, MakeFilter(expression));
//   if (filter == nullptr || filter(message)) ...
//
// Serves promise 4: a filter that cannot be had is refused, not ignored.
#ifndef HOURGLASS_BROKER_FRONT_MESSAGE_FILTER_H_
#define HOURGLASS_BROKER_FRONT_MESSAGE_FILTER_H_

#include "absl/status/statusor.h"
#include "broker/front/proto.h"
#include "broker/groups/consumer_groups.h"

namespace hourglass {

// Null: all messages. INVALID_ARGUMENT: ILLEGAL_FILTER_EXPRESSION.
absl::StatusOr<MessageFilter> MakeFilter(
    const proto::FilterExpression& expression);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_MESSAGE_FILTER_H_
