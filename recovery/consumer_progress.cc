#include "recovery/consumer_progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "recovery/verify_queue.h"
#include "storage/status_macros.h"

namespace hourglass {

ConsumerProgress::ConsumerProgress(const StoreSurvey* survey)
    : survey_(survey) {
  std::map<ConsumerKey, QueueIndex> known = survey->log.acks();
  if (survey->checkpoint) {
    for (const auto& [key, next] : survey->checkpoint->progress) {
      known[key] = std::max(known[key], next);
    }
  }
  for (const auto& [key, next] : known) {
    Consumer consumer;
    consumer.group = key.second;
    consumer.target = next;
    topics_[key.first].consumers.push_back(consumer);
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
            if (index > consumer.target) continue;
            consumer.anchored = true;
            consumer.index = index;
            consumer.offset = entry.offset;
          }
        }));
    for (Consumer& consumer : consumers) {
      if (!consumer.anchored) AnchorByLog(name, &consumer);
      if (consumer.anchored || consumer.target == QueueIndex()) continue;
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
      if (range.to > consumer.offset && consumer.index < consumer.target) {
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
    if (!consumer.anchored) continue;
    bool read = offset < consumer.offset;
    if (!read && !consumer.broken && consumer.index < consumer.target) {
      read = true;
      consumer.index = consumer.index + 1;
    }
    if (read) consumer.next = topic.written;
  }
}

std::map<ConsumerKey, QueueIndex> ConsumerProgress::Result(
    FindingList* findings) const {
  std::map<ConsumerKey, QueueIndex> result;
  for (const auto& [name, topic] : topics_) {
    for (const Consumer& consumer : topic.consumers) {
      if (consumer.next > QueueIndex()) {
        result[{name, consumer.group}] = consumer.next;
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
