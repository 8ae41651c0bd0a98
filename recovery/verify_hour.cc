#include "recovery/verify_hour.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "recovery/store_state.h"
#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {

struct HourVerifier::Loss {
  bool is_index = false;
  RecordNumber first, last;
  std::string what;
  std::string means;   // behind the number of messages
  bool lost = false;   // they are gone
  bool counts = true;  // they are messages
  int64_t due_first = 0, due_last = 0;
  bool hour_only = false;  // nothing finer than the hour is known
  std::vector<std::string> ids;

  uint64_t count() const { return last - first + 1; }
  bool Continues(const Loss& next) const {
    return is_index == next.is_index && next.first == last + 1 &&
           what == next.what && means == next.means && lost == next.lost &&
           counts == next.counts && hour_only == next.hour_only;
  }
};

HourVerifier::HourVerifier(StoreSurvey* survey, Hour hour)
    : survey_(survey),
      hour_(hour),
      facts_(survey->FactsOf(hour)),
      trace_(survey->log.Find(hour)) {}

HourVerifier::~HourVerifier() = default;

std::string HourVerifier::FileName(bool is_index) const {
  return absl::StrCat(kHoursDirName, "/",
                      is_index ? DelayIndexName(hour_) : DelayLogName(hour_));
}

// Recovery takes away what the checkpoint does not know or gave up.
bool HourVerifier::WouldBeRemoved() const {
  return facts_ && (facts_->retired || facts_->delay_log_bytes == 0);
}

absl::Status HourVerifier::Run() {
  if (WouldBeRemoved()) return absl::OkStatus();
  ASSIGN_OR_RETURN(files_, HourSalvage::Open(survey_->source, survey_->id,
                                             hour_, facts_, HourBound::kFacts));
  CheckFiles();
  RETURN_IF_ERROR(files_->Cancelled(&cancelled_));
  LoadHeads();
  const RecordNumber last = facts_ ? facts_->last : files_->last_known();
  RETURN_IF_ERROR(
      files_->Scan(files_->base() + 1, last,
                   [this](const SalvagedRecord& r) { return Visit(r); }));
  FlushLoss();
  CheckCounts();
  CheckDigest();
  CheckHeads();
  survey_->files.push_back({FileName(false), "delay log", files_->log_bytes(),
                            messages_, log_damages_});
  survey_->files.push_back({FileName(true), "delay index",
                            files_->index_bytes(), messages_ + tombstone_count_,
                            index_damages_});
  return absl::OkStatus();
}

void HourVerifier::CheckFiles() {
  CheckFile(false, files_->has_log(), files_->log_why(), files_->log_bytes(),
            facts_ ? facts_->delay_log_bytes : 0);
  CheckFile(true, files_->has_index(), files_->index_why(),
            files_->index_bytes(), facts_ ? facts_->index_bytes() : 0);
}

void HourVerifier::CheckFile(bool is_index, bool there, const std::string& why,
                             uint64_t bytes, uint64_t expected) {
  if (!why.empty()) {
    Report(is_index, std::nullopt, why,
           there ? "the hour cannot be opened: nothing of it is delivered"
                 : "the store does not start");
  }
  if (there && bytes < expected) {
    Report(is_index, std::nullopt,
           absl::StrCat("has ", bytes, " bytes, the checkpoint expects ",
                        expected),
           "the store does not start");
  }
}

void HourVerifier::Report(bool is_index, std::optional<RecordNumber> number,
                          std::string what, std::string means) {
  ++(is_index ? index_damages_ : log_damages_);
  Finding finding;
  finding.file = FileName(is_index);
  if (number) finding.record = number->value();
  finding.what = std::move(what);
  finding.means = std::move(means);
  survey_->findings.Add(std::move(finding));
}

bool HourVerifier::LogHas(RecordNumber number) const {
  return trace_ != nullptr && trace_->first != RecordNumber() &&
         number >= trace_->first && number <= trace_->last && !trace_->HasGap();
}

absl::Status HourVerifier::Visit(const SalvagedRecord& record) {
  if (record.damaged()) Judge(record);
  if (record.index) {
    CheckChain(record);
  } else {
    chain_broken_ = true;
  }
  if (record.kind == SalvagedKind::kLost) {
    // Where the next frame stands, as far as anybody knows.
    next_location_ =
        record.index ? record.index->location + record.index->size : 0;
  }
  if (record.kind == SalvagedKind::kTombstone) {
    CheckTombstone(record);
    if (next_location_ != 0) next_location_ += kCancelFrameBytes;
  }
  if (record.kind == SalvagedKind::kMessage) CheckMessage(record);
  Digest(record);
  if (heads_ && record.number == heads_upto_) CheckHeads();
  return absl::OkStatus();
}

void HourVerifier::CheckChain(const SalvagedRecord& record) {
  const uint32_t slot = record.index->slot().value();
  if (!chain_broken_ && record.index->prev.value() != chain_[slot]) {
    Report(
        true, record.number,
        absl::StrCat("its chain goes on at record ", record.index->prev.value(),
                     ", but the record before "
                     "it in second ",
                     slot, " is ", chain_[slot]),
        "older messages of that second may be left out");
  }
  chain_[slot] = record.number.value();
}

