#include "broker/front/ack_call.h"

#include <atomic>
#include <memory>
#include <utility>

#include "broker/front/verdict.h"

namespace hourglass {
namespace {

struct Join {
  Join(int left, proto::AckMessageResponse* response,
       absl::AnyInvocable<void()> done)
      : left(left), response(response), done(std::move(done)) {}

  void End(int entry, const absl::Status& status) {
    *response->mutable_entries(entry)->mutable_status() =
        ToProto(VerdictOfReceipt(status));
    if (left.fetch_sub(1) == 1) Answer();
  }

  void Answer() {
    JointVerdict joint;
    for (const proto::AckMessageResultEntry& entry : response->entries()) {
      joint.Add({entry.status().code(), entry.status().message()});
    }
    *response->mutable_status() = ToProto(joint.Get());
    done();
  }

  std::atomic<int> left;
  proto::AckMessageResponse* response;
  absl::AnyInvocable<void()> done;
};

}  // namespace

void AckAll(ConsumerGroups* groups, std::string_view topic,
            std::string_view group, const proto::AckMessageRequest& request,
            proto::AckMessageResponse* response,
            absl::AnyInvocable<void()> done) {
  const int count = request.entries_size();
  if (count == 0) {
    *response->mutable_status() = ToProto(
        Verdict::Refuse(proto::BAD_REQUEST, "no message to acknowledge"));
    done();
    return;
  }
  for (const proto::AckMessageEntry& entry : request.entries()) {
    proto::AckMessageResultEntry* const result = response->add_entries();
    result->set_message_id(entry.message_id());
    result->set_receipt_handle(entry.receipt_handle());
  }
  // The last answer may come, and the request go, while some are still to be
  // asked: never, since each that is to be asked counts.
  auto join = std::make_shared<Join>(count, response, std::move(done));
  for (int i = 0; i < count; ++i) {
    groups->Ack(topic, group, request.entries(i).receipt_handle(),
                [join, i](absl::Status status) { join->End(i, status); });
  }
}

}  // namespace hourglass
