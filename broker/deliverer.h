// File: deliverer.h
//
// Takes what is due from the hand, reads the bodies, and gives them to the
// sink: the commit log (the writer appends them as Delivered records) or the
// host's own, after which the writer appends the marks.
//
// Threads: RunOnce from one thread; takes the state lock for short moments.
//
// Keeps promises 2 and 3: due messages, once, into the log or the sink.
#ifndef HOURGLASS_BROKER_DELIVERER_H_
#define HOURGLASS_BROKER_DELIVERER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "broker/body_reader.h"
#include "broker/delivered_batch.h"
#include "broker/writer.h"
#include "hourglass/delivery_sink.h"
#include "recovery/store_state.h"

namespace hourglass {

class Deliverer {
 public:
  Deliverer(StoreState* state, Writer* writer, DeliverySink* sink,
            BodyReader::Lost lost);

  // One batch, if anything is due and not too many are in flight.
  bool RunOnce(int64_t now_ms);

  // When RunOnce may have something to do (UTC ms); INT64_MAX: nobody knows.
  int64_t NextWakeMs(int64_t now_ms);

 private:
  // What could not be read for a reason that may pass.
  struct Postponed {
    Hand::Batch taken;
    int64_t retry_at_ms = 0;
    int64_t give_up_ms = 0;
  };
  bool TakeDue(int64_t now_ms, Postponed* due);
  int64_t NextRetryMs(int64_t now_ms) const;
  void Postpone(const Postponed& due, std::vector<DueEntry> later,
                int64_t now_ms);
  // False: the sink is not ready; the batch is kept and tried again.
  bool HandToSink(DeliveredBatch* batch, int64_t now_ms);
  void Submit(std::unique_ptr<DeliveredBatch> batch);

  StoreState* const state_;
  Writer* const writer_;
  DeliverySink* const sink_;
  BodyReader reader_;
  // A batch that the host's sink did not take yet, and when to try again.
  std::unique_ptr<DeliveredBatch> waiting_;
  int64_t retry_at_ms_ = 0;
  std::deque<Postponed> postponed_;  // by retry_at_ms
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_DELIVERER_H_
