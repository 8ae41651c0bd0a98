// File: memory_slot_store.h
//
// The slots of slot_wheel.h in memory: for tests, and for several threads of
// one process. What it holds is gone with it.
//
//   MemorySlotStore store(&clock);
//   SlotProducer producer(&store, &clock, "p1");
//   SlotDriver driver(&store, &clock, {.owner = "d1"}, run);
//
// Threads: any.
//
// Serves promise 2: what the rules of a slot store are, in the plainest form.
#ifndef HOURGLASS_TIMERS_MEMORY_SLOT_STORE_H_
#define HOURGLASS_TIMERS_MEMORY_SLOT_STORE_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/timers/slot_store.h"

namespace hourglass {

class MemorySlotStore final : public SlotStore {
 public:
  explicit MemorySlotStore(Clock* clock) : clock_(clock) {}

  absl::StatusOr<Second> Push(Second second, Second now, std::string_view task,
                              const Stamp& stamp) override;
  absl::StatusOr<uint64_t> Pending() override;
  absl::StatusOr<Lease> Acquire(const std::string& owner,
                                int64_t ttl_ms) override;
  absl::Status Renew(const Lease& lease, int64_t ttl_ms) override;
  absl::Status Release(const Lease& lease) override;
  absl::StatusOr<Position> Skip(const Lease& lease, Second until) override;
  absl::StatusOr<Claim> Take(const Lease& lease, Second second,
                             size_t count_max) override;
  absl::Status Confirm(const Lease& lease, uint64_t claim,
                       size_t count) override;

 private:
  static constexpr int64_t kSkipMax = 10'000;
  absl::Status Check(const Lease& lease) const;
  bool LeaseHolds() const;

  Clock* const clock_;
  std::mutex mu_;  // guards all below
  std::map<Second, std::vector<std::string>> slots_;
  std::optional<Second> completed_;
  Claim claim_;
  uint64_t claims_ = 0;
  uint64_t tokens_ = 0;
  Lease lease_;
  int64_t lease_until_ns_ = 0;
  std::map<std::string, uint64_t> stamps_;
  uint64_t pending_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_MEMORY_SLOT_STORE_H_
