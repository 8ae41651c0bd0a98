// File: caller.h
//
// Who calls: what a client says of itself in the headers of each call.
//
//   const Caller caller = Caller::From(*context);
//   if (caller.client_id.empty()) ...  // CLIENT_ID_REQUIRED
//
// Serves promise 4: an answer goes to the one who asked, in its own dialect.
#ifndef HOURGLASS_BROKER_FRONT_CALLER_H_
#define HOURGLASS_BROKER_FRONT_CALLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "broker/access/user.h"
#include "broker/front/signature.h"

namespace grpc {
class CallbackServerContext;
}  // namespace grpc

namespace hourglass {

// Whose client library it is: they differ in what they need to be told.
enum class Dialect { kOther, kJava, kGo, kPython, kNode };
// Of the header x-mq-language; Node's says "HTTP".
Dialect DialectOf(std::string_view language);

struct Caller {
  std::string client_id;
  Dialect dialect = Dialect::kOther;
  std::string version;
  std::string peer;  // "ipv4:127.0.0.1:4711"
  // UNAUTHENTICATED if there is no authorization header that can be read.
  absl::StatusOr<Signature> signature;
  // Set by the gate, if the server knows its users.
  std::shared_ptr<const User> user;
  // What is left of the caller's patience; none: it waits for ever.
  std::optional<int64_t> remaining_ms;

  static Caller From(const grpc::CallbackServerContext& context);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_CALLER_H_
