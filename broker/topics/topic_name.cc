#include "broker/topics/topic_name.h"

#include <algorithm>

#include "broker/text.h"

namespace hourglass {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '%' || c == '|' || c == '_' || c == '-';
}

}  // namespace

bool IsNameText(std::string_view name) {
  return std::all_of(name.begin(), name.end(), IsNameCharacter);
}

std::string NameFault(std::string_view what, std::string_view name,
                      size_t bytes_max) {
  if (name.empty()) return Concat(what, ": empty");
  if (name.size() > bytes_max) {
    return Concat(what, ": ", name.size(), " bytes; expected at most ",
                  bytes_max, " (topic_bytes_max)");
  }
  if (!IsNameText(name)) {
    return Concat(what,
                  ": expected only letters, digits, '%', '|', '_' and '-'");
  }
  return "";
}

std::string TopicNameFault(std::string_view name, size_t bytes_max) {
  std::string fault = NameFault("topic", name, bytes_max);
  if (fault.empty() && name.starts_with(kHalfTopic)) {
    fault = Concat("topic: ", kHalfTopic, " is the server's own");
  }
  return fault;
}

}  // namespace hourglass
