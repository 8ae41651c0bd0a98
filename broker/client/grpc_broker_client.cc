// ConnectBroker of broker_client.h, over gRPC's callback interface: the caller
// waits here, so that it notices a stop and each call has its deadline.
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "broker/client/broker_client.h"
#include "broker/client/message_wire.h"
#include "broker/client/request_signature.h"
#include "broker/front/proto.h"
#include "broker/front/proto_time.h"
#include "broker/text/duration.h"
#include "broker/text/text.h"
#include "service.grpc.pb.h"
#include "storage/mutex.h"
#include "storage/random.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

using Stub = proto::MessagingService::Stub;

// How long a stop may go unnoticed.
constexpr int64_t kLookMs = 50;
// How soon a broker that was away is asked again.
constexpr int kReconnectMsMax = 1000;

// What a call waits for.
class Ending {
 public:
  void Set(grpc::Status status) {
    MutexLock lock(&mu_);
    status_ = std::move(status);
    ended_.SignalAll();
  }
  // Cancels the call when `stop` says so, and then waits for its end.
  grpc::Status Wait(grpc::ClientContext* context,
                    const std::function<bool()>& stop) {
    MutexLock lock(&mu_);
    bool cancelled = false;
    while (!status_.has_value()) {
      ended_.WaitForMs(&mu_, kLookMs);
      if (status_.has_value() || cancelled || stop == nullptr || !stop()) {
        continue;
      }
      cancelled = true;
      context->TryCancel();
    }
    return *std::move(status_);
  }

 private:
  Mutex mu_;
  CondVar ended_;
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mu_);
};