void HourVerifier::CheckMessage(const SalvagedRecord& record) {
  ++messages_;
  message_bytes_ += kFrameHeaderBytes + record.payload.size();
  const auto message = DecodeMessage(record.payload);
  if (!message.ok()) {
    Report(false, record.number, std::string(message.status().message()),
           "the message cannot be delivered");
    return;
  }
  const IndexRecord* index = record.index ? &*record.index : nullptr;
  if (HourOf(message->due_ms) != hour_ ||
      (index != nullptr &&
       (index->ms_into_hour != MsIntoHour(message->due_ms) ||
        index->id_hash != IdHash(message->id)))) {
    Report(true, record.number,
           "the index record and the message disagree on due time or id",
           "the message may be delivered at a wrong time");
  }
  if (index != nullptr && !record.damaged()) {
    if (next_location_ != 0 && index->location != next_location_) {
      Report(true, record.number,
             absl::StrCat("its frame stands at ", index->location,
                          ", expected ", next_location_),
             "the files do not fit each other");
    }
    next_location_ = index->location + index->size;
  } else {
    next_location_ =
        record.location + kFrameHeaderBytes + record.payload.size();
  }
  const Fate fate = survey_->log.FateOf(hour_, record.number, message->due_ms,
                                        record.damaged(), survey_->cursor());
  const bool cancelled = cancelled_.Contains(record.number);
  if (!cancelled &&
      (fate == Fate::kPending || fate == Fate::kPendingMaybeTwice)) {
    ++pending_;
    if (fate == Fate::kPending) CheckNotForgotten(record);
  }
}

// Due before the cursor, and nobody says that it was delivered.
void HourVerifier::CheckNotForgotten(const SalvagedRecord& record) {
  if (!survey_->newest || trace_ == nullptr) return;
  const bool late = trace_->first_replay != RecordNumber() &&
                    record.number >= trace_->first_replay;
  if (late || SecondOf(record.DueMs(hour_)) >= survey_->newest->cursor) return;
  Finding finding;
  finding.file = FileName(false);
  finding.record = record.number.value();
  finding.what =
      absl::StrCat("the message was due ", FormatUtc(record.DueMs(hour_)),
                   " and was set aside: it has no Delivered record");
  finding.means = "1 message is late; repair delivers it";
  finding.ids = {std::string(PeekMessage(record.payload).id)};
  ++log_damages_;
  survey_->findings.Add(std::move(finding));
}

void HourVerifier::CheckTombstone(const SalvagedRecord& record) {
  ++tombstone_count_;
  if (record.target <= files_->base() || tombstones_.Contains(record.target)) {
    Report(true, record.number,
           absl::StrCat("cancels record ", record.target.value(),
                        ", which is no message of these files"),
           "which message it cancelled is not known");
  } else if (!tombstoned_.Insert(record.target)) {
    Report(true, record.number,
           absl::StrCat("cancels record ", record.target.value(),
                        ", which was cancelled before"),
           "counts of pending messages are wrong");
  }
  tombstones_.Insert(record.number);
}

void HourVerifier::Digest(const SalvagedRecord& record) {
  if (trace_ == nullptr || trace_->first == RecordNumber() ||
      record.number < trace_->first || record.number > trace_->last_applied) {
    return;
  }
  if (record.kind == SalvagedKind::kMessage) {
    digest_ ^= RecordDigest(record.number, record.payload_hash);
  } else if (record.kind == SalvagedKind::kTombstone) {
    digest_ ^= TombstoneDigest(record.number, record.target);
  } else {
    digest_complete_ = false;
  }
}

// What a damaged record means for its message.
void HourVerifier::Judge(const SalvagedRecord& record) {
  Loss loss;
  loss.first = loss.last = record.number;
  loss.is_index = !record.index_why.empty();
  loss.what = loss.is_index ? record.index_why : record.frame_why;
  loss.due_first = loss.due_last = record.DueMs(hour_);
  loss.hour_only = !record.index && record.kind != SalvagedKind::kMessage;
  const Fate fate = survey_->log.FateOf(hour_, record.number, loss.due_first,
                                        true, survey_->cursor());
  const bool cancelled =
      cancelled_.Contains(record.number) || fate == Fate::kCancelled;
  if (record.kind == SalvagedKind::kMessage) {
    loss.means = record.frame_why.empty()
                     ? "delivered all the same: the delay log makes up for it"
                     : "not delivered before a repair, which saves it";
    loss.ids = {std::string(PeekMessage(record.payload).id)};
  } else if (record.kind == SalvagedKind::kTombstone) {
    loss.counts = false;
    loss.means = "a cancel: nothing is lost";
  } else if (cancelled) {
    loss.means = "cancelled: nothing is lost";
  } else if (LogHas(record.number)) {
    loss.means =
        "not delivered before a repair, which saves it from the "
        "commit log";
  } else if (fate == Fate::kDelivered || fate == Fate::kDone) {
    loss.means = "delivered before: nothing is lost";
  } else {
    loss.means = "cannot be read";
    loss.lost = true;
  }
  if (!record.id.empty()) loss.ids = {record.id};
  AddLoss(std::move(loss));
}

