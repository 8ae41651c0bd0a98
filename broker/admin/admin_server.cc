#include "broker/admin/admin_server.h"

#include <httplib.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "broker/text/text.h"

namespace hourglass {
namespace {

// Parameters are taken from the address only: the library takes a body that
// says it is a form, as `curl -d` does, for parameters too.
HttpRequest Request(const httplib::Request& from) {
  HttpRequest request{from.method,
                      from.path,
                      {},
                      from.body,
                      from.get_header_value("Authorization")};
  const size_t mark = from.target.find('?');
  if (mark == std::string::npos) return request;
  httplib::Params params;
  httplib::detail::parse_query_text(from.target.substr(mark + 1), params);
  for (const auto& [name, value] : params) request.query[name] = value;
  return request;
}

using Pem = std::unique_ptr<BIO, decltype(&BIO_free)>;

Pem PemOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
          BIO_free};
}

// The certificate, those that it is signed by, its key.
bool Show(SSL_CTX* tls, const AdminOptions& options) {
  const Pem chain = PemOf(options.certificate_pem);
  bool first = true;
  while (X509* const one =
             PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    const bool taken = first ? SSL_CTX_use_certificate(tls, one) == 1
                             : SSL_CTX_add1_chain_cert(tls, one) == 1;
    X509_free(one);
    if (!taken) return false;
    first = false;
  }
  ERR_clear_error();  // the end of the file is one
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(PemOf(options.key_pem).get(),
                                                nullptr, nullptr, nullptr);
  const bool taken = key != nullptr && SSL_CTX_use_PrivateKey(tls, key) == 1;
  EVP_PKEY_free(key);
  return taken && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1;
}

std::unique_ptr<httplib::Server> MakeServer(const AdminOptions& options) {
  if (options.certificate_pem.empty()) {
    return std::make_unique<httplib::Server>();
  }
  return std::make_unique<httplib::SSLServer>(
      [&options](SSL_CTX& tls) { return Show(&tls, options); });
}

class Server final : public AdminServer {
 public:
  Server(AdminApi* api, const AdminOptions& options, size_t body_bytes_max)
      : api_(api), http_(MakeServer(options)) {
    const auto timeout = std::chrono::milliseconds(options.read_timeout_ms);
    http_->set_read_timeout(timeout);
    http_->set_write_timeout(timeout);
    http_->set_keep_alive_timeout(
        std::chrono::duration_cast<std::chrono::seconds>(timeout).count());
    http_->set_payload_max_length(body_bytes_max);
    // Not the library's own choice, with which two servers share a port.
    http_->set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    const auto threads = static_cast<size_t>(options.threads);
    http_->new_task_queue = [threads] {
      return new httplib::ThreadPool(threads);
    };
    const auto handle = [this](const httplib::Request& from,
                               httplib::Response& to) {
      HttpAnswer answer = api_->Handle(Request(from));
      to.status = answer.status;
      to.set_content(answer.body, answer.type.c_str());
      if (answer.status == 401) {
        to.set_header("WWW-Authenticate", "Basic realm=\"hourglass\"");
      }
    };
    http_->Get(".*", handle);
    http_->Post(".*", handle);
    http_->Delete(".*", handle);
    http_->Put(".*", handle);
  }
  ~Server() override { Stop(); }

  absl::Status Listen(const AdminOptions& options) {
    if (!http_->is_valid()) {
      return absl::InvalidArgumentError(
          "the admin API's certificate and key: OpenSSL does not take them; "
          "expected a pair in PEM");
    }
    port_ = options.port == 0
                ? http_->bind_to_any_port(options.host.c_str())
                : (http_->bind_to_port(options.host.c_str(), options.port)
                       ? options.port
                       : -1);
    if (port_ < 0) {
      return absl::UnavailableError(
          Concat("cannot listen on ", options.host, ":", options.port,
                 " (admin); is it in use, and is it an address of this "
                 "machine?"));
    }
    thread_ = std::thread([this] {
      http_->listen_after_bind();
      ended_ = true;
    });
    // A stop before it runs would not be noticed.
    while (!http_->is_running() && !ended_) std::this_thread::yield();
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  void Stop() override {
    if (!thread_.joinable()) return;
    http_->stop();
    thread_.join();
  }

 private:
  AdminApi* const api_;
  const std::unique_ptr<httplib::Server> http_;
  int port_ = -1;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    AdminApi* api, const AdminOptions& options, size_t body_bytes_max) {
  auto server = std::make_unique<Server>(api, options, body_bytes_max);
  const absl::Status listening = server->Listen(options);
  if (!listening.ok()) return listening;
  return server;
}

}  // namespace hourglass
