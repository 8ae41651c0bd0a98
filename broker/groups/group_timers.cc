#include "broker/groups/group_timers.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hourglass {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kMsMax = kNever / 4'000'000;

}  // namespace

GroupTimers::GroupTimers(Clock* clock, std::function<void()> earlier)
    : clock_(clock),
      earlier_(std::move(earlier)),
      wheel_(kBuckets, scale_.NowAt(clock->MonotonicNs())) {}

void GroupTimers::Schedule(GroupTimer* timer, int64_t after_ms) {
  const int64_t after_ns =
      std::clamp<int64_t>(after_ms, 1, kMsMax) * scale_.tick_ns();
  bool earlier = false;
  {
    MutexLock lock(&mu_);
    const Tick due = scale_.DeadlineAt(clock_->MonotonicNs() + after_ns);
    // What is due at the hand's tick would come back at once.
    wheel_.Reschedule(timer, std::max(due, wheel_.now() + 1));
    earlier = due.value() < next_;
  }
  if (earlier) earlier_();
}

void GroupTimers::Cancel(GroupTimer* timer) {
  MutexLock lock(&mu_);
  wheel_.Cancel(timer);
}

std::vector<TimerKey> GroupTimers::TakeDue(size_t count_max) {
  std::vector<TimerKey> due;
  MutexLock lock(&mu_);
  // While the due ones are worked on, everything is earlier than the next.
  next_ = kNever;
  wheel_.Advance(scale_.NowAt(clock_->MonotonicNs()), count_max,
                 [&due](GroupTimer& timer) { due.push_back(timer.key); });
  return due;
}

int64_t GroupTimers::NsToNext() {
  MutexLock lock(&mu_);
  const auto next = wheel_.NextDeadline();
  next_ = next ? next->value() : kNever;
  if (!next) return kNever;
  return scale_.NsUntil(*next, clock_->MonotonicNs(), kNever / 2);
}

size_t GroupTimers::size() {
  MutexLock lock(&mu_);
  return wheel_.size();
}

}  // namespace hourglass
