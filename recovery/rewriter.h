// File: rewriter.h
//
// The part of a repair that decides what the new log holds. Reads the old log
// in order; wherever a number of an hour is missing in it, takes the record
// from the hour's files, or leaves a placeholder.
//
//   Rewriter rewriter(survey, log);
//   RETURN_IF_ERROR(rewriter.Run());
//   rewriter.bases()      // hours whose numbers do not begin at 1
//   rewriter.report()     // counts, and what was lost
//
// How each record of the old log goes over:
//   Ready         | as it is
//   Delayed(n)    | numbers before n that are missing are filled in first
//   Cancel(n)     | the same; a placeholder if its target is none any more
//   Delivered(n)  | the same; as a Ready record if the hour has no number n
//   Ack           | counted anew, at the end (consumer_progress.h)
//   Checkpoint    | left out
// A message that was delivered although no record says so any more is marked
// delivered at once, without its body.
//
// Threads: one.
//
// Keeps promise 2: what is known of a message decides what is written.
#ifndef HOURGLASS_RECOVERY_REWRITER_H_
#define HOURGLASS_RECOVERY_REWRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "recovery/consumer_progress.h"
#include "recovery/rebuilt_log.h"
#include "recovery/repair.h"
#include "recovery/salvage_hour.h"
#include "recovery/survey.h"
#include "wheel/hour_ledger.h"

namespace hourglass {

class Rewriter {
 public:
  Rewriter(const StoreSurvey* survey, RebuiltLog* log);

  absl::Status Run();

  const RepairReport& report() const { return report_; }
  // Numbers that were given out before the first one of the new log.
  std::map<Hour, RecordNumber> bases() const;

 private:
  struct HourState {
    bool has_files = false;
    RecordNumber base;
    RecordNumber next;     // to be written
    NumberSet cancelled;   // by tombstones of the files
    NumberSet tombstones;  // written: numbers that are no messages
    NumberSet fillers;     // written: placeholders
    NumberSet done;        // written: delivered, cancelled, placeholders
  };

  absl::Status OnRecord(const LogRecord& record);
  absl::Status OnDelayed(const LogRecord& record);
  absl::Status OnDelivered(const LogRecord& record);
  absl::Status OnMark(const LogRecord& record, HourState* state);
  absl::Status OnCancel(const LogRecord& record);
  absl::Status PutReady(const LogRecord& record);

  absl::StatusOr<HourState*> StateOf(Hour hour);
  bool UsesFiles(Hour hour) const;
  // Writes everything up to and with `last`; from the files as far as they go.
  absl::Status FillTo(Hour hour, HourState* state, RecordNumber last,
                      HourBound bound);
  absl::Status FillFromFiles(Hour hour, HourState* state, RecordNumber last,
                             HourBound bound);
  absl::Status Salvaged(Hour hour, HourState* state,
                        const SalvagedRecord& record);
  absl::Status FillRest();
  absl::Status WriteProgress();

  absl::Status PutMessage(Hour hour, HourState* state, std::string_view payload,
                          bool damaged);
  absl::Status PutCancel(Hour hour, HourState* state, RecordNumber target,
                         uint32_t ms_into_hour);
  absl::Status PutFiller(Hour hour, HourState* state, int64_t due_ms);
  absl::Status PutMark(Hour hour, HourState* state, RecordNumber number);
  absl::Status WriteMarks();
  absl::Status Add(RecordKind kind, uint8_t flags, Hour hour,
                   RecordNumber number, std::string_view payload);
  void Lost(Hour hour, const HourState& state, const SalvagedRecord& record);
  void FlushLost();

  const StoreSurvey* const survey_;
  RebuiltLog* const log_;
  ConsumerProgress progress_;
  RepairReport report_;
  std::map<Hour, HourState> hours_;
  std::set<Hour> hours_with_files_;
  int64_t written_ms_ = 0;  // of the old record at hand
  // Delivered, without a body, and not written yet: to apply one the store
  // flushes its hour, so they come in batches.
  std::vector<std::pair<Hour, RecordNumber>> marks_;

  std::optional<Finding> lost_;  // records side by side
  Hour lost_hour_;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_REWRITER_H_
