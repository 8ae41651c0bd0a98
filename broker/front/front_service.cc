#include "broker/front/front_service.h"

#include <utility>

#include "broker/front/ack_call.h"
#include "broker/front/message_form.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"
#include "broker/front/receive_terms.h"
#include "broker/front/settings.h"
#include "broker/recent_puts.h"
#include "broker/text.h"

namespace hourglass {
namespace {

// How late a question about a transaction may be.
constexpr int64_t kScanMs = 250;
// A client that hands back with less wants "some time later": it is the group
// that knows how much.
constexpr int64_t kShortestWaitMs = 1000;
// More groups are never in use (groups_max).
constexpr size_t kGroupsKnownMax = 1u << 20;

// The topic that a client named; a half message stands in one of its own.
std::string_view TopicOf(const MessageView& message) {
  if (message.topic != kHalfTopic) return message.topic;
  for (const auto& [name, value] : message.properties) {
    if (name == kHalfTopicProperty) return value;
  }
  return message.topic;
}

// Answers with the verdict and nothing else.
template <typename Response>
grpc::ServerUnaryReactor* End(grpc::CallbackServerContext* context,
                              const Verdict& verdict, Response* response) {
  *response->mutable_status() = ToProto(verdict);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

// For a callback that fills the response before.
absl::AnyInvocable<void()> Finisher(grpc::ServerUnaryReactor* reactor) {
  return [reactor] { reactor->Finish(grpc::Status::OK); };
}

}  // namespace

FrontService::FrontService(const FrontParts& parts, const FrontOptions& options)
    : parts_(parts),
      options_(options),
      store_host_(Concat(parts.host, ":", parts.port)),
      route_(options, parts.topics, parts.host, parts.port),
      gate_(parts.access, parts.clock, options),
      clients_(options.clients_max),
      polls_(parts.groups),
      dedupe_(options.dedupe_window_ms, options.dedupe_entries_max),
      timers_(parts.clock, TimerDriverOptions(), size_t{4096}),
      transactions_(parts.store, parts.clock, options, &clients_),
      quota_(options),
      sender_(parts.store, parts.clock, options, parts.topics, &dedupe_,
              &transactions_, &quota_),
      recaller_(parts.store, options, &quota_) {
  ScanTransactions();
  if (!quota_.on()) return;
  counter_ = std::thread([this, before_ms = parts.clock->NowMs()] {
    // If it cannot be read, what follows is counted all the same; the store
    // says what is wrong with it.
    (void)quota_.AddFound(parts_.store, before_ms, &stopping_);
  });
}

FrontService::~FrontService() {
  stopping_ = true;
  if (counter_.joinable()) counter_.join();
}

void FrontService::Stop() {
  stopping_ = true;
  if (counter_.joinable()) counter_.join();
  timers_.Stop();
  polls_.CancelAll();
  for (const auto& stream : clients_.Streams()) stream->Close();
}

absl::Status FrontService::RestoreSends(FileSystem* file_system,
                                        const Path& store_dir) {
  RecentPutsQuery query;
  query.file_system = file_system;
  query.dir = store_dir;
  query.since_ms = parts_.clock->NowMs() - options_.dedupe_window_ms;
  query.bytes_max = options_.dedupe_restore_bytes_max;
  query.until = parts_.store->Stats().log_durable;
  return ReadRecentPuts(
      query, [this](const MessageView& message, const PutResult& put,
                    int64_t written_ms) {
        dedupe_.Restore(TopicOf(message), message.id, written_ms, put);
      });
}

void FrontService::ScanTransactions() {
  transactions_.Scan();
  (void)timers_.ScheduleAfterMs(kScanMs, [this] { ScanTransactions(); });
}

// --- where things are, who is there ---

FrontService::Unary* FrontService::QueryRoute(
    Context* context, const proto::QueryRouteRequest* request,
    proto::QueryRouteResponse* response) {
  Caller caller = gate_.CallerOf(*context);
  Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) verdict = gate_.CheckRoute(caller, request->topic());
  if (!verdict.ok()) return End(context, verdict, response);
  route_.AnswerQuery(*request, response);
  Unary* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

FrontService::Unary* FrontService::QueryAssignment(
    Context* context, const proto::QueryAssignmentRequest* request,
    proto::QueryAssignmentResponse* response) {
  Caller caller = gate_.CallerOf(*context);
  Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) {
    verdict = gate_.CheckSubscribe(caller, request->topic(), request->group());
  }
  if (!verdict.ok()) return End(context, verdict, response);
  route_.AnswerAssignment(*request, response);
  Unary* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

FrontService::Unary* FrontService::Heartbeat(
    Context* context, const proto::HeartbeatRequest*,
    proto::HeartbeatResponse* response) {
  // Also from clients whose Settings were never seen: after a restart some
  // say them again only minutes later.
  Caller caller = gate_.CallerOf(*context);
  const Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) parts_.groups->ClientAlive(caller.client_id);
  return End(context, verdict, response);
}

FrontService::Unary* FrontService::NotifyClientTermination(
    Context* context, const proto::NotifyClientTerminationRequest*,
    proto::NotifyClientTerminationResponse* response) {
  Caller caller = gate_.CallerOf(*context);
  const Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) {
    parts_.groups->ClientGone(caller.client_id);
    clients_.Forget(caller.client_id);
  }
  return End(context, verdict, response);
}

