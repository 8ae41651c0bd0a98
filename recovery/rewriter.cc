#include "recovery/rewriter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "recovery/store_state.h"
#include "storage/applier.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// A placeholder is never delivered; its topic is for people who look.
constexpr char kFillerTopic[] = "hourglass.lost";

constexpr size_t kMarksMax = 16384;

std::string FillerPayload(int64_t due_ms) {
  MessageView message;
  message.topic = kFillerTopic;
  message.due_ms = std::max<int64_t>(due_ms, 1);
  std::string payload;
  EncodeMessage(message, &payload);
  return payload;
}

}  // namespace

Rewriter::Rewriter(const StoreSurvey* survey, RebuiltLog* log)
    : survey_(survey),
      log_(log),
      progress_(survey),
      hours_with_files_(survey->hours.begin(), survey->hours.end()) {}

absl::Status Rewriter::Run() {
  RETURN_IF_ERROR(progress_.FindAnchors(&report_.findings));
  const LogOffset durable =
      survey_->newest ? survey_->newest->applied : LogOffset();
  LogSalvage old(survey_->source, survey_->id, durable);
  RETURN_IF_ERROR(old.Run(
      [this](const LogRecord& record, int64_t written_ms) {
        written_ms_ = written_ms;
        return OnRecord(record);
      },
      [this](const DamagedRange& range) {
        progress_.OnDamage(range);
        return absl::OkStatus();
      }));
  RETURN_IF_ERROR(FillRest());
  FlushLost();
  RETURN_IF_ERROR(WriteMarks());
  return WriteProgress();
}

absl::Status Rewriter::Add(RecordKind kind, uint8_t flags, Hour hour,
                           RecordNumber number, std::string_view payload) {
  return log_->Add(kind, flags, hour, number, payload, written_ms_);
}

