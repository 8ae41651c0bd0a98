// `hourglass serve`: a server for the messaging protocol, in the foreground.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "broker/access/access_control.h"
#include "broker/admin/admin_api.h"
#include "broker/admin/admin_server.h"
#include "broker/front/front_server.h"
#include "broker/front/topics.h"
#include "broker/program/command.h"
#include "broker/program/serve_flags.h"
#include "broker/program/serve_log.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_lines.h"
#include "broker/text/text.h"
#include "storage/file_mode.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Clients: RocketMQ 5 clients of any language, unchanged; give them this address
as their endpoint. TLS and plaintext come in at the same port. The certificate
is DIR/tls/server.pem, made at the first start.

Examples:
  hourglass serve --data /var/lib/hourglass
  hourglass serve --data /tmp/d --listen 127.0.0.1:0 --no-tls
  HOURGLASS_SERVE_LISTEN=127.0.0.1:9000 hourglass serve --data /tmp/d
  hourglass serve --data /d --topic orders --topic bills:NORMAL+DELAY \
      --no-auto-create-topics

SIGINT or SIGTERM stops cleanly: waiting calls are answered, what was put is
durable. Exit codes: 0 stopped; 2 could not run, or could not go on.)";

// How long a stop may go unnoticed, and a store that stopped itself.
constexpr int64_t kLookMs = 50;
constexpr int kLooksUntilChecked = 20;
constexpr char kTlsDir[] = "tls";

// Read, and left as it is.
absl::StatusOr<std::unique_ptr<TopicCatalog>> OpenTopics(
    const Console& console, const std::string& data,
    const FrontServerConfig& config) {
  return TopicCatalog::Open(console.file_system, data,
                            CatalogOptions(config.options));
}

absl::StatusOr<std::optional<Certificate>> CertificateOf(
    const ServeFlags& flags, const Console& console, const std::string& data,
    const std::string& host) {
  if (!flags.tls()) return std::nullopt;
  if (!flags.certificate().empty()) {
    ASSIGN_OR_RETURN(
        Certificate own,
        ReadCertificate(console.file_system, flags.certificate(), flags.key()));
    return own;
  }
  ASSIGN_OR_RETURN(Certificate kept,
                   KeptCertificate(console.file_system, console.clock,
                                   Path(data) / kTlsDir, {host}));
  return kept;
}

std::string Welcome(const FrontServerConfig& config, int port,
                    const std::string& admin, const StoreStats& stats) {
  const std::string endpoint = Concat(config.host, ":", port);
  const bool tls = config.certificate.has_value();
  const char* const kinds = tls && config.plaintext ? "TLS and plaintext"
                            : tls                   ? "TLS"
                                                    : "plaintext";
  return Concat(
      "hourglass: ", FormatCount(stats.pending_messages),
      " messages pending\nhourglass: listening on ", endpoint, " (", kinds,
      ")\n", admin,
      "\nA first message, due in five seconds:\n\n"
      "  hourglass send hello it is time --in 5s --endpoint ",
      endpoint, "\n  hourglass receive hello --group me --endpoint ", endpoint,
      "\n\nor (pip install rocketmq-python-client):\n\n"
      "  import time\n"
      "  from rocketmq import ClientConfiguration, Credentials, Message, "
      "Producer\n"
      "  config = ClientConfiguration(\"",
      endpoint, "\", Credentials(",
      config.access == nullptr ? "" : "\"KEY\", \"SECRET\"",
      "))\n"
      "  producer = Producer(config, (\"hello\",))\n"
      "  producer.startup()\n"
      "  message = Message()\n"
      "  message.topic, message.body = \"hello\", b\"it is time\"\n"
      "  message.delivery_timestamp = int(time.time()) + 5\n"
      "  print(producer.send(message))\n\n"
      "Stop with Ctrl-C.");
}

class ServeCommand final : public Command {
 public:
  std::string_view name() const override { return "serve"; }

  void Declare(CLI::App* app) override {
    app->description("A server for RocketMQ 5 clients, with any delay");
    app->footer(kFooter);
    store_.Declare(app);
    flags_.Declare(app);
    log_flags_.Declare(app);
  }

  int Run(const Console& console) override {
    const auto options = store_.Options(console);
    if (!options.ok()) return Fail(console, "", options.status());
    // Before the store is touched.
    auto config = flags_.Config(*options);
    if (!config.ok()) return Fail(console, "", config.status());
    const auto admin = flags_.Admin();
    if (!admin.ok()) return Fail(console, "", admin.status());
    const auto log = log_flags_.Options();
    if (!log.ok()) return Fail(console, "", log.status());
    const absl::Status users = OpenAccess(console);
    if (!users.ok()) return Fail(console, "", users);
    config->access = access_.get();
    // A damaged file is told before recovery writes anything.
    const auto topics = OpenTopics(console, store_.data(), *config);
    if (!topics.ok()) return Fail(console, "", topics.status());
    return store_.WithStore(console, StoreFlags::Mode::kCreate,
                            [&](DelayStore& store) {
                              return Serve(console, *options, &*config, &store);
                            });
  }

