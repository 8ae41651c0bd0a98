// File: exhaustive.h
//
// One short history of a store, and everything that can happen to it: not a
// sample, but a loop over every call to the disk and every byte of it.
//
//   Exhaustive all(/*every=*/1, /*offset=*/0);
//   EXPECT_EQ(all.PowerLossAtEveryCall(20, NameOrder::kJournal), "");
//   EXPECT_EQ(all.ErrorAtEveryCall(FaultKind::kWriteError), "");
//   EXPECT_EQ(all.EveryBit(), "");
//
// The history: puts into three hours, a burst, cancels, a move, progress,
// checkpoints, deliveries, a close and a second life. It is run again for
// every fault; power losses are taken as copies of the disk on the way, so
// one run is enough for all of them.
//
// The loops return "" or the first thing that went wrong.
//
// Threads: none of its own.
#ifndef HOURGLASS_TESTS_SIMULATION_EXHAUSTIVE_H_
#define HOURGLASS_TESTS_SIMULATION_EXHAUSTIVE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tests/simulation/fault_plan.h"

namespace hourglass {

class Exhaustive {
 public:
  struct Totals {
    uint64_t calls = 0;   // places at which something can happen
    uint64_t states = 0;  // disks that were opened and judged
    uint64_t refused = 0, reported = 0, harmless = 0;
  };

  // `every`, `offset`: take each every-th place only, beginning with the
  // offset-th: to share a loop among processes.
  Exhaustive(uint64_t every, uint64_t offset)
      : every_(every), offset_(offset) {}

  // Power is lost before every call, and what is left is drawn
  // `damage_seeds` times; then again in every call of the recovery of one of
  // those disks.
  std::string PowerLossAtEveryCall(uint64_t damage_seeds, NameOrder order);
  // Every call that can fails with `kind`, once and from then on; the process
  // dies, and then the power is lost.
  std::string ErrorAtEveryCall(FaultKind kind);
  // The same while a store opens that lost power.
  std::string ErrorAtEveryCallOfOpen(FaultKind kind);
  // Each bit of every file, where anything stands.
  std::string EveryBit();
  // Every file, cut to every length up to where its data ends.
  std::string EveryLength();

  const Totals& totals() const { return totals_; }

 private:
  template <typename Damage>
  std::string EveryPlace(const char* what, int ways, Damage damage);
  bool Mine(uint64_t place) const { return place % every_ == offset_; }

  const uint64_t every_;
  const uint64_t offset_;
  Totals totals_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_EXHAUSTIVE_H_
