#include "recovery/consumer_progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "recovery/verify_queue.h"
#include "storage/status_macros.h"

namespace hourglass {

ConsumerProgress::ConsumerProgress(const StoreSurvey* survey)
    : survey_(survey) {
  GroupProgressMap known = survey->log.acks();
  if (survey->checkpoint) {
    for (const auto& [key, progress] : survey->checkpoint->progress) {
      known[key].Merge(progress);
    }
  }
  for (auto& [key, progress] : known) {
    Consumer consumer;
    consumer.group = key.second;
    consumer.end = progress.end();
    consumer.old = std::move(progress);
    topics_[key.first].consumers.push_back(std::move(consumer));
  }
}

absl::Status ConsumerProgress::FindAnchors(FindingList* findings) {
  for (auto& [name, topic] : topics_) {
    std::vector<Consumer>& consumers = topic.consumers;
    QueueIndex from, to = QueueIndex::Max();
    if (survey_->checkpoint) {
      const auto facts = survey_->checkpoint->queues.find(name);
      if (facts != survey_->checkpoint->queues.end()) {
        from = facts->second.first;
        to = facts->second.next;
      }
    }
    QueueSalvage queue(survey_->source, survey_->id, name);
    RETURN_IF_ERROR(queue.Scan(
        from, to, [&consumers](QueueIndex index, const QueueEntry& entry) {
          for (Consumer& consumer : consumers) {
            if (index > consumer.old.next) continue;
            consumer.anchored = true;
            consumer.index = index;
            consumer.offset = entry.offset;
          }
        }));
    for (Consumer& consumer : consumers) {
      if (!consumer.anchored) AnchorByLog(name, &consumer);
      if (consumer.anchored || consumer.end == QueueIndex()) continue;
      findings->Note(
          "queues/",
          absl::StrCat("where group \"", consumer.group, "\" was in topic \"",
                       name, "\" cannot be found out"),
          "it reads from the oldest ready message on again");
    }
  }
  return absl::OkStatus();
}

void ConsumerProgress::AnchorByLog(const std::string& name,
                                   Consumer* consumer) const {
  if (survey_->log_from_beginning) {
    consumer->anchored = true;  // index 0 at offset 0
    return;
  }
  if (!survey_->checkpoint) return;
  const auto facts = survey_->checkpoint->queues.find(name);
  const TopicTrace* trace = survey_->log.FindTopic(name);
  if (facts == survey_->checkpoint->queues.end()) return;
  // Counted back from the end; damage in between would make it too many.
  const uint64_t in_log = trace == nullptr ? 0 : trace->ready_applied;
  if (!survey_->log.damage().empty() || facts->second.next.value() < in_log) {
    return;
  }
  consumer->anchored = true;
  consumer->index = facts->second.next - in_log;
  consumer->offset = survey_->log_start;
}

void ConsumerProgress::OnDamage(const DamagedRange& range) {
  for (auto& [name, topic] : topics_) {
    for (Consumer& consumer : topic.consumers) {
      if (range.to > consumer.offset && consumer.index < consumer.end) {
        consumer.broken = true;
      }
    }
  }
}

void ConsumerProgress::OnReady(std::string_view topic_name, LogOffset offset,
                               bool kept) {
  const auto at = topics_.find(topic_name);
  if (at == topics_.end()) return;
  Topic& topic = at->second;
  if (kept) topic.written = topic.written + 1;
  for (Consumer& consumer : topic.consumers) {
    if (consumer.anchored) OnReady(&consumer, topic, offset, kept);
  }
}

void ConsumerProgress::OnReady(Consumer* consumer, const Topic& topic,
                               LogOffset offset, bool kept) {
  const GroupProgress& old = consumer->old;
  const bool before = offset < consumer->offset;
  const bool counted =
      !before && !consumer->broken && consumer->index < consumer->end;
  const QueueIndex index = consumer->index;
  if (counted) consumer->index = consumer->index + 1;
  if (before || (counted && index < old.next)) {
    consumer->made.Ack(QueueIndex(), topic.written);
  }
  if (!counted || !kept || index < old.next) return;
  const QueueIndex made = topic.written - 1;
  if (old.IsAcked(index)) consumer->made.Ack(made, made + 1);
  consumer->made.NoteAttempts(made, old.AttemptsOf(index));
}

GroupProgressMap ConsumerProgress::Result(FindingList* findings) const {
  GroupProgressMap result;
  for (const auto& [name, topic] : topics_) {
    for (const Consumer& consumer : topic.consumers) {
      if (consumer.made.end() > QueueIndex()) {
        result[{name, consumer.group}] = consumer.made;
      }
      if (!consumer.broken) continue;
      findings->Note(
          "commitlog/",
          absl::StrCat("how far group \"", consumer.group, "\" was in topic \"",
                       name, "\" is known only up to the damage"),
          "it may read some messages again");
    }
  }
  return result;
}

}  // namespace hourglass
