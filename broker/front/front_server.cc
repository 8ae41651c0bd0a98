#include "broker/front/front_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "broker/front/front_service.h"
#include "broker/front/listener.h"
#include "broker/front/settings.h"
#include "broker/front/topics.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

// Some clients ping an idle connection every few minutes, some more often.
constexpr int kClientPingMsMin = 5000;
// So often a silent connection is asked whether it is still there.
constexpr int kServerPingMs = 60'000;
constexpr int kServerPingPatienceMs = 20'000;

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(
    const Certificate& certificate) {
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {certificate.key_pem, certificate.chain_pem});
  return grpc::SslServerCredentials(options);
}

std::function<void(int)> HandTo(Acceptor* acceptor) {
  if (acceptor == nullptr) return nullptr;
  return [acceptor](int fd) {
    Acceptor::NewConnectionParameters connection;
    connection.fd = fd;
    acceptor->HandleNewConnection(&connection);
  };
}

GroupOptions WithDefaults(GroupOptions options) {
  if (options.backoff_ms.empty()) options.backoff_ms = RetryWaitsMs();
  return options;
}

class FrontServerImpl final : public FrontServer {
 public:
  FrontServerImpl(DelayStore* store, Clock* clock,
                  const FrontServerConfig& config)
      : store_(store), clock_(clock), config_(config), topics_(config.topics) {}
  ~FrontServerImpl() override { Stop(); }

  absl::Status Start() {
    RETURN_IF_ERROR(config_.options.Validate());
    if (config_.topics == nullptr) {
      ASSIGN_OR_RETURN(topics_, Topics::From(config_.options));
    }
    groups_ = std::make_unique<ConsumerGroups>(store_, clock_,
                                               WithDefaults(config_.groups));
    FrontParts parts{store_,         groups_.get(), clock_,      &topics_,
                     config_.access, config_.host,  config_.port};
    service_ = std::make_unique<FrontService>(parts, config_.options);
    if (config_.file_system != nullptr) {
      restored_ =
          service_->RestoreSends(config_.file_system, config_.store_dir);
    }
    RETURN_IF_ERROR(StartServer());
    ListenerHooks hooks;
    hooks.tls = HandTo(tls_.get());
    hooks.plaintext = HandTo(plaintext_.get());
    ASSIGN_OR_RETURN(
        listener_, Listener::Start(config_.host, config_.port, std::move(hooks),
                                   config_.options, clock_));
    return absl::OkStatus();
  }

  int port() const override { return listener_->port(); }
  const absl::Status& restored() const override { return restored_; }
  std::vector<GroupState> Groups() override { return groups_->List(); }

  // In this order: no new connections; waiting calls are answered; what is
  // under way may end for a while; then nothing calls groups and store.
  void Stop() override {
    if (listener_ != nullptr) listener_->Stop();
    if (service_ != nullptr) service_->Stop();
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(config_.options.drain_ms));
      server_->Wait();
    }
    server_.reset();
    groups_.reset();
    service_.reset();
  }

 private:
  absl::Status StartServer() {
    grpc::ServerBuilder builder;
    Limit(&builder);
    using From = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    if (config_.plaintext) {
      plaintext_ = builder.experimental().AddExternalConnectionAcceptor(
          From::FROM_FD, grpc::InsecureServerCredentials());
    }
    if (config_.certificate.has_value()) {
      tls_ = builder.experimental().AddExternalConnectionAcceptor(
          From::FROM_FD, TlsCredentials(*config_.certificate));
    }
    builder.RegisterService(service_.get());
    if (config_.observer != nullptr) ObserveCalls(&builder, config_.observer);
    server_ = builder.BuildAndStart();
    if (server_ != nullptr) return absl::OkStatus();
    return absl::UnavailableError(
        "the gRPC server does not start; expected its reason on stderr");
  }

  void Limit(grpc::ServerBuilder* builder) const {
    const FrontOptions& options = config_.options;
    builder->SetMaxReceiveMessageSize(
        static_cast<int>(options.request_bytes_max));
    builder->SetMaxSendMessageSize(-1);
    grpc::ResourceQuota quota("hourglass");
    quota.Resize(options.requests_bytes_max);
    builder->SetResourceQuota(quota);
    builder->AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
        kClientPingMsMin);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kServerPingMs);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                                kServerPingPatienceMs);
  }

  DelayStore* const store_;
  Clock* const clock_;
  const FrontServerConfig config_;
  Topics topics_;
  absl::Status restored_;
  std::unique_ptr<ConsumerGroups> groups_;
  std::unique_ptr<FrontService> service_;
  std::unique_ptr<Acceptor> tls_, plaintext_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrontServer>> FrontServer::Start(
    DelayStore* store, Clock* clock, const FrontServerConfig& config) {
  auto server = std::make_unique<FrontServerImpl>(store, clock, config);
  RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace hourglass
