#include "broker/front/message_form.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "broker/front/digest.h"
#include "broker/front/proto_time.h"
#include "storage/text.h"

namespace hourglass {
namespace {

int64_t NumberOf(std::string_view text, int64_t otherwise) {
  int64_t number = 0;
  return absl::SimpleAtoi(ToAbsl(text), &number) ? number : otherwise;
}

// The kinds and encodings that were stored are the protocol's own.
template <typename Enum>
Enum EnumOf(std::string_view text, Enum otherwise) {
  return static_cast<Enum>(NumberOf(text, otherwise));
}

void SetDigest(proto::SystemProperties* system, std::string_view body) {
  // The one digest that all clients compute alike.
  system->mutable_body_digest()->set_type(proto::MD5);
  system->mutable_body_digest()->set_checksum(Md5Hex(body));
}

void SetApplicationPart(const Message& message, proto::Message* out) {
  proto::SystemProperties* const system = out->mutable_system_properties();
  if (!message.tag.empty()) system->set_tag(message.tag);
  for (const std::string& key : message.keys) system->add_keys(key);
  for (const auto& [name, value] : message.properties) {
    if (name.starts_with(kOwnPrefix)) continue;
    (*out->mutable_user_properties())[name] = value;
  }
  out->set_body(message.body);
}

void SetSystemPart(const Message& message, proto::SystemProperties* system) {
  system->set_message_id(message.id);
  SetDigest(system, message.body);
  system->set_body_encoding(
      EnumOf(PropertyOf(message, kEncodingProperty), proto::IDENTITY));
  const auto kind = EnumOf(PropertyOf(message, kTypeProperty), proto::NORMAL);
  system->set_message_type(kind);
  const int64_t born_ms =
      NumberOf(PropertyOf(message, kBornMsProperty), message.stored_ms);
  *system->mutable_born_timestamp() = TimestampOfMs(born_ms);
  system->set_born_host(std::string(PropertyOf(message, kBornHostProperty)));
  *system->mutable_store_timestamp() = TimestampOfMs(message.stored_ms);
  if (message.due_ms != kDueNow) {
    *system->mutable_delivery_timestamp() = TimestampOfMs(message.due_ms);
  }
  const std::string_view group = PropertyOf(message, kMessageGroupProperty);
  if (!group.empty()) system->set_message_group(std::string(group));
  const std::string_view trace = PropertyOf(message, kTraceProperty);
  if (!trace.empty()) system->set_trace_context(std::string(trace));
}

}  // namespace

proto::MessageType KindOf(const proto::Message& message) {
  const proto::SystemProperties& system = message.system_properties();
  if (system.message_type() == proto::TRANSACTION) return proto::TRANSACTION;
  if (system.has_delivery_timestamp()) return proto::DELAY;
  if (system.has_message_group()) return proto::FIFO;
  return proto::NORMAL;
}

std::string_view PropertyOf(const Message& message, std::string_view name) {
  for (const auto& [key, value] : message.properties) {
    if (key == name) return value;
  }
  return "";
}

StoredForm::StoredForm(const proto::Message& message, std::string_view topic) {
  const proto::SystemProperties& system = message.system_properties();
  view_.topic = topic;
  view_.id = system.message_id();
  view_.tag = system.tag();
  view_.keys.assign(system.keys().begin(), system.keys().end());
  view_.body = message.body();
  if (system.has_delivery_timestamp()) {
    // Any past time is "now", but the consumer is told the one that was asked.
    view_.due_ms = std::max<int64_t>(1, MsOf(system.delivery_timestamp()));
  }
  for (const auto& [name, value] : message.user_properties()) {
    view_.properties.emplace_back(name, value);
  }
  if (system.has_message_group()) {
    view_.properties.emplace_back(kMessageGroupProperty,
                                  system.message_group());
  }
  const proto::MessageType kind = KindOf(message);
  if (kind != proto::NORMAL) {
    AddProperty(kTypeProperty, absl::StrCat(static_cast<int>(kind)));
  }
  if (system.body_encoding() == proto::GZIP) {
    AddProperty(kEncodingProperty, absl::StrCat(static_cast<int>(proto::GZIP)));
  }
  if (system.has_born_timestamp()) {
    AddProperty(kBornMsProperty, absl::StrCat(MsOf(system.born_timestamp())));
  }
  if (!system.born_host().empty()) {
    view_.properties.emplace_back(kBornHostProperty, system.born_host());
  }
  if (!system.trace_context().empty()) {
    view_.properties.emplace_back(kTraceProperty, system.trace_context());
  }
}

void StoredForm::AddProperty(std::string_view name, std::string value) {
  texts_.push_back(std::move(value));
  view_.properties.emplace_back(name, texts_.back());
}

proto::Message ToProto(const Message& message, const proto::Resource& topic) {
  proto::Message out;
  *out.mutable_topic() = topic;
  SetApplicationPart(message, &out);
  SetSystemPart(message, out.mutable_system_properties());
  return out;
}

proto::Message ToProto(const Lease& lease, const Received& received) {
  proto::Message out = ToProto(lease.message.message, *received.topic);
  proto::SystemProperties* const system = out.mutable_system_properties();
  system->set_store_host(std::string(received.store_host));
  system->set_receipt_handle(lease.receipt);
  system->set_queue_id(0);
  system->set_queue_offset(static_cast<int64_t>(lease.message.index.value()));
  *system->mutable_invisible_duration() = DurationOfMs(received.invisible_ms);
  system->set_delivery_attempt(lease.attempt);
  return out;
}

}  // namespace hourglass
