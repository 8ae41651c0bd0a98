#include "broker/front/route.h"

#include <utility>

#include "broker/front/names.h"

namespace hourglass {
namespace {

constexpr char kBrokerName[] = "hourglass";

proto::AddressScheme SchemeOf(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return proto::IPv6;
  const bool digits =
      host.find_first_not_of("0123456789.") == std::string_view::npos;
  return digits ? proto::IPv4 : proto::DOMAIN_NAME;
}

}  // namespace

Route::Route(const FrontOptions& options, const Topics* topics,
             std::string host, int port)
    : options_(options), topics_(topics) {
  own_.set_scheme(SchemeOf(host));
  proto::Address* const address = own_.add_addresses();
  address->set_host(std::move(host));
  address->set_port(port);
}

Verdict Route::Check(const proto::Resource& topic) const {
  const Verdict named = CheckTopicName(topic, options_);
  return named.ok() ? topics_->CheckExists(StoreName(topic)) : named;
}

proto::MessageQueue Route::Queue(const proto::Resource& topic,
                                 const proto::Endpoints& asked_at,
                                 int id) const {
  proto::MessageQueue queue;
  *queue.mutable_topic() = topic;
  queue.set_id(id);
  queue.set_permission(proto::READ_WRITE);
  queue.mutable_broker()->set_name(kBrokerName);
  queue.mutable_broker()->set_id(0);
  const bool said = asked_at.addresses_size() > 0 &&
                    asked_at.scheme() != proto::ADDRESS_SCHEME_UNSPECIFIED;
  *queue.mutable_broker()->mutable_endpoints() = said ? asked_at : own_;
  const auto kinds = topics_->Find(StoreName(topic));
  if (!kinds.has_value()) return queue;
  for (const proto::MessageType kind : *kinds) {
    queue.add_accept_message_types(kind);
  }
  return queue;
}

void Route::AnswerQuery(const proto::QueryRouteRequest& request,
                        proto::QueryRouteResponse* response) const {
  const Verdict verdict = Check(request.topic());
  *response->mutable_status() = ToProto(verdict);
  if (!verdict.ok()) return;
  *response->add_message_queues() =
      Queue(request.topic(), request.endpoints(), 0);
}

void Route::AnswerAssignment(const proto::QueryAssignmentRequest& request,
                             proto::QueryAssignmentResponse* response) const {
  Verdict verdict = Check(request.topic());
  if (verdict.ok()) verdict = CheckGroupName(request.group(), options_);
  *response->mutable_status() = ToProto(verdict);
  if (!verdict.ok()) return;
  *response->add_assignments()->mutable_message_queue() =
      Queue(request.topic(), request.endpoints(), -1);
}

}  // namespace hourglass