// --- producers ---

FrontService::Unary* FrontService::SendMessage(
    Context* context, const proto::SendMessageRequest* request,
    proto::SendMessageResponse* response) {
  Caller caller = gate_.CallerOf(*context);
  Verdict verdict = gate_.Admit(&caller);
  // All are of one topic: the sender sees to that.
  if (verdict.ok() && request->messages_size() > 0) {
    verdict = gate_.CheckPublish(caller, request->messages(0).topic());
  }
  if (!verdict.ok()) {
    Sender::RefuseAll(verdict, *request, response);
    return End(context, verdict, response);
  }
  Unary* const reactor = context->DefaultReactor();
  sender_.Send(*request, caller.client_id, response, Finisher(reactor));
  return reactor;
}

Verdict FrontService::CheckProducer(Context* context,
                                    const proto::Resource& topic,
                                    Caller* caller) const {
  *caller = gate_.CallerOf(*context);
  Verdict verdict = gate_.Admit(caller);
  if (verdict.ok()) verdict = CheckTopicName(topic, options_);
  if (verdict.ok()) verdict = gate_.CheckPublish(*caller, topic);
  return verdict;
}

FrontService::Unary* FrontService::RecallMessage(
    Context* context, const proto::RecallMessageRequest* request,
    proto::RecallMessageResponse* response) {
  Caller caller;
  const Verdict verdict = CheckProducer(context, request->topic(), &caller);
  if (!verdict.ok()) return End(context, verdict, response);
  Unary* const reactor = context->DefaultReactor();
  recaller_.Recall(*request, caller.dialect, response, Finisher(reactor));
  return reactor;
}

FrontService::Unary* FrontService::EndTransaction(
    Context* context, const proto::EndTransactionRequest* request,
    proto::EndTransactionResponse* response) {
  Caller caller;
  const Verdict verdict = CheckProducer(context, request->topic(), &caller);
  if (!verdict.ok()) return End(context, verdict, response);
  Unary* const reactor = context->DefaultReactor();
  transactions_.End(*request, response, Finisher(reactor));
  return reactor;
}

// --- consumers ---

ReceiveCall::Parts FrontService::ReceiveParts() {
  return {parts_.groups, &polls_, parts_.clock, store_host_};
}

Verdict FrontService::CheckConsumer(Context* context,
                                    const proto::Resource& topic,
                                    const proto::Resource& group) const {
  Caller caller = gate_.CallerOf(*context);
  Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) verdict = CheckTopicName(topic, options_);
  if (verdict.ok()) verdict = CheckGroupName(group, options_);
  if (verdict.ok()) verdict = gate_.CheckSubscribe(caller, topic, group);
  return verdict;
}

grpc::ServerWriteReactor<proto::ReceiveMessageResponse>*
FrontService::ReceiveMessage(Context* context,
                             const proto::ReceiveMessageRequest* request) {
  Caller caller = gate_.CallerOf(*context);
  const proto::Resource& topic = request->message_queue().topic();
  ReceiveTerms terms;
  Verdict verdict = gate_.Admit(&caller);
  if (verdict.ok()) {
    verdict =
        terms.Read(*request, caller, clients_.LongPollMs(caller.client_id),
                   options_, parts_.clock->NowMs());
  }
  if (verdict.ok()) {
    verdict = gate_.CheckSubscribe(caller, topic, request->group());
  }
  if (verdict.ok()) verdict = parts_.topics->CheckExists(terms.request.topic);
  if (!verdict.ok()) return ReceiveCall::Refuse(verdict, ReceiveParts());
  ConfigureIfUnknown(terms.request);
  parts_.groups->ClientAlive(caller.client_id);
  if (polls_.stopping()) terms.request.poll_until_ms = 0;
  return ReceiveCall::Start(std::move(terms), topic, ReceiveParts());
}

FrontService::Unary* FrontService::AckMessage(
    Context* context, const proto::AckMessageRequest* request,
    proto::AckMessageResponse* response) {
  Verdict verdict = CheckConsumer(context, request->topic(), request->group());
  if (!verdict.ok()) return End(context, verdict, response);
  Unary* const reactor = context->DefaultReactor();
  AckAll(parts_.groups, StoreName(request->topic()),
         StoreName(request->group()), *request, response, Finisher(reactor));
  return reactor;
}

