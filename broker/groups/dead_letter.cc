#include "broker/groups/dead_letter.h"

#include <utility>

#include "broker/groups/consumer_groups.h"

namespace hourglass {

std::string DeadLetterTopic(std::string_view group) {
  return std::string(kDeadLetterPrefix) + std::string(group);
}

Message DeadLetter(std::string_view group, Message message) {
  message.properties.emplace_back(kOriginTopicProperty, message.topic);
  message.properties.emplace_back(kOriginIdProperty, message.id);
  return PlainDeadLetter(group, std::move(message));
}

Message PlainDeadLetter(std::string_view group, Message message) {
  message.topic = DeadLetterTopic(group);
  message.due_ms = kDueNow;
  return message;
}

}  // namespace hourglass
