#include "broker/admin/pending_admin.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kPageMessages = 500;

// Answers of one page, which come from the store's threads.
class Answers {
 public:
  explicit Answers(size_t wanted) : left_(wanted) {}

  void Add(const absl::StatusOr<MoveResult>& moved) {
    MutexLock lock(&mu_);
    answers_.push_back(moved);
    if (--left_ == 0) all_there_.SignalAll();
  }
  std::vector<absl::StatusOr<MoveResult>> Wait() {
    MutexLock lock(&mu_);
    while (left_ > 0) all_there_.Wait(&mu_);
    return std::move(answers_);
  }

 private:
  Mutex mu_;
  CondVar all_there_;
  size_t left_;
  std::vector<absl::StatusOr<MoveResult>> answers_;
};

void CountAnswer(const absl::StatusOr<MoveResult>& moved, BulkResult* result) {
  if (!moved.ok()) {
    // Cancelled by somebody else in between.
    if (absl::IsNotFound(moved.status())) {
      ++result->too_late;
    } else if (result->refused++ == 0) {
      result->why = moved.status();
    }
  } else if (moved->answer == CancelAnswer::kCancelled) {
    ++result->changed;
  } else {
    ++result->too_late;
  }
}

absl::Status NotPending(const std::string& name) {
  return absl::NotFoundError(Concat("no pending message ", Quoted(name)));
}

// A sum that stays within what a due time may be.
int64_t Shifted(int64_t due_ms, int64_t by_ms) {
  int64_t shifted = 0;
  if (__builtin_add_overflow(due_ms, by_ms, &shifted)) {
    return by_ms < 0 ? kDueNow : std::numeric_limits<int64_t>::max();
  }
  return std::max(shifted, kDueNow);
}

}  // namespace

absl::Status PendingAdmin::EachPage(
    const PendingWindow& window, BulkResult* result,
    const std::function<void(const Messages&)>& visit) {
  PendingQuery query;
  query.topic = window.topic;
  query.from_ms = window.from_ms;
  query.to_ms = window.to_ms;
  while (true) {
    const size_t room = window.count_max - result->matched;
    // One more than may be taken tells whether there are more.
    query.count_max = std::min(kPageMessages, room + 1);
    ASSIGN_OR_RETURN(PendingPage page, store_->Pending(query));
    result->more = page.messages.size() > room;
    if (result->more) page.messages.resize(room);
    result->matched += page.messages.size();
    visit(page.messages);
    if (result->more || page.next.empty()) return absl::OkStatus();
    query.after = page.next;
  }
}

absl::StatusOr<PendingMessage> PendingAdmin::FindByHandle(
    const Handle& handle) {
  PendingWindow window;
  window.from_ms = handle.due_ms();
  window.to_ms = handle.due_ms() + 1;
  window.count_max = options_.scan_max;
  PendingMessage found;
  BulkResult seen;
  RETURN_IF_ERROR(EachPage(window, &seen, [&](const Messages& page) {
    for (const PendingMessage& one : page) {
      if (one.handle == handle) found = one;
    }
  }));
  if (found.handle == handle) return found;
  return NotPending(handle.ToString());
}

absl::StatusOr<PendingMessage> PendingAdmin::FindById(
    const std::string& id, const PendingWindow& window) {
  PendingWindow all = window;
  all.count_max = options_.scan_max;
  std::vector<PendingMessage> found;
  BulkResult seen;
  RETURN_IF_ERROR(EachPage(all, &seen, [&](const Messages& page) {
    for (const PendingMessage& one : page) {
      if (one.message.id == id) found.push_back(one);
    }
  }));
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        Concat(found.size(), " pending messages have the id ", Quoted(id),
               "; use the handle, or name topic, from and to"));
  }
  if (found.size() == 1) return std::move(found[0]);
  if (!seen.more) return NotPending(id);
  return absl::ResourceExhaustedError(
      Concat(Quoted(id), " is not among the first ", options_.scan_max,
             " messages (scan_max); use the handle, or name topic, from and "
             "to"));
}

absl::StatusOr<PendingMessage> PendingAdmin::Find(const std::string& name,
                                                  const PendingWindow& window) {
  const auto handle = Handle::Parse(name);
  if (handle.ok() && !handle->IsNone()) return FindByHandle(*handle);
  return FindById(name, window);
}

absl::StatusOr<Handle> PendingAdmin::FindHandle(const std::string& name,
                                                const PendingWindow& window) {
  const auto handle = Handle::Parse(name);
  if (handle.ok() && !handle->IsNone()) return *handle;
  ASSIGN_OR_RETURN(const PendingMessage found, FindById(name, window));
  return found.handle;
}

absl::StatusOr<BulkResult> PendingAdmin::CancelAll(
    const PendingWindow& window) {
  BulkResult result;
  RETURN_IF_ERROR(EachPage(window, &result, [&](const Messages& page) {
    if (window.dry_run || page.empty()) return;
    Answers answers(page.size());
    for (const PendingMessage& one : page) {
      store_->CancelAsync(one.handle,
                          [&answers](const absl::StatusOr<CancelAnswer>& said) {
                            if (!said.ok()) return answers.Add(said.status());
                            answers.Add(MoveResult{*said, {}});
                          });
    }
    for (const auto& answer : answers.Wait()) CountAnswer(answer, &result);
  }));
  return result;
}

absl::StatusOr<BulkResult> PendingAdmin::ShiftAll(const PendingWindow& window,
                                                  int64_t by_ms) {
  BulkResult result;
  // Those moved within the window are met again at their new time.
  std::set<std::pair<Hour, RecordNumber>> moved;
  RETURN_IF_ERROR(EachPage(window, &result, [&](const Messages& page) {
    std::vector<const PendingMessage*> to_move;
    for (const PendingMessage& one : page) {
      const bool again = moved.contains({one.handle.hour, one.handle.number});
      if (again) {
        --result.matched;
      } else {
        to_move.push_back(&one);
      }
    }
    if (window.dry_run || to_move.empty()) return;
    Answers answers(to_move.size());
    for (const PendingMessage* one : to_move) {
      MessageView later = one->message.View();
      later.due_ms = Shifted(one->handle.due_ms(), by_ms);
      store_->ReplaceAsync(one->handle, later,
                           [&answers](const absl::StatusOr<MoveResult>& said) {
                             answers.Add(said);
                           });
    }
    for (const auto& answer : answers.Wait()) {
      CountAnswer(answer, &result);
      if (answer.ok()) {
        moved.insert({answer->handle.hour, answer->handle.number});
      }
    }
  }));
  return result;
}

}  // namespace hourglass
