// File: topic_kinds.h
//
// Which kinds of messages a topic takes.
//
//   ASSIGN_OR_RETURN(TopicKinds kinds, TopicKinds::Parse("NORMAL+DELAY"));
//   kinds.Has(TopicKind::kFifo);  // false
//
// Serves promise 4: what a topic does not take is refused by name.
#ifndef HOURGLASS_BROKER_TOPICS_TOPIC_KINDS_H_
#define HOURGLASS_BROKER_TOPICS_TOPIC_KINDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hourglass {

enum class TopicKind : uint8_t {
  kNormal = 1,
  kDelay = 2,
  kFifo = 4,
  kTransaction = 8,
};
std::string_view TopicKindName(TopicKind kind);

class TopicKinds {
 public:
  // All of them.
  TopicKinds() = default;

  // "NORMAL+DELAY", in any order; "" means all. Commas and spaces separate as
  // well: '+' in a URL's query is a space. INVALID_ARGUMENT names the kind.
  static absl::StatusOr<TopicKinds> Parse(std::string_view text);

  bool Has(TopicKind kind) const {
    return (bits_ & static_cast<uint8_t>(kind)) != 0;
  }
  // Always in the same order.
  std::vector<TopicKind> List() const;
  std::string ToString(std::string_view separator = "+") const;

  bool operator==(const TopicKinds&) const = default;

 private:
  uint8_t bits_ = 15;  // never 0
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TOPICS_TOPIC_KINDS_H_
