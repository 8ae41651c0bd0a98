// File: verify.h
//
// Everything of a stopped store, read and compared: each checksum, each chain
// (right slot, right predecessor, right count, so no cycle), the stored heads,
// the hours and queues against the commit log, the database's checkpoint
// against the log's. Writes nothing.
//
//   ASSIGN_OR_RETURN(VerifyReport report, VerifyStore(source));
//   report.sound()
//   for (const Finding& finding : report.findings.all()) ...
//
// Every file is read forward once, so it runs at the disk's speed; what it
// compares across files are digests, and a bit or two a message of the hour
// at hand and of the hours in the log.
//
// Errors: those of StoreSurvey::Make. Damage is none: it is in the report.
//
// Threads: one.
//
// Keeps promise 5: what a store would find out late, said now.
#ifndef HOURGLASS_RECOVERY_VERIFY_H_
#define HOURGLASS_RECOVERY_VERIFY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "recovery/finding.h"
#include "recovery/salvage_file.h"
#include "recovery/survey.h"

namespace hourglass {

struct VerifyReport {
  StoreId id;
  std::vector<FileReport> files;
  FindingList findings;
  uint64_t pending_messages = 0;  // readable ones
  uint64_t bytes = 0;             // of all files looked at

  bool sound() const { return findings.damages() == 0; }
};

absl::StatusOr<VerifyReport> VerifyStore(const SalvageSource& source);

// Bytes below the store's directory, for progress.
uint64_t StoreBytes(FileSystem* fs, const Path& dir);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_VERIFY_H_
