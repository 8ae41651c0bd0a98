#include "broker/front/caller.h"

#include <grpc/support/time.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/time.h>

namespace hourglass {
namespace {

// Longer than anybody's patience.
constexpr int64_t kForEverMs = 24LL * 3'600'000;

std::string Header(const grpc::CallbackServerContext& context,
                   const char* name) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(name);
  if (found == headers.end()) return "";
  return std::string(found->second.data(), found->second.length());
}

// By gRPC's own clock, which set the deadline. A client may allow sixty years.
std::optional<int64_t> Remaining(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline =
      gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left =
      gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  if (left.tv_sec >= kForEverMs / 1000) return std::nullopt;
  if (left.tv_sec < 0) return 0;
  return left.tv_sec * 1000 + left.tv_nsec / 1'000'000;
}

}  // namespace

Dialect DialectOf(std::string_view language) {
  if (language == "JAVA") return Dialect::kJava;
  if (language == "GO" || language == "GOLANG") return Dialect::kGo;
  if (language == "PYTHON") return Dialect::kPython;
  if (language == "HTTP" || language == "NODE_JS") return Dialect::kNode;
  return Dialect::kOther;
}

Caller Caller::From(const grpc::CallbackServerContext& context) {
  Caller caller;
  caller.client_id = Header(context, "x-mq-client-id");
  caller.dialect = DialectOf(Header(context, "x-mq-language"));
  caller.version = Header(context, "x-mq-client-version");
  caller.peer = context.peer();
  const std::string authorization = Header(context, "authorization");
  if (authorization.empty()) {
    caller.signature = absl::UnauthenticatedError(
        "no header authorization; this server expects credentials: the key "
        "and the secret of a user");
  } else {
    caller.signature =
        Signature::Parse(authorization, Header(context, "x-mq-date-time"));
  }
  caller.remaining_ms = Remaining(context);
  return caller;
}

}  // namespace hourglass
