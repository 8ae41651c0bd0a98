// File: proto.h
//
// The protocol's messages under a short name: `proto::Message` is what
// proto/messages.proto says.
//
// Serves promise 5: one place that knows where the generated code is.
#ifndef HOURGLASS_BROKER_FRONT_PROTO_H_
#define HOURGLASS_BROKER_FRONT_PROTO_H_

#include "service.pb.h"

namespace hourglass {

namespace proto = apache::rocketmq::v2;

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_PROTO_H_
