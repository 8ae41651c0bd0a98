// What the consumers of a simulated host do.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/sim_run.h"

namespace hourglass {
namespace {

// Asked, and answered when the store's next step is over or never.
struct Asked {
  GroupProgress marks;
  std::optional<absl::Status> answer;
};

}  // namespace

void SimRun::CommitProgress() {
  const std::string topic = Chance(75) ? "a" : "b";
  const uint64_t known = oracle_.progress(topic, "g");
  const uint64_t end = oracle_.model().ready_count(topic);
  if (known >= end) return;
  uint64_t next = known + 1 + Upto(end - known - 1);
  // Consumers say it again, or something older, above all when they got an
  // error.
  for (uint64_t times = 1 + Upto(1); times > 0 && !failed(); --times) {
    Note(absl::StrCat("progress ", topic, " ", next));
    oracle_.ProgressAnswered(
        topic, "g", next, store_->CommitProgress(topic, "g", QueueIndex(next)));
    next = known + 1 + Upto(next - known - 1);
  }
}

// Messages one by one, in any order, and how often they were given out.
void SimRun::AckSome() {
  const std::string topic = Chance(75) ? "a" : "b";
  const std::string group = Chance(70) ? "g" : "h";
  const uint64_t end = oracle_.model().ready_count(topic);
  if (end == 0) return;
  // Near to where the group is, so that gaps close.
  const uint64_t known = std::min(oracle_.progress(topic, group), end - 1);
  std::vector<std::shared_ptr<Asked>> all;
  for (uint64_t calls = 1 + Upto(5); calls > 0; --calls) {
    auto asked = std::make_shared<Asked>();
    std::vector<QueueIndex> indexes;
    std::vector<AttemptCount> counts;
    for (uint64_t n = 1 + Upto(3); n > 0; --n) {
      const uint64_t far =
          Chance(80) ? std::min<uint64_t>(end - 1, known + 12) : end - 1;
      const QueueIndex index(known + Upto(far - known));
      indexes.push_back(index);
      counts.push_back({index, static_cast<uint32_t>(1 + Upto(20))});
    }
    const auto answer = [asked](absl::Status status) {
      asked->answer = std::move(status);
    };
    Note(absl::StrCat("ack ", topic, "/", group, " ", indexes[0].value()));
    if (Chance(60)) {
      for (const QueueIndex at : indexes) asked->marks.Ack(at, at + 1);
      store_->AckAsync(topic, group, indexes, answer);
    } else {
      for (const AttemptCount& count : counts) {
        asked->marks.NoteAttempts(count.index, count.attempts);
      }
      store_->NoteAttemptsAsync(topic, group, counts, answer);
    }
    all.push_back(std::move(asked));
  }
  Step();
  for (const auto& asked : all) {
    const absl::Status status =
        asked->answer.value_or(absl::UnknownError("not answered"));
    if (!failed()) oracle_.MarksAnswered(topic, group, asked->marks, status);
  }
}

// Writes what is staged and does nothing else.
void SimRun::Pump() { store_->Cancel(Handle()).IgnoreError(); }

void SimRun::PutAndAck() {
  const std::string topic = Chance(75) ? "a" : "b";
  const uint64_t end = oracle_.model().ready_count(topic);
  if (end == 0) return;
  const Message message = SomeMessage();
  const uint64_t index = Upto(std::min<uint64_t>(end - 1, 20));
  Note(absl::StrCat("put ", message.id, " and ack ", topic, "/m ", index));
  auto answer = std::make_shared<absl::StatusOr<PutResult>>(
      absl::UnknownError("not answered"));
  const int64_t asked_ms = now_ms();
  store_->PutAndAckAsync(
      message.View(), topic, "m", QueueIndex(index),
      [answer](absl::StatusOr<PutResult> put) { *answer = std::move(put); });
  Pump();
  oracle_.PutAndAckAnswered(message, topic, "m", index, asked_ms, *answer);
}

void SimRun::Replace() {
  const Oracle::Given* at = SomeGiven();
  if (at == nullptr) return;
  const Oracle::Given given = *at;
  const Message message = SomeMessage();
  Note(absl::StrCat("replace ", given.id, " ", Describe(given.handle), " by ",
                    message.id, " due ", message.due_ms));
  auto answer = std::make_shared<absl::StatusOr<MoveResult>>(
      absl::UnknownError("not answered"));
  const int64_t asked_ms = now_ms();
  store_->ReplaceAsync(given.handle, message.View(),
                       [answer](absl::StatusOr<MoveResult> moved) {
                         *answer = std::move(moved);
                       });
  Pump();
  oracle_.ReplaceAnswered(given, message, asked_ms, *answer);
}

}  // namespace hourglass
