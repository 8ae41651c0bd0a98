// File: sender.h
//
// SendMessage: checks a request, puts its messages, answers each.
//
//   sender.Send(request, response, [reactor] { reactor->Finish(OK); });
//
// All messages of a request are checked before any is put: if one is refused,
// none is. A failure stands in the entry and at the top, since some clients
// look only there.
//
// Ownership: store, clock, topics and window are the caller's and outlive
// this; request and response live until `done` has run.
//
// Threads: any. `done` runs in the caller's thread or the store's.
//
// Keeps promise 1: the answer is given when the message is durable.
#ifndef HOURGLASS_BROKER_FRONT_SENDER_H_
#define HOURGLASS_BROKER_FRONT_SENDER_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "broker/front/dedupe_window.h"
#include "broker/front/front_options.h"
#include "broker/front/topics.h"
#include "broker/front/verdict.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"

namespace hourglass {

class TopicQuota;
class Transactions;
class StoredForm;

class Sender {
 public:
  using Done = absl::AnyInvocable<void()>;

  // `transactions`: null, and their messages are refused.
  Sender(DelayStore* store, Clock* clock, const FrontOptions& options,
         const Topics* topics, DedupeWindow* window, Transactions* transactions,
         TopicQuota* quota);

  // `client_id`: whom to ask how a transaction of this request ended.
  void Send(const proto::SendMessageRequest& request,
            std::string_view client_id, proto::SendMessageResponse* response,
            Done done);

  // A fault of one message refuses all, and clients count the entries.
  static void RefuseAll(const Verdict& verdict,
                        const proto::SendMessageRequest& request,
                        proto::SendMessageResponse* response);

 private:
  struct Join;  // of one request's puts

  Verdict Check(const proto::SendMessageRequest& request) const;
  void SendOne(const proto::Message& message, const std::string& topic,
               std::string_view client_id, std::shared_ptr<Join> join,
               int entry);
  void PutPlain(const MessageView& view, PutCallback done);
  void Put(const proto::Message& message, const std::string& topic,
           std::string_view client_id, PutCallback done);

  DelayStore* const store_;
  Clock* const clock_;
  const FrontOptions options_;
  const Topics* const topics_;
  DedupeWindow* const window_;
  Transactions* const transactions_;
  TopicQuota* const quota_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_SENDER_H_
