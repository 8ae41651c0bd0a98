// File: ack_call.h
//
// AckMessage: one acknowledgement for each entry, one answer when all are
// durable.
//
//   AckAll(groups, topic, group, request, response, [..] { Finish(); });
//
// Keeps promise 2: an acknowledgement that was answered is durable.
#ifndef HOURGLASS_BROKER_FRONT_ACK_CALL_H_
#define HOURGLASS_BROKER_FRONT_ACK_CALL_H_

#include <string_view>

#include "absl/functional/any_invocable.h"
#include "broker/front/proto.h"
#include "broker/groups/consumer_groups.h"

namespace hourglass {

// `response` lives until `done` has run. Entries are answered one by one;
// above them stands what they agree on, or MULTIPLE_RESULTS.
void AckAll(ConsumerGroups* groups, std::string_view topic,
            std::string_view group, const proto::AckMessageRequest& request,
            proto::AckMessageResponse* response,
            absl::AnyInvocable<void()> done);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_ACK_CALL_H_
