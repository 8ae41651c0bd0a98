#include "broker/program/intake.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// How long to leave a store alone that has no room, at first and at most.
constexpr absl::Duration kRetryFirst = absl::Milliseconds(1);
constexpr absl::Duration kRetryMax = absl::Milliseconds(100);
// How long a stop may go unnoticed by those who wait for a retry.
constexpr absl::Duration kLookForStop = absl::Milliseconds(50);
// Tries after which people are told why nothing moves (about a second).
constexpr int kRetriesUntilSaid = 15;
// What one entry costs beside its body.
constexpr size_t kEntryBytes = 512;

}  // namespace

Intake::Intake(DelayStore* store, const Console& console,
               Diagnostics* diagnostics, const IntakeOptions& options,
               AckSink acks)
    : store_(store),
      console_(console),
      diagnostics_(diagnostics),
      options_(options),
      ack_sink_(std::move(acks)),
      answer_thread_([this] { AnswerLoop(); }),
      retry_thread_([this] { RetryLoop(); }) {}

Intake::~Intake() {
  if (answer_thread_.joinable()) Finish().IgnoreError();
}

absl::Status Intake::Run(LineSource* in) {
  std::string line;
  while (!console_.stop->requested()) {
    const absl::StatusOr<LineSource::Got> got =
        in->Next(&line, options_.limits.line_bytes_max());
    if (!got.ok()) return got.status();
    if (*got == LineSource::Got::kEnd || *got == LineSource::Got::kStopped) {
      break;
    }
    const uint64_t number = ++lines_;
    if (*got == LineSource::Got::kTooLong) {
      Refuse({number, "", "is too long",
              Concat("at most ", options_.limits.line_bytes_max(),
                     " bytes (see --body-bytes-max)")});
    } else if (!IsBlank(line)) {
      RETURN_IF_ERROR(ParseAndSubmit(number, line));
    }
  }
  return WaitForRetries();
}

absl::Status Intake::ParseAndSubmit(uint64_t number, const std::string& line) {
  Message message;
  auto error =
      ParseInputLine(line, console_.clock->NowMs(), options_.limits, &message);
  if (!error) return Submit(number, std::move(message));
  error->line = number;
  Refuse(*std::move(error));
  return absl::OkStatus();
}

void Intake::Refuse(InputError error) {
  ++refused_;
  diagnostics_->Say(
      Concat(error.line == 0 ? "hourglass: " : "", error.ToString()));
}

absl::Status Intake::Submit(uint64_t line, Message message) {
  RETURN_IF_ERROR(WaitForRetries());
  RETURN_IF_ERROR(WaitForRoom());
  const size_t bytes = message.body.size() + kEntryBytes;
  Send(std::make_shared<Entry>(
      Entry{sequence_++, line, std::move(message), bytes}));
  return absl::OkStatus();
}

bool Intake::HasRoom() const {
  return !failure_.ok() || (in_flight_ < options_.in_flight_messages_max &&
                            in_flight_bytes_ < options_.in_flight_bytes_max);
}

absl::Status Intake::WaitForRoom() {
  MutexLock lock(&mu_);
  while (!HasRoom()) changed_.Wait(&mu_);
  return failure_;
}

void Intake::Send(const EntryPtr& entry) {
  {
    MutexLock lock(&mu_);
    ++in_flight_;
    in_flight_bytes_ += entry->bytes;
  }
  store_->PutAsync(entry->message.View(),
                   [this, entry](absl::StatusOr<PutResult> result) {
                     OnDone(entry, std::move(result));
                   });
}

// On a thread of the store: short, and waits for nothing. What was answered
// stays in flight until the answer is told.
void Intake::OnDone(const EntryPtr& entry, absl::StatusOr<PutResult> result) {
  MutexLock lock(&mu_);
  changed_.SignalAll();
  if (result.ok()) {
    ++durable_;
    answers_.acks.push_back(*std::move(result));
    answers_.bytes += entry->bytes;
    return;
  }
  const absl::Status& status = result.status();
  if (absl::IsInvalidArgument(status)) {
    answers_.refusals.push_back(
        {entry->line, "", std::string(MessageOf(status)), ""});
    answers_.bytes += entry->bytes;
    return;
  }
  --in_flight_;
  in_flight_bytes_ -= entry->bytes;
  if (absl::IsResourceExhausted(status)) {
    retries_.emplace(entry->sequence, Retry{entry, status});
    refused_now_.Signal();
  } else {
    Fail(status);
  }
}

