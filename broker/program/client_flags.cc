#include "broker/program/client_flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "broker/text/duration.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kCaBytesMax = 1u << 20;

void DeclareKeys(CLI::App* app, std::string* access_key, std::string* secret,
                 std::string* timeout) {
  app->add_option("--access-key", *access_key,
                  "who we are, where the server asks")
      ->type_name("KEY")
      ->group(kServerGroup);
  app->add_option("--secret", *secret,
                  "of the access key; better as a variable: others see the "
                  "command line")
      ->type_name("SECRET")
      ->group(kServerGroup);
  app->add_option("--timeout", *timeout, "how long a call may take")
      ->type_name("DURATION")
      ->group(kServerGroup)
      ->capture_default_str();
}

absl::Status CheckKeys(const std::string& access_key,
                       const std::string& secret) {
  if (access_key.empty() == secret.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--access-key and --secret: expected both or none");
}

absl::Status CheckEndpoint(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0 &&
      endpoint.find('/') == std::string::npos &&
      absl::SimpleAtoi(endpoint.substr(colon + 1), &port) && port >= 1 &&
      port <= 65535) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(Concat(
      "--endpoint ", endpoint, ": expected HOST:PORT, as 127.0.0.1:8081"));
}

absl::StatusOr<std::string> ReadPem(FileSystem* fs, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, fs->Open(path, {OpenMode::kRead}));
  std::string text(kCaBytesMax, '\0');
  ASSIGN_OR_RETURN(const size_t n, file->ReadAt(0, text.size(), text.data()));
  text.resize(n);
  if (text.find("-----BEGIN CERTIFICATE-----") != std::string::npos) {
    return text;
  }
  return absl::InvalidArgumentError(
      Concat("--tls-ca ", path, ": expected certificates in PEM"));
}

}  // namespace

absl::StatusOr<int64_t> DurationFlag(std::string_view flag,
                                     const std::string& text) {
  const auto ms = ParseDuration(text);
  if (ms.ok() && *ms > 0) return ms;
  return absl::InvalidArgumentError(
      Concat(flag, ": ",
             ms.ok() ? Concat("\"", text, "\" is no time at all")
                     : std::string(MessageOf(ms.status())),
             "; expected ", kDurationExpected));
}

void BrokerFlags::Declare(CLI::App* app) {
  app->add_option("--endpoint", options_.endpoint, "where the server is")
      ->type_name("HOST:PORT")
      ->group(kServerGroup)
      ->capture_default_str();
  app->add_flag("--tls,!--no-tls", options_.tls, "speak TLS")
      ->group(kServerGroup);
  app->add_option("--tls-ca", ca_file_,
                  "PEM file of whom to trust (DIR/tls/server.pem for a "
                  "certificate that the server made); without it, whom the "
                  "machine trusts; means --tls")
      ->type_name("FILE")
      ->group(kServerGroup);
  DeclareKeys(app, &options_.access_key, &options_.secret, &timeout_);
}

absl::StatusOr<std::unique_ptr<BrokerClient>> BrokerFlags::Connect(
    const Console& console) const {
  BrokerClientOptions options = options_;
  options.clock = console.clock;
  RETURN_IF_ERROR(CheckEndpoint(options.endpoint));
  RETURN_IF_ERROR(CheckKeys(options.access_key, options.secret));
  ASSIGN_OR_RETURN(options.timeout_ms, DurationFlag("--timeout", timeout_));
  if (!ca_file_.empty()) {
    options.tls = true;
    ASSIGN_OR_RETURN(options.ca_pem, ReadPem(console.file_system, ca_file_));
  }
  return console.connect(options);
}

void AdminFlags::Declare(CLI::App* app) {
  app->add_option("--admin", options_.url, "where the admin API is")
      ->type_name("URL")
      ->group(kServerGroup)
      ->capture_default_str();
  DeclareKeys(app, &options_.access_key, &options_.secret, &timeout_);
}

absl::StatusOr<std::unique_ptr<AdminClient>> AdminFlags::Connect(
    const Console& console) const {
  AdminClientOptions options = options_;
  RETURN_IF_ERROR(CheckKeys(options.access_key, options.secret));
  ASSIGN_OR_RETURN(options.timeout_ms, DurationFlag("--timeout", timeout_));
  return console.connect_admin(options);
}

}  // namespace hourglass
