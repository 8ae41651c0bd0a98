// File: recaller.h
//
// RecallMessage: cancels a delayed message, and says what is true.
//
//   recaller.Recall(request, response, [reactor] { reactor->Finish(OK); });
//
// OK: it is durable that the message will never be delivered.
// MESSAGE_NOT_FOUND: it is delivered already, or there never was one.
// BAD_REQUEST: the text is no recall handle.
//
// Python's client takes MESSAGE_NOT_FOUND for "nothing to receive", and so for
// a success: it is told NOT_FOUND.
//
// Threads: any. `done` runs in the caller's thread or the store's.
//
// Keeps promise 4: recalled, too late, or never existed; nothing between.
#ifndef HOURGLASS_BROKER_FRONT_RECALLER_H_
#define HOURGLASS_BROKER_FRONT_RECALLER_H_

#include "absl/functional/any_invocable.h"
#include "broker/front/caller.h"
#include "broker/front/front_options.h"
#include "broker/front/proto.h"
#include "hourglass/delay_store.h"

namespace hourglass {

class TopicQuota;

class Recaller {
 public:
  Recaller(DelayStore* store, const FrontOptions& options, TopicQuota* quota)
      : store_(store), options_(options), quota_(quota) {}

  // `response` lives until `done` has run.
  void Recall(const proto::RecallMessageRequest& request, Dialect dialect,
              proto::RecallMessageResponse* response,
              absl::AnyInvocable<void()> done);

 private:
  DelayStore* const store_;
  const FrontOptions options_;
  TopicQuota* const quota_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_RECALLER_H_
