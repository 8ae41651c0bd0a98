#include "broker/front/poll_set.h"

namespace hourglass {

void PollSet::Waits(Poll* poll, uint64_t id) {
  if (id == 0) return;
  bool cancel = false;
  {
    MutexLock lock(&mu_);
    if (poll->ended) return;
    poll->id = id;
    waiting_.insert(id);
    cancel = poll->cancelled || stopping_;
  }
  if (cancel) groups_->CancelReceive(id);
}

void PollSet::Ended(Poll* poll) {
  MutexLock lock(&mu_);
  poll->ended = true;
  waiting_.erase(poll->id);
}

void PollSet::Cancel(Poll* poll) {
  uint64_t id = 0;
  {
    MutexLock lock(&mu_);
    poll->cancelled = true;
    if (!poll->ended) id = poll->id;
  }
  if (id != 0) groups_->CancelReceive(id);
}

void PollSet::CancelAll() {
  std::set<uint64_t> waiting;
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    waiting = waiting_;
  }
  for (const uint64_t id : waiting) groups_->CancelReceive(id);
}

bool PollSet::stopping() const {
  MutexLock lock(&mu_);
  return stopping_;
}

size_t PollSet::waiting() const {
  MutexLock lock(&mu_);
  return waiting_.size();
}

}  // namespace hourglass
