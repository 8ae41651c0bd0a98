#include "broker/client/admin_client.h"

#include <httplib.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr std::string_view kScheme = "http://";

// The server's own sentence, if it is one of ours.
std::string Why(const httplib::Response& response) {
  const auto json =
      nlohmann::json::parse(response.body, nullptr, /*exceptions=*/false);
  if (json.is_object() && json.contains("error") && json["error"].is_object() &&
      json["error"].contains("message") &&
      json["error"]["message"].is_string()) {
    return json["error"]["message"].get<std::string>();
  }
  return Concat("HTTP status ", response.status);
}

class HttpAdminClient final : public AdminClient {
 public:
  HttpAdminClient(const AdminClientOptions& options, const std::string& host,
                  int port)
      : url_(options.url), http_(host, port) {
    const auto timeout = std::chrono::milliseconds(options.timeout_ms);
    http_.set_connection_timeout(timeout);
    http_.set_read_timeout(timeout);
    http_.set_write_timeout(timeout);
    http_.set_keep_alive(true);
    if (!options.access_key.empty()) {
      http_.set_basic_auth(options.access_key, options.secret);
    }
  }

  absl::StatusOr<std::string> Get(const std::string& path) override {
    return Answer(path, http_.Get(path));
  }
  absl::StatusOr<std::string> Put(const std::string& path) override {
    return Answer(path, http_.Put(path));
  }
  absl::StatusOr<std::string> Delete(const std::string& path) override {
    return Answer(path, http_.Delete(path));
  }

 private:
  absl::StatusOr<std::string> Answer(const std::string& path,
                                     const httplib::Result& result) const {
    if (result == nullptr) {
      return absl::UnavailableError(Concat(
          "no admin API answers at ", url_, " (",
          httplib::to_string(result.error()),
          "); start a server with `hourglass serve --data DIR`, or say where "
          "it is with --admin"));
    }
    if (result->status == 200 || result->status == 201) return result->body;
    const std::string why = Concat(url_, path, ": ", Why(*result));
    if (result->status == 401 || result->status == 403) {
      return absl::PermissionDeniedError(
          Concat(why, "; expected --access-key and --secret of one who may"));
    }
    return absl::InternalError(why);
  }

  const std::string url_;
  httplib::Client http_;
};

absl::Status BadUrl(const std::string& url) {
  return absl::InvalidArgumentError(
      Concat("--admin ", url, ": expected HOST:PORT or http://HOST:PORT"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> ConnectAdmin(
    const AdminClientOptions& options) {
  std::string address = options.url;
  if (address.starts_with(kScheme)) address.erase(0, kScheme.size());
  if (address.ends_with('/')) address.pop_back();
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      address.find('/') != std::string::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 ||
      port > 65535) {
    return BadUrl(options.url);
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  AdminClientOptions named = options;
  named.url = Concat(kScheme, address);
  return std::make_unique<HttpAdminClient>(named, host, port);
}

}  // namespace hourglass
