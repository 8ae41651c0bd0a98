#include "broker/front/recaller.h"

#include <string>
#include <utility>

#include "broker/front/names.h"
#include "broker/front/recall_handle.h"
#include "broker/front/verdict.h"

namespace hourglass {
namespace {

Verdict NotFound(std::string text) {
  return Verdict::Refuse(proto::MESSAGE_NOT_FOUND, std::move(text));
}

Verdict VerdictOfCancel(const absl::StatusOr<CancelAnswer>& answer) {
  if (!answer.ok()) return VerdictOf(answer.status());
  switch (*answer) {
    case CancelAnswer::kCancelled:
      return {};
    case CancelAnswer::kAlreadyDelivered:
      return NotFound("too late: the message was delivered, or is recalled");
    case CancelAnswer::kNeverExisted:
      return NotFound("this server has never had such a message");
  }
  return {};
}

Verdict VerdictOfHandle(const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    return NotFound(std::string(status.message()));
  }
  return VerdictOf(status);
}

}  // namespace

void Recaller::Recall(const proto::RecallMessageRequest& request,
                      proto::RecallMessageResponse* response,
                      absl::AnyInvocable<void()> done) {
  Verdict verdict = CheckTopicName(request.topic(), options_);
  absl::StatusOr<RecallHandle> handle;
  if (verdict.ok()) {
    handle = RecallHandle::Parse(request.recall_handle(),
                                 StoreName(request.topic()));
    verdict = VerdictOfHandle(handle.status());
  }
  if (!verdict.ok()) {
    *response->mutable_status() = ToProto(verdict);
    done();
    return;
  }
  store_->CancelAsync(
      handle->handle,
      [response, id = handle->message_id, done = std::move(done)](
          absl::StatusOr<CancelAnswer> answer) mutable {
        const Verdict verdict = VerdictOfCancel(answer);
        *response->mutable_status() = ToProto(verdict);
        if (verdict.ok()) response->set_message_id(std::move(id));
        done();
      });
}

}  // namespace hourglass
