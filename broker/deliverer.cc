#include "broker/deliverer.h"

#include <limits>
#include <utility>
#include <vector>

#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/message_codec.h"

namespace hourglass {

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
  Hand::Batch taken;
  {
    MutexLock lock(&state_->mu);
    if (!state_->failure.ok()) return false;
    if (state_->hand.marks().in_flight() >=
        state_->options.batches_in_flight_max) {
      return false;
    }
    taken = state_->hand.Take(now_ms, state_->options.batch_messages_max,
                              state_->options.batch_bytes_max);
  }
  if (taken.entries.empty()) return taken.passed_over;
  auto batch = reader_.Read(taken.entries);
  batch->token = taken.token;
  if (batch->items.empty()) {
    MutexLock lock(&state_->mu);
    state_->hand.marks().Dropped(taken.token);
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
  MutexLock lock(&state_->mu);
  if (state_->hand.marks().in_flight() >=
      state_->options.batches_in_flight_max) {
    return std::numeric_limits<int64_t>::max();  // the writer wakes us
  }
  return state_->hand.NextWakeMs(now_ms);
}

}  // namespace hourglass
