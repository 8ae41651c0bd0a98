// What must be true of consumer groups: an acknowledged message never comes
// back, attempts that were answered are not forgotten, and what happens
// together happens together.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/simulation/oracle.h"

namespace hourglass {
namespace {

std::string Describe(const GroupProgress& progress) {
  std::string text = absl::StrCat("next ", progress.next.value());
  for (const auto& [from, to] : progress.acked) {
    absl::StrAppend(&text, ", acked ", from.value(), "-", to.value() - 1);
  }
  for (const auto& [index, attempts] : progress.attempts) {
    absl::StrAppend(&text, ", ", attempts, " attempts of ", index.value());
  }
  return text;
}

bool Covers(const GroupProgress& all, const GroupProgress& part) {
  GroupProgress both = all;
  both.Merge(part);
  return both == all;
}

}  // namespace

uint64_t Oracle::progress(const std::string& topic,
                          const std::string& group) const {
  const auto at = consumers_.find({topic, group});
  return at == consumers_.end() ? 0 : at->second.sure.next.value();
}

void Oracle::ProgressAnswered(const std::string& topic,
                              const std::string& group, uint64_t next,
                              const absl::Status& status) {
  MarksAnswered(topic, group, GroupProgress(QueueIndex(next)), status);
}

void Oracle::MarksAnswered(const std::string& topic, const std::string& group,
                           const GroupProgress& marks,
                           const absl::Status& status) {
  Consumer& consumer = consumers_[{topic, group}];
  if (status.ok()) {
    consumer.sure.Merge(marks);
    return;
  }
  // A definite answer: it was not done.
  if (absl::StrContains(status.message(), "group_marks_max")) return;
  consumer.maybe.push_back(marks);
  if (!trouble_) Fail("progress: " + status.ToString());
}

void Oracle::PutAndAckAnswered(const Message& message, const std::string& topic,
                               const std::string& group, uint64_t index,
                               int64_t asked_ms,
                               const absl::StatusOr<PutResult>& result) {
  const GroupProgress& sure = consumers_[{topic, group}].sure;
  if (absl::IsNotFound(result.status())) {
    if (sure.IsAcked(QueueIndex(index)) || trouble_) return;
    return Fail(absl::StrCat(topic, "[", index, "] was not put again, as if ",
                             group, " had acknowledged it"));
  }
  if (result.ok() && sure.IsAcked(QueueIndex(index))) {
    return Fail(absl::StrCat(topic, "[", index, "] is acknowledged by ", group,
                             ", and was put again"));
  }
  if (absl::StrContains(result.status().message(), "group_marks_max")) return;
  GroupProgress acked;
  acked.Ack(QueueIndex(index), QueueIndex(index + 1));
  PutAnswered(message, asked_ms, result);
  const bool before = sure.IsAcked(QueueIndex(index));
  MarksAnswered(topic, group, acked, result.status());
  if (before) return;
  PutAndAck& pair = maybe_put_[{{topic, group}, QueueIndex(index)}];
  (result.ok() ? pair.answered : pair.maybe).push_back(message.id);
}

void Oracle::ReplaceAnswered(const Given& given, const Message& replacement,
                             int64_t asked_ms,
                             const absl::StatusOr<MoveResult>& result) {
  const bool pending =
      IsCurrent(given) && model_.Find(given.id)->state == ModelState::kPending;
  highest_ms_ = std::max(highest_ms_, now_ms());
  if (!result.ok()) {
    if (!pending && absl::IsNotFound(result.status())) return;
    if (!trouble_) return Fail("replace: " + result.status().ToString());
    if (!pending) return;
    model_.DoubtCancel(given.id);
    model_.DoubtPut(replacement);
    maybe_replaced_.emplace_back(given.id, replacement.id);
    return;
  }
  if (!damaged_) CheckAnswer(given, result->answer);
  if (failed() || result->answer != CancelAnswer::kCancelled) return;
  if (!pending && damaged_) return;
  if (!pending) return Fail(given.id + " was cancelled, and replaced");
  model_.Cancelled(given.id);
  PutResult put;
  put.handle = result->handle;
  PutAnswered(replacement, asked_ms, put);
}

void Oracle::CheckProgress(DelayStore* store) {
  for (auto& [at, consumer] : consumers_) {
    const GroupProgress found = store->GetProgress(at.first, at.second);
    ranges_seen_ += found.acked.size();
    for (const GroupProgress& maybe : consumer.maybe) {
      if (Covers(found, maybe)) consumer.sure.Merge(maybe);
    }
    consumer.maybe.clear();
    if (found == consumer.sure) continue;
    return Fail(absl::StrCat("progress of ", at.first, "/", at.second, " is ",
                             Describe(found), " instead of ",
                             Describe(consumer.sure)));
  }
}

void Oracle::CheckPairs() {
  for (const auto& [at, pair] : maybe_put_) {
    size_t put = pair.answered.size();
    for (const std::string& id : pair.maybe) {
      put += model_.Find(id)->state != ModelState::kNothing ? 1 : 0;
    }
    const bool acked = consumers_[at.first].sure.IsAcked(at.second);
    if (put == (acked ? 1 : 0)) continue;
    return Fail(absl::StrCat(put, " messages were put that were to follow ",
                             at.first.first, "[", at.second.value(),
                             "], which is ", acked ? "" : "not ",
                             "acknowledged"));
  }
  maybe_put_.clear();
  for (const auto& [before, after] : maybe_replaced_) {
    const bool gone = model_.Find(before)->state == ModelState::kCancelled;
    const bool there = model_.Find(after)->state != ModelState::kNothing;
    if (gone == there) continue;
    return Fail(absl::StrCat(before, gone ? " is gone" : " is there", ", and ",
                             after, " in its place is ",
                             there ? "there" : "not there"));
  }
  maybe_replaced_.clear();
}

}  // namespace hourglass
