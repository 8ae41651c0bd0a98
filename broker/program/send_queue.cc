#include "broker/program/send_queue.h"

#include <algorithm>
#include <utility>

#include "broker/program/terminal.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kPauseFirstMs = 10;
constexpr int64_t kPauseMsMax = 1000;
// How long a stop may go unnoticed.
constexpr int64_t kSliceMs = 50;
// What a message costs beside its body.
constexpr size_t kMessageBytes = 512;

size_t BytesOf(const OutgoingMessage& message) {
  return message.message.body.size() + kMessageBytes;
}

std::string PlaceOf(uint64_t line, const std::string& id) {
  return line == 0 ? Concat("hourglass: message ", id) : Concat("line ", line);
}

}  // namespace

SendQueue::SendQueue(BrokerClient* broker, const Console& console,
                     Diagnostics* diagnostics, SendSink sink,
                     const SendQueueOptions& options)
    : broker_(broker),
      console_(console),
      diagnostics_(diagnostics),
      sink_(std::move(sink)),
      options_(options),
      thread_([this] { Loop(); }) {}

SendQueue::~SendQueue() { Finish().IgnoreError(); }

void SendQueue::Call::Add(uint64_t line, OutgoingMessage message) {
  bytes += BytesOf(message);
  lines.push_back(line);
  messages.push_back(std::move(message));
}

absl::Status SendQueue::Add(uint64_t line, OutgoingMessage message) {
  MutexLock lock(&mu_);
  while (failure_.ok() && (waiting_.size() >= options_.waiting_messages_max ||
                           waiting_bytes_ >= options_.waiting_bytes_max)) {
    changed_.Wait(&mu_);
  }
  RETURN_IF_ERROR(failure_);
  waiting_bytes_ += BytesOf(message);
  waiting_.push_back({line, std::move(message)});
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status SendQueue::Finish() {
  {
    MutexLock lock(&mu_);
    finishing_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(&mu_);
  return failure_;
}

// As many as there are and go into one call: of one topic.
bool SendQueue::Take(Call* call) {
  MutexLock lock(&mu_);
  while (waiting_.empty() && !finishing_) changed_.Wait(&mu_);
  while (!waiting_.empty()) {
    Entry& next = waiting_.front();
    const size_t bytes = BytesOf(next.message);
    if (!call->messages.empty() &&
        (call->messages.size() >= options_.call_messages_max ||
         call->bytes + bytes > options_.call_bytes_max ||
         call->messages[0].message.topic != next.message.message.topic)) {
      break;
    }
    call->Add(next.line, std::move(next.message));
    waiting_bytes_ -= bytes;
    waiting_.pop_front();
  }
  changed_.SignalAll();
  return !call->messages.empty();
}

void SendQueue::Loop() {
  for (Call call; Take(&call); call = Call()) {
    const absl::Status status = Send(std::move(call));
    if (status.ok()) continue;
    MutexLock lock(&mu_);
    failure_ = status;
    Call rest;
    for (Entry& entry : waiting_) {
      rest.Add(entry.line, std::move(entry.message));
    }
    waiting_.clear();
    if (!rest.messages.empty()) {
      SayUnsent(rest, absl::UnavailableError("it was not tried"));
    }
    changed_.SignalAll();
    // Whoever waits for the next line is to find out, too.
    console_.stop->Request();
    return;
  }
}

absl::Status SendQueue::Send(Call call) {
  int64_t paused_ms = 0;
  while (!call.messages.empty()) {
    const auto answers = broker_->Send(call.messages);
    if (!answers.ok()) {
      SayUnsent(call, answers.status());
      return answers.status();
    }
    std::vector<SendAnswer> durable;
    Call refused, throttled;
    Refusal why;
    std::vector<Refusal> reasons;
    for (size_t i = 0; i < answers->size(); ++i) {
      const SendAnswer& answer = (*answers)[i];
      if (answer.refusal.ok()) {
        durable.push_back(answer);
      } else if (answer.refusal.is_throttled()) {
        why = answer.refusal;
        throttled.Add(call.lines[i], std::move(call.messages[i]));
      } else {
        reasons.push_back(answer.refusal);
        refused.Add(call.lines[i], std::move(call.messages[i]));
      }
    }
    sent_ += durable.size();
    if (!durable.empty()) RETURN_IF_ERROR(sink_(durable));
    diagnostics_->Progress(Concat("hourglass: ", FormatCount(sent_), " sent"));
    const bool all_for_one = durable.empty() && refused.messages.size() > 1;
    if (all_for_one) {
      RETURN_IF_ERROR(OneByOne(std::move(refused)));
    } else {
      for (size_t i = 0; i < refused.lines.size(); ++i) {
        Refuse(refused.lines[i], refused.messages[i].message.id,
               reasons[i].text);
      }
    }
    if (!throttled.messages.empty()) {
      const absl::Status paused = PauseThrottled(why, &paused_ms);
      if (!paused.ok()) SayUnsent(throttled, paused);
      RETURN_IF_ERROR(paused);
    }
    call = std::move(throttled);
  }
  return absl::OkStatus();
}

absl::Status SendQueue::OneByOne(Call call) {
  for (size_t i = 0; i < call.lines.size(); ++i) {
    Call one;
    one.Add(call.lines[i], std::move(call.messages[i]));
    const absl::Status status = Send(std::move(one));
    if (status.ok()) continue;
    Call rest;
    for (size_t j = i + 1; j < call.lines.size(); ++j) {
      rest.Add(call.lines[j], std::move(call.messages[j]));
    }
    if (!rest.lines.empty()) SayUnsent(rest, status);
    return status;
  }
  return absl::OkStatus();
}

absl::Status SendQueue::PauseThrottled(const Refusal& why, int64_t* paused_ms) {
  if (*paused_ms >= options_.throttled_ms_max || console_.stop->requested()) {
    return absl::UnavailableError(
        Concat("the broker is at a limit: ", why.text));
  }
  if (*paused_ms == 0) {
    diagnostics_->Say(Concat("hourglass: the broker is at a limit: ", why.text,
                             "; trying again"));
  }
  const int64_t pause_ms = std::clamp(*paused_ms, kPauseFirstMs, kPauseMsMax);
  Mutex mu;
  CondVar nobody_signals;
  MutexLock lock(&mu);
  for (int64_t left = pause_ms; left > 0 && !console_.stop->requested();
       left -= kSliceMs) {
    nobody_signals.WaitForMs(&mu, std::min(left, kSliceMs));
  }
  *paused_ms += pause_ms;
  return absl::OkStatus();
}

void SendQueue::Refuse(uint64_t line, const std::string& id,
                       std::string_view why) {
  ++refused_;
  diagnostics_->Say(Concat(PlaceOf(line, id), ": refused: ", why));
}

void SendQueue::SayUnsent(const Call& call, const absl::Status& status) {
  const bool perhaps = absl::IsDeadlineExceeded(status);
  const std::string what =
      perhaps ? "may not have been stored" : "was not stored";
  if (call.lines.size() == 1) {
    diagnostics_->Say(Concat(
        PlaceOf(call.lines[0], call.messages[0].message.id), ": ", what));
    return;
  }
  diagnostics_->Say(Concat("lines ", call.lines.front(), " to ",
                           call.lines.back(), ": each that has no answer ",
                           what));
}

}  // namespace hourglass
