// File: repair.h
//
// A new store from what is intact of an old one. Everything that can be read,
// in the log or in the hours' files, is written as a fresh commit log; then
// an ordinary open builds every derived file from it, as it does for a store
// that lost them. So no code but the store's own makes derived files.
//
//   RepairOptions options;
//   options.out = "/var/lib/repaired";
//   ASSIGN_OR_RETURN(RepairReport report, RepairStore(source, options));
//   report.pending, report.findings ...
//
// What is kept: the store's id, and with it every handle; due times; numbers
// of records; who was delivered and cancelled; how far consumers were. A
// record that nobody can read any more becomes a placeholder that is done, so
// that the numbers behind it stay what they were.
//
// The old store is only read. The new one is nothing until its file HOURGLASS
// is there, which comes last but for the derived files, so an interrupted
// repair leaves a directory that the next one clears.
//
// Errors: those of StoreSurvey::Make; FAILED_PRECONDITION if `out` is taken;
// RESOURCE_EXHAUSTED if it does not fit on the disk.
//
// Threads: one.
//
// Keeps promises 2 and 6: all that is intact, and nothing twice.
#ifndef HOURGLASS_RECOVERY_REPAIR_H_
#define HOURGLASS_RECOVERY_REPAIR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "hourglass/options.h"
#include "recovery/finding.h"
#include "recovery/salvage_file.h"

namespace hourglass {

struct RepairOptions {
  Path out;  // missing, empty, or left by an interrupted repair
  // Of the new store. Clock and file system are taken from here.
  StoreOptions store;
};

struct RepairReport {
  Path out;
  Path kept;           // where the old store is now
  uint64_t ready = 0;  // of the log: at once, and delivered
  uint64_t pending = 0;
  uint64_t cancelled = 0;
  uint64_t delivered = 0;    // by hour and number
  uint64_t maybe_twice = 0;  // pending ones that may have been delivered
  uint64_t lost = 0;         // messages
  // What was lost, by file and record; and what else is worth knowing.
  FindingList findings;
};

absl::StatusOr<RepairReport> RepairStore(const SalvageSource& source,
                                         const RepairOptions& options);

// Builds DIR.repaired, then DIR becomes DIR.damaged-<ms> and DIR.repaired
// becomes DIR. `options.out` is not used.
absl::StatusOr<RepairReport> RepairInPlace(const SalvageSource& source,
                                           const RepairOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_REPAIR_H_
