#include "broker/access/user.h"

#include <algorithm>

#include "broker/access/name_pattern.h"
#include "broker/text.h"

namespace hourglass {
namespace {

absl::Status Denied(const User& user, std::string_view deed,
                    std::string_view name, std::string_view list) {
  return absl::PermissionDeniedError(
      Concat("user \"", user.key, "\" may not ", deed, " \"", name,
             "\"; expected a pattern that covers it in ", list, " of [users.",
             user.key, "]"));
}

}  // namespace

absl::Status User::CheckPublish(std::string_view topic) const {
  if (MatchesAny(publish, topic)) return absl::OkStatus();
  return Denied(*this, "publish to topic", topic, "publish");
}

absl::Status User::CheckSubscribe(std::string_view topic) const {
  if (MatchesAny(subscribe, topic)) return absl::OkStatus();
  return Denied(*this, "subscribe to topic", topic, "subscribe");
}

absl::Status User::CheckGroup(std::string_view group) const {
  if (MatchesAny(groups, group)) return absl::OkStatus();
  return Denied(*this, "be in consumer group", group, "groups");
}

absl::Status User::CheckEither(std::string_view topic) const {
  if (MatchesAny(publish, topic) || MatchesAny(subscribe, topic)) {
    return absl::OkStatus();
  }
  return Denied(*this, "use topic", topic, "publish or subscribe");
}

absl::Status User::CheckAdmin(bool changes) const {
  const AdminRight needed = changes ? AdminRight::kAll : AdminRight::kRead;
  if (admin >= needed) return absl::OkStatus();
  return absl::PermissionDeniedError(Concat(
      "user \"", key, "\" may not ", changes ? "change" : "look at",
      " anything here; expected admin = ",
      changes ? "\"all\"" : "\"read\" or \"all\"", " in [users.", key, "]"));
}

bool SameSecret(std::string_view a, std::string_view b) {
  // `volatile`: the compiler must not see that one difference is enough.
  volatile unsigned char difference = a.size() == b.size() ? 0 : 1;
  const size_t size = std::min(a.size(), b.size());
  for (size_t i = 0; i < size; ++i) {
    difference = static_cast<unsigned char>(
        difference |
        (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return difference == 0;
}

}  // namespace hourglass
