#include "broker/front/names.h"

#include <algorithm>

#include "broker/text.h"

namespace hourglass {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '%' || c == '|' || c == '_' || c == '-';
}

// Empty if it is fine.
std::string Fault(std::string_view what, const proto::Resource& resource,
                  size_t bytes_max) {
  const std::string name = StoreName(resource);
  if (resource.name().empty()) return Concat(what, ": empty");
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

}  // namespace

std::string StoreName(const proto::Resource& resource) {
  if (resource.resource_namespace().empty()) return resource.name();
  return Concat(resource.resource_namespace(), "%", resource.name());
}

bool IsNameText(std::string_view name) {
  return std::all_of(name.begin(), name.end(), IsNameCharacter);
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

bool IsBlankText(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

Verdict CheckTopicName(const proto::Resource& topic,
                       const FrontOptions& options) {
  const std::string fault = Fault("topic", topic, options.topic_bytes_max);
  if (!fault.empty()) return Verdict::Refuse(proto::ILLEGAL_TOPIC, fault);
  if (StoreName(topic).starts_with(kHalfTopic)) {
    return Verdict::Refuse(
        proto::ILLEGAL_TOPIC,
        Concat("topic: ", kHalfTopic, " is the server's own"));
  }
  return {};
}

Verdict CheckGroupName(const proto::Resource& group,
                       const FrontOptions& options) {
  const std::string fault =
      Fault("consumer group", group, options.topic_bytes_max);
  if (fault.empty()) return {};
  return Verdict::Refuse(proto::ILLEGAL_CONSUMER_GROUP, fault);
}

}  // namespace hourglass
