// File: topic_name.h
//
// What the name of a topic may be: one rule for clients, flags and operators.
//
//   const std::string fault = TopicNameFault("orders", 127);
//   if (!fault.empty()) return absl::InvalidArgumentError(fault);
//
// Serves promise 7: names are bounded before anything is kept for them.
#ifndef HOURGLASS_BROKER_TOPICS_TOPIC_NAME_H_
#define HOURGLASS_BROKER_TOPICS_TOPIC_NAME_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hourglass {

// Where half messages wait: nobody else's.
inline constexpr std::string_view kHalfTopic = "%HALF%";

// Letters, digits, '%', '|', '_' and '-'.
bool IsNameText(std::string_view name);

// Empty if it is fine. `what`: "topic", or "consumer group".
std::string NameFault(std::string_view what, std::string_view name,
                      size_t bytes_max);
// ... and whether it is the server's own.
std::string TopicNameFault(std::string_view name, size_t bytes_max);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TOPICS_TOPIC_NAME_H_
