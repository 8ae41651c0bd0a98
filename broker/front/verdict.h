// File: verdict.h
//
// The protocol's answer to a call: a code and a sentence. The one place where
// absl::Status becomes a code.
//
//   Verdict verdict = CheckTopic(name);
//   if (!verdict.ok()) return Finish(verdict);
//   *response.mutable_status() = ToProto(VerdictOf(put.status()));
//
// A call that failed still ends with gRPC's OK: clients take any other gRPC
// status for trouble with the connection.
//
// Serves promise 4: an answer says what happened.
#ifndef HOURGLASS_BROKER_FRONT_VERDICT_H_
#define HOURGLASS_BROKER_FRONT_VERDICT_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "broker/front/proto.h"

namespace hourglass {

struct Verdict {
  proto::Code code = proto::OK;
  std::string text = "OK";

  bool ok() const { return code == proto::OK; }
  static Verdict Refuse(proto::Code code, std::string text) {
    return {code, std::move(text)};
  }
};

// What the store or the groups answered.
Verdict VerdictOf(const absl::Status& status);
// The same where NOT_FOUND and INVALID_ARGUMENT speak of a receipt. Clients
// try again for ever on every code but INVALID_RECEIPT_HANDLE.
Verdict VerdictOfReceipt(const absl::Status& status);

proto::Status ToProto(const Verdict& verdict);

// Of several: the one they agree on, else MULTIPLE_RESULTS.
class JointVerdict {
 public:
  void Add(const Verdict& verdict);
  // OK if nothing was added.
  Verdict Get() const;
  // The first that is not OK, else OK.
  const Verdict& FirstFailure() const { return failure_; }

 private:
  bool any_ = false;
  bool mixed_ = false;
  Verdict first_;
  Verdict failure_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_VERDICT_H_
