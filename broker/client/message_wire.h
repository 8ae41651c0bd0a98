// File: message_wire.h
//
// A client's messages as the protocol's, and back.
//
//   *request.add_messages() = ToWire(outgoing, clock->NowMs());
//   IncomingMessage message = FromWire(response.message());
//
// Serves promise 2: what was given is what is sent.
#ifndef HOURGLASS_BROKER_CLIENT_MESSAGE_WIRE_H_
#define HOURGLASS_BROKER_CLIENT_MESSAGE_WIRE_H_

#include <cstdint>

#include "broker/client/broker_client.h"
#include "broker/front/proto.h"

namespace hourglass {

proto::Message ToWire(const OutgoingMessage& outgoing, int64_t now_ms);
IncomingMessage FromWire(const proto::Message& wire);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_CLIENT_MESSAGE_WIRE_H_
