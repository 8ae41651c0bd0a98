// File: receive_call.h
//
// One ReceiveMessage: waits in the consumer groups, without a thread, then
// writes what came: a status, the messages, the time.
//
//   return ReceiveCall::Start(terms, verdict, host, {groups, polls, clock});
//
// A caller that goes away while it waits gets nothing leased; one that goes
// away before the last frame is written has all of them handed back, since no
// client makes use of half an answer.
//
// Ownership: deletes itself when gRPC is done with it.
//
// Keeps promise 2: at-least-once; what was not taken comes again.
#ifndef HOURGLASS_BROKER_FRONT_RECEIVE_CALL_H_
#define HOURGLASS_BROKER_FRONT_RECEIVE_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/front/poll_set.h"
#include "broker/front/receive_terms.h"
#include "broker/groups/consumer_groups.h"
#include "hourglass/clock.h"

namespace hourglass {

class ReceiveCall final
    : public grpc::ServerWriteReactor<proto::ReceiveMessageResponse> {
 public:
  struct Parts {
    ConsumerGroups* groups;
    PollSet* polls;
    Clock* clock;
    std::string store_host;
  };

  // Answers a call that is refused.
  static ReceiveCall* Refuse(const Verdict& verdict, const Parts& parts);
  static ReceiveCall* Start(ReceiveTerms terms, const proto::Resource& topic,
                            const Parts& parts);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit ReceiveCall(const Parts& parts) : parts_(parts) {}

  void Wait(ReceiveTerms terms);
  void Answer(absl::StatusOr<std::vector<Lease>> leases);
  void AddStatus(const Verdict& verdict);
  void AddTime();
  void WriteNext();
  // Nobody took them.
  void HandBack();

  const Parts parts_;
  std::string topic_, group_;
  proto::Resource named_topic_;
  int64_t invisible_ms_ = 0;
  std::shared_ptr<PollSet::Poll> poll_ = std::make_shared<PollSet::Poll>();

  std::atomic<bool> gone_{false};      // the caller
  std::vector<std::string> receipts_;  // of the messages, in order
  std::vector<proto::ReceiveMessageResponse> frames_;
  size_t written_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_RECEIVE_CALL_H_
