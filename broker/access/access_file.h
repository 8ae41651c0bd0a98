// File: access_file.h
//
// The file that names a server's users, in TOML:
//
//   [users.shop]                      # the access key
//   secret = "at least 8 characters"
//   publish = ["orders", "bills-*"]   # topics
//   subscribe = ["answers"]           # topics ...
//   groups = ["shop-*"]               # ... in these consumer groups
//   admin = "read"                    # "none" (default), "read" or "all"
//
//   ASSIGN_OR_RETURN(Users users, ParseAccessFile(text, "/etc/access.toml"));
//
// Strict: a name that is not known is an error, since a right that is spelled
// wrong would be missed, or worse, not missed.
//
// Serves promise 4: an error names file, line and what was expected.
#ifndef HOURGLASS_BROKER_ACCESS_ACCESS_FILE_H_
#define HOURGLASS_BROKER_ACCESS_ACCESS_FILE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "broker/access/user.h"

namespace hourglass {

// By access key. Shared, so that a call keeps its user while the file changes.
using Users = std::map<std::string, std::shared_ptr<const User>, std::less<>>;

inline constexpr size_t kAccessFileBytesMax = 4u << 20;
inline constexpr size_t kSecretBytesMin = 8;

// INVALID_ARGUMENT. The text of an error never has a secret in it.
absl::StatusOr<Users> ParseAccessFile(std::string_view text,
                                      std::string_view file);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ACCESS_ACCESS_FILE_H_
