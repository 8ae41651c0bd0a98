// File: user.h
//
// One user of a server that knows its users: a key, a secret, and what may be
// done with them. Everything that is not granted is refused.
//
//   RETURN_IF_ERROR(user.CheckPublish("orders"));
//   // PERMISSION_DENIED: user "shop" may not publish to topic "orders";
//   // expected a pattern that covers it in publish of [users.shop]
//
// Names are the store's: "namespace%topic".
//
// Threads: any; it does not change.
//
// Serves promise 4: a refusal says who is missing what.
#ifndef HOURGLASS_BROKER_ACCESS_USER_H_
#define HOURGLASS_BROKER_ACCESS_USER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hourglass {

// Of the admin API: nothing, what only looks, everything.
enum class AdminRight { kNone, kRead, kAll };

struct User {
  std::string key;
  std::string secret;
  std::vector<std::string> publish;    // patterns of topics
  std::vector<std::string> subscribe;  // patterns of topics
  std::vector<std::string> groups;     // patterns of consumer groups
  AdminRight admin = AdminRight::kNone;

  // PERMISSION_DENIED, naming the user, the thing and the list to change.
  absl::Status CheckPublish(std::string_view topic) const;
  absl::Status CheckSubscribe(std::string_view topic) const;
  absl::Status CheckGroup(std::string_view group) const;
  // To publish or to subscribe.
  absl::Status CheckEither(std::string_view topic) const;
  absl::Status CheckAdmin(bool changes) const;
};

// Takes as long for texts that differ early as for those that differ late, so
// that a secret cannot be guessed letter by letter.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ACCESS_USER_H_
