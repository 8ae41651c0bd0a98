// File: broker_client.h
//
// A running broker as the commands `send`, `receive` and `recall` see it: the
// protocol's calls, each with a deadline. This header knows no gRPC; the real
// one is in grpc_broker_client.cc, tests have one of their own.
//
//   BrokerClientOptions options;
//   ASSIGN_OR_RETURN(auto broker, ConnectBroker(options));
//   ASSIGN_OR_RETURN(const auto sent, broker->Send({&message, 1}));
//   broker->Recall("orders", sent[0].recall_handle);
//
// Errors of a call: UNAVAILABLE (nobody answers there; the text says how to
// start one), DEADLINE_EXCEEDED (no answer in time: whether it was carried out
// is not known), CANCELLED (we were asked to stop), INTERNAL (an answer that is
// none of the protocol). What the broker refuses is a `Refusal` instead.
//
// Ownership: the clock is the caller's. Threads: one call at a time.
//
// Serves promise 4: what the broker answered is what the caller is told.
#ifndef HOURGLASS_BROKER_CLIENT_BROKER_CLIENT_H_
#define HOURGLASS_BROKER_CLIENT_BROKER_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hourglass/clock.h"
#include "hourglass/message.h"

namespace hourglass {

struct BrokerClientOptions {
  std::string endpoint = "127.0.0.1:8081";
  bool tls = false;
  std::string ca_pem;  // whom to trust; "": the machine's own list
  // Calls are signed if there is a key.
  std::string access_key, secret;
  int64_t timeout_ms = 10'000;  // of a call, beside what it asks to wait
  Clock* clock = nullptr;
};

// What the broker said instead of yes: the protocol's code (20000: yes) and
// its sentence.
struct Refusal {
  int code = 20000;
  std::string text;

  bool ok() const { return code == 20000; }
  // The broker is at a limit for now.
  bool is_throttled() const { return code == 42900; }
  bool is_not_found() const { return code == 40401 || code == 40400; }
};

struct OutgoingMessage {
  Message message;            // with an id; kDueNow: at once
  std::string message_group;  // "": no order to keep
};

struct SendAnswer {
  Refusal refusal;
  std::string id;
  std::string recall_handle;  // "": it was due at once
};

struct ReceiveQuery {
  std::string topic, group;
  std::string filter = "*";  // tags: "a || b"
  int count_max = 32;
  int64_t wait_ms = 0;  // for a first message
  int64_t invisible_ms = 30'000;
  // Asked some twenty times a second; yes ends the wait.
  std::function<bool()> stop = [] { return false; };
};

struct IncomingMessage {
  Message message;  // due_ms: kDueNow if it was sent without a time
  std::string message_group;
  std::string encoding;  // of the body: "", or "gzip"
  std::string receipt;
  int attempt = 1;
};

struct ReceiveAnswer {
  Refusal refusal;  // "nothing is ready" is none
  std::vector<IncomingMessage> messages;
};

class BrokerClient {
 public:
  virtual ~BrokerClient() = default;

  // All of one topic. An answer for each, in their order. If one is refused
  // for what it is, all are.
  virtual absl::StatusOr<std::vector<SendAnswer>> Send(
      absl::Span<const OutgoingMessage> messages) = 0;
  // OK and no message: none came in time, or `stop` said so.
  virtual absl::StatusOr<ReceiveAnswer> Receive(const ReceiveQuery& query) = 0;
  // An answer for each, in their order.
  virtual absl::StatusOr<std::vector<Refusal>> Ack(
      const std::string& topic, const std::string& group,
      absl::Span<const IncomingMessage> messages) = 0;
  virtual absl::StatusOr<Refusal> Recall(const std::string& topic,
                                         const std::string& handle) = 0;
};

// INVALID_ARGUMENT for an endpoint that is none. Connects with the first call.
absl::StatusOr<std::unique_ptr<BrokerClient>> ConnectBroker(
    const BrokerClientOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_CLIENT_BROKER_CLIENT_H_
