#include "hourglass/timers/slot_wheel.h"

#include <algorithm>
#include <utility>

#include "storage/status_macros.h"

namespace hourglass {

absl::StatusOr<Second> SlotProducer::Schedule(int64_t due_ms,
                                              std::string_view task) {
  ++stamp_.number;
  return Again(due_ms, task);
}

absl::StatusOr<Second> SlotProducer::Again(int64_t due_ms,
                                           std::string_view task) {
  return store_->Push(SlotOfDue(due_ms), SecondOf(clock_->NowMs()), task,
                      stamp_);
}

SlotDriver::SlotDriver(SlotStore* store, Clock* clock,
                       SlotDriverOptions options, Handler run)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      run_(std::move(run)) {}

int64_t SlotDriver::LeaseAgeMs() const {
  return (clock_->MonotonicNs() - lease_from_ns_) / 1'000'000;
}

absl::Status SlotDriver::Seen(absl::Status status) {
  if (absl::IsFailedPrecondition(status)) lease_.reset();
  return status;
}

absl::Status SlotDriver::TakeLease() {
  // Counted from before the call: the store counts from a later moment.
  const int64_t asked_ns = clock_->MonotonicNs();
  ASSIGN_OR_RETURN(lease_, store_->Acquire(options_.owner, options_.lease_ms));
  lease_from_ns_ = asked_ns;
  return absl::OkStatus();
}

absl::Status SlotDriver::KeepLease() {
  if (LeaseAgeMs() < options_.lease_ms / 3) return absl::OkStatus();
  const int64_t asked_ns = clock_->MonotonicNs();
  RETURN_IF_ERROR(Seen(store_->Renew(*lease_, options_.lease_ms)));
  lease_from_ns_ = asked_ns;
  return absl::OkStatus();
}

absl::StatusOr<SlotDriver::Step> SlotDriver::RunOnce() {
  absl::Status leading = lease_ ? KeepLease() : TakeLease();
  // One that ended may be free.
  if (!lease_ && absl::IsFailedPrecondition(leading)) leading = TakeLease();
  if (absl::IsFailedPrecondition(leading)) {
    return Step{.leading = false, .wait_ms = options_.lease_ms / 3};
  }
  RETURN_IF_ERROR(leading);
  const int64_t now_ms = clock_->NowMs();
  const Second now = SecondOf(now_ms);
  auto position = store_->Skip(*lease_, now);
  if (!position.ok()) return Seen(position.status());
  if (position->has_tasks) return RunPage(position->next);
  if (position->next <= now) return Step{};
  // The lease wants to be kept meanwhile.
  const int64_t next_ms = StartMs(now + 1) - now_ms;
  return Step{.wait_ms = std::min(next_ms, options_.lease_ms / 3)};
}

absl::StatusOr<SlotDriver::Step> SlotDriver::RunPage(Second second) {
  auto claim = store_->Take(*lease_, second, options_.page_max);
  if (!claim.ok()) return Seen(claim.status());
  Step step;
  if (claim->size == 0) return step;
  if (claim->number != claim_) {
    claim_ = claim->number;
    ran_ = 0;
  }
  const absl::Status status = RunTasks(*claim, &step);
  // What has run is confirmed even if something failed behind it.
  if (lease_ && ran_ > claim->confirmed) {
    RETURN_IF_ERROR(Seen(store_->Confirm(*lease_, claim_, ran_)));
  }
  RETURN_IF_ERROR(status);
  return step;
}

absl::Status SlotDriver::RunTasks(const SlotStore::Claim& claim, Step* step) {
  for (size_t i = 0; i < claim.tasks.size(); ++i) {
    const size_t number = claim.confirmed + i;
    if (number < ran_) continue;
    RETURN_IF_ERROR(KeepLease());
    RETURN_IF_ERROR(run_({claim.second, claim.tasks[i], lease_->token}));
    ran_ = number + 1;
    ++step->ran;
  }
  // Another driver may have confirmed more than we ran.
  ran_ = std::max(ran_, claim.confirmed);
  return absl::OkStatus();
}

absl::Status SlotDriver::Stop() {
  if (!lease_) return absl::OkStatus();
  const SlotStore::Lease lease = *lease_;
  lease_.reset();
  const absl::Status released = store_->Release(lease);
  return absl::IsFailedPrecondition(released) ? absl::OkStatus() : released;
}

}  // namespace hourglass
