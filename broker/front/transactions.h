// File: transactions.h
//
// Half messages.
#ifndef HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_
#define HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_

#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "broker/front/clients.h"
#include "broker/front/front_options.h"
#include "broker/front/message_form.h"
#include "broker/front/verdict.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"

namespace hourglass {

class Transactions {
 public:
  Transactions(DelayStore*, Clock*, const FrontOptions&, Clients*) {}
  void PutHalf(const proto::Message&, std::string_view, StoredForm*,
               PutCallback done) {
    done(absl::UnimplementedError("transactions"));
  }
  void End(const proto::EndTransactionRequest&,
           proto::EndTransactionResponse* response,
           absl::AnyInvocable<void()> done) {
    *response->mutable_status() =
        ToProto(Verdict::Refuse(proto::NOT_IMPLEMENTED, "transactions"));
    done();
  }
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TRANSACTIONS_H_
