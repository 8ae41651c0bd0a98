// File: message_form.h
//
// The protocol's message as the store's, and back.
//
//   StoredForm stored(message, {.topic = topic, .born_host = caller.peer});
//   store->PutAsync(stored.view(), ...);
//   ...
//   *response.mutable_message() = ToProto(lease, received);
//
// What the protocol has and the store has not is kept among the message's
// properties, under names that begin with "__hg." and that no application may
// use. The message group is under the name that the consumer groups know
// (kMessageGroupProperty). What is the default is not kept.
//
//   __hg.type   kind of message, as the protocol's number; not for NORMAL
//   __hg.code   body encoding, as the protocol's number; not for IDENTITY
//   __hg.born   born_timestamp, UTC milliseconds
//   __hg.host   born_host
//   __hg.trace  trace_context
//   __hg.topic, __hg.client, __hg.checks, __hg.wait, __hg.since
//               of half messages (transactions.h)
//
// Serves promise 2: what was sent is what arrives.
#ifndef HOURGLASS_BROKER_FRONT_MESSAGE_FORM_H_
#define HOURGLASS_BROKER_FRONT_MESSAGE_FORM_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "broker/front/proto.h"
#include "broker/groups/consumer_groups.h"
#include "hourglass/message.h"

namespace hourglass {

inline constexpr std::string_view kOwnPrefix = "__hg.";
inline constexpr std::string_view kTypeProperty = "__hg.type";
inline constexpr std::string_view kEncodingProperty = "__hg.code";
inline constexpr std::string_view kBornMsProperty = "__hg.born";
inline constexpr std::string_view kBornHostProperty = "__hg.host";
inline constexpr std::string_view kTraceProperty = "__hg.trace";
inline constexpr std::string_view kHalfTopicProperty = "__hg.topic";
inline constexpr std::string_view kHalfClientProperty = "__hg.client";
inline constexpr std::string_view kHalfChecksProperty = "__hg.checks";
inline constexpr std::string_view kHalfWaitProperty = "__hg.wait";
inline constexpr std::string_view kHalfSinceProperty = "__hg.since";
// What consumers of a committed transaction's message find its id under.
inline constexpr std::string_view kTransactionIdProperty = "__transactionId__";

// What the message is by its content; what the client says of it does not
// count, but for TRANSACTION.
proto::MessageType KindOf(const proto::Message& message);

// "" if there is none.
std::string_view PropertyOf(const Message& message, std::string_view name);

// Points into the protocol's message, which must live as long.
class StoredForm {
 public:
  // `topic`: the store's name of it.
  StoredForm(const proto::Message& message, std::string_view topic);
  StoredForm(const StoredForm&) = delete;
  StoredForm& operator=(const StoredForm&) = delete;

  // For the caller to change further, as long as this lives.
  MessageView& view() { return view_; }
  void AddProperty(std::string_view name, std::string value);

 private:
  MessageView view_;
  std::deque<std::string> texts_;  // what view_ points at and nobody else owns
};

struct Received {
  const proto::Resource* topic = nullptr;  // as the consumer names it
  std::string_view store_host;
  int64_t invisible_ms = 0;
};
proto::Message ToProto(const Lease& lease, const Received& received);
// Without what belongs to a lease.
proto::Message ToProto(const Message& message, const proto::Resource& topic);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_MESSAGE_FORM_H_
