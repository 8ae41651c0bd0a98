// File: send_queue.h
//
// From messages to a broker's answers: what `hourglass send` reads, in order,
// many in a call.
//
//   SendQueue queue(broker, console, diagnostics, [&](const SendAnswer& sent) {
//     return Print(sent);
//   });
//   status = queue.Add(line, message);   // waits for room
//   status = queue.Finish();             // all are answered
//
// One call is under way at a time, with whatever came meanwhile: that keeps
// the order of message groups, and a slow broker gets larger calls. If a call
// is refused for one message, its messages are sent one by one; each has an id
// that the broker knows again, so none is stored twice. A broker that is at a
// limit is tried again for a while.
//
// Threads: Add and Finish by one thread; the sink is called by the queue's own.
//
// Keeps promise 7: what waits is bounded. Serves promise 2: each message that
// was given is answered, or named as not sent.
#ifndef HOURGLASS_BROKER_PROGRAM_SEND_QUEUE_H_
#define HOURGLASS_BROKER_PROGRAM_SEND_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "broker/client/broker_client.h"
#include "broker/program/console.h"
#include "storage/mutex.h"

namespace hourglass {

struct SendQueueOptions {
  size_t waiting_messages_max = 4096;
  size_t waiting_bytes_max = 16u << 20;
  size_t call_messages_max = 256;
  size_t call_bytes_max = 4u << 20;  // or one message
  // How long a broker may say that it is at a limit.
  int64_t throttled_ms_max = 30'000;
};

// Takes what is durable. An error ends the queue.
using SendSink = std::function<absl::Status(const std::vector<SendAnswer>&)>;

class SendQueue {
 public:
  SendQueue(BrokerClient* broker, const Console& console,
            Diagnostics* diagnostics, SendSink sink,
            const SendQueueOptions& options = {});
  ~SendQueue();

  // `line`: 0 if it did not come from one. The error that ended the queue.
  absl::Status Add(uint64_t line, OutgoingMessage message);
  absl::Status Finish();

  // After Finish.
  uint64_t sent() const { return sent_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Call {
    std::vector<uint64_t> lines;
    std::vector<OutgoingMessage> messages;
    size_t bytes = 0;
    void Add(uint64_t line, OutgoingMessage message);
  };
  struct Entry {
    uint64_t line;
    OutgoingMessage message;
  };

  void Loop();
  bool Take(Call* call);
  absl::Status Send(Call call);
  absl::Status OneByOne(Call call);
  absl::Status PauseThrottled(const Refusal& why, int64_t* paused_ms);
  void Refuse(uint64_t line, const std::string& id, std::string_view why);
  void SayUnsent(const Call& call, const absl::Status& status);

  BrokerClient* const broker_;
  const Console console_;
  Diagnostics* const diagnostics_;
  const SendSink sink_;
  const SendQueueOptions options_;

  // Of the thread.
  uint64_t sent_ = 0, refused_ = 0;

  Mutex mu_;
  CondVar changed_;
  std::deque<Entry> waiting_ ABSL_GUARDED_BY(mu_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_SEND_QUEUE_H_
