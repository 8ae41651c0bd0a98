#include "broker/front/verdict.h"

namespace hourglass {
namespace {

proto::Code CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return proto::OK;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return proto::BAD_REQUEST;
    case absl::StatusCode::kNotFound:
      return proto::NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return proto::TOO_MANY_REQUESTS;
    case absl::StatusCode::kPermissionDenied:
      return proto::FORBIDDEN;
    case absl::StatusCode::kUnauthenticated:
      return proto::UNAUTHORIZED;
    case absl::StatusCode::kDeadlineExceeded:
      return proto::PROXY_TIMEOUT;
    case absl::StatusCode::kUnimplemented:
      return proto::NOT_IMPLEMENTED;
    default:
      return proto::INTERNAL_SERVER_ERROR;
  }
}

std::string TextOf(const absl::Status& status) {
  return std::string(status.message());
}

}  // namespace

Verdict VerdictOf(const absl::Status& status) {
  if (status.ok()) return {};
  return Verdict::Refuse(CodeOf(status.code()), TextOf(status));
}

Verdict VerdictOfReceipt(const absl::Status& status) {
  if (absl::IsNotFound(status) || absl::IsInvalidArgument(status)) {
    return Verdict::Refuse(proto::INVALID_RECEIPT_HANDLE, TextOf(status));
  }
  return VerdictOf(status);
}

proto::Status ToProto(const Verdict& verdict) {
  proto::Status status;
  status.set_code(verdict.code);
  status.set_message(verdict.text);
  return status;
}

void JointVerdict::Add(const Verdict& verdict) {
  if (!any_) first_ = verdict;
  any_ = true;
  if (verdict.code != first_.code) mixed_ = true;
  if (failure_.ok() && !verdict.ok()) failure_ = verdict;
}

Verdict JointVerdict::Get() const {
  if (!mixed_) return first_;
  return Verdict::Refuse(proto::MULTIPLE_RESULTS,
                         "see the status of each entry");
}

}  // namespace hourglass
