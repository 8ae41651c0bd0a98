// File: name_pattern.h
//
// Names of topics and groups, as people name several at once: "orders-*" is
// every name that begins with "orders-", "*" is all, "orders" is itself.
//
//   if (MatchesName("orders-*", topic)) ...
//   if (MatchesAny(user.publish, topic)) ...
//
// Limitations: '*' stands for something at the end only.
//
// Serves promise 4: what a rule covers can be read off it.
#ifndef HOURGLASS_BROKER_ACCESS_NAME_PATTERN_H_
#define HOURGLASS_BROKER_ACCESS_NAME_PATTERN_H_

#include <string>
#include <string_view>
#include <vector>

namespace hourglass {

bool MatchesName(std::string_view pattern, std::string_view name);
bool MatchesAny(const std::vector<std::string>& patterns,
                std::string_view name);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ACCESS_NAME_PATTERN_H_
