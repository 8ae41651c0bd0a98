// File: admin_client.h
//
// A running server's admin API as the commands `topics`, `groups` and `top`
// see it.
//
//   ASSIGN_OR_RETURN(auto admin, ConnectAdmin({}));
//   ASSIGN_OR_RETURN(const std::string json, admin->Get("/v1/topics"));
//
// UNAVAILABLE: nobody answers there; the text says how to start one.
// PERMISSION_DENIED: it wants credentials. INTERNAL: another answer than 200;
// the text is the server's.
//
// Limitations: http only. Threads: one.
//
// Serves promise 5: numbers of the server come with an address.
#ifndef HOURGLASS_BROKER_CLIENT_ADMIN_CLIENT_H_
#define HOURGLASS_BROKER_CLIENT_ADMIN_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hourglass {

struct AdminClientOptions {
  std::string url = "http://127.0.0.1:8082";
  std::string access_key, secret;  // basic authentication, if there is a key
  int64_t timeout_ms = 5000;       // to connect, and for each answer
};

class AdminClient {
 public:
  virtual ~AdminClient() = default;
  // The body of a 200.
  virtual absl::StatusOr<std::string> Get(const std::string& path) = 0;
  // ... or of a 201.
  virtual absl::StatusOr<std::string> Put(const std::string& path) = 0;
  virtual absl::StatusOr<std::string> Delete(const std::string& path) = 0;
};

// INVALID_ARGUMENT for an address that is none. Connects with the first Get.
absl::StatusOr<std::unique_ptr<AdminClient>> ConnectAdmin(
    const AdminClientOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_CLIENT_ADMIN_CLIENT_H_