// Collects the frames of one ReceiveMessage. Deleted by the caller, which
// waits for the end.
class Frames final
    : public grpc::ClientReadReactor<proto::ReceiveMessageResponse> {
 public:
  void Start() {
    StartRead(&frame_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (frame_.has_status()) status_ = frame_.status();
    if (frame_.has_message()) messages_.push_back(FromWire(frame_.message()));
    // The time comes last.
    complete_ = frame_.has_delivery_timestamp();
    StartRead(&frame_);
  }
  void OnDone(const grpc::Status& status) override { ending_.Set(status); }

  grpc::Status Wait(grpc::ClientContext* context,
                    const std::function<bool()>& stop) {
    return ending_.Wait(context, stop);
  }
  // Only after Wait.
  bool complete() const { return complete_; }
  const proto::Status& status() const { return status_; }
  std::vector<IncomingMessage>& messages() { return messages_; }

 private:
  proto::ReceiveMessageResponse frame_;
  proto::Status status_;
  std::vector<IncomingMessage> messages_;
  bool complete_ = false;
  Ending ending_;
};

Refusal ToRefusal(const proto::Status& status) {
  return {status.code(), status.message()};
}

absl::Status NoEntries() {
  return absl::InternalError(
      "the broker's answer lacks entries: is it one for this protocol?");
}

class GrpcBrokerClient final : public BrokerClient {
 public:
  explicit GrpcBrokerClient(const BrokerClientOptions& options)
      : options_(options),
        client_id_(absl::StrCat("hourglass-",
                                absl::Hex(SystemEntropy(), absl::kZeroPad16))),
        stub_(proto::MessagingService::NewStub(MakeChannel(options))) {}

  absl::StatusOr<std::vector<SendAnswer>> Send(
      absl::Span<const OutgoingMessage> messages) override {
    proto::SendMessageRequest request;
    const int64_t now_ms = options_.clock->NowMs();
    for (const OutgoingMessage& message : messages) {
      *request.add_messages() = ToWire(message, now_ms);
    }
    proto::SendMessageResponse response;
    RETURN_IF_ERROR(
        Call([&](Stub::async_interface* stub, auto* context, auto done) {
          stub->SendMessage(context, &request, &response, std::move(done));
        }));
    std::vector<SendAnswer> answers;
    for (size_t i = 0; i < messages.size(); ++i) {
      const int at = static_cast<int>(i);
      SendAnswer answer{ToRefusal(response.status()), messages[i].message.id,
                        ""};
      if (at < response.entries_size()) {
        answer.refusal = ToRefusal(response.entries(at).status());
        answer.recall_handle = response.entries(at).recall_handle();
      } else if (answer.refusal.ok()) {
        return NoEntries();
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  absl::StatusOr<ReceiveAnswer> Receive(const ReceiveQuery& query) override {
    RETURN_IF_ERROR(Introduce(query));
    proto::ReceiveMessageRequest request;
    request.mutable_group()->set_name(query.group);
    request.mutable_message_queue()->mutable_topic()->set_name(query.topic);
    request.mutable_filter_expression()->set_type(proto::TAG);
    request.mutable_filter_expression()->set_expression(query.filter);
    request.set_batch_size(query.count_max);
    *request.mutable_invisible_duration() = DurationOfMs(query.invisible_ms);
    *request.mutable_long_polling_timeout() = DurationOfMs(query.wait_ms);
    grpc::ClientContext context;
    Prepare(&context, options_.timeout_ms + query.wait_ms);
    Frames frames;
    stub_->async()->ReceiveMessage(&context, &request, &frames);
    frames.Start();
    const grpc::Status ended = frames.Wait(&context, query.stop);
    if (!frames.complete()) {
      if (ended.error_code() == grpc::StatusCode::CANCELLED && query.stop()) {
        return ReceiveAnswer();
      }
      introduced_.clear();
      return Failed(ended);
    }
    ReceiveAnswer answer{ToRefusal(frames.status()),
                         std::move(frames.messages())};
    if (frames.status().code() == proto::MESSAGE_NOT_FOUND) answer.refusal = {};
    return answer;
  }

  absl::StatusOr<std::vector<Refusal>> Ack(
      const std::string& topic, const std::string& group,
      absl::Span<const IncomingMessage> messages) override {
    proto::AckMessageRequest request;
    request.mutable_topic()->set_name(topic);
    request.mutable_group()->set_name(group);
    for (const IncomingMessage& message : messages) {
      auto* const entry = request.add_entries();
      entry->set_message_id(message.message.id);
      entry->set_receipt_handle(message.receipt);
    }
    proto::AckMessageResponse response;
    RETURN_IF_ERROR(
        Call([&](Stub::async_interface* stub, auto* context, auto done) {
          stub->AckMessage(context, &request, &response, std::move(done));
        }));
    std::vector<Refusal> answers;
    for (int i = 0; i < static_cast<int>(messages.size()); ++i) {
      const bool has = i < response.entries_size();
      if (!has && response.status().code() == proto::OK) return NoEntries();
      answers.push_back(
          ToRefusal(has ? response.entries(i).status() : response.status()));
    }
    return answers;
  }

  absl::StatusOr<Refusal> Recall(const std::string& topic,
                                 const std::string& handle) override {
    proto::RecallMessageRequest request;
    request.mutable_topic()->set_name(topic);
    request.set_recall_handle(handle);
    proto::RecallMessageResponse response;
    RETURN_IF_ERROR(
        Call([&](Stub::async_interface* stub, auto* context, auto done) {
          stub->RecallMessage(context, &request, &response, std::move(done));
        }));
    return ToRefusal(response.status());
  }

 private:
  static std::shared_ptr<grpc::Channel> MakeChannel(
      const BrokerClientOptions& options) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    std::shared_ptr<grpc::ChannelCredentials> credentials =
        grpc::InsecureChannelCredentials();
    if (options.tls) {
      grpc::SslCredentialsOptions tls;
      tls.pem_root_certs = options.ca_pem;
      credentials = grpc::SslCredentials(tls);
    }
    return grpc::CreateCustomChannel(options.endpoint, credentials, arguments);
  }

  void Prepare(grpc::ClientContext* context, int64_t patience_ms) const {
    context->set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_millis(patience_ms, GPR_TIMESPAN)));
    context->AddMetadata("x-mq-client-id", client_id_);
    context->AddMetadata("x-mq-language", "CPP");
    context->AddMetadata("x-mq-protocol", "v2");
    if (options_.access_key.empty()) return;
    const std::string date = SignatureDate(options_.clock->NowMs());
    context->AddMetadata("x-mq-date-time", date);
    context->AddMetadata("authorization", SignRequest(options_.access_key,
                                                      options_.secret, date));
  }

  // Calls that change something are not cancelled by a stop: their deadline
  // is near, and their answer is worth knowing.
  template <typename Start>
  absl::Status Call(Start start) {
    grpc::ClientContext context;
    Prepare(&context, options_.timeout_ms);
    Ending ending;
    start(stub_->async(), &context,
          [&ending](grpc::Status status) { ending.Set(std::move(status)); });
    return Failed(ending.Wait(&context, nullptr));
  }

  // A group keeps the order of message groups once a simple consumer has said
  // that it is one.
  absl::Status Introduce(const ReceiveQuery& query) {
    if (introduced_ == query.group) return absl::OkStatus();
    proto::TelemetryCommand command;
    proto::Settings* const settings = command.mutable_settings();
    settings->set_client_type(proto::SIMPLE_CONSUMER);
    settings->mutable_user_agent()->set_language(proto::CPP);
    proto::Subscription* const wanted = settings->mutable_subscription();
    wanted->mutable_group()->set_name(query.group);
    *wanted->mutable_long_polling_timeout() = DurationOfMs(query.wait_ms);
    auto* const entry = wanted->add_subscriptions();
    entry->mutable_topic()->set_name(query.topic);
    entry->mutable_expression()->set_type(proto::TAG);
    entry->mutable_expression()->set_expression(query.filter);
    grpc::ClientContext context;
    Prepare(&context, options_.timeout_ms);
    const auto stream = stub_->Telemetry(&context);
    proto::TelemetryCommand answer;
    const bool answered = stream->Write(command) && stream->Read(&answer);
    if (answered) {
      introduced_ = query.group;
      context.TryCancel();
      stream->Finish();
      const Refusal refusal = ToRefusal(answer.status());
      if (!answer.has_status() || refusal.ok()) return absl::OkStatus();
      return absl::FailedPreconditionError(refusal.text);
    }
    return Failed(stream->Finish());
  }

  absl::Status Failed(const grpc::Status& status) const {
    if (status.ok()) return absl::OkStatus();
    const std::string& text = status.error_message();
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
        return absl::UnavailableError(Concat(
            "no broker answers at ", options_.endpoint, " (", text,
            "); start one with `hourglass serve --data DIR`, or say where it "
            "is with --endpoint",
            options_.tls ? "" : "; --tls if it takes TLS only"));
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return absl::DeadlineExceededError(
            Concat("no answer from ", options_.endpoint, " in ",
                   FormatDuration(options_.timeout_ms), " (--timeout)"));
      case grpc::StatusCode::CANCELLED:
        return absl::CancelledError("the call was ended");
      default:
        return absl::InternalError(Concat(options_.endpoint, ": ", text));
    }
  }

  const BrokerClientOptions options_;
  const std::string client_id_;
  const std::unique_ptr<Stub> stub_;
  std::string introduced_;  // to this group's broker
};

}  // namespace

absl::StatusOr<std::unique_ptr<BrokerClient>> ConnectBroker(
    const BrokerClientOptions& options) {
  // What it would say is in the status of the call, too.
  gpr_set_log_function([](gpr_log_func_args*) {});
  return std::make_unique<GrpcBrokerClient>(options);
}

}  // namespace hourglass
