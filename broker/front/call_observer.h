// File: call_observer.h
//
// Who looks on: told which clients come and go and which calls are refused,
// whatever part of the front refused them. gRPC's interceptors see each answer
// as it leaves, so no call needs to know of it.
//
//   config.observer = &observer;      // FrontServerConfig
//
// What is an answer is no refusal: a receive that found nothing, a recall that
// came too late.
//
// Ownership: outlives the server. Threads: gRPC's; must not block.
//
// Serves promise 5: what was refused can be seen at the server, too.
#ifndef HOURGLASS_BROKER_FRONT_CALL_OBSERVER_H_
#define HOURGLASS_BROKER_FRONT_CALL_OBSERVER_H_

#include <memory>
#include <string>
#include <string_view>

namespace grpc {
class ServerBuilder;
}  // namespace grpc

namespace hourglass {

struct CallOrigin {
  std::string client_id;
  std::string peer;  // "ipv4:127.0.0.1:4711"
  std::string language, version;
};

class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // A Telemetry stream began, or ended.
  virtual void OnConnected(const CallOrigin& origin) = 0;
  virtual void OnGone(const CallOrigin& origin) = 0;
  // `call`: "SendMessage"; `code`: the protocol's name.
  virtual void OnRefused(const CallOrigin& origin, std::string_view call,
                         std::string_view code, std::string_view why) = 0;
};

// Before the server is built.
void ObserveCalls(grpc::ServerBuilder* builder, CallObserver* observer);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_CALL_OBSERVER_H_
