// File: serve_flags.h
//
// The flags of `hourglass serve` beside the store's: where to listen, TLS, who
// may come in, and
// every option of FrontOptions and GroupOptions under its own name.
//
//   ServeFlags flags;
//   flags.Declare(app);
//   ASSIGN_OR_RETURN(FrontServerConfig config, flags.Config(store_options));
//
// Serves promise 7: every bound of the front can be set, by its name.
#ifndef HOURGLASS_BROKER_PROGRAM_SERVE_FLAGS_H_
#define HOURGLASS_BROKER_PROGRAM_SERVE_FLAGS_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "broker/admin/admin_options.h"
#include "broker/front/front_server.h"
#include "hourglass/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

// The value of `flag`: "127.0.0.1:8081", "[::1]:8081", "localhost:0".
absl::StatusOr<std::pair<std::string, int>> ParseAddress(
    std::string_view flag, const std::string& text);
bool IsLoopback(const std::string& host);

class ServeFlags {
 public:
  void Declare(CLI::App* app);

  // Without the certificate and the users. INVALID_ARGUMENT names the flag;
  // FAILED_PRECONDITION: a public address that nobody has allowed.
  absl::StatusOr<FrontServerConfig> Config(const StoreOptions& store) const;

  // Nothing: no admin API. Errors as Config's.
  absl::StatusOr<std::optional<AdminOptions>> Admin() const;

  // Empty: whoever calls is let in.
  const std::string& access_file() const { return access_file_; }

  bool tls() const { return tls_; }
  bool admin_tls() const { return admin_tls_; }
  // Both empty: the server makes its own.
  const std::string& certificate() const { return certificate_; }
  const std::string& key() const { return key_; }

 private:
  void DeclareListening(CLI::App* app);
  void DeclareAccess(CLI::App* app);
  void DeclareTopics(CLI::App* app);
  void DeclareLimits(CLI::App* app);
  void DeclareMessages(CLI::App* app);
  void DeclareCalls(CLI::App* app);
  void DeclareClients(CLI::App* app);
  void DeclareAdmin(CLI::App* app);

  std::string listen_ = "127.0.0.1:8081";
  std::string admin_listen_ = "127.0.0.1:8082";
  bool tls_ = true;
  bool plaintext_ = true;
  bool admin_tls_ = false;
  bool allow_public_ = false;
  std::string access_file_;
  std::string certificate_, key_;
  FrontOptions front_;
  GroupOptions groups_;
  AdminOptions admin_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_SERVE_FLAGS_H_
