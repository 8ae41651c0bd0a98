#include "recovery/pending_scan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recovery/salvage_hour.h"
#include "recovery/survey.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

class PendingScan {
 public:
  PendingScan(const StoreSurvey* survey, const PendingFilter& filter,
              const OnPending& on_pending)
      : survey_(survey), filter_(filter), on_pending_(on_pending) {}

  absl::Status Run() {
    for (const Hour hour : survey_->hours) {
      if (InWindow(hour)) RETURN_IF_ERROR(ScanHour(hour));
    }
    return ScanLog();
  }

  PendingScanReport report;

 private:
  // What of an hour was found in its files.
  struct Seen {
    NumberSet given;  // or known not to be pending
    NumberSet cancelled;
    uint64_t lost = 0;  // pending, and not readable here
  };

  bool InWindow(Hour hour) const {
    return StartMs(hour) < filter_.to_ms && StartMs(hour + 1) > filter_.from_ms;
  }
  bool Matches(int64_t due_ms) const {
    return due_ms >= filter_.from_ms && due_ms < filter_.to_ms;
  }

  absl::Status ScanHour(Hour hour) {
    const auto facts = survey_->FactsOf(hour);
    if (facts && (facts->retired || facts->delay_log_bytes == 0)) {
      return absl::OkStatus();  // the log has it all
    }
    ASSIGN_OR_RETURN(const auto files,
                     HourSalvage::Open(survey_->source, survey_->id, hour,
                                       facts, HourBound::kFacts));
    Seen& seen = seen_[hour];
    RETURN_IF_ERROR(files->Cancelled(&seen.cancelled));
    const RecordNumber last = facts ? facts->last : RecordNumber::Max();
    return files->Scan(files->base() + 1, last,
                       [&](const SalvagedRecord& record) {
                         return OnSalvaged(hour, &seen, record);
                       });
  }

  absl::Status OnSalvaged(Hour hour, Seen* seen, const SalvagedRecord& record) {
    if (record.kind == SalvagedKind::kTombstone) return absl::OkStatus();
    const Fate fate = FateOf(hour, *seen, record.number, record.DueMs(hour),
                             record.damaged());
    if (record.kind != SalvagedKind::kMessage) {
      const bool pending =
          fate == Fate::kPending || fate == Fate::kPendingMaybeTwice;
      if (pending && record.kind == SalvagedKind::kLost) ++seen->lost;
      return absl::OkStatus();
    }
    seen->given.Insert(record.number);
    return Give(hour, record.number, fate, record.payload);
  }

  Fate FateOf(Hour hour, const Seen& seen, RecordNumber number, int64_t due_ms,
              bool damaged) const {
    if (seen.cancelled.Contains(number)) return Fate::kCancelled;
    return survey_->log.FateOf(hour, number, due_ms, damaged,
                               survey_->cursor());
  }

  absl::Status Give(Hour hour, RecordNumber number, Fate fate,
                    std::string_view payload) {
    if (fate != Fate::kPending && fate != Fate::kPendingMaybeTwice) {
      return absl::OkStatus();
    }
    const auto message = DecodeMessage(payload);
    if (!message.ok() || !Matches(message->due_ms) ||
        (!filter_.topic.empty() && message->topic != filter_.topic)) {
      return absl::OkStatus();
    }
    FoundMessage found;
    found.store = survey_->id;
    found.hour = hour;
    found.number = number;
    found.maybe_twice = fate == Fate::kPendingMaybeTwice;
    found.message = *message;
    ++report.messages;
    report.maybe_twice += found.maybe_twice;
    return on_pending_(found);
  }

  // Everything that the hours' files did not give.
  absl::Status ScanLog() {
    const LogOffset durable =
        survey_->newest ? survey_->newest->applied : LogOffset();
    LogSalvage log(survey_->source, survey_->id, durable);
    RETURN_IF_ERROR(log.Run(
        [this](const LogRecord& record, int64_t) { return OnRecord(record); },
        [](const DamagedRange&) { return absl::OkStatus(); }));
    for (const auto& [hour, seen] : seen_) report.unreadable += seen.lost;
    return absl::OkStatus();
  }

  absl::Status OnRecord(const LogRecord& record) {
    if (record.kind != RecordKind::kDelayed || !InWindow(record.hour)) {
      return absl::OkStatus();
    }
    Seen& seen = seen_[record.hour];
    if (!seen.given.Insert(record.number)) return absl::OkStatus();
    const Fate fate =
        FateOf(record.hour, seen, record.number,
               PeekMessage(record.payload).due_ms, /*damaged=*/false);
    if (seen.lost > 0 && fate != Fate::kCancelled) --seen.lost;
    return Give(record.hour, record.number, fate, record.payload);
  }

  const StoreSurvey* const survey_;
  const PendingFilter filter_;
  const OnPending& on_pending_;
  std::map<Hour, Seen> seen_;
};

}  // namespace

absl::StatusOr<PendingScanReport> ScanPending(const SalvageSource& source,
                                              const PendingFilter& filter,
                                              const OnPending& on_pending) {
  ASSIGN_OR_RETURN(const auto survey, StoreSurvey::Make(source));
  PendingScan scan(survey.get(), filter, on_pending);
  RETURN_IF_ERROR(scan.Run());
  scan.report.findings = std::move(survey->findings);
  return std::move(scan.report);
}

}  // namespace hourglass
