// File: dead_letter.h
//
// The message that is put into "%DLQ%<group>" when a group has tried often
// enough: the same one, which also says where it came from.
//
//   const Message dead = DeadLetter("billing", ready.message);
//   store->PutAndAckAsync(dead.View(), "orders", "billing", ready.index, ...);
//
// Threads: functions only.
//
// Serves promise 6: one bad message does not stop the others.
#ifndef HOURGLASS_BROKER_GROUPS_DEAD_LETTER_H_
#define HOURGLASS_BROKER_GROUPS_DEAD_LETTER_H_

#include <string>
#include <string_view>

#include "hourglass/message.h"

namespace hourglass {

// Properties that a dead letter has in addition.
inline constexpr std::string_view kOriginTopicProperty = "DLQ_ORIGIN_TOPIC";
inline constexpr std::string_view kOriginIdProperty = "DLQ_ORIGIN_MESSAGE_ID";

std::string DeadLetterTopic(std::string_view group);
Message DeadLetter(std::string_view group, Message message);
// Without what was added: for a message whose properties were at their limit.
Message PlainDeadLetter(std::string_view group, Message message);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_DEAD_LETTER_H_