void HourVerifier::AddLoss(Loss loss) {
  if (loss_ != nullptr && loss_->Continues(loss)) {
    loss_->last = loss.last;
    loss_->due_first = std::min(loss_->due_first, loss.due_first);
    loss_->due_last = std::max(loss_->due_last, loss.due_last);
    if (!loss.ids.empty() && loss_->ids.size() < Finding::kIdsMax) {
      loss_->ids.push_back(loss.ids.front());
    }
    return;
  }
  FlushLoss();
  loss_ = std::make_unique<Loss>(std::move(loss));
}

void HourVerifier::FlushLoss() {
  if (loss_ == nullptr) return;
  const Loss loss = *std::exchange(loss_, nullptr);
  Finding finding;
  finding.file = FileName(loss.is_index);
  finding.record = loss.first.value();
  if (loss.last > loss.first) finding.record_last = loss.last.value();
  if (loss.is_index) {
    finding.offset = kHourHeaderBytes + uint64_t{kIndexRecordBytes} *
                                            (loss.first - files_->base() - 1);
  }
  finding.what = loss.what;
  if (loss.lost) finding.messages = loss.count();
  finding.ids = loss.ids;
  if (loss.counts) {
    const std::string due =
        loss.hour_only ? absl::StrCat("in hour ", HourName(hour_))
        : loss.due_first == loss.due_last
            ? FormatUtc(loss.due_first)
            : absl::StrCat(FormatUtc(loss.due_first), " to ",
                           FormatUtc(loss.due_last));
    finding.means =
        absl::StrCat(loss.count(), loss.count() == 1 ? " message" : " messages",
                     " due ", due, " ", loss.means);
  } else {
    finding.means = loss.means;
  }
  ++(loss.is_index ? index_damages_ : log_damages_);
  survey_->findings.Add(std::move(finding));
}

void HourVerifier::LoadHeads() {
  if (survey_->database == nullptr || !facts_) return;
  const auto stored = survey_->database->ReadHeads(hour_);
  if (stored.ok() && stored->empty()) return;
  heads_.emplace();
  const absl::Status status =
      stored.ok() ? heads_->Decode(HashBytes(survey_->id.view()), hour_,
                                   *stored, &heads_upto_)
                  : stored.status();
  if (!status.ok()) {
    heads_.reset();
    survey_->findings.Damage(
        absl::StrCat(kCheckpointDirName, "/"),
        absl::StrCat("heads of hour ", HourName(hour_), ": ", status.message()),
        "nothing is lost: they are built again from the index");
  } else if (heads_upto_ <= files_->base() || heads_upto_ > facts_->last) {
    heads_.reset();  // of an earlier life of the hour: not used
  }
}

void HourVerifier::CheckHeads() {
  if (!heads_) return;
  if (chain_broken_) {
    heads_.reset();
    return;
  }
  for (uint32_t slot = 0; slot < kSlotsPerHour; ++slot) {
    if (heads_->Get(Slot(slot)).value() == chain_[slot]) continue;
    survey_->findings.Damage(
        absl::StrCat(kCheckpointDirName, "/"),
        absl::StrCat("heads of hour ", HourName(hour_), ": second ", slot,
                     " begins at record ", heads_->Get(Slot(slot)).value(),
                     ", the index says ", chain_[slot]),
        "messages of that second may be left out");
    break;
  }
  heads_.reset();
}

void HourVerifier::CheckCounts() {
  if (!facts_ || index_damages_ + log_damages_ > 0) return;
  const auto differs = [&](const char* what, uint64_t found, uint64_t stored) {
    if (found == stored) return;
    Report(true, std::nullopt,
           absl::StrCat("the files hold ", found, " ", what,
                        ", the checkpoint says ", stored),
           "files and checkpoint do not belong together");
  };
  differs("tombstones", tombstone_count_, facts_->tombstones);
  differs("messages", messages_, facts_->messages());
  differs("bytes of delay log", next_location_, facts_->delay_log_bytes);
  // The sum goes on over all lives of the hour.
  if (facts_->base == RecordNumber()) {
    differs("bytes of messages", message_bytes_, facts_->message_bytes);
  }
}

void HourVerifier::CheckDigest() {
  if (trace_ == nullptr || trace_->last_applied == RecordNumber() ||
      trace_->HasGap() || !digest_complete_ || trace_->base != files_->base()) {
    return;
  }
  if (facts_ && facts_->last != trace_->last_applied) {
    Report(
        true, std::nullopt,
        absl::StrCat("the checkpoint says ", facts_->last.value(),
                     " records, the commit log ", trace_->last_applied.value()),
        "files and commit log do not belong together");
  } else if (digest_ != trace_->digest &&
             trace_->last_applied <= files_->last_known()) {
    Report(false, std::nullopt, "the messages are not those of the commit log",
           "repair builds the hour again from the log");
  }
}

}  // namespace hourglass
