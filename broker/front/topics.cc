#include "broker/front/topics.h"

#include <algorithm>

#include "broker/front/names.h"
#include "broker/groups/consumer_groups.h"
#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

const TopicKinds& AllKinds() {
  static const TopicKinds* const kinds = new TopicKinds{
      proto::NORMAL, proto::DELAY, proto::FIFO, proto::TRANSACTION};
  return *kinds;
}

absl::StatusOr<TopicKinds> ParseKinds(std::string_view topic,
                                      std::string_view text) {
  TopicKinds kinds;
  while (!text.empty()) {
    const size_t plus = std::min(text.find('+'), text.size());
    const std::string name(text.substr(0, plus));
    proto::MessageType kind = proto::MESSAGE_TYPE_UNSPECIFIED;
    const bool known = proto::MessageType_Parse(name, &kind) &&
                       std::count(AllKinds().begin(), AllKinds().end(), kind);
    if (!known) {
      return absl::InvalidArgumentError(
          Concat("topic ", topic, ": kind ", name,
                 "; expected NORMAL, DELAY, FIFO or TRANSACTION"));
    }
    kinds.push_back(kind);
    text.remove_prefix(std::min(plus + 1, text.size()));
  }
  return kinds;
}

}  // namespace

absl::StatusOr<Topics> Topics::From(const FrontOptions& options) {
  Topics topics;
  topics.auto_create_ = options.auto_create_topics;
  for (const std::string& text : options.topics) {
    const size_t colon = std::min(text.find(':'), text.size());
    proto::Resource name;
    name.set_name(text.substr(0, colon));
    if (const Verdict v = CheckTopicName(name, options); !v.ok()) {
      return absl::InvalidArgumentError(v.text);
    }
    TopicKinds kinds = AllKinds();
    if (colon < text.size()) {
      ASSIGN_OR_RETURN(kinds, ParseKinds(name.name(), text.substr(colon + 1)));
    }
    topics.named_[name.name()] = std::move(kinds);
  }
  return topics;
}

const TopicKinds* Topics::Find(std::string_view topic) const {
  const auto named = named_.find(topic);
  if (named != named_.end()) return &named->second;
  const bool there = auto_create_ || topic.starts_with(kDeadLetterPrefix);
  return there ? &AllKinds() : nullptr;
}

Verdict Topics::CheckExists(std::string_view topic) const {
  if (Find(topic) != nullptr) return {};
  // Applications and tests look for this very sentence.
  return Verdict::Refuse(
      proto::TOPIC_NOT_FOUND,
      Concat("CODE: 17  DESC: No topic route info in name server for the "
             "topic: ",
             topic));
}

Verdict Topics::CheckTakes(std::string_view topic,
                           proto::MessageType kind) const {
  const TopicKinds* const kinds = Find(topic);
  if (kinds == nullptr) return CheckExists(topic);
  if (std::find(kinds->begin(), kinds->end(), kind) != kinds->end()) return {};
  std::string expected;
  for (const proto::MessageType one : *kinds) {
    Append(&expected, expected.empty() ? "" : ", ",
           proto::MessageType_Name(one));
  }
  return Verdict::Refuse(
      proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
      Concat("topic ", topic, " takes no ", proto::MessageType_Name(kind),
             " messages; expected ", expected));
}

}  // namespace hourglass
