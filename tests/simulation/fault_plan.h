// File: fault_plan.h
//
// What goes wrong in one simulated run, as data: drawn from the seed, printed
// when the run fails, and counted when it happens. A kind of fault that never
// fired was not tested.
//
//   Random random(seed);
//   FaultPlan plan = FaultPlan::Draw(&random);
//   std::puts(plan.ToString().c_str());
//
// Swarm testing: each plan switches a random subset of the faults on, because
// a run in which everything fails gets nowhere, and one in which everything
// fails a little never meets the rare pairs.
//
// Limitations: no fault is aimed at a byte; `where` names a part of the path.
#ifndef HOURGLASS_TESTS_SIMULATION_FAULT_PLAN_H_
#define HOURGLASS_TESTS_SIMULATION_FAULT_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/random.h"
#include "tests/support/paged_content.h"

namespace hourglass {

enum class FaultKind : uint8_t {
  // --- a power loss: what it leaves ---
  kPowerLoss,
  kPowerLossInOpen,
  kProcessKill,  // the page cache survives
  kPageLost,
  kPageTorn,
  kSectorGarbage,
  kSectorTrashed,  // with bytes beside the write: no powersafe overwrite
  kPageGrownZero,  // the size is there, the content is not
  kSizeLost,
  kCreateLost,
  kRenameLost,
  kUnlinkLost,
  kWriteBack,  // a page reaches the disk before anybody asked
  // --- errors ---
  kWriteError,
  kShortWrite,
  kNoSpaceCall,
  kNoSpaceBudget,
  kSyncErrorClean,   // pages count as clean, the cache keeps them
  kSyncErrorRevert,  // the cache goes back to what the disk has
  kSyncErrorLate,    // said OK; the next sync reports it
  kReadError,
  kOpenError,
  kCreateError,
  kAllocateError,
  kTruncateError,
  kRenameError,
  kRemoveError,
  kSyncDirError,
  kListError,
  kErrorInOpen,  // any of these while the store was opening
  // --- damage at rest ---
  kBadSector,  // cannot be read until it is written again
  kBitRot,
  kBlockMisdirected,  // two blocks of a file have changed places
  kBlockDuplicated,   // one stands where another should
  kFileCut,
  // --- time ---
  kSlowSync,
  kClockBack,
  kClockForward,
  kLongDowntime,
  kCount_,  // how many there are
};
inline constexpr size_t kFaultKinds = static_cast<size_t>(FaultKind::kCount_);
std::string_view FaultKindName(FaultKind kind);

using FaultCounts = std::array<uint64_t, kFaultKinds>;
inline void Count(FaultCounts* counts, FaultKind kind, uint64_t times = 1) {
  (*counts)[static_cast<size_t>(kind)] += times;
}

// What the simulated disk does with calls.
enum class SimOp : uint8_t {
  kRead,
  kWrite,
  kSync,
  kAllocate,
  kTruncate,
  kOpen,
  kCreate,  // of files, directories and locks
  kRename,
  kRemove,
  kSyncDir,
  kList,
  kStat,  // sizes, times, existence, free space: never fails
  kCount_,
};
std::string_view SimOpName(SimOp op);
// Whether an error of this kind can strike this operation.
bool Strikes(FaultKind kind, SimOp op);
// Whether the store keeps what met such an error, and tries it again.
inline bool IsTriedAgain(FaultKind kind) {
  return kind == FaultKind::kOpenError || kind == FaultKind::kNoSpaceCall;
}

// One error that is waiting for its call.
struct Fault {
  FaultKind kind = FaultKind::kWriteError;
  std::string where;  // part of the path; "": everywhere
  uint32_t nth = 1;   // matching call from now, 1 = the next
  bool sticky = false;

  std::string ToString() const;
};

// How a disk keeps names: the two families of file systems.
enum class NameOrder {
  kJournal,    // in the order in which they were changed, as ext4 and XFS
  kAnySubset,  // each on its own, as POSIX allows
};

// What kinds of trouble a run may meet.
struct FaultPlan {
  NameOrder order = NameOrder::kJournal;
  PowerLoss power_loss;
  // The store's log stands sector by sector, and survives a disk without
  // powersafe overwrite; other files need it (docs/simulation.md).
  bool trash_beside_log_writes = false;
  bool trash_beside_all_writes = false;
  uint32_t write_back_permille = 0;  // of all calls

  uint32_t power_loss_percent = 50;  // of the ends of lives
  uint32_t in_open_percent = 0;      // lives that begin with interrupted opens
  uint32_t slow_sync_percent = 0;
  uint32_t clock_percent = 0;
  bool no_space_budget = false;
  bool damage = false;  // one life, the last, meets damage at rest
  std::vector<FaultKind> errors;
  std::vector<FaultKind> damages;

  static FaultPlan Draw(Random* random);
  // Of the kinds in `errors`, or one that strikes the log.
  Fault DrawFault(Random* random) const;
  std::string ToString() const;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_FAULT_PLAN_H_