 private:
  absl::StatusOr<int> Serve(const Console& console, const StoreOptions& options,
                            FrontServerConfig* config, DelayStore* store) {
    Diagnostics diagnostics(console.err);
    // Outlives the server, which tells it of its calls.
    ServeLog log(console, *log_flags_.Options(), options, &diagnostics);
    SayStarted(*store, &log.events());
    SayIfOpenToAll(&log.events());
    log.Watch(store, store_.data());
    config->observer = &log;
    config->file_system = console.file_system;
    config->store_dir = store_.data();
    ASSIGN_OR_RETURN(
        config->certificate,
        CertificateOf(flags_, console, store_.data(), config->host));
    // Once more: now no other server changes them.
    ASSIGN_OR_RETURN(const auto topics,
                     OpenTopics(console, store_.data(), *config));
    config->topics = topics.get();
    ASSIGN_OR_RETURN(const auto server,
                     FrontServer::Start(store, console.clock, *config));
    if (!server->restored().ok()) {
      log.events().Warning("sends_not_known",
                           {{"why", MessageOf(server->restored())}});
    }
    AdminApi api(
        store, [&server] { return server->Groups(); }, console.clock, options,
        flags_.Admin()->value_or(AdminOptions()));
    api.RequireAccess(access_.get());
    api.UseTopics(topics.get());
    ASSIGN_OR_RETURN(const auto admin,
                     StartAdmin(options, config->certificate, &api));
    RETURN_IF_ERROR(console.out->Write(
        Concat(Welcome(*config, server->port(), AdminLine(admin.get()),
                       store->Stats()),
               "\n")));
    log.events().Info("listening",
                      {{"endpoint", Concat(config->host, ":", server->port())},
                       {"tls", config->certificate.has_value()},
                       {"plaintext", config->plaintext},
                       {"admin_port", admin == nullptr ? 0 : admin->port()}});
    const absl::Status ended = WaitForStop(console, store, &log);
    if (!ended.ok()) {
      log.events().Error("store_stopped", {{"why", MessageOf(ended)}});
    }
    log.events().Info("stopping");
    api.Drain();
    if (admin != nullptr) admin->Stop();
    server->Stop();
    log.events().Info("stopped");
    RETURN_IF_ERROR(ended);
    return kExitOk;
  }

  void SayStarted(DelayStore& store, EventLog* log) const {
    const StoreStats stats = store.Stats();
    log->Info("started", {{"version", HOURGLASS_VERSION},
                          {"data", store_.data()},
                          {"pending", stats.pending_messages},
                          {"recovery_ms", stats.recovery_ms},
                          {"recovered_records", stats.recovered_records}});
  }

  absl::Status OpenAccess(const Console& console) {
    if (flags_.access_file().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(access_, AccessControl::Open(console.file_system,
                                                  flags_.access_file()));
    return absl::OkStatus();
  }
  void SayIfOpenToAll(EventLog* log) const {
    if (access_ == nullptr || !IsOpenToAll(flags_.access_file())) return;
    log->Warning("access_file_open",
                 {{"file", flags_.access_file()},
                  {"why",
                   "every user of this machine may read or change it, and the "
                   "secrets in it; expected mode 600 or 640"}});
  }
  // Who may come in may have changed.
  void LookAtAccess(EventLog* log) {
    if (access_ == nullptr) return;
    for (const std::string& said : access_->Look()) {
      log->Warning("access_file", {{"what", said}});
    }
  }

  // Null if there is to be none.
  absl::StatusOr<std::unique_ptr<AdminServer>> StartAdmin(
      const StoreOptions& options,
      const std::optional<Certificate>& certificate, AdminApi* api) const {
    const auto admin = flags_.Admin();
    if (!admin->has_value()) return nullptr;
    AdminOptions own = **admin;
    if (flags_.admin_tls()) {
      own.certificate_pem = certificate->chain_pem;
      own.key_pem = certificate->key_pem;
    }
    const size_t request_bytes = InputLimits::From(options).line_bytes_max();
    return AdminServer::Start(api, own, request_bytes);
  }
  std::string AdminLine(const AdminServer* admin) const {
    if (admin == nullptr) return "";
    return Concat("hourglass: admin API and metrics at ",
                  flags_.admin_tls() ? "https://" : "http://",
                  (*flags_.Admin())->host, ":", admin->port(), "/\n");
  }

  // OK when asked to stop; why, when the store stopped itself.
  absl::Status WaitForStop(const Console& console, DelayStore* store,
                           ServeLog* log) {
    LookAtAccess(&log->events());
    Mutex mu;
    CondVar nobody_signals;
    for (int looks = 1; !console.stop->requested(); ++looks) {
      if (looks % kLooksUntilChecked == 0) {
        RETURN_IF_ERROR(store->Stats().failure);
        log->Watch(store, store_.data());
        LookAtAccess(&log->events());
      }
      MutexLock lock(&mu);
      nobody_signals.WaitForMs(&mu, kLookMs);
    }
    return absl::OkStatus();
  }

  StoreFlags store_;
  ServeFlags flags_;
  LogFlags log_flags_;
  std::unique_ptr<AccessControl> access_;  // null: whoever calls is let in
};

}  // namespace

std::unique_ptr<Command> MakeServeCommand() {
  return std::make_unique<ServeCommand>();
}

}  // namespace hourglass
