#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/text.h"
#include "tests/model/model_run.h"

namespace hourglass {

void ModelRun::OneOperation() {
  const auto die = static_cast<int>(Upto(99));
  if (die < 45) return PutSome(1);
  if (die < 50) return PutSome(2 + Upto(20));
  if (die < 51) return PutSome(20 + Upto(180));
  if (die < 51 + cancel_percent_) return Cancel();
  if (die < 72) return Move();
  if (die < 74) return CancelForged();
  if (die < 76) return CommitProgress();
  if (die < 76 + clock_percent_) return StepClock();
  if (die < 82) return FollowTheStore();
  if (die < 96) return PassTime();
  if (die < 97) return CheckPending();
  if (die < 98) return CheckForecast();
  Step();
}

// --- put ---

bool ModelRun::MayRefuse(const Message& message, const absl::Status& status) {
  const int64_t due_ms = message.due_ms;
  if (absl::IsInvalidArgument(status)) {
    return due_ms < 0 || due_ms - now_ms() > options_.delay_ms_max;
  }
  return absl::IsResourceExhausted(status) &&
         absl::StrContains(status.message(), "late_messages_max") &&
         SecondOf(due_ms) < store_->Stats().cursor;
}

void ModelRun::Refused(const Message& message, const absl::Status& status) {
  if (MayRefuse(message, status)) return;
  if (!faulty_) {
    return Fail(absl::StrCat("put was refused: ", status.ToString()));
  }
  model_.DoubtPut(message);
}

void ModelRun::Acknowledge(const Message& message,
                           const absl::StatusOr<PutResult>& result) {
  if (!result.ok()) return Refused(message, result.status());
  const Handle& handle = result->handle;
  if (message.due_ms < 0 || message.due_ms - now_ms() > options_.delay_ms_max) {
    return Fail("a due time beyond the limits was accepted");
  }
  if (result->id != message.id) return Fail("the put gave another id");
  if (handle.IsNone() != (message.due_ms <= now_ms())) {
    return Fail("a handle where there should be none, or none");
  }
  const auto parsed = Handle::Parse(handle.ToString());
  if (!parsed.ok() || *parsed != handle)
    return Fail("a handle's text is wrong");
  if (!handle.IsNone() && handle.due_ms() != message.due_ms) {
    return Fail("the handle names another due time");
  }
  model_.Put(message, handle);
  if (!handle.IsNone()) given_.push_back({handle, message.id});
}

void ModelRun::PutSome(size_t count) {
  std::vector<Message> messages;
  for (size_t i = 0; i < count; ++i) messages.push_back(SomeMessage());
  std::vector<MessageView> views;
  for (const Message& message : messages) views.push_back(message.View());
  const bool own_id = !faulty_ && Chance(10);
  if (own_id) views[0].id = "";
  Note(absl::StrCat("put ", count, " ", messages[0].id, " due ",
                    messages[0].due_ms, count == 1 ? "" : " ..."));
  totals_.operations += count - 1;
  const auto results = store_->PutMany(views);
  if (results.size() != count) return Fail("PutMany gave too few answers");
  if (own_id && results[0].ok()) messages[0].id = results[0]->id;
  for (size_t i = 0; i < count && !failed(); ++i) {
    Acknowledge(messages[i], results[i]);
  }
}

// --- change ---

bool ModelRun::IsCurrent(const Given& given) const {
  return model_.Find(given.id)->handle == given.handle;
}

void ModelRun::CheckAnswer(const Given& given, CancelAnswer answer) {
  const ModelMessage& known = *model_.Find(given.id);
  const auto wrong = [&](std::string_view truth) {
    Fail(absl::StrCat("the answer for ", given.id, " ", Describe(given.handle),
                      " was \"", ToAbsl(CancelAnswerName(answer)),
                      "\", but it ", ToAbsl(truth)));
  };
  if (IsCurrent(given) && known.state == ModelState::kReady) {
    if (answer != CancelAnswer::kAlreadyDelivered) wrong("is delivered");
    return;
  }
  if (answer == CancelAnswer::kCancelled) return;
  if (IsCurrent(given) && known.state == ModelState::kPending) {
    return wrong("is pending");
  }
  // It was cancelled or moved before. Where nothing is left of the hour, that
  // is no longer told apart from a delivery.
  const auto at = removed_upto_.find(given.handle.hour);
  if (answer == CancelAnswer::kAlreadyDelivered && at != removed_upto_.end() &&
      given.handle.number <= at->second) {
    return;
  }
  wrong("was cancelled");
}

void ModelRun::Cancel() {
  const Given* given = SomeGiven();
  if (given == nullptr) return;
  Note(absl::StrCat("cancel ", given->id, " ", Describe(given->handle)));
  const bool pending = IsCurrent(*given) &&
                       model_.Find(given->id)->state == ModelState::kPending;
  const auto answer = store_->Cancel(given->handle);
  if (!answer.ok()) {
    if (!faulty_) return Fail(answer.status().ToString());
    if (pending) model_.DoubtCancel(given->id);
    return;
  }
  CheckAnswer(*given, *answer);
  if (!pending || *answer != CancelAnswer::kCancelled) return;
  model_.Cancelled(given->id);
  ++totals_.cancelled;
}

void ModelRun::CancelForged() {
  const Given* given = SomeGiven();
  if (given == nullptr) return;
  const Handle forged = Forge(given->handle);
  Note("cancel forged");
  const auto answer = store_->Cancel(forged);
  if (!answer.ok()) return Fail(answer.status().ToString());
  if (*answer != CancelAnswer::kNeverExisted) {
    Fail("a forged handle was taken for a good one");
  }
}

void ModelRun::Move() {
  const Given* at = SomeGiven();
  if (at == nullptr) return;
  const Given given = *at;
  const bool now = Chance(25);
  const int64_t asked_ms = now ? kDueNow : SomeDueMs();
  const int64_t due_ms = asked_ms == kDueNow ? now_ms() : asked_ms;
  Note(absl::StrCat(now ? "deliver now " : "reschedule ", given.id, " ",
                    Describe(given.handle), " to ", due_ms));
  const bool pending =
      IsCurrent(given) && model_.Find(given.id)->state == ModelState::kPending;
  const auto moved = now ? store_->DeliverNow(given.handle)
                         : store_->Reschedule(given.handle, asked_ms);
  if (!moved.ok()) {
    Message message;
    message.due_ms = due_ms;
    if (MayRefuse(message, moved.status())) return;
    // Cancelled before: there is nothing to move.
    if (!pending && absl::IsNotFound(moved.status())) return;
    if (!faulty_) return Fail(moved.status().ToString());
    if (pending) model_.DoubtMove(given.id, due_ms);
    return;
  }
  CheckAnswer(given, moved->answer);
  if (failed() || moved->answer != CancelAnswer::kCancelled) return;
  if (!pending) return Fail("what was cancelled was moved");
  if (moved->handle.IsNone() != (due_ms <= now_ms())) {
    return Fail("a move gave a handle where there should be none, or none");
  }
  model_.Moved(given.id, due_ms, moved->handle);
  if (!moved->handle.IsNone()) given_.push_back({moved->handle, given.id});
  ++totals_.moved;
}

void ModelRun::CommitProgress() {
  const std::string topic = topics_[Upto(topics_.size() - 1)];
  const std::string group = OneOf<const char*>({"g", "other group"});
  const uint64_t end = model_.ready_count(topic);
  uint64_t& known = progress_[{topic, group}];
  const uint64_t next = Chance(10) ? Upto(end) : known + Upto(end - known);
  Note(absl::StrCat("progress ", topic, " ", group, " ", next));
  const absl::Status status =
      store_->CommitProgress(topic, group, QueueIndex(next));
  if (status.ok()) {
    known = std::max(known, next);
    not_owed_[{topic, group}] = store_->FirstReady(topic).value();
    return CheckProgress();
  }
  if (!faulty_) return Fail(status.ToString());
  uint64_t& maybe = progress_maybe_[{topic, group}];
  maybe = std::max(maybe, next);
}

// --- time ---

void ModelRun::Pass(int64_t ms) {
  clock_.AdvanceMs(ms);
  Step();
}

void ModelRun::PassTime() {
  const int64_t ms = SomePassingMs();
  Note(absl::StrCat("pass ", ms));
  if (!Chance(85)) return clock_.AdvanceMs(ms);
  Pass(ms);
}

// Goes from one NextStepMs to the next, as a host does: nothing may be late
// by a millisecond then.
void ModelRun::FollowTheStore() {
  const int64_t until_ms = now_ms() + static_cast<int64_t>(Upto(20'000));
  Note(absl::StrCat("follow until ", until_ms));
  for (int i = 0; i < 20 && now_ms() < until_ms && !failed(); ++i) {
    const int64_t next_ms = std::min(until_ms, store_->NextStepMs());
    Pass(std::clamp<int64_t>(next_ms - now_ms(), 1, until_ms - now_ms()));
  }
}

void ModelRun::StepClock() {
  const auto upto = [this](int64_t ms) {
    return static_cast<int64_t>(Upto(static_cast<uint64_t>(ms)));
  };
  int64_t ms = OneOf<int64_t>({upto(100), upto(5000), upto(kMsPerHour),
                               upto(5 * kMsPerHour), upto(100 * kMsPerHour)});
  const bool back = Chance(60);
  if (back) ms = -std::min(ms, now_ms() / 2);
  if (back && ms != 0) stepped_back_ = true;
  Note(absl::StrCat("step the clock ", ms));
  highest_ms_ = std::max(highest_ms_, now_ms());
  clock_.StepMs(ms);
  if (Chance(70)) Step();
}

void ModelRun::Step() {
  const int64_t behind_ms =
      model_.pending().empty()
          ? 0
          : now_ms() - StartMs(SecondOf(model_.pending().begin()->first));
  // Within three seconds the fresh lane is not split.
  const bool strict = !fresh_life_ && behind_ms < 3000;
  if (behind_ms >= 3000) ++totals_.overdue_steps;
  store_->Step();
  fresh_life_ = false;
  ReadReady();
  if (!failed() && faulty_) {
    std::map<Hour, int> files;
    ListHourFiles(&files);
    if (!files.empty()) NoteRemoved(files);
  }
  if (failed() || faulty_) return;
  CheckOrder(strict);
  if (!model_.pending().empty() &&
      model_.pending().begin()->first <= now_ms()) {
    return Fail(absl::StrCat(model_.pending().begin()->second, " is late: due ",
                             model_.pending().begin()->first));
  }
  CheckStats();
}

}  // namespace hourglass
