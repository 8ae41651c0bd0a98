#include "broker/bench/put_work.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hourglass {
namespace {

constexpr uint64_t kTimedOneIn = 16;

// Noise, so that no layer below can make it smaller.
std::string RandomBody(uint64_t size, Random* random) {
  std::string body(size, '\0');
  for (char& c : body) c = static_cast<char>(random->Next());
  return body;
}

const absl::Status& Seen(const absl::StatusOr<PutResult>& result,
                         Window* window) {
  // Only a delayed message has a handle.
  if (result.ok() && result->handle == Handle()) window->WasDueAtOnce();
  return result.status();
}

}  // namespace

PutWork::PutWork(DelayStore* store, Clock* clock, const PutPlan& plan,
                 uint64_t seed)
    : store_(store),
      clock_(clock),
      plan_(plan),
      random_(seed),
      body_(RandomBody(plan.size, &random_)) {
  message_.topic = kBenchTopic;
  message_.body = body_;
}

int64_t PutWork::NextDueMs() {
  int64_t due_ms = plan_.from_ms;
  if (plan_.from_now) due_ms += clock_->NowMs();
  if (plan_.spread_ms > 1) {
    due_ms += static_cast<int64_t>(
        random_.Uniform(static_cast<uint64_t>(plan_.spread_ms)));
  }
  due_ms_max_ = std::max(due_ms_max_, due_ms);
  return due_ms;
}

void PutWork::Issue(uint64_t index, Window* window) {
  message_.due_ms = NextDueMs();
  // No two bodies are the same.
  std::memcpy(body_.data(), &index, std::min(body_.size(), sizeof(index)));
  if (plan_.keep_handles) return PutForHandle(&handles_[index], window);
  if (window->limit() == 1) return PutAndWait(window);
  // What the callbacks hold fits into the callback itself: no allocation.
  if (index % kTimedOneIn == 0) {
    const int64_t begin_ns = clock_->MonotonicNs();
    store_->PutAsync(message_,
                     [window, begin_ns](absl::StatusOr<PutResult> result) {
                       window->DoneSince(begin_ns, Seen(result, window));
                     });
  } else {
    store_->PutAsync(message_, [window](absl::StatusOr<PutResult> result) {
      window->Done(Seen(result, window));
    });
  }
}

void PutWork::PutAndWait(Window* window) {
  const int64_t begin_ns = clock_->MonotonicNs();
  const auto result = store_->Put(message_);
  window->DoneSince(begin_ns, Seen(result, window));
}

void PutWork::PutForHandle(Handle* handle, Window* window) {
  store_->PutAsync(message_,
                   [window, handle](absl::StatusOr<PutResult> result) {
                     if (result.ok()) *handle = result->handle;
                     window->Done(Seen(result, window));
                   });
}

}  // namespace hourglass
