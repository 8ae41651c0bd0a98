// File: sim_machine.h
//
// The simulated machine behind a SimFileSystem and the files and locks that
// come from it: its power, its disk, the faults that wait for their calls, and
// the trace of all calls so far.
//
//   const std::lock_guard lock(machine->mutex);
//   const SimVerdict verdict = machine->Begin(SimOp::kWrite, path, at, size);
//   if (verdict.perform) ...
//   return machine->End(SimOp::kWrite, path, verdict.status);
//
// Ownership: shared by the file system and all that it opened. The clock, the
// plan and the counts belong to the run.
//
// Threads: who calls a method holds the mutex.
#ifndef HOURGLASS_TESTS_SIMULATION_SIM_MACHINE_H_
#define HOURGLASS_TESTS_SIMULATION_SIM_MACHINE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hourglass/clock.h"
#include "tests/simulation/fault_plan.h"
#include "tests/simulation/sim_disk.h"

namespace hourglass {

inline constexpr uint64_t kSimUnlimited = std::numeric_limits<uint64_t>::max();
inline constexpr uint64_t kSimMuchFreeSpace = uint64_t{1} << 40;
inline constexpr size_t kSimCallsKept = 64;

// What a machine without power answers, and what a fault does.
absl::Status SimNoPower();
absl::Status SimIoError(FaultKind kind);
uint64_t SimMix(uint64_t hash, uint64_t with);

// What becomes of a call: it is carried out or not, and answered with
// `status` if that is an error.
struct SimVerdict {
  bool perform = true;
  absl::Status status;
  FaultKind fault = FaultKind::kCount_;
};

struct SimCall {
  SimOp op = SimOp::kStat;
  std::string path;
  uint64_t offset = 0;
  uint64_t size = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
};

struct SimMachine {
  SimVerdict Begin(SimOp op, const std::string& path, uint64_t offset,
                   uint64_t size);
  SimVerdict Judge(SimOp op, const std::string& path);
  // Writes the outcome into the trace and names operation and path.
  absl::Status End(SimOp op, const std::string& path, absl::Status status);
  void WriteBackSome();
  // What is written counts for the trace, too; but not RocksDB's, which has
  // random numbers of its own in it.
  void NoteContent(const std::string& path, std::string_view data);
  void NoteWritten(const SimInodePtr& inode);
  uint64_t FreeBytes() const {
    if (capacity == kSimUnlimited) return kSimMuchFreeSpace;
    return capacity - std::min(capacity, disk->UsedBytes());
  }
  std::shared_ptr<SimMachine> Successor(uint64_t seed) const;
  std::unique_ptr<SimDisk> DiskAfterPowerLoss(SplitMix64* after) const;

  std::mutex mutex;
  VirtualClock* clock = nullptr;
  const FaultPlan* plan = nullptr;
  FaultCounts* counts = nullptr;
  std::shared_ptr<SimDisk> disk;
  SplitMix64 rng{0};

  bool power = true;
  uint64_t power_off_at = 0;  // number of a call; 0: never
  uint64_t calls = 0;
  std::vector<Fault> faults;
  uint64_t errors = 0;
  uint64_t capacity = kSimUnlimited;

  std::vector<SimInodePtr> written;  // lately, for write-back
  uint64_t trace = 0;
  std::array<SimCall, kSimCallsKept> last;
  std::function<void(uint64_t)> observer;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_SIM_MACHINE_H_
