#include "broker/access/access_file.h"

// Errors as values; the whole parser in this one file.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::string_view kKeyExpected =
    "letters, digits, '-', '_', '.', '@'; at most 128 of them";
constexpr size_t kKeyBytesMax = 128;

// What a key may be: it stands in headers between '=' and '/' or ','; in Basic
// credentials before ':'.
bool IsKey(std::string_view key) {
  return !key.empty() && key.size() <= kKeyBytesMax &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
                  c == '@';
         });
}

// Of topics and groups, and '*' at the end.
bool IsPattern(std::string_view text) {
  if (text.ends_with("*")) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '%' || c == '|' || c == '_' ||
           c == '-';
  });
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  absl::StatusOr<Users> Read(const toml::table& root) const {
    for (const auto& [name, node] : root) {
      if (name.str() != "users") {
        return Wrong(node, Concat("\"", name.str(), "\""),
                     "only [users.KEY] here");
      }
    }
    const toml::node* const users = root.get("users");
    if (users == nullptr || !users->is_table() || users->as_table()->empty()) {
      return absl::InvalidArgumentError(
          Concat(file_,
                 ": nobody is named; expected [users.KEY] with a "
                 "secret"));
    }
    Users all;
    for (const auto& [key, node] : *users->as_table()) {
      ASSIGN_OR_RETURN(User user, ReadUser(key.str(), node));
      all.emplace(key.str(), std::make_shared<const User>(std::move(user)));
    }
    return all;
  }

 private:
  absl::Status Wrong(const toml::node& node, std::string_view what,
                     std::string_view expected) const {
    return absl::InvalidArgumentError(Concat(file_, ":",
                                             node.source().begin.line, ": ",
                                             what, "; expected ", expected));
  }

  absl::StatusOr<User> ReadUser(std::string_view key,
                                const toml::node& node) const {
    if (!IsKey(key)) {
      return Wrong(node, Concat("key \"", key, "\""), kKeyExpected);
    }
    if (!node.is_table()) {
      return Wrong(node, Concat("users.", key), "a table");
    }
    User user;
    user.key = std::string(key);
    for (const auto& [name, value] : *node.as_table()) {
      RETURN_IF_ERROR(ReadField(name.str(), value, &user));
    }
    if (user.secret.empty()) {
      return Wrong(node, Concat("users.", key, " has no secret"),
                   "secret = \"..\"");
    }
    return user;
  }

  absl::Status ReadField(std::string_view name, const toml::node& value,
                         User* user) const {
    if (name == "secret") return ReadSecret(value, user);
    if (name == "publish") return ReadPatterns(name, value, &user->publish);
    if (name == "subscribe") return ReadPatterns(name, value, &user->subscribe);
    if (name == "groups") return ReadPatterns(name, value, &user->groups);
    if (name == "admin") return ReadAdmin(value, user);
    return Wrong(value, Concat("\"", name, "\" of users.", user->key),
                 "secret, publish, subscribe, groups or admin");
  }

  absl::Status ReadSecret(const toml::node& value, User* user) const {
    const auto* const text = value.as_string();
    if (text != nullptr && text->get().size() >= kSecretBytesMin) {
      user->secret = text->get();
      return absl::OkStatus();
    }
    return Wrong(value, Concat("secret of users.", user->key),
                 Concat("a text of at least ", kSecretBytesMin, " bytes"));
  }

  absl::Status ReadPatterns(std::string_view name, const toml::node& value,
                            std::vector<std::string>* patterns) const {
    const auto* const list = value.as_array();
    if (list == nullptr) {
      return Wrong(value, name, "a list, as [\"orders\", \"bills-*\"]");
    }
    for (const toml::node& entry : *list) {
      const auto* const text = entry.as_string();
      if (text == nullptr || text->get().empty() || !IsPattern(text->get())) {
        return Wrong(entry, name,
                     "names of letters, digits, '%', '|', '_' and '-', each "
                     "perhaps with '*' at its end");
      }
      patterns->push_back(text->get());
    }
    return absl::OkStatus();
  }

  absl::Status ReadAdmin(const toml::node& value, User* user) const {
    const auto* const text = value.as_string();
    const std::string_view right =
        text == nullptr ? std::string_view() : std::string_view(text->get());
    if (right == "none") {
      user->admin = AdminRight::kNone;
    } else if (right == "read") {
      user->admin = AdminRight::kRead;
    } else if (right == "all") {
      user->admin = AdminRight::kAll;
    } else {
      return Wrong(value, "admin", "\"none\", \"read\" or \"all\"");
    }
    return absl::OkStatus();
  }

  const std::string_view file_;
};

}  // namespace

absl::StatusOr<Users> ParseAccessFile(std::string_view text,
                                      std::string_view file) {
  if (text.size() > kAccessFileBytesMax) {
    return absl::InvalidArgumentError(Concat(file, ": ", text.size(),
                                             " bytes; expected at most ",
                                             kAccessFileBytesMax));
  }
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    // Not the parser's description: it may quote the line, and the secret.
    return absl::InvalidArgumentError(
        Concat(file, ":", parsed.error().source().begin.line, ":",
               parsed.error().source().begin.column,
               ": no TOML; expected as in "
               "[users.KEY], secret = \"..\""));
  }
  return Reader(file).Read(parsed.table());
}

}  // namespace hourglass
