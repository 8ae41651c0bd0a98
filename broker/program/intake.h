// File: intake.h
//
// From lines to durable puts: the half of `hourglass pipe` that reads, and
// all of `hourglass put`.
//
//   Intake intake(store, console, limits, say,
//                 [&](const PutResult& put) { return WriteAck(put); });
//   absl::Status status = intake.Run(console.in);   // to the end, or a stop
//   status = intake.Finish();                       // all are durable
//
// Backpressure: at most `in_flight_*` are on their way; when the store says
// RESOURCE_EXHAUSTED the same message is tried again until it is taken, or
// until we are asked to stop, and then it is reported by its line. No line is
// dropped silently (promise 2). Retries have a thread of their own: the reader
// may be waiting for a line that comes tomorrow.
//
// Acks are given by one thread of the Intake, in the order of durability. The
// next message waits for them, so a slow ack file slows the input, not more.
//
// Threads: Run and Put by one thread; counters by any. An Intake must be
// Finished before its store is closed.
#ifndef HOURGLASS_BROKER_PROGRAM_INTAKE_H_
#define HOURGLASS_BROKER_PROGRAM_INTAKE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/program/console.h"
#include "broker/text/json_lines.h"
#include "hourglass/delay_store.h"
#include "storage/mutex.h"

namespace hourglass {

struct IntakeOptions {
  InputLimits limits;
  size_t in_flight_messages_max = 65536;
  size_t in_flight_bytes_max = 32u << 20;
};

// Takes the acks of what became durable together. An error stops the intake.
using AckSink = std::function<absl::Status(const std::vector<PutResult>&)>;

class Intake {
 public:
  Intake(DelayStore* store, const Console& console, Diagnostics* diagnostics,
         const IntakeOptions& options, AckSink acks);
  ~Intake();

  // Puts every line of `in`. Returns at its end, when asked to stop, or with
  // the error that made going on senseless.
  absl::Status Run(LineSource* in);

  // Puts one message that came from elsewhere.
  absl::Status Put(Message message) { return Submit(0, std::move(message)); }

  // Waits until nothing is in flight and all acks are given; the first
  // error, if there was one. Nothing may be put after it.
  absl::Status Finish();

  uint64_t lines() const { return lines_; }      // read
  uint64_t refused() const { return refused_; }  // and answered on stderr
  uint64_t durable() const { return durable_; }

 private:
  // One message on its way. The views that the store gets point into it.
  struct Entry {
    uint64_t sequence;  // of arrival, over all
    uint64_t line;      // 0: did not come from a line
    Message message;
    size_t bytes;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  struct Retry {
    EntryPtr entry;
    absl::Status why;
  };
  // What the store has answered and is still to be told.
  struct Answers {
    std::vector<PutResult> acks;
    std::vector<InputError> refusals;
    size_t bytes = 0;
    size_t count() const { return acks.size() + refusals.size(); }
  };

  void Refuse(InputError error);
  absl::Status ParseAndSubmit(uint64_t number, const std::string& line);
  absl::Status Submit(uint64_t line, Message message);
  void Send(const EntryPtr& entry);
  void OnDone(const EntryPtr& entry, absl::StatusOr<PutResult> result);
  absl::Status WaitForRoom();
  absl::Status WaitForRetries();
  void SendRetries();
  bool Retrying() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RetryLoop();
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUpRetries() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Settled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AnswerLoop();

  DelayStore* const store_;
  const Console console_;
  Diagnostics* const diagnostics_;
  const IntakeOptions options_;
  const AckSink ack_sink_;

  uint64_t sequence_ = 0;
  std::atomic<uint64_t> lines_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> durable_{0};

  Mutex mu_;
  CondVar changed_;  // anything below
  // Handed to the store, or its answer is still to be told; not retries.
  size_t in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  size_t in_flight_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Retry> retries_ ABSL_GUARDED_BY(mu_);  // by sequence
  bool resending_ ABSL_GUARDED_BY(mu_) = false;  // one that is in no list
  CondVar refused_now_;  // apart: all else changes too often
  Answers answers_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool no_more_retries_ ABSL_GUARDED_BY(mu_) = false;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread answer_thread_;
  std::thread retry_thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_INTAKE_H_
