#include "broker/front/call_observer.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <optional>
#include <utility>
#include <vector>

#include "broker/front/proto.h"

namespace hourglass {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

using StatusOf = const proto::Status* (*)(const void* response);

template <typename Response>
const proto::Status* InResponse(const void* response) {
  return &static_cast<const Response*>(response)->status();
}
// A frame of a stream need not have one.
template <typename Response>
const proto::Status* InFrame(const void* response) {
  const auto* const frame = static_cast<const Response*>(response);
  return frame->has_status() ? &frame->status() : nullptr;
}

struct KnownCall {
  std::string_view name;
  StatusOf status;
};
constexpr std::string_view kTelemetry = "Telemetry";
constexpr KnownCall kCalls[] = {
    {"QueryRoute", &InResponse<proto::QueryRouteResponse>},
    {"QueryAssignment", &InResponse<proto::QueryAssignmentResponse>},
    {"Heartbeat", &InResponse<proto::HeartbeatResponse>},
    {"SendMessage", &InResponse<proto::SendMessageResponse>},
    {"RecallMessage", &InResponse<proto::RecallMessageResponse>},
    {"ReceiveMessage", &InFrame<proto::ReceiveMessageResponse>},
    {"AckMessage", &InResponse<proto::AckMessageResponse>},
    {"ChangeInvisibleDuration",
     &InResponse<proto::ChangeInvisibleDurationResponse>},
    {"ForwardMessageToDeadLetterQueue",
     &InResponse<proto::ForwardMessageToDeadLetterQueueResponse>},
    {"EndTransaction", &InResponse<proto::EndTransactionResponse>},
    {"NotifyClientTermination",
     &InResponse<proto::NotifyClientTerminationResponse>},
    {kTelemetry, &InFrame<proto::TelemetryCommand>},
};

const KnownCall* CallOf(std::string_view method) {
  const std::string_view name = method.substr(method.rfind('/') + 1);
  for (const KnownCall& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

// Answers rather than refusals.
bool IsAnswer(std::string_view call, proto::Code code) {
  switch (code) {
    case proto::CODE_UNSPECIFIED:
    case proto::OK:
    case proto::MULTIPLE_RESULTS:
      return true;
    case proto::NOT_FOUND:
    case proto::MESSAGE_NOT_FOUND:
      return call == "ReceiveMessage" || call == "RecallMessage";
    default:
      return false;
  }
}

std::string Header(const grpc::ServerContextBase& context, const char* name) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(name);
  if (found == headers.end()) return "";
  return std::string(found->second.data(), found->second.length());
}

CallOrigin OriginOf(const grpc::ServerContextBase& context) {
  return {Header(context, "x-mq-client-id"), context.peer(),
          Header(context, "x-mq-language"),
          Header(context, "x-mq-client-version")};
}

class Watch final : public Interceptor {
 public:
  Watch(ServerRpcInfo* info, const KnownCall* call, CallObserver* observer)
      : info_(info), call_(call), observer_(observer) {}
  ~Watch() override {
    if (connected_.has_value()) observer_->OnGone(*connected_);
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    using enum InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(POST_RECV_INITIAL_METADATA)) {
      Begin();
    }
    if (methods->QueryInterceptionHookPoint(PRE_SEND_MESSAGE)) {
      Look(methods->GetSendMessage());
    }
    methods->Proceed();
  }

 private:
  void Begin() {
    if (call_->name != kTelemetry) return;
    connected_ = OriginOf(*info_->server_context());
    observer_->OnConnected(*connected_);
  }
  void Look(const void* response) {
    const proto::Status* const status =
        response == nullptr ? nullptr : call_->status(response);
    if (status == nullptr || IsAnswer(call_->name, status->code())) return;
    observer_->OnRefused(OriginOf(*info_->server_context()), call_->name,
                         proto::Code_Name(status->code()), status->message());
  }

  ServerRpcInfo* const info_;
  const KnownCall* const call_;
  CallObserver* const observer_;
  std::optional<CallOrigin> connected_;
};

class Factory final : public ServerInterceptorFactoryInterface {
 public:
  explicit Factory(CallObserver* observer) : observer_(observer) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    const KnownCall* const call = CallOf(info->method());
    return call == nullptr ? nullptr : new Watch(info, call, observer_);
  }

 private:
  CallObserver* const observer_;
};

}  // namespace

void ObserveCalls(grpc::ServerBuilder* builder, CallObserver* observer) {
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>(observer));
  builder->experimental().SetInterceptorCreators(std::move(factories));
}

}  // namespace hourglass
