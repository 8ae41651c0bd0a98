// File: telemetry_stream.h
//
// One client's Telemetry stream: it says its Settings, again and again, and is
// answered; the server may ask it things in between.
//
//   return TelemetryStream::Start(caller, handler);
//
// Writes are queued, one at a time as gRPC wants them. A client that says
// Settings faster than it reads the answers is not read from meanwhile.
//
// Ownership: shared by gRPC (until OnDone) and by whoever keeps a
// shared_ptr<ClientStream>; a Send after the end is dropped.
//
// Threads: any.
//
// Serves promise 4: each Settings gets its answer.
#ifndef HOURGLASS_BROKER_FRONT_TELEMETRY_STREAM_H_
#define HOURGLASS_BROKER_FRONT_TELEMETRY_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "broker/front/caller.h"
#include "broker/front/clients.h"
#include "storage/mutex.h"

namespace hourglass {

class TelemetryStream;

// What a stream's owner does with it. Outlives all streams.
class TelemetryHandler {
 public:
  virtual ~TelemetryHandler() = default;
  virtual void OnCommand(const Caller& caller,
                         const std::shared_ptr<ClientStream>& stream,
                         const proto::TelemetryCommand& command) = 0;
  // The stream is over.
  virtual void OnEnd(const Caller& caller, const ClientStream* stream) = 0;
};

class TelemetryStream final
    : public grpc::ServerBidiReactor<proto::TelemetryCommand,
                                     proto::TelemetryCommand>,
      public ClientStream {
 public:
  static TelemetryStream* Start(Caller caller, TelemetryHandler* handler);

  void Send(proto::TelemetryCommand command) override;
  void Close() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Close(); }
  void OnDone() override;

 private:
  TelemetryStream(Caller caller, TelemetryHandler* handler)
      : caller_(std::move(caller)), handler_(handler) {}
  // Finishes if asked to and if nothing is being written.
  bool TakeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Caller caller_;
  TelemetryHandler* const handler_;
  std::shared_ptr<TelemetryStream> self_;  // until OnDone
  proto::TelemetryCommand read_;

  Mutex mu_;
  std::deque<proto::TelemetryCommand> queue_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mu_) = false;  // for the queue to empty
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TELEMETRY_STREAM_H_