// Going on is senseless; whoever waits for input is to find out, too.
void Intake::Fail(const absl::Status& status) {
  failure_.Update(status);
  changed_.SignalAll();
  console_.stop->Request();
}

bool Intake::Retrying() const { return !retries_.empty() || resending_; }

// Nothing newer may overtake what the store had no room for.
absl::Status Intake::WaitForRetries() {
  MutexLock lock(&mu_);
  while (Retrying() && failure_.ok() && !console_.stop->requested()) {
    changed_.WaitForNs(&mu_, absl::ToInt64Nanoseconds(kLookForStop));
  }
  return failure_;
}

void Intake::RetryLoop() {
  while (true) {
    {
      MutexLock lock(&mu_);
      while (retries_.empty() && !no_more_retries_) refused_now_.Wait(&mu_);
      if (no_more_retries_ || !failure_.ok()) return;
    }
    if (console_.stop->requested()) return;
    SendRetries();
  }
}

// The oldest goes first and alone, so that a store that is still full refuses
// one message, not thousands.
void Intake::SendRetries() {
  absl::Duration pause = kRetryFirst;
  for (int tries = 1;; ++tries) {
    EntryPtr entry;
    {
      MutexLock lock(&mu_);
      if (!failure_.ok() || retries_.empty()) return;
      if (console_.stop->requested()) return;
      const size_t before = in_flight_;
      const auto moved = [this, before]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        return in_flight_ < before || !failure_.ok();
      };
      while (!moved() &&
             !changed_.WaitForNs(&mu_, absl::ToInt64Nanoseconds(pause))) {
      }
      if (moved()) pause = kRetryFirst;
      const auto oldest = retries_.begin();
      entry = oldest->second.entry;
      if (tries == kRetriesUntilSaid) {
        diagnostics_->Say(
            Concat("hourglass: input waits: ", MessageOf(oldest->second.why)));
      }
      retries_.erase(oldest);
      resending_ = true;
    }
    Send(entry);
    MutexLock lock(&mu_);
    resending_ = false;
    changed_.SignalAll();
    pause = std::min(pause * 2, kRetryMax);
  }
}

bool Intake::Settled() const {
  return in_flight_ == 0 && answers_.count() == 0 && !resending_;
}

absl::Status Intake::Finish() {
  // What came back full while the rest settled is tried again, too.
  while (true) {
    const absl::Status sent = WaitForRetries();
    MutexLock lock(&mu_);
    while (!Settled()) changed_.Wait(&mu_);
    if (retries_.empty() || !sent.ok() || console_.stop->requested()) break;
  }
  {
    MutexLock lock(&mu_);
    no_more_retries_ = true;
    refused_now_.Signal();
  }
  if (retry_thread_.joinable()) retry_thread_.join();
  {
    MutexLock lock(&mu_);
    // The last one that was tried again may still be on its way.
    while (!Settled()) changed_.Wait(&mu_);
    GiveUpRetries();
    finishing_ = true;
    changed_.SignalAll();
  }
  if (answer_thread_.joinable()) answer_thread_.join();
  MutexLock lock(&mu_);
  return failure_;
}

void Intake::GiveUpRetries() {
  for (const auto& [sequence, retry] : retries_) {
    Refuse({retry.entry->line, "",
            Concat("was not stored: ", MessageOf(retry.why)), ""});
  }
  retries_.clear();
}

void Intake::AnswerLoop() {
  while (true) {
    Answers answers;
    {
      MutexLock lock(&mu_);
      while (answers_.count() == 0 && !finishing_) changed_.Wait(&mu_);
      if (answers_.count() == 0) return;
      answers = std::exchange(answers_, Answers());
    }
    for (InputError& refusal : answers.refusals) Refuse(std::move(refusal));
    const absl::Status status =
        answers.acks.empty() ? absl::OkStatus() : ack_sink_(answers.acks);
    MutexLock lock(&mu_);
    if (!status.ok()) Fail(status);
    in_flight_ -= answers.count();
    in_flight_bytes_ -= answers.bytes;
    changed_.SignalAll();
  }
}

}  // namespace hourglass
