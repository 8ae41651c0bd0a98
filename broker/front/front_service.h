// File: front_service.h
//
// The protocol's calls, on gRPC's callback interface: no thread waits for
// anything, so that ten thousand idle polls cost only their memory.
//
//   FrontService service({store, groups, clock, options, topics, host, port});
//   builder.RegisterService(&service);
//   ...
//   service.Stop();      // waiting polls and streams end; later ones at once
//
// Each call is a few lines here: who calls, then the file that knows the rest
// (route.h, sender.h, receive_call.h, recaller.h, transactions.h, ...).
//
// Ownership: store, groups, clock and topics are the caller's and outlive
// this; so does the gRPC server that uses it end before it.
//
// Threads: gRPC's.
//
// Serves promise 4: every call gets an answer with a code and a reason.
#ifndef HOURGLASS_BROKER_FRONT_FRONT_SERVICE_H_
#define HOURGLASS_BROKER_FRONT_FRONT_SERVICE_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "broker/front/clients.h"
#include "broker/front/dedupe_window.h"
#include "broker/front/front_options.h"
#include "broker/front/gate.h"
#include "broker/front/poll_set.h"
#include "broker/front/recaller.h"
#include "broker/front/receive_call.h"
#include "broker/front/route.h"
#include "broker/front/sender.h"
#include "broker/front/telemetry_stream.h"
#include "broker/front/topic_quota.h"
#include "broker/front/topics.h"
#include "broker/front/transactions.h"
#include "broker/groups/consumer_groups.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "hourglass/timers/hashed_wheel.h"
#include "hourglass/timers/timer_driver.h"
#include "service.grpc.pb.h"
#include "storage/mutex.h"

namespace hourglass {

struct FrontParts {
  DelayStore* store = nullptr;
  ConsumerGroups* groups = nullptr;
  Clock* clock = nullptr;
  const Topics* topics = nullptr;
  const AccessControl* access = nullptr;  // null: whoever calls is let in
  // For clients that do not say where they asked.
  std::string host;
  int port = 0;
};

class FrontService final : public proto::MessagingService::CallbackService,
                           public TelemetryHandler {
 public:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  FrontService(const FrontParts& parts, const FrontOptions& options);
  ~FrontService() override;

  // Reads the end of the store's log, so that sends from before the start are
  // known when they are tried again. Before the first call.
  absl::Status RestoreSends(FileSystem* file_system, const Path& store_dir);

  // Ends what waits. gRPC's server is shut down after it.
  void Stop();

  Unary* QueryRoute(Context* context, const proto::QueryRouteRequest* request,
                    proto::QueryRouteResponse* response) override;
  Unary* QueryAssignment(Context* context,
                         const proto::QueryAssignmentRequest* request,
                         proto::QueryAssignmentResponse* response) override;
  Unary* Heartbeat(Context* context, const proto::HeartbeatRequest* request,
                   proto::HeartbeatResponse* response) override;
  Unary* NotifyClientTermination(
      Context* context, const proto::NotifyClientTerminationRequest* request,
      proto::NotifyClientTerminationResponse* response) override;
  Unary* SendMessage(Context* context, const proto::SendMessageRequest* request,
                     proto::SendMessageResponse* response) override;
  Unary* RecallMessage(Context* context,
                       const proto::RecallMessageRequest* request,
                       proto::RecallMessageResponse* response) override;
  Unary* EndTransaction(Context* context,
                        const proto::EndTransactionRequest* request,
                        proto::EndTransactionResponse* response) override;
  Unary* AckMessage(Context* context, const proto::AckMessageRequest* request,
                    proto::AckMessageResponse* response) override;
  Unary* ChangeInvisibleDuration(
      Context* context, const proto::ChangeInvisibleDurationRequest* request,
      proto::ChangeInvisibleDurationResponse* response) override;
  Unary* ForwardMessageToDeadLetterQueue(
      Context* context,
      const proto::ForwardMessageToDeadLetterQueueRequest* request,
      proto::ForwardMessageToDeadLetterQueueResponse* response) override;
  grpc::ServerWriteReactor<proto::ReceiveMessageResponse>* ReceiveMessage(
      Context* context, const proto::ReceiveMessageRequest* request) override;
  grpc::ServerBidiReactor<proto::TelemetryCommand, proto::TelemetryCommand>*
  Telemetry(Context* context) override;

  void OnCommand(const Caller& caller,
                 const std::shared_ptr<ClientStream>& stream,
                 const proto::TelemetryCommand& command) override;
  void OnEnd(const Caller& caller, const ClientStream* stream) override;

  const Clients& clients() const { return clients_; }
  TopicQuota& quota() { return quota_; }
  size_t waiting_polls() const { return polls_.waiting(); }

 private:
  void OnSettings(const Caller& caller,
                  const std::shared_ptr<ClientStream>& stream,
                  const proto::Settings& asked);
  void ConfigureGroup(const proto::Settings& asked);
  void ConfigureIfUnknown(const ReceiveRequest& request);
  void Configure(const std::string& group, bool fifo);
  ReceiveCall::Parts ReceiveParts();
  void ScanTransactions();
  // What a call that is about a receipt needs.
  Verdict CheckConsumer(Context* context, const proto::Resource& topic,
                        const proto::Resource& group) const;
  // The same for one that is about a producer's topic.
  Verdict CheckProducer(Context* context, const proto::Resource& topic,
                        Caller* caller) const;

  const FrontParts parts_;
  const FrontOptions options_;
  const std::string store_host_;
  const Route route_;
  const Gate gate_;
  Clients clients_;
  PollSet polls_;
  DedupeWindow dedupe_;
  TimerDriver<HashedWheel> timers_;
  Transactions transactions_;
  TopicQuota quota_;
  Sender sender_;
  Recaller recaller_;
  std::atomic<bool> stopping_{false};
  std::thread counter_;  // of what waited at the start, if there are quotas
  mutable Mutex configured_mu_;
  // Groups whose settings are known, from Settings or from a receive.
  absl::flat_hash_set<std::string> configured_ ABSL_GUARDED_BY(configured_mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_FRONT_SERVICE_H_
