// File: names.h
//
// Names of topics and groups: from the protocol's Resource (namespace and
// name) to the one string the store knows, and what such a name may be.
//
//   const std::string topic = StoreName(request.topic());  // "ns%orders"
//   if (Verdict v = CheckTopicName(request.topic(), options); !v.ok()) ...
//
// Serves promise 7: names are bounded before anything is kept for them.
#ifndef HOURGLASS_BROKER_FRONT_NAMES_H_
#define HOURGLASS_BROKER_FRONT_NAMES_H_

#include <string>
#include <string_view>

#include "broker/front/front_options.h"
#include "broker/front/verdict.h"
#include "broker/topics/topic_name.h"

namespace hourglass {

std::string StoreName(const proto::Resource& resource);

bool HasControlCharacter(std::string_view text);
bool IsBlankText(std::string_view text);

// ILLEGAL_TOPIC and ILLEGAL_CONSUMER_GROUP.
Verdict CheckTopicName(const proto::Resource& topic,
                       const FrontOptions& options);
Verdict CheckGroupName(const proto::Resource& group,
                       const FrontOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_NAMES_H_
