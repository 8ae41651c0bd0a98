// File: admin_access.h
//
// Who may ask the admin API what: HTTP's Basic credentials, with the key and
// the secret of a user. What only looks (GET) needs the right "read", all else
// the right "all". Whether the server is up, anybody may ask.
//
//   RETURN_IF_ERROR(CheckAdminAccess(access, request));
//
// Errors: UNAUTHENTICATED, PERMISSION_DENIED.
//
// Threads: any.
//
// Serves promise 4: a refusal says who is missing what.
#ifndef HOURGLASS_BROKER_ADMIN_ADMIN_ACCESS_H_
#define HOURGLASS_BROKER_ADMIN_ADMIN_ACCESS_H_

#include "absl/status/status.h"
#include "broker/access/access_control.h"
#include "broker/admin/http_message.h"

namespace hourglass {

absl::Status CheckAdminAccess(const AccessControl& access,
                              const HttpRequest& request);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_ADMIN_ACCESS_H_
