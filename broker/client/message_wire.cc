#include "broker/client/message_wire.h"

#include <algorithm>

#include "broker/front/proto_time.h"

namespace hourglass {
namespace {

// The server goes by what the message has; other servers by this.
proto::MessageType KindOf(const OutgoingMessage& outgoing) {
  if (outgoing.message.due_ms != kDueNow) return proto::DELAY;
  return outgoing.message_group.empty() ? proto::NORMAL : proto::FIFO;
}

}  // namespace

proto::Message ToWire(const OutgoingMessage& outgoing, int64_t now_ms) {
  const Message& message = outgoing.message;
  proto::Message wire;
  wire.mutable_topic()->set_name(message.topic);
  for (const auto& [name, value] : message.properties) {
    (*wire.mutable_user_properties())[name] = value;
  }
  wire.set_body(message.body);
  proto::SystemProperties* const system = wire.mutable_system_properties();
  system->set_message_id(message.id);
  system->set_message_type(KindOf(outgoing));
  system->set_body_encoding(proto::IDENTITY);
  *system->mutable_born_timestamp() = TimestampOfMs(now_ms);
  if (!message.tag.empty()) system->set_tag(message.tag);
  for (const std::string& key : message.keys) system->add_keys(key);
  if (message.due_ms != kDueNow) {
    *system->mutable_delivery_timestamp() = TimestampOfMs(message.due_ms);
  }
  if (!outgoing.message_group.empty()) {
    system->set_message_group(outgoing.message_group);
  }
  return wire;
}

IncomingMessage FromWire(const proto::Message& wire) {
  const proto::SystemProperties& system = wire.system_properties();
  IncomingMessage incoming;
  Message& message = incoming.message;
  message.topic = wire.topic().name();
  message.id = system.message_id();
  message.tag = system.tag();
  message.keys.assign(system.keys().begin(), system.keys().end());
  message.body = wire.body();
  message.stored_ms = MsOf(system.store_timestamp());
  if (system.has_delivery_timestamp()) {
    message.due_ms = MsOf(system.delivery_timestamp());
  }
  for (const auto& [name, value] : wire.user_properties()) {
    message.properties.emplace_back(name, value);
  }
  // Of a hash map: the same message is to look the same each time.
  std::sort(message.properties.begin(), message.properties.end());
  incoming.message_group = system.message_group();
  if (system.body_encoding() == proto::GZIP) incoming.encoding = "gzip";
  incoming.receipt = system.receipt_handle();
  incoming.attempt = std::max(1, system.delivery_attempt());
  return incoming;
}

}  // namespace hourglass
