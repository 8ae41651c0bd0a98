// File: sim_file_system.h
//
// The simulated machine's file system: SimDisk behind the seam that the store
// and RocksDB use, with every call counted, traced, and open to fail as the
// fault plan says.
//
//   VirtualClock clock(start_ms);
//   FaultCounts counts{};
//   SimFileSystem fs(&clock, plan, seed, &counts);
//   fs.Arm({FaultKind::kSyncErrorClean, "commitlog", 3, false});
//   fs.PowerOffAfter(200);              // in the middle of whatever that is
//   ...
//   auto after = fs.PowerLoss(seed);    // or Kill(): the page cache survives
//
// A machine that has lost power answers every call with UNAVAILABLE, so what
// is still running on it can do no harm. The call in which the power goes is
// half done.
//
// Errors strike as follows. A write that fails has written nothing (write
// error, no space) or a part (short write). A sync that fails leaves pages
// that count as clean, or takes the cached ones back; or it says OK and the
// next sync of that file reports it. All other calls that fail do nothing.
//
// Ownership: clock, plan and counts are the caller's and outlive it; Files
// may outlive the file system.
//
// Threads: RocksDB may flush from a thread of its own while the store waits
// for it; one mutex guards all.
//
// Limitations: no permissions, no memory mapping. Free space counts whole
// pages of files that have a name.
#ifndef HOURGLASS_TESTS_SIMULATION_SIM_FILE_SYSTEM_H_
#define HOURGLASS_TESTS_SIMULATION_SIM_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/file_system.h"
#include "storage/random.h"
#include "tests/simulation/fault_plan.h"

namespace hourglass {

struct SimMachine;

class SimFileSystem final : public FileSystem {
 public:
  SimFileSystem(VirtualClock* clock, const FaultPlan& plan, uint64_t seed,
                FaultCounts* counts);
  ~SimFileSystem() override;

  // --- how it ends ---
  // What is there when power is back. This one is dead from here on.
  std::unique_ptr<SimFileSystem> PowerLoss(uint64_t seed);
  // The same, and this one goes on as if nothing had been.
  std::unique_ptr<SimFileSystem> PeekPowerLoss(uint64_t seed);
  // Only the process died: all that was written is there to read, whether or
  // not it will ever reach the disk.
  std::unique_ptr<SimFileSystem> Kill();

  // Power goes in the n-th call from now (1 = the next). 0: not at all.
  void PowerOffAfter(uint64_t calls);
  bool power_is_off();

  // --- what fails ---
  void Arm(const Fault& fault);
  // Also lifts the bound of SetFreeBytes.
  void Disarm();
  // Errors of calls since the last Arm or SetFreeBytes.
  uint64_t errors();
  // From now on this much fits; writes beyond it get RESOURCE_EXHAUSTED.
  void SetFreeBytes(uint64_t bytes);
  // Damages a disk at rest, past all caches; returns what and where, "" if
  // there was nothing to damage.
  std::string Damage(FaultKind kind, Random* random);
  // The same at a place of the caller's choice.
  void FlipBit(const std::string& path, uint64_t offset, int bit);
  void CutFile(const std::string& path, uint64_t size);

  // --- looking at it ---
  std::vector<std::string> Files();
  std::string Content(const std::string& path);
  uint64_t calls();
  // Of every call and its outcome, but not of the bytes: store ids are drawn
  // from the machine's entropy.
  uint64_t trace_hash();
  std::string LastCalls();
  // Runs before every call but those that only look, with the call's number.
  void set_observer(std::function<void(uint64_t call)> observer);

  absl::StatusOr<std::unique_ptr<File>> Open(const Path& path,
                                             OpenFlags flags) override;
  absl::Status Rename(const Path& from, const Path& to) override;
  absl::Status Remove(const Path& path) override;
  absl::Status RemoveDir(const Path& path) override;
  absl::Status CreateDir(const Path& path) override;
  absl::StatusOr<std::vector<std::string>> List(const Path& dir) override;
  absl::StatusOr<bool> Exists(const Path& path) override;
  absl::StatusOr<bool> IsDirectory(const Path& path) override;
  absl::StatusOr<uint64_t> FileSize(const Path& path) override;
  absl::StatusOr<int64_t> ModifiedMs(const Path& path) override;
  absl::Status SyncDir(const Path& dir) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const Path& path) override;
  absl::StatusOr<uint64_t> FreeSpace(const Path& dir) override;

 private:
  using Machine = SimMachine;
  class OpenFile;
  class HeldLock;

  explicit SimFileSystem(std::shared_ptr<Machine> machine);

  std::shared_ptr<Machine> machine_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_SIM_FILE_SYSTEM_H_
