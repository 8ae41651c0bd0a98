// File: sim_run.h
//
// One simulated history of a store, decided by a seed: several lives on a
// disk that fails as the fault plan says, every one of them ended by a power
// loss, a kill or a close, and judged by the oracle after each recovery.
//
//   SimRun run(/*seed=*/7);
//   SimResult result = run.Run();
//   if (!result.failure.empty()) std::puts(result.failure.c_str());
//
// The same seed gives the same history: options, messages, clock, faults and
// every call to the disk, which `trace_hash` sums up.
//
// Threads: none of its own; RocksDB may flush from one of its own while the
// store waits for it.
#ifndef HOURGLASS_TESTS_SIMULATION_SIM_RUN_H_
#define HOURGLASS_TESTS_SIMULATION_SIM_RUN_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>

#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/random.h"
#include "tests/simulation/fault_plan.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/sim_file_system.h"

namespace hourglass {

// Sums over runs. `Add` makes one of many.
struct SimTotals {
  uint64_t runs = 0, lives = 0, operations = 0, calls = 0;
  uint64_t puts = 0, delivered = 0, settled = 0, ranges = 0, full_disks = 0;
  uint64_t full_disks_without_reserve = 0;
  uint64_t refused = 0, reported = 0, harmless = 0;  // damaged disks
  FaultCounts faults{};

  void Add(const SimTotals& other);
};

struct SimResult {
  std::string failure;  // "" or what went wrong, with the history
  uint64_t trace_hash = 0;
  SimTotals totals;
};

class SimRun {
 public:
  explicit SimRun(uint64_t seed);
  ~SimRun();

  SimResult Run();

 private:
  // --- chance ---
  bool Chance(uint64_t percent) { return random_.Uniform(100) < percent; }
  uint64_t Upto(uint64_t n) { return random_.Uniform(n + 1); }
  template <typename T>
  T OneOf(std::initializer_list<T> of) {
    return *(of.begin() + random_.Uniform(of.size()));
  }
  StoreOptions SomeOptions();
  int64_t SomeDueMs();
  Message SomeMessage();
  int64_t SomePassingMs();

  // --- operations ---
  void OneOperation();
  void Put(size_t count);
  void Cancel();
  void Move();
  void CommitProgress();
  void AckSome();
  void PutAndAck();
  void Pump();
  void Replace();
  void PassTime();
  void TurnHour();
  void StepClock();
  void Step();
  const Oracle::Given* SomeGiven();

  // --- lives ---
  void OneLife();
  void Live(uint64_t operations);
  void InterruptedOpens();
  bool Open();
  void StartTrouble();
  void FailLargeGroup();
  void FillDisk();
  void EndLife();
  void CloseStore();
  void LosePower();
  void Kill();
  void Downtime();
  void Finish();
  void DamagedLife(bool by_power_loss);
  void DamageDisk();
  bool OpenDamaged();
  void DeliverAll();

  void Note(std::string line);
  void Fail(std::string why) { oracle_.Fail(std::move(why)); }
  bool failed() const { return oracle_.failed(); }
  int64_t now_ms() { return clock_.NowMs(); }
  std::string Report();

  const uint64_t seed_;
  Random random_;
  const FaultPlan plan_;
  FaultCounts counts_{};
  VirtualClock clock_;
  std::unique_ptr<SimFileSystem> fs_;
  StoreOptions options_;
  std::unique_ptr<DelayStore> store_;
  Oracle oracle_;
  SimTotals totals_;
  std::deque<std::string> story_;
  uint64_t next_id_ = 0;
  bool damaged_ = false;
  uint64_t large_percent_ = 10;  // of messages: a kilobyte
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_SIM_RUN_H_
