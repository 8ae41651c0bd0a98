#include "broker/front/telemetry_stream.h"

#include <utility>

namespace hourglass {
namespace {

// Answers that may wait for a client that does not read them.
constexpr size_t kQueuedMax = 16;

}  // namespace

TelemetryStream* TelemetryStream::Start(Caller caller,
                                        TelemetryHandler* handler) {
  auto* const stream = new TelemetryStream(std::move(caller), handler);
  stream->self_.reset(stream);
  stream->StartSendInitialMetadata();
  stream->StartRead(&stream->read_);
  return stream;
}

bool TelemetryStream::TakeFinish() {
  if (!closing_ || writing_ || finished_) return false;
  finished_ = true;
  return true;
}

void TelemetryStream::Send(proto::TelemetryCommand command) {
  const proto::TelemetryCommand* first = nullptr;
  {
    MutexLock lock(&mu_);
    if (closing_) return;
    queue_.push_back(std::move(command));
    if (!writing_) {
      writing_ = true;
      first = &queue_.front();
    }
  }
  // Nobody else writes, and nobody finishes, while writing_ is set.
  if (first != nullptr) StartWrite(first);
}

void TelemetryStream::Close() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    if (!TakeFinish()) return;
  }
  Finish(grpc::Status::OK);
}

void TelemetryStream::OnReadDone(bool ok) {
  if (!ok) {
    Close();
    return;
  }
  handler_->OnCommand(caller_, self_, read_);
  {
    MutexLock lock(&mu_);
    if (finished_ || closing_) return;
    if (queue_.size() >= kQueuedMax) {
      read_waits_ = true;
      return;
    }
  }
  StartRead(&read_);
}

void TelemetryStream::OnWriteDone(bool ok) {
  const proto::TelemetryCommand* next = nullptr;
  bool finish = false;
  bool read = false;
  {
    MutexLock lock(&mu_);
    writing_ = false;
    queue_.pop_front();
    if (!ok) closing_ = true;
    finish = TakeFinish();
    if (!finish && !queue_.empty()) {
      writing_ = true;
      next = &queue_.front();
    }
    read = !finish && !closing_ && std::exchange(read_waits_, false);
  }
  if (finish) Finish(grpc::Status::OK);
  if (next != nullptr) StartWrite(next);
  if (read) StartRead(&read_);
}

void TelemetryStream::OnDone() {
  handler_->OnEnd(caller_, this);
  const std::shared_ptr<TelemetryStream> self = std::move(self_);
}

}  // namespace hourglass
