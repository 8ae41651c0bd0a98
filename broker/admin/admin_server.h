// File: admin_server.h
//
// The admin API on a socket: HTTP/1.1, a few threads.
//
//   ASSIGN_OR_RETURN(auto server, AdminServer::Start(&api, options));
//   ... server->port() ...
//   server->Stop();
//
// With TLS if the options have a certificate. Passwords are the api's
// (AdminApi::RequireAccess).
//
// Ownership: the api is the caller's and outlives this. Threads: Start and
// Stop from one thread; requests run on its own.
//
// Limitations: connections that wait for a thread are bounded by the process's
// file handles only.
//
// Serves promise 7: threads and the bytes of a request are bounded.
#ifndef HOURGLASS_BROKER_ADMIN_ADMIN_SERVER_H_
#define HOURGLASS_BROKER_ADMIN_ADMIN_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "broker/admin/admin_api.h"
#include "broker/admin/admin_options.h"

namespace hourglass {

class AdminServer {
 public:
  // UNAVAILABLE if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      AdminApi* api, const AdminOptions& options, size_t body_bytes_max);
  virtual ~AdminServer() = default;

  virtual int port() const = 0;
  virtual void Stop() = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_ADMIN_SERVER_H_
