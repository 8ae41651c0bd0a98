// File: topics.h
//
// Which topics there are and which kinds of messages each takes.
//
//   ASSIGN_OR_RETURN(auto topics, Topics::From(options));
//   if (const TopicKinds* kinds = topics.Find("orders")) ...
//
// With auto_create_topics every topic is there and takes every kind, but for
// those that the options name with kinds of their own. Without, only the named
// ones and dead letters' are.
//
// Threads: any; it does not change.
//
// Serves promise 4: an unknown topic is named, not swallowed.
#ifndef HOURGLASS_BROKER_FRONT_TOPICS_H_
#define HOURGLASS_BROKER_FRONT_TOPICS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/front/front_options.h"
#include "broker/front/verdict.h"

namespace hourglass {

using TopicKinds = std::vector<proto::MessageType>;

class Topics {
 public:
  // INVALID_ARGUMENT if a topic's text is not NAME or NAME:KIND+KIND.
  static absl::StatusOr<Topics> From(const FrontOptions& options);

  // Null if there is no such topic. Lives as long as this.
  const TopicKinds* Find(std::string_view topic) const;
  // TOPIC_NOT_FOUND, or MESSAGE_PROPERTY_CONFLICT_WITH_TYPE.
  Verdict CheckExists(std::string_view topic) const;
  Verdict CheckTakes(std::string_view topic, proto::MessageType kind) const;

 private:
  bool auto_create_ = true;
  std::map<std::string, TopicKinds, std::less<>> named_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TOPICS_H_
