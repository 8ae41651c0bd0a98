// File: receive_terms.h
//
// ReceiveMessage as the consumer groups understand it: how many, how long the
// lease, until when to wait. Pure translation, apart from the stream.
//
//   ReceiveTerms terms;
//   const Verdict verdict = terms.Read(request, caller, said_ms, options, now);
//   if (verdict.ok()) groups.Receive(terms.request, ...);
//
// Serves promise 4: a poll is answered before its caller gives up on it.
#ifndef HOURGLASS_BROKER_FRONT_RECEIVE_TERMS_H_
#define HOURGLASS_BROKER_FRONT_RECEIVE_TERMS_H_

#include <cstdint>
#include <optional>

#include "broker/front/caller.h"
#include "broker/front/front_options.h"
#include "broker/front/verdict.h"
#include "broker/groups/consumer_groups.h"

namespace hourglass {

struct ReceiveTerms {
  ReceiveRequest request;
  int64_t invisible_ms = 0;  // as the client is told

  // `settings_poll_ms`: of the client's Settings, if it ever said any.
  Verdict Read(const proto::ReceiveMessageRequest& asked, const Caller& caller,
               std::optional<int64_t> settings_poll_ms,
               const FrontOptions& options, int64_t now_ms);
};

// How long a poll may wait: what the request says, else what the Settings say,
// else what the caller's deadline leaves; never beyond that deadline.
int64_t PollMs(const proto::ReceiveMessageRequest& asked,
               std::optional<int64_t> remaining_ms,
               std::optional<int64_t> settings_poll_ms,
               const FrontOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_RECEIVE_TERMS_H_
