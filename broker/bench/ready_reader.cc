#include "broker/bench/ready_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "broker/bench/put_work.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kGroup[] = "bench";
constexpr size_t kReadMessagesMax = 4096;
constexpr size_t kReadBytesMax = 1u << 20;
constexpr int64_t kCommitNs = 200'000'000;

}  // namespace

ReadyReader::ReadyReader(DelayStore* store, Clock* clock, OnReady on_ready)
    : store_(store), clock_(clock), on_ready_(std::move(on_ready)) {
  committed_ = store_->Progress(kBenchTopic, kGroup);
  next_ = std::max(committed_, store_->FirstReady(kBenchTopic));
  thread_ = std::thread([this] { status_ = Run(); });
}

ReadyReader::~ReadyReader() { Stop().IgnoreError(); }

absl::Status ReadyReader::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return status_;
}

absl::Status ReadyReader::Run() {
  while (!stop_) {
    const uint64_t seen = store_->ReadyVersion();
    ASSIGN_OR_RETURN(const bool any, ReadOnce());
    RETURN_IF_ERROR(CommitSometimes());
    if (!any) store_->WaitReady(seen, absl::Milliseconds(50));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ReadyReader::ReadOnce() {
  ASSIGN_OR_RETURN(
      const std::vector<ReadyMessage> messages,
      store_->ReadReady(kBenchTopic, next_, kReadMessagesMax, kReadBytesMax));
  for (const ReadyMessage& message : messages) on_ready_(message);
  next_ += messages.size();
  read_ += messages.size();
  return !messages.empty();
}

absl::Status ReadyReader::CommitSometimes() {
  const int64_t now_ns = clock_->MonotonicNs();
  if (next_ == committed_ || now_ns < committed_ns_ + kCommitNs) {
    return absl::OkStatus();
  }
  committed_ = next_;
  committed_ns_ = now_ns;
  return store_->CommitProgress(kBenchTopic, kGroup, next_);
}

}  // namespace hourglass