absl::Status Rewriter::OnRecord(const LogRecord& record) {
  switch (record.kind) {
    case RecordKind::kReady:
      return PutReady(record);
    case RecordKind::kDelayed:
      return OnDelayed(record);
    case RecordKind::kDelivered:
      return OnDelivered(record);
    case RecordKind::kCancel:
      return OnCancel(record);
    case RecordKind::kAck:
    case RecordKind::kCheckpoint:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status Rewriter::PutReady(const LogRecord& record) {
  const PeekedMessage message = PeekMessage(record.payload);
  if (message.topic.empty()) return absl::OkStatus();
  ++report_.ready;
  progress_.OnReady(message.topic, record.offset, /*kept=*/true);
  return Add(RecordKind::kReady, 0, Hour(), RecordNumber(), record.payload);
}

absl::Status Rewriter::OnDelayed(const LogRecord& record) {
  ASSIGN_OR_RETURN(HourState * state, StateOf(record.hour));
  if (record.number < state->next) return absl::OkStatus();
  RETURN_IF_ERROR(
      FillTo(record.hour, state, record.number - 1, HourBound::kWholeFile));
  return PutMessage(record.hour, state, record.payload, /*damaged=*/false);
}

absl::Status Rewriter::OnCancel(const LogRecord& record) {
  ASSIGN_OR_RETURN(HourState * state, StateOf(record.hour));
  const auto cancel = DecodeCancel(record.payload);
  if (!cancel.ok() || record.number < state->next) return absl::OkStatus();
  RETURN_IF_ERROR(
      FillTo(record.hour, state, record.number - 1, HourBound::kWholeFile));
  return PutCancel(record.hour, state, cancel->target, cancel->ms_into_hour);
}

absl::Status Rewriter::OnDelivered(const LogRecord& record) {
  ASSIGN_OR_RETURN(HourState * state, StateOf(record.hour));
  const RecordNumber number = record.number;
  if (number >= state->next && state->has_files) {
    RETURN_IF_ERROR(FillTo(record.hour, state, number, HourBound::kWholeFile));
  }
  if ((record.flags & kFlagMarkOnly) != 0) return OnMark(record, state);
  const PeekedMessage message = PeekMessage(record.payload);
  if (number <= state->base || number >= state->next ||
      state->fillers.Contains(number) || state->tombstones.Contains(number)) {
    return PutReady(record);  // the hour has it no more
  }
  if (!state->done.Insert(number)) {
    progress_.OnReady(message.topic, record.offset, /*kept=*/false);
    return absl::OkStatus();  // delivered before, or cancelled
  }
  ++report_.ready;
  ++report_.delivered;
  progress_.OnReady(message.topic, record.offset, /*kept=*/true);
  return Add(RecordKind::kDelivered, 0, record.hour, number, record.payload);
}

// The host has the message: there is nothing to keep but the fact.
absl::Status Rewriter::OnMark(const LogRecord& record, HourState* state) {
  const RecordNumber number = record.number;
  if (number <= state->base || number >= state->next ||
      state->tombstones.Contains(number) || state->done.Contains(number)) {
    return absl::OkStatus();
  }
  return PutMark(record.hour, state, number);
}

absl::Status Rewriter::PutMark(Hour hour, HourState* state,
                               RecordNumber number) {
  state->done.Insert(number);
  ++report_.delivered;
  marks_.emplace_back(hour, number);
  return marks_.size() < kMarksMax ? absl::OkStatus() : WriteMarks();
}

absl::Status Rewriter::WriteMarks() {
  for (const auto& [hour, number] : marks_) {
    RETURN_IF_ERROR(
        Add(RecordKind::kDelivered, kFlagMarkOnly, hour, number, ""));
  }
  marks_.clear();
  return absl::OkStatus();
}

// Not those that the next open would take away.
bool Rewriter::UsesFiles(Hour hour) const {
  if (!hours_with_files_.contains(hour)) return false;
  const auto facts = survey_->FactsOf(hour);
  return !facts || !facts->retired;
}

absl::StatusOr<Rewriter::HourState*> Rewriter::StateOf(Hour hour) {
  const auto [at, is_new] = hours_.try_emplace(hour);
  HourState* state = &at->second;
  if (!is_new) return state;
  state->has_files = UsesFiles(hour);
  const HourTrace* trace = survey_->log.Find(hour);
  if (state->has_files) {
    ASSIGN_OR_RETURN(
        const auto files,
        HourSalvage::Open(survey_->source, survey_->id, hour,
                          survey_->FactsOf(hour), HourBound::kWholeFile));
    state->base = files->base();
    RETURN_IF_ERROR(files->Cancelled(&state->cancelled));
  } else if (trace != nullptr && trace->first != RecordNumber()) {
    state->base = trace->first - 1;
  } else if (const auto facts = survey_->FactsOf(hour)) {
    state->base = facts->last;
  }
  state->next = state->base + 1;
  return state;
}

absl::Status Rewriter::FillTo(Hour hour, HourState* state, RecordNumber last,
                              HourBound bound) {
  if (state->next > last) return absl::OkStatus();
  if (state->has_files) {
    RETURN_IF_ERROR(FillFromFiles(hour, state, last, bound));
  }
  if (last == RecordNumber::Max()) return absl::OkStatus();
  while (state->next <= last) {
    SalvagedRecord nothing;
    nothing.number = state->next;
    nothing.index_why = "neither log nor files have it";
    RETURN_IF_ERROR(Salvaged(hour, state, nothing));
  }
  return absl::OkStatus();
}

absl::Status Rewriter::FillFromFiles(Hour hour, HourState* state,
                                     RecordNumber last, HourBound bound) {
  ASSIGN_OR_RETURN(const auto files,
                   HourSalvage::Open(survey_->source, survey_->id, hour,
                                     survey_->FactsOf(hour), bound));
  return files->Scan(state->next, last, [&](const SalvagedRecord& record) {
    return Salvaged(hour, state, record);
  });
}

absl::Status Rewriter::Salvaged(Hour hour, HourState* state,
                                const SalvagedRecord& record) {
  switch (record.kind) {
    case SalvagedKind::kMessage:
      return PutMessage(hour, state, record.payload, record.damaged());
    case SalvagedKind::kTombstone:
      return PutCancel(hour, state, record.target, record.ms_into_hour);
    case SalvagedKind::kLost:
      Lost(hour, *state, record);
      return PutFiller(hour, state, record.DueMs(hour));
  }
  return absl::OkStatus();
}

absl::Status Rewriter::PutMessage(Hour hour, HourState* state,
                                  std::string_view payload, bool damaged) {
  const RecordNumber number = state->next;
  const PeekedMessage message = PeekMessage(payload);
  if (message.topic.empty() || HourOf(message.due_ms) != hour) {
    SalvagedRecord record;
    record.number = number;
    record.frame_why = "the message makes no sense";
    Lost(hour, *state, record);
    return PutFiller(hour, state, StartMs(hour));
  }
  RETURN_IF_ERROR(Add(RecordKind::kDelayed, 0, hour, number, payload));
  state->next = number + 1;
  const Fate fate = survey_->log.FateOf(hour, number, message.due_ms, damaged,
                                        survey_->cursor());
  const bool cancelled =
      fate == Fate::kCancelled || state->cancelled.Contains(number);
  if (cancelled || fate == Fate::kDelivered) return absl::OkStatus();
  if (fate == Fate::kDone) return PutMark(hour, state, number);
  ++report_.pending;
  if (fate == Fate::kPendingMaybeTwice) ++report_.maybe_twice;
  return absl::OkStatus();
}

absl::Status Rewriter::PutCancel(Hour hour, HourState* state,
                                 RecordNumber target, uint32_t ms_into_hour) {
  const RecordNumber number = state->next;
  if (target <= state->base || target >= number ||
      state->tombstones.Contains(target) || !state->done.Insert(target)) {
    return PutFiller(hour, state, StartMs(hour) + ms_into_hour);
  }
  RETURN_IF_ERROR(Add(RecordKind::kCancel, 0, hour, number,
                      EncodeCancel({target, ms_into_hour})));
  state->tombstones.Insert(number);
  state->next = number + 1;
  ++report_.cancelled;
  return absl::OkStatus();
}

absl::Status Rewriter::PutFiller(Hour hour, HourState* state, int64_t due_ms) {
  const RecordNumber number = state->next;
  RETURN_IF_ERROR(
      Add(RecordKind::kDelayed, 0, hour, number, FillerPayload(due_ms)));
  state->fillers.Insert(number);
  state->done.Insert(number);
  state->next = number + 1;
  marks_.emplace_back(hour, number);
  return marks_.size() < kMarksMax ? absl::OkStatus() : WriteMarks();
}

// Hours have records that the log has no more, or never had to the end.
absl::Status Rewriter::FillRest() {
  std::set<Hour> hours = hours_with_files_;
  if (survey_->checkpoint) {
    for (const auto& [hour, facts] : survey_->checkpoint->hours) {
      if (!facts.retired && facts.last > facts.base) hours.insert(hour);
    }
  }
  for (const auto& [hour, trace] : survey_->log.hours()) hours.insert(hour);
  for (const Hour hour : hours) {
    const auto facts = survey_->FactsOf(hour);
    if (facts && facts->retired) continue;
    ASSIGN_OR_RETURN(HourState * state, StateOf(hour));
    // Without a checkpoint nobody knows where the hour ends.
    const RecordNumber last = facts              ? facts->last
                              : state->has_files ? RecordNumber::Max()
                                                 : RecordNumber();
    RETURN_IF_ERROR(FillTo(hour, state, last, HourBound::kFacts));
    if (facts && !state->has_files && state->base == facts->last &&
        facts->pending() > 0) {
      Finding finding;
      finding.file = absl::StrCat(kHoursDirName, "/", DelayLogName(hour));
      finding.what = "the hour's files are gone, and the log has no record";
      finding.messages = facts->pending();
      finding.means = absl::StrCat(facts->pending(), " messages due in hour ",
                                   HourName(hour), " are lost");
      report_.lost += facts->pending();
      report_.findings.Add(std::move(finding));
    }
  }
  return absl::OkStatus();
}

void Rewriter::Lost(Hour hour, const HourState& state,
                    const SalvagedRecord& record) {
  const int64_t due_ms = record.DueMs(hour);
  const Fate fate = survey_->log.FateOf(hour, record.number, due_ms,
                                        /*damaged=*/true, survey_->cursor());
  if (state.cancelled.Contains(record.number) || fate == Fate::kCancelled ||
      fate == Fate::kDelivered || fate == Fate::kDone) {
    return;
  }
  const std::string when = record.index
                               ? FormatUtc(due_ms)
                               : absl::StrCat("in hour ", HourName(hour));
  const std::string what = absl::StrCat("a message due ", when, " is lost");
  ++report_.lost;
  if (lost_ && lost_hour_ == hour && lost_->what == what &&
      lost_->record_last == record.number.value() - 1) {
    lost_->record_last = record.number.value();
    ++lost_->messages;
    if (!record.id.empty() && lost_->ids.size() < Finding::kIdsMax) {
      lost_->ids.push_back(record.id);
    }
    return;
  }
  FlushLost();
  lost_hour_ = hour;
  lost_.emplace();
  lost_->file = absl::StrCat(kHoursDirName, "/", DelayLogName(hour));
  lost_->record = lost_->record_last = record.number.value();
  lost_->what = what;
  lost_->messages = 1;
  if (!record.id.empty()) lost_->ids = {record.id};
  lost_->means = record.index_why.empty() ? record.frame_why : record.index_why;
}

void Rewriter::FlushLost() {
  if (!lost_) return;
  if (lost_->record == lost_->record_last) lost_->record_last.reset();
  report_.findings.Add(*std::exchange(lost_, std::nullopt));
}

absl::Status Rewriter::WriteProgress() {
  for (const auto& [consumer, progress] : progress_.Result(&report_.findings)) {
    const auto& [topic, group] = consumer;
    if (!progress.HasMarks()) {
      RETURN_IF_ERROR(Add(RecordKind::kAck, 0, Hour(), RecordNumber(),
                          EncodeAck({topic, group, progress.next})));
      continue;
    }
    for (const std::string& marks : EncodeManyMarks(topic, group, progress)) {
      RETURN_IF_ERROR(
          Add(RecordKind::kAck, kFlagMarks, Hour(), RecordNumber(), marks));
    }
  }
  return absl::OkStatus();
}

std::map<Hour, RecordNumber> Rewriter::bases() const {
  std::map<Hour, RecordNumber> bases;
  if (survey_->checkpoint) {
    for (const auto& [hour, facts] : survey_->checkpoint->hours) {
      if (facts.last > RecordNumber()) bases[hour] = facts.last;
    }
  }
  for (const auto& [hour, state] : hours_) {
    bases[hour] = state.base;
    // Only Ready records came of it: its numbers are still taken.
    if (state.next == state.base + 1) {
      if (const auto facts = survey_->FactsOf(hour)) {
        bases[hour] = std::max(state.base, facts->last);
      }
    }
  }
  std::erase_if(bases,
                [](const auto& at) { return at.second == RecordNumber(); });
  return bases;
}

}  // namespace hourglass
