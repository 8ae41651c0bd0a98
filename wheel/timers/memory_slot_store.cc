#include "hourglass/timers/memory_slot_store.h"

#include <algorithm>
#include <utility>

#include "storage/status_macros.h"

namespace hourglass {

bool MemorySlotStore::LeaseHolds() const {
  return lease_.token != 0 && clock_->MonotonicNs() < lease_until_ns_;
}

absl::Status MemorySlotStore::Check(const Lease& lease) const {
  if (LeaseHolds() && lease.token == lease_.token) return absl::OkStatus();
  return absl::FailedPreconditionError("the lease of this driver has ended");
}

absl::StatusOr<Second> MemorySlotStore::Push(Second second, Second now,
                                             std::string_view task,
                                             const Stamp& stamp) {
  std::lock_guard<std::mutex> lock(mu_);
  if (!completed_) completed_ = std::min(second, now) - 1;
  second = std::max(second, *completed_ + 1);
  uint64_t& last = stamps_[stamp.producer];
  if (stamp.number <= last) return second;
  last = stamp.number;
  slots_[second].emplace_back(task);
  ++pending_;
  return second;
}

absl::StatusOr<uint64_t> MemorySlotStore::Pending() {
  std::lock_guard<std::mutex> lock(mu_);
  return pending_;
}

absl::StatusOr<SlotStore::Lease> MemorySlotStore::Acquire(
    const std::string& owner, int64_t ttl_ms) {
  std::lock_guard<std::mutex> lock(mu_);
  if (LeaseHolds() && lease_.owner != owner) {
    return absl::FailedPreconditionError("another driver has the lease");
  }
  if (!LeaseHolds()) lease_ = {++tokens_, owner};
  lease_until_ns_ = clock_->MonotonicNs() + ttl_ms * 1'000'000;
  return lease_;
}

absl::Status MemorySlotStore::Renew(const Lease& lease, int64_t ttl_ms) {
  std::lock_guard<std::mutex> lock(mu_);
  RETURN_IF_ERROR(Check(lease));
  lease_until_ns_ = clock_->MonotonicNs() + ttl_ms * 1'000'000;
  return absl::OkStatus();
}

absl::Status MemorySlotStore::Release(const Lease& lease) {
  std::lock_guard<std::mutex> lock(mu_);
  RETURN_IF_ERROR(Check(lease));
  lease_ = {};
  return absl::OkStatus();
}

absl::StatusOr<SlotStore::Position> MemorySlotStore::Skip(const Lease& lease,
                                                          Second until) {
  std::lock_guard<std::mutex> lock(mu_);
  RETURN_IF_ERROR(Check(lease));
  if (claim_.size > 0) return Position{claim_.second, true};
  if (!completed_) completed_ = until - 1;
  Second stop = std::min(until, *completed_ + kSkipMax);
  if (!slots_.empty()) stop = std::min(stop, slots_.begin()->first - 1);
  completed_ = std::max(*completed_, stop);
  const Second next = *completed_ + 1;
  return Position{next, next <= until && slots_.contains(next)};
}

absl::StatusOr<SlotStore::Claim> MemorySlotStore::Take(const Lease& lease,
                                                       Second second,
                                                       size_t count_max) {
  std::lock_guard<std::mutex> lock(mu_);
  RETURN_IF_ERROR(Check(lease));
  if (claim_.size == 0) {
    const auto slot = slots_.find(second);
    if (slot == slots_.end()) return Claim{};
    claim_ = {.number = ++claims_,
              .second = second,
              .size = slot->second.size(),
              .tasks = std::move(slot->second)};
    slots_.erase(slot);
  }
  Claim page = claim_;
  const size_t end = std::min(claim_.size, claim_.confirmed + count_max);
  page.tasks.assign(
      claim_.tasks.begin() + static_cast<int64_t>(claim_.confirmed),
      claim_.tasks.begin() + static_cast<int64_t>(end));
  return page;
}

absl::Status MemorySlotStore::Confirm(const Lease& lease, uint64_t claim,
                                      size_t count) {
  std::lock_guard<std::mutex> lock(mu_);
  RETURN_IF_ERROR(Check(lease));
  if (claim_.size == 0 || claim_.number != claim) return absl::OkStatus();
  count = std::clamp(count, claim_.confirmed, claim_.size);
  pending_ -= count - claim_.confirmed;
  claim_.confirmed = count;
  if (count == claim_.size) claim_ = {};
  return absl::OkStatus();
}

}  // namespace hourglass
