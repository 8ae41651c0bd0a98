#include "broker/front/names.h"

#include <algorithm>

#include "broker/text.h"

namespace hourglass {
namespace {

// Empty if it is fine.
std::string Fault(std::string_view what, const proto::Resource& resource,
                  size_t bytes_max) {
  if (resource.name().empty()) return Concat(what, ": empty");
  return NameFault(what, StoreName(resource), bytes_max);
}

}  // namespace

std::string StoreName(const proto::Resource& resource) {
  if (resource.resource_namespace().empty()) return resource.name();
  return Concat(resource.resource_namespace(), "%", resource.name());
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
  std::string fault = Fault("topic", topic, options.topic_bytes_max);
  if (fault.empty()) {
    fault = TopicNameFault(StoreName(topic), options.topic_bytes_max);
  }
  if (fault.empty()) return {};
  return Verdict::Refuse(proto::ILLEGAL_TOPIC, fault);
}

Verdict CheckGroupName(const proto::Resource& group,
                       const FrontOptions& options) {
  const std::string fault =
      Fault("consumer group", group, options.topic_bytes_max);
  if (fault.empty()) return {};
  return Verdict::Refuse(proto::ILLEGAL_CONSUMER_GROUP, fault);
}

}  // namespace hourglass
