#include "broker/deliverer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/message_codec.h"

namespace hourglass {
namespace {

// Between two tries of a batch that could not be read.
constexpr int64_t kRetryMs = 100;

}  // namespace

Deliverer::Deliverer(StoreState* state, Writer* writer, DeliverySink* sink,
                     BodyReader::Lost lost)
    : state_(state),
      writer_(writer),
      sink_(sink),
      reader_(state, std::move(lost)) {}

bool Deliverer::RunOnce(int64_t now_ms) {
  if (waiting_ != nullptr) {
    if (now_ms < retry_at_ms_) return false;
    if (!HandToSink(waiting_.get(), now_ms)) return false;
    Submit(std::move(waiting_));
    return true;
  }
  Postponed due;
  if (!TakeDue(now_ms, &due)) return false;
  if (due.taken.entries.empty()) return due.taken.passed_over;
  std::vector<DueEntry> later;
  auto batch = reader_.Read(due.taken.entries, &later, now_ms < due.give_up_ms);
  batch->token = due.taken.token;
  if (!later.empty()) Postpone(due, std::move(later), now_ms);
  if (batch->items.empty()) {
    MutexLock lock(&state_->mu);
    state_->hand.marks().Dropped(due.taken.token);
    return true;
  }
  if (sink_ != nullptr && !HandToSink(batch.get(), now_ms)) {
    waiting_ = std::move(batch);
    return true;
  }
  CrashPoint("ready.taken_not_written");
  Submit(std::move(batch));
  return true;
}

// False: nothing may be taken now.
bool Deliverer::TakeDue(int64_t now_ms, Postponed* due) {
  MutexLock lock(&state_->mu);
  if (!state_->failure.ok()) return false;
  if (!postponed_.empty() && NextRetryMs(now_ms) <= now_ms) {
    *due = std::move(postponed_.front());
    postponed_.pop_front();
    return true;
  }
  if (state_->hand.marks().in_flight() >=
      state_->options.batches_in_flight_max) {
    return false;
  }
  due->taken = state_->hand.Take(now_ms, state_->options.batch_messages_max,
                                 state_->options.batch_bytes_max);
  due->give_up_ms = now_ms + state_->options.unreadable_retry_ms;
  return true;
}

void Deliverer::Postpone(const Postponed& due, std::vector<DueEntry> later,
                         int64_t now_ms) {
  MutexLock lock(&state_->mu);
  // A clock that was set back must not make it wait longer.
  const int64_t give_up_ms =
      std::min(due.give_up_ms, now_ms + state_->options.unreadable_retry_ms);
  postponed_.push_back({state_->hand.Split(due.taken.token, std::move(later)),
                        now_ms + kRetryMs, give_up_ms});
}

int64_t Deliverer::NextRetryMs(int64_t now_ms) const {
  if (postponed_.empty()) return std::numeric_limits<int64_t>::max();
  const int64_t at_ms = postponed_.front().retry_at_ms;
  // Farther away than it was ever put: the clock was set back.
  return at_ms > now_ms + kRetryMs ? now_ms : at_ms;
}

bool Deliverer::HandToSink(DeliveredBatch* batch, int64_t now_ms) {
  std::vector<DueMessage> due;
  due.reserve(batch->items.size());
  // What is no message is reported and set aside, never marked as delivered.
  std::erase_if(batch->items, [&](const DeliveredBatch::Item& item) {
    auto message = DecodeMessage(item.payload);
    if (!message.ok()) {
      reader_.Report(item.entry, message.status());
      return true;
    }
    due.push_back(
        {{item.entry.hour(), item.entry.number}, *std::move(message)});
    return false;
  });
  if (sink_->Deliver(due).ok()) return true;
  retry_at_ms_ = now_ms + sink_->retry_ms();
  return false;
}

void Deliverer::Submit(std::unique_ptr<DeliveredBatch> batch) {
  if (sink_ != nullptr) {
    batch->mark_only = true;
    batch->payload_bytes = 0;
    for (DeliveredBatch::Item& item : batch->items) {
      item.payload = std::string_view("", 0);
      item.payload_hash = HashBytes("");
    }
  }
  writer_->Submit(std::move(batch));
}

int64_t Deliverer::NextWakeMs(int64_t now_ms) {
  if (waiting_ != nullptr) return retry_at_ms_;
  const int64_t retry_ms = NextRetryMs(now_ms);
  MutexLock lock(&state_->mu);
  if (state_->hand.marks().in_flight() >=
      state_->options.batches_in_flight_max) {
    return retry_ms;  // otherwise the writer wakes us
  }
  return std::min(retry_ms, state_->hand.NextWakeMs(now_ms));
}

}  // namespace hourglass
