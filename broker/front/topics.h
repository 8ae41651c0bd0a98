// File: topics.h
//
// The catalogue of topics (broker/topics/topic_catalog.h) in the protocol's
// terms: what a client is refused, and with which code.
//
//   Topics topics(catalog);
//   if (Verdict v = topics.CheckTakes("orders", proto::FIFO); !v.ok()) ...
//
// Ownership: a catalogue that is given is the caller's and outlives this; From
// makes one of its own, which keeps nothing. Threads: any.
//
// Serves promise 4: an unknown topic is named, not swallowed.
#ifndef HOURGLASS_BROKER_FRONT_TOPICS_H_
#define HOURGLASS_BROKER_FRONT_TOPICS_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/front/front_options.h"
#include "broker/front/verdict.h"
#include "broker/topics/topic_catalog.h"

namespace hourglass {

TopicCatalogOptions CatalogOptions(const FrontOptions& options);

class Topics {
 public:
  // INVALID_ARGUMENT if a topic's text is not NAME or NAME:KIND+KIND.
  static absl::StatusOr<Topics> From(const FrontOptions& options);
  explicit Topics(const TopicCatalog* catalog) : catalog_(catalog) {}

  // The kinds that it takes; nothing if there is no such topic.
  std::optional<std::vector<proto::MessageType>> Find(
      std::string_view topic) const;
  // TOPIC_NOT_FOUND, or MESSAGE_PROPERTY_CONFLICT_WITH_TYPE.
  Verdict CheckExists(std::string_view topic) const;
  Verdict CheckTakes(std::string_view topic, proto::MessageType kind) const;

 private:
  std::unique_ptr<const TopicCatalog> own_;
  const TopicCatalog* catalog_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TOPICS_H_
