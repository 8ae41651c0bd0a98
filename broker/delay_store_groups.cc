// What a store knows of consumer groups: progress, single acknowledgements,
// attempts.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "broker/delay_store_impl.h"
#include "storage/message_codec.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

OpDone StatusOnly(AckCallback done) {
  return [done = std::move(done)](const OpResult& result) mutable {
    done(result.status);
  };
}

}  // namespace

QueueIndex DelayStoreImpl::Progress(std::string_view topic,
                                    std::string_view group) {
  MutexLock lock(&state_->mu);
  const GroupProgress* known = state_->applier.Progress(topic, group);
  return known == nullptr ? QueueIndex() : known->next;
}

GroupProgress DelayStoreImpl::GetProgress(std::string_view topic,
                                          std::string_view group) {
  MutexLock lock(&state_->mu);
  const GroupProgress* known = state_->applier.Progress(topic, group);
  return known == nullptr ? GroupProgress() : *known;
}

bool DelayStoreImpl::HasGroup(std::string_view topic, std::string_view group) {
  MutexLock lock(&state_->mu);
  return state_->applier.Progress(topic, group) != nullptr;
}

std::vector<ConsumerKey> DelayStoreImpl::Groups() {
  MutexLock lock(&state_->mu);
  std::vector<ConsumerKey> groups;
  for (const auto& [key, progress] : state_->applier.progress()) {
    groups.push_back(key);
  }
  return groups;
}

QueueIndex DelayStoreImpl::EndOfReady(std::string_view topic) {
  return state_->applier.queues().Facts(topic).next;
}

// `end`: one behind the last index that is spoken of.
absl::Status DelayStoreImpl::CheckConsumer(std::string_view topic,
                                           std::string_view group,
                                           QueueIndex end) {
  RETURN_IF_ERROR(CheckOpen());
  if (group.empty() || group.size() > kTopicBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group: ", group.size(), " bytes; expected 1 to ", kTopicBytesMax));
  }
  const QueueIndex have = EndOfReady(topic);
  if (end <= have) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("next: ", end.value(),
                                                 "; topic ", ToAbsl(topic),
                                                 " ends at ", have.value()));
}

absl::Status DelayStoreImpl::CommitProgress(std::string_view topic,
                                            std::string_view group,
                                            QueueIndex next) {
  if (PlantedBug("progress_before_sync") && next <= Progress(topic, group)) {
    return absl::OkStatus();
  }
  absl::Status answer;
  Latch answered(1);
  CommitProgressAsync(topic, group, next, [&](const absl::Status& status) {
    answer = status;
    answered.CountDown();
  });
  if (!state_->options.threads) Pump();
  answered.Wait();
  return answer;
}

void DelayStoreImpl::CommitProgressAsync(std::string_view topic,
                                         std::string_view group,
                                         QueueIndex next, AckCallback done) {
  const bool known = next <= Progress(topic, group);
  const absl::Status wrong =
      CheckConsumer(topic, group, known ? QueueIndex() : next);
  if (!wrong.ok()) return done(wrong);
  Op op;
  // Somebody said so already; that need not be durable yet, and after a
  // failed write never will be.
  op.kind = known ? Op::Kind::kBarrier : Op::Kind::kAck;
  op.done = StatusOnly(std::move(done));
  Stage(&op, known ? "" : EncodeAck({topic, group, next}), /*always=*/true);
}

void DelayStoreImpl::StageMarks(std::string_view topic, std::string_view group,
                                const GroupProgress& marks, AckCallback done) {
  const absl::Status wrong = CheckConsumer(topic, group, marks.end());
  if (!wrong.ok()) return done(wrong);
  Op op;
  op.kind = Op::Kind::kMarks;
  op.done = StatusOnly(std::move(done));
  if (PlantedBug("acked_before_sync")) {
    op.done(OpResult());
    op.done = nullptr;
  }
  if (!Stage(&op, EncodeMarks(topic, group, marks))) {
    op.Fail(TooMuchUnsynced());
  }
}

void DelayStoreImpl::AckAsync(std::string_view topic, std::string_view group,
                              absl::Span<const QueueIndex> indexes,
                              AckCallback done) {
  GroupProgress marks;
  for (const QueueIndex index : indexes) {
    // The last one there could be has none behind it.
    if (index == QueueIndex::Max()) {
      return done(absl::InvalidArgumentError("index: no message has it"));
    }
    marks.Ack(index, index + 1);
  }
  StageMarks(topic, group, marks, std::move(done));
}

void DelayStoreImpl::NoteAttemptsAsync(std::string_view topic,
                                       std::string_view group,
                                       absl::Span<const AttemptCount> counts,
                                       AckCallback done) {
  GroupProgress marks;
  for (const AttemptCount& count : counts) {
    if (count.index == QueueIndex::Max()) {
      return done(absl::InvalidArgumentError("index: no message has it"));
    }
    marks.NoteAttempts(count.index, count.attempts);
  }
  StageMarks(topic, group, marks, std::move(done));
}

void DelayStoreImpl::PutAndAckAsync(const MessageView& message,
                                    std::string_view topic,
                                    std::string_view group, QueueIndex index,
                                    PutCallback done) {
  const int64_t now_ms = NowMs();
  absl::Status refused = CheckPut(message, now_ms);
  if (refused.ok() && index == QueueIndex::Max()) {
    refused = absl::InvalidArgumentError("index: no message has it");
  }
  if (refused.ok()) refused = CheckConsumer(topic, group, index + 1);
  if (!refused.ok()) return done(refused);
  GroupProgress acked;
  acked.Ack(index, index + 1);
  thread_local std::string payload;
  Op op = PutOp(message, now_ms, &payload);
  op.put_done = std::move(done);
  const std::string ack = EncodeMarks(topic, group, acked);
  op.ack_bytes = static_cast<uint32_t>(ack.size());
  payload += ack;
  if (!Stage(&op, payload)) op.put_done(TooMuchUnsynced());
}

}  // namespace hourglass
