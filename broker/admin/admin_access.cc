#include "broker/admin/admin_access.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::string_view kBasic = "Basic ";

// Key and secret. A key has no colon, a secret may have some.
absl::StatusOr<std::pair<std::string, std::string>> Credentials(
    std::string_view header) {
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kBasic))) {
    return absl::UnauthenticatedError(
        "expected HTTP Basic credentials: the key and the secret of a user, "
        "as curl -u KEY:SECRET");
  }
  std::string text;
  header.remove_prefix(kBasic.size());
  const bool decoded = absl::Base64Unescape(ToAbsl(header), &text);
  const size_t colon = text.find(':');
  if (!decoded || colon == std::string::npos) {
    return absl::UnauthenticatedError(
        "authorization: expected Basic and the base64 of KEY:SECRET");
  }
  return std::make_pair(text.substr(0, colon), text.substr(colon + 1));
}

}  // namespace

absl::Status CheckAdminAccess(const AccessControl& access,
                              const HttpRequest& request) {
  if (request.path == "/healthz" || request.path == "/readyz") {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto credentials, Credentials(request.authorization));
  ASSIGN_OR_RETURN(const std::shared_ptr<const User> user,
                   access.Login(credentials.first, credentials.second));
  return user->CheckAdmin(/*changes=*/request.method != "GET");
}

}  // namespace hourglass
