// File: transactions.h
//
// Transactions: a message that is put now and delivered when its producer says
// so, or never.
//
//   put     the half message is a delayed one in the topic "%HALF%", due when
//           its producer is to be asked
//   commit  the half message is replaced by the real one, due now, in one
//           group of the log
//   rollback  the half message is cancelled
//   neither   it becomes ready in "%HALF%". Scan puts it again, due at the
//           next question, and acknowledges it, in one group; then it asks a
//           producer of the topic on its Telemetry stream. After
//           transaction_checks_max questions it is rolled back. Where no
//           producer is there to be asked, the question does not count, up to
//           transaction_age_ms_max.
//
//   transactions.PutHalf(message, client_id, &stored, done);
//   transactions.End(request, response, done);
//   transactions.Scan();      // several times a second
//
// The transaction's id is the half message's handle in text. After a question
// it is another one; an end with the old one is still understood, as long as
// the process lives.
//
// Ownership: store, clock and clients are the caller's and outlive this.
//
// Threads: any; Scan by one at a time. `done` runs in the caller's thread, the
// store's or Scan's.
//
// Keeps promise 2: a half message is committed once or rolled back once.
#ifndef HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_
#define HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "broker/front/clients.h"
#include "broker/front/front_options.h"
#include "broker/front/message_form.h"
#include "broker/front/recall_handle.h"
#include "broker/front/verdict.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/mutex.h"

namespace hourglass {

class Transactions {
 public:
  using Done = absl::AnyInvocable<void()>;

  Transactions(DelayStore* store, Clock* clock, const FrontOptions& options,
               const Clients* clients);
  // Answers the ends that still wait.
  ~Transactions();

  // `stored` is the message as it would be stored; its topic is the real one.
  void PutHalf(const proto::Message& message, std::string_view client_id,
               StoredForm* stored, PutCallback done);
  // `response` lives until `done` has run.
  void End(const proto::EndTransactionRequest& request,
           proto::EndTransactionResponse* response, Done done);
  // What has become due: asks for it, or ends what was decided meanwhile.
  void Scan();

 private:
  // An end that came when its half message was just becoming ready: Scan meets
  // it there.
  struct Decided {
    bool commit = false;
    int scans_left = 0;
    absl::AnyInvocable<void(Verdict)> done;
  };
  using Key = std::string;  // topic and message id

  void EndOne(const Handle& handle, Key key, bool commit,
              absl::AnyInvocable<void(Verdict)> done);
  void Commit(const Handle& handle, Key key,
              absl::AnyInvocable<void(Verdict)> done);
  void Rollback(const Handle& handle, Key key,
                absl::AnyInvocable<void(Verdict)> done);
  void Settle(CancelAnswer answer, bool commit, const Key& key,
              absl::AnyInvocable<void(Verdict)> done);
  // The pending half message; NOT_FOUND if it is none any more.
  absl::StatusOr<Message> Find(const Handle& handle);

  bool ScanPage();
  void Meet(const ReadyMessage& ready);
  void Ask(const ReadyMessage& ready, std::string_view topic);
  void GiveUp(const ReadyMessage& ready);
  void Finish(const ReadyMessage& ready, Decided decided);
  void Retry(QueueIndex index);
  void ForgetDecided();

  DelayStore* const store_;
  Clock* const clock_;
  const FrontOptions options_;
  const Clients* const clients_;

  bool started_ = false;  // Scan's
  Mutex mu_;
  // Of kHalfTopic, to be met; until the first Scan nothing is known.
  QueueIndex next_ ABSL_GUARDED_BY(mu_) = QueueIndex::Max();
  // Half messages that were put again: where they are now.
  std::map<Key, Handle> moved_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Decided> decided_ ABSL_GUARDED_BY(mu_);
};

// The real message of a half one, ready now. Views of `half`.
MessageView RealMessage(const Message& half, std::string_view transaction_id);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_