FrontService::Unary* FrontService::ChangeInvisibleDuration(
    Context* context, const proto::ChangeInvisibleDurationRequest* request,
    proto::ChangeInvisibleDurationResponse* response) {
  Verdict verdict = CheckConsumer(context, request->topic(), request->group());
  const int64_t asked_ms = MsOf(request->invisible_duration());
  if (verdict.ok() && asked_ms > options_.invisible_ms_max) {
    verdict = Verdict::Refuse(
        proto::ILLEGAL_INVISIBLE_TIME,
        Concat("invisible duration: ", asked_ms, " ms; expected at most ",
               options_.invisible_ms_max, " (invisible_ms_max)"));
  }
  if (!verdict.ok()) return End(context, verdict, response);
  const int64_t lease_ms = asked_ms < kShortestWaitMs ? 0 : asked_ms;
  Unary* const reactor = context->DefaultReactor();
  parts_.groups->ChangeLease(
      StoreName(request->topic()), StoreName(request->group()),
      request->receipt_handle(), lease_ms,
      [reactor, response](absl::StatusOr<std::string> receipt) {
        *response->mutable_status() =
            ToProto(VerdictOfReceipt(receipt.status()));
        if (receipt.ok()) response->set_receipt_handle(*std::move(receipt));
        reactor->Finish(grpc::Status::OK);
      });
  return reactor;
}

FrontService::Unary* FrontService::ForwardMessageToDeadLetterQueue(
    Context* context,
    const proto::ForwardMessageToDeadLetterQueueRequest* request,
    proto::ForwardMessageToDeadLetterQueueResponse* response) {
  Verdict verdict = CheckConsumer(context, request->topic(), request->group());
  if (!verdict.ok()) return End(context, verdict, response);
  Unary* const reactor = context->DefaultReactor();
  parts_.groups->ToDeadLetter(
      StoreName(request->topic()), StoreName(request->group()),
      request->receipt_handle(), [reactor, response](absl::Status status) {
        *response->mutable_status() = ToProto(VerdictOfReceipt(status));
        reactor->Finish(grpc::Status::OK);
      });
  return reactor;
}

// --- the stream ---

grpc::ServerBidiReactor<proto::TelemetryCommand, proto::TelemetryCommand>*
FrontService::Telemetry(Context* context) {
  return TelemetryStream::Start(gate_.CallerOf(*context), this);
}

void FrontService::OnCommand(const Caller& caller,
                             const std::shared_ptr<ClientStream>& stream,
                             const proto::TelemetryCommand& command) {
  // Each time: the rules may be others than when the stream began.
  Caller now = caller;
  Verdict verdict = gate_.Admit(&now);
  if (verdict.ok() && command.has_settings()) {
    verdict = gate_.CheckSettings(now, command.settings());
  }
  if (!verdict.ok()) {
    proto::TelemetryCommand answer;
    *answer.mutable_status() = ToProto(verdict);
    stream->Send(std::move(answer));
    // Some clients wait for Settings for ever, but not on a stream that ended.
    stream->Close();
    return;
  }
  // What else a client may say answers questions that this server never asks.
  if (command.has_settings()) OnSettings(caller, stream, command.settings());
}

void FrontService::OnSettings(const Caller& caller,
                              const std::shared_ptr<ClientStream>& stream,
                              const proto::Settings& asked) {
  proto::TelemetryCommand answer;
  const Verdict verdict = CheckSettings(asked);
  *answer.mutable_status() = ToProto(verdict);
  if (!verdict.ok()) {
    stream->Send(std::move(answer));
    return;
  }
  *answer.mutable_settings() = AnswerSettings(asked, caller.dialect, options_);
  const bool is_new = clients_.StreamOf(caller.client_id) != stream;
  clients_.Learn(caller.client_id, asked);
  clients_.Attach(caller.client_id, stream);
  parts_.groups->ClientAlive(caller.client_id);
  if (!IsProducer(asked)) ConfigureGroup(asked);
  stream->Send(answer);
  if (!is_new || polls_.stopping()) return;
  (void)timers_.ScheduleAfterMs(
      options_.settings_again_ms,
      [stream, answer = std::move(answer)] { stream->Send(answer); });
}

void FrontService::ConfigureGroup(const proto::Settings& asked) {
  const std::string group = StoreName(asked.subscription().group());
  if (group.empty()) return;
  Configure(group, asked.client_type() == proto::SIMPLE_CONSUMER ||
                       asked.subscription().fifo());
}

// After a restart of the server some clients say their Settings again only
// minutes later, and receive all the same.
void FrontService::ConfigureIfUnknown(const ReceiveRequest& request) {
  {
    MutexLock lock(&configured_mu_);
    if (configured_.contains(request.group)) return;
    if (configured_.size() >= kGroupsKnownMax) return;
  }
  Configure(request.group, !request.auto_renew);
}

// A simple consumer takes what it likes when it likes: message groups keep
// their order by themselves. A push consumer hands a batch to many threads
// unless it is told that the group is FIFO.
void FrontService::Configure(const std::string& group, bool fifo) {
  GroupSettings settings;
  settings.attempts_max = options_.attempts_max;
  settings.backoff_ms = RetryWaitsMs();
  settings.fifo = KeepsOrder(group, fifo, options_);
  parts_.groups->Configure(group, std::move(settings));
  MutexLock lock(&configured_mu_);
  configured_.insert(group);
}

void FrontService::OnEnd(const Caller& caller, const ClientStream* stream) {
  clients_.Detach(caller.client_id, stream);
}

}  // namespace hourglass
