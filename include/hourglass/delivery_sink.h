// File: delivery_sink.h
//
// Where due messages go. By default that is the store's own commit log: they
// become ready messages that DelayStore::ReadReady hands out. A host that has
// a log of its own gives a sink instead:
//
//   class MySink : public DeliverySink {
//     absl::Status Deliver(absl::Span<const DueMessage> batch) override {
//       for (const auto& due : batch)
//         if (keys_in_my_log_.insert(due.key).second) AppendWithKey(due);
//       return SyncMyLog();
//     }
//   };
//
// Contract: when Deliver returns OK the whole batch is durable, each message
// together with its key. After a crash the last batches may be handed over
// again; the sink drops what it already has, by key. Then the message stands
// in the host's log exactly once. (Keys are in order of arrival, deliveries in
// order of due time: so it takes a set of the recent keys, not a maximum.)
//
// An error means "not now": the store keeps the batch and tries again after
// retry_ms; order is kept. Messages of other stores are not affected.
//
// Threads: Deliver is called by one thread at a time and may block; newly
// due messages wait behind it, puts do not.
//
// Keeps promise 2: a message is marked delivered only after its sink took it.
#ifndef HOURGLASS_DELIVERY_SINK_H_
#define HOURGLASS_DELIVERY_SINK_H_

#include <compare>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hourglass/message.h"
#include "hourglass/types.h"

namespace hourglass {

// Names a delayed message for ever within its store.
struct MessageKey {
  Hour hour;
  RecordNumber number;
  auto operator<=>(const MessageKey&) const = default;
};

struct DueMessage {
  MessageKey key;
  MessageView message;  // valid during the call
};

class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  virtual absl::Status Deliver(absl::Span<const DueMessage> batch) = 0;
  virtual int64_t retry_ms() const { return 100; }
};

}  // namespace hourglass

#endif  // HOURGLASS_DELIVERY_SINK_H_
