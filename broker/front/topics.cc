#include "broker/front/topics.h"

#include <array>
#include <string>
#include <utility>

#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::array<std::pair<TopicKind, proto::MessageType>, 4> kKinds = {{
    {TopicKind::kNormal, proto::NORMAL},
    {TopicKind::kDelay, proto::DELAY},
    {TopicKind::kFifo, proto::FIFO},
    {TopicKind::kTransaction, proto::TRANSACTION},
}};

bool Takes(const TopicKinds& kinds, proto::MessageType type) {
  for (const auto& [kind, its_type] : kKinds) {
    if (its_type == type) return kinds.Has(kind);
  }
  return false;
}

Verdict NotThere(std::string_view topic) {
  // Applications and tests look for this very sentence.
  return Verdict::Refuse(
      proto::TOPIC_NOT_FOUND,
      Concat("CODE: 17  DESC: No topic route info in name server for the "
             "topic: ",
             topic));
}

}  // namespace

TopicCatalogOptions CatalogOptions(const FrontOptions& options) {
  TopicCatalogOptions catalog;
  catalog.auto_create = options.auto_create_topics;
  catalog.named = options.topics;
  catalog.topic_bytes_max = options.topic_bytes_max;
  catalog.topics_max = options.topics_max;
  return catalog;
}

absl::StatusOr<Topics> Topics::From(const FrontOptions& options) {
  ASSIGN_OR_RETURN(auto own, TopicCatalog::InMemory(CatalogOptions(options)));
  Topics topics(own.get());
  topics.own_ = std::move(own);
  return topics;
}

std::optional<std::vector<proto::MessageType>> Topics::Find(
    std::string_view topic) const {
  const auto found = catalog_->Find(topic);
  if (!found.has_value()) return std::nullopt;
  std::vector<proto::MessageType> types;
  for (const auto& [kind, type] : kKinds) {
    if (found->kinds.Has(kind)) types.push_back(type);
  }
  return types;
}

Verdict Topics::CheckExists(std::string_view topic) const {
  return catalog_->Find(topic).has_value() ? Verdict() : NotThere(topic);
}

Verdict Topics::CheckTakes(std::string_view topic,
                           proto::MessageType kind) const {
  const auto found = catalog_->Find(topic);
  if (!found.has_value()) return NotThere(topic);
  if (Takes(found->kinds, kind)) return {};
  return Verdict::Refuse(
      proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
      Concat("topic ", topic, " takes no ", proto::MessageType_Name(kind),
             " messages; expected ", found->kinds.ToString(", ")));
}

}  // namespace hourglass
