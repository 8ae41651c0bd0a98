// File: front_server.h
//
// The protocol front as a whole: listener, gRPC server, service.
//
//   FrontServerConfig config;
//   config.host = "127.0.0.1";
//   config.port = 8081;
//   ASSIGN_OR_RETURN(auto server, FrontServer::Start(store, clock, config));
//   ...
//   server->Stop();         // then the store may be closed
//
// Ownership: store and clock are the caller's and outlive this. Stop, or the
// destructor, answers or ends every call before it returns.
//
// Threads: Start and Stop from one thread.
//
// Serves promise 4: a stop answers what it can and ends the rest.
#ifndef HOURGLASS_BROKER_FRONT_FRONT_SERVER_H_
#define HOURGLASS_BROKER_FRONT_FRONT_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/front/call_observer.h"
#include "broker/front/certificate.h"
#include "broker/front/front_options.h"
#include "broker/groups/consumer_groups.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "hourglass/file_system.h"

namespace hourglass {

class AccessControl;
class TopicCatalog;

struct FrontServerConfig {
  std::string host = "127.0.0.1";
  int port = 8081;  // 0: any free one
  bool plaintext = true;
  std::optional<Certificate> certificate;  // none: no TLS
  FrontOptions options;
  GroupOptions groups;
  CallObserver* observer = nullptr;  // outlives the server
  // Where the store's log is, to know sends from before the start; null: only
  // those since then are known.
  FileSystem* file_system = nullptr;
  Path store_dir;
  // Null: whoever calls is let in. The caller's; outlives the server.
  const AccessControl* access = nullptr;
  // Null: one that keeps nothing, from the options. Like `access`.
  const TopicCatalog* topics = nullptr;
};

class FrontServer {
 public:
  static absl::StatusOr<std::unique_ptr<FrontServer>> Start(
      DelayStore* store, Clock* clock, const FrontServerConfig& config);
  virtual ~FrontServer() = default;

  virtual int port() const = 0;
  // Not OK: why sends from before the start are not all known.
  virtual const absl::Status& restored() const = 0;
  // Not after Stop.
  virtual std::vector<GroupState> Groups() = 0;
  virtual void Stop() = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_FRONT_SERVER_H_
