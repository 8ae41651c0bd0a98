#include "broker/front/receive_call.h"

#include <utility>

#include "broker/front/message_form.h"
#include "broker/front/proto_time.h"

namespace hourglass {
namespace {

// What was never taken is ready again at once.
constexpr int64_t kHandBackMs = 1;

Verdict Nothing() {
  return Verdict::Refuse(proto::MESSAGE_NOT_FOUND, "no message is ready");
}

}  // namespace

ReceiveCall* ReceiveCall::Refuse(const Verdict& verdict, const Parts& parts) {
  auto* const call = new ReceiveCall(parts);
  call->AddStatus(verdict);
  call->AddTime();
  call->WriteNext();
  return call;
}

ReceiveCall* ReceiveCall::Start(ReceiveTerms terms,
                                const proto::Resource& topic,
                                const Parts& parts) {
  auto* const call = new ReceiveCall(parts);
  call->topic_ = terms.request.topic;
  call->group_ = terms.request.group;
  call->named_topic_ = topic;
  call->invisible_ms_ = terms.invisible_ms;
  call->Wait(std::move(terms));
  return call;
}

void ReceiveCall::Wait(ReceiveTerms terms) {
  // This call may be over, and deleted, before Receive has returned.
  const std::shared_ptr<PollSet::Poll> poll = poll_;
  PollSet* const polls = parts_.polls;
  const uint64_t id = parts_.groups->Receive(
      std::move(terms.request),
      [this, poll, polls](absl::StatusOr<std::vector<Lease>> leases) {
        polls->Ended(poll.get());
        Answer(std::move(leases));
      });
  polls->Waits(poll.get(), id);
}

void ReceiveCall::OnCancel() {
  gone_ = true;
  parts_.polls->Cancel(poll_.get());
}

void ReceiveCall::OnDone() {
  if (gone_) HandBack();
  delete this;
}

void ReceiveCall::Answer(absl::StatusOr<std::vector<Lease>> leases) {
  const bool stopped = absl::IsCancelled(leases.status()) ||
                       absl::IsUnavailable(leases.status());
  if (!leases.ok() && !stopped) {
    AddStatus(VerdictOf(leases.status()));
  } else if (!leases.ok() || leases->empty()) {
    AddStatus(Nothing());
  } else {
    AddStatus(Verdict());
    const Received received{&named_topic_, parts_.store_host, invisible_ms_};
    for (const Lease& lease : *leases) {
      *frames_.emplace_back().mutable_message() = ToProto(lease, received);
      receipts_.push_back(lease.receipt);
    }
  }
  AddTime();
  WriteNext();
}

void ReceiveCall::AddStatus(const Verdict& verdict) {
  *frames_.emplace_back().mutable_status() = ToProto(verdict);
}

void ReceiveCall::AddTime() {
  *frames_.emplace_back().mutable_delivery_timestamp() =
      TimestampOfMs(parts_.clock->NowMs());
}

void ReceiveCall::WriteNext() {
  if (written_ + 1 < frames_.size()) {
    StartWrite(&frames_[written_]);
  } else {
    StartWriteAndFinish(&frames_[written_], grpc::WriteOptions(),
                        grpc::Status::OK);
  }
}

void ReceiveCall::OnWriteDone(bool ok) {
  // After the last one there is nothing left to do, whatever became of it.
  if (written_ + 1 >= frames_.size()) return;
  if (!ok) {
    gone_ = true;
    Finish(grpc::Status::CANCELLED);
    return;
  }
  ++written_;
  WriteNext();
}

void ReceiveCall::HandBack() {
  for (const std::string& receipt : receipts_) {
    parts_.groups->ChangeLease(topic_, group_, receipt, kHandBackMs,
                               [](const absl::StatusOr<std::string>&) {});
  }
}

}  // namespace hourglass
