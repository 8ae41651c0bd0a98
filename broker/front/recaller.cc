#include "broker/front/recaller.h"

#include <string>
#include <utility>

#include "broker/front/names.h"
#include "broker/front/recall_handle.h"
#include "broker/front/topic_quota.h"
#include "broker/front/verdict.h"

namespace hourglass {
namespace {

Verdict NotFound(Dialect dialect, std::string text) {
  const proto::Code code =
      dialect == Dialect::kPython ? proto::NOT_FOUND : proto::MESSAGE_NOT_FOUND;
  return Verdict::Refuse(code, std::move(text));
}

Verdict VerdictOfCancel(const absl::StatusOr<CancelAnswer>& answer,
                        Dialect dialect) {
  if (!answer.ok()) return VerdictOf(answer.status());
  switch (*answer) {
    case CancelAnswer::kCancelled:
      return {};
    case CancelAnswer::kAlreadyDelivered:
      return NotFound(dialect, "too late: the message was delivered");
    case CancelAnswer::kNeverExisted:
      return NotFound(dialect, "this server has never had such a message");
  }
  return {};
}

Verdict VerdictOfHandle(const absl::Status& status, Dialect dialect) {
  if (absl::IsNotFound(status)) {
    return NotFound(dialect, std::string(status.message()));
  }
  return VerdictOf(status);
}

}  // namespace

void Recaller::Recall(const proto::RecallMessageRequest& request,
                      Dialect dialect, proto::RecallMessageResponse* response,
                      absl::AnyInvocable<void()> done) {
  Verdict verdict = CheckTopicName(request.topic(), options_);
  absl::StatusOr<RecallHandle> handle;
  if (verdict.ok()) {
    handle = RecallHandle::Parse(request.recall_handle(),
                                 StoreName(request.topic()));
    verdict = VerdictOfHandle(handle.status(), dialect);
  }
  if (!verdict.ok()) {
    *response->mutable_status() = ToProto(verdict);
    done();
    return;
  }
  store_->CancelAsync(
      handle->handle,
      [this, response, dialect, handle = handle->handle,
       topic = StoreName(request.topic()), id = handle->message_id,
       done = std::move(done)](absl::StatusOr<CancelAnswer> answer) mutable {
        const Verdict verdict = VerdictOfCancel(answer, dialect);
        *response->mutable_status() = ToProto(verdict);
        if (verdict.ok()) quota_->Recalled(topic, handle);
        if (verdict.ok()) response->set_message_id(std::move(id));
        done();
      });
}

}  // namespace hourglass
