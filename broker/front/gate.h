// File: gate.h
//
// Who calls, and may they: the first thing that every call passes.
//
//   Gate gate(access, clock, options);       // access: null, all are let in
//   Caller caller = gate.CallerOf(*context);
//   Verdict verdict = gate.Admit(&caller);   // client id, signature
//   if (verdict.ok()) verdict = gate.CheckPublish(caller, topic);
//
// UNAUTHORIZED: no credentials, or wrong ones. FORBIDDEN: good ones, without
// the right; the text names the user and what is missing.
//
// What a client calls itself is not signed: among users, "client-1" of one is
// not "client-1" of another. CallerOf therefore puts the key before it.
//
// Limitations: the signature is over a header, not over the call, so that who
// reads one off the wire can use it: credentials need TLS. Clients sign their
// local time and call it UTC, so by default any time is taken; with
// signature_skew_ms_max (at least 14 hours, to be of use) old ones are not.
//
// Ownership: access and clock are the caller's and outlive this.
//
// Threads: any.
//
// Serves promise 4: a refusal says who is missing what.
#ifndef HOURGLASS_BROKER_FRONT_GATE_H_
#define HOURGLASS_BROKER_FRONT_GATE_H_

#include <string_view>

#include "broker/access/access_control.h"
#include "broker/front/caller.h"
#include "broker/front/front_options.h"
#include "broker/front/verdict.h"
#include "hourglass/clock.h"

namespace hourglass {

class Gate {
 public:
  Gate(const AccessControl* access, Clock* clock, const FrontOptions& options)
      : access_(access),
        clock_(clock),
        skew_ms_max_(options.signature_skew_ms_max) {}

  // Who they say they are.
  Caller CallerOf(const grpc::CallbackServerContext& context) const;
  // Whether they are, and sets their user. May be asked again of the same
  // caller: the rules may be others by now.
  Verdict Admit(Caller* caller) const;

  // Of an admitted caller; names as the protocol has them.
  Verdict CheckPublish(const Caller& caller,
                       const proto::Resource& topic) const;
  Verdict CheckSubscribe(const Caller& caller, const proto::Resource& topic,
                         const proto::Resource& group) const;
  Verdict CheckRoute(const Caller& caller, const proto::Resource& topic) const;
  // Everything that the client says it will use.
  Verdict CheckSettings(const Caller& caller,
                        const proto::Settings& settings) const;

 private:
  Verdict Verify(Caller* caller) const;
  absl::Status CheckTime(std::string_view date_time) const;

  const AccessControl* const access_;
  Clock* const clock_;
  const int64_t skew_ms_max_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_GATE_H_
