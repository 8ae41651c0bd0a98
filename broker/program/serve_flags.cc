#include "broker/program/serve_flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "broker/program/number_flags.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kListenGroup[] = "Listening";
constexpr char kAccessGroup[] = "Who may come in";
constexpr char kTopicsGroup[] = "Topics and groups";
constexpr char kFrontGroup[] = "Limits and tuning of the server";

// What a public address lacks, as text; empty if nothing.
std::string Lacks(bool access_file, bool tls_only, std::string_view tls_flags) {
  std::string lacks = access_file ? "" : "--access-file FILE";
  if (!tls_only) Append(&lacks, lacks.empty() ? "" : " and ", tls_flags);
  return lacks;
}

absl::Status NotPublic(std::string_view flag, const std::string& address,
                       const std::string& lacks) {
  return absl::FailedPreconditionError(Concat(
      flag, " ", address, ": others reach this address; expected ", lacks,
      ", so that only users come in and nobody reads their secrets, or "
      "127.0.0.1 or ::1, or --allow-public"));
}

absl::Status BadAddress(std::string_view flag, const std::string& text) {
  return absl::InvalidArgumentError(
      Concat(flag, " ", text, ": expected HOST:PORT, as 127.0.0.1:8081"));
}

}  // namespace

absl::StatusOr<std::pair<std::string, int>> ParseAddress(
    std::string_view flag, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return BadAddress(flag, text);
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return BadAddress(flag, text);
  }
  return std::make_pair(host, port);
}

bool IsLoopback(const std::string& host) {
  const bool digits =
      host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" ||
         (digits && host.starts_with("127."));
}

void ServeFlags::Declare(CLI::App* app) {
  DeclareListening(app);
  DeclareAccess(app);
  DeclareTopics(app);
  DeclareLimits(app);
}

void ServeFlags::DeclareListening(CLI::App* app) {
  app->add_option("--listen", listen_, "where clients connect; port 0: any")
      ->type_name("HOST:PORT")
      ->group(kListenGroup)
      ->capture_default_str();
  app->add_option("--admin", admin_listen_,
                  "the admin API and metrics, over HTTP; \"none\": no")
      ->type_name("HOST:PORT")
      ->group(kListenGroup)
      ->capture_default_str();
  app->add_flag("--tls,!--no-tls", tls_, "take TLS connections (default)")
      ->group(kListenGroup);
  app->add_flag("--plaintext,!--no-plaintext", plaintext_,
                "take plaintext connections, on the same port (default)")
      ->group(kListenGroup);
  app->add_option("--tls-certificate", certificate_,
                  "PEM file; without it the server makes its own")
      ->type_name("FILE")
      ->group(kListenGroup);
  app->add_option("--tls-key", key_, "PEM file of the certificate's key")
      ->type_name("FILE")
      ->group(kListenGroup);
  app->add_flag("--admin-tls", admin_tls_,
                "the admin API over HTTPS, with the same certificate")
      ->group(kListenGroup);
}

void ServeFlags::DeclareAccess(CLI::App* app) {
  app->add_option("--access-file", access_file_,
                  "users, their secrets and their rights, in TOML; without "
                  "it whoever calls is let in")
      ->type_name("FILE")
      ->group(kAccessGroup);
  app->add_option("--signature-skew-ms-max", front_.signature_skew_ms_max,
                  "how far the time that a client signs may be from this "
                  "machine's; at least 14 hours, since clients sign their "
                  "local time; 0: any")
      ->type_name("MS")
      ->group(kAccessGroup)
      ->capture_default_str();
  app->add_flag("--allow-public", allow_public_,
                "listen on an address that others reach, also without "
                "--access-file or in plaintext")
      ->group(kAccessGroup);
}

void ServeFlags::DeclareTopics(CLI::App* app) {
  app->add_flag("--auto-create-topics,!--no-auto-create-topics",
                front_.auto_create_topics,
                "a topic is there when it is first used (default)")
      ->group(kTopicsGroup);
  app->add_option("--topic", front_.topics,
                  "a topic that is there, with the kinds it takes; may be "
                  "given several times")
      ->type_name("NAME[:KIND+KIND]")
      ->group(kTopicsGroup);
  NumberFlags(app, kTopicsGroup)
      .Number("--topics-max", &front_.topics_max, "N",
              "topics of --topic and of the admin API together");
  app->add_option("--fifo-group", front_.fifo_groups,
                  "push consumers of this group keep the order of message "
                  "groups; * at the end for any rest; several times")
      ->type_name("GROUP")
      ->group(kTopicsGroup);
  app->add_option("--unordered-group", front_.unordered_groups,
                  "consumers of this group do not wait for each other's "
                  "messages of a message group; * at the end for any rest; "
                  "several times")
      ->type_name("GROUP")
      ->group(kTopicsGroup);
  NumberFlags limits(app, kTopicsGroup);
  limits.Number("--topic-pending-messages-max",
                &front_.topic_pending_messages_max, "N",
                "messages that may wait in one topic; 0: any");
  limits.Bytes("--topic-pending-bytes-max", &front_.topic_pending_bytes_max,
               "bytes of bodies that may wait in one topic; 0: any");
  limits.Number("--attempts-max", &front_.attempts_max, "N",
                "deliveries before a message goes to the dead letters");
}

void ServeFlags::DeclareLimits(CLI::App* app) {
  DeclareMessages(app);
  DeclareCalls(app);
  DeclareClients(app);
  DeclareAdmin(app);
}

void ServeFlags::DeclareMessages(CLI::App* app) {
  NumberFlags limits(app, kFrontGroup);
  limits.Number("--topic-bytes-max", &front_.topic_bytes_max, "N",
                "bytes of a topic's or a group's name");
  limits.Number("--user-properties-max", &front_.user_properties_max, "N",
                "properties of a message");
  limits.Bytes("--user-properties-bytes-max", &front_.user_properties_bytes_max,
               "their bytes together");
  limits.Number("--message-group-bytes-max", &front_.message_group_bytes_max,
                "N", "bytes of a message group's name");
  limits.Number("--batch-send-max", &front_.batch_messages_max, "N",
                "messages in one send");
  limits.Number("--dedupe-window-ms", &front_.dedupe_window_ms, "MS",
                "how long a send is known by its id; 0: not");
  limits.Number("--dedupe-entries-max", &front_.dedupe_entries_max, "N",
                "sends known by their ids");
  limits.Bytes("--dedupe-restore-bytes-max", &front_.dedupe_restore_bytes_max,
               "how much of the newest log is read at the start, to know the "
               "sends before it");
  limits.Number("--transaction-check-ms", &front_.transaction_check_ms, "MS",
                "when the producer of a half message is asked");
  limits.Number("--transaction-check-ms-max", &front_.transaction_check_ms_max,
                "MS", "the longest time until then that a message may name");
  limits.Number("--transaction-checks-max", &front_.transaction_checks_max, "N",
                "how often, before it is rolled back");
  limits.Number("--transaction-age-ms-max", &front_.transaction_age_ms_max,
                "MS",
                "age at which a half message that nobody can be asked about "
                "is rolled back");
}

void ServeFlags::DeclareCalls(CLI::App* app) {
  NumberFlags limits(app, kFrontGroup);
  limits.Bytes("--request-bytes-max", &front_.request_bytes_max,
               "largest call");
  limits.Bytes("--requests-bytes-max", &front_.requests_bytes_max,
               "all calls under way");
  limits.Number("--connections-max", &front_.connections_max, "N",
                "open connections");
  limits.Number("--handshakes-max", &front_.handshakes_max, "N",
                "connections that have said nothing yet");
  limits.Number("--handshake-ms", &front_.handshake_ms, "MS",
                "how long a connection may say nothing at first");
  limits.Number("--clients-max", &front_.clients_max, "N",
                "clients whose settings are kept");
  limits.Number("--long-poll-ms-max", &front_.long_poll_ms_max, "MS",
                "how long anybody may wait");
  limits.Number("--poll-margin-ms", &front_.poll_margin_ms, "MS",
                "how long before its caller gives up a poll ends");
  limits.Number("--receive-batch-max", &front_.receive_batch_max, "N",
                "messages handed out by one receive");
  limits.Number("--invisible-ms-min", &front_.invisible_ms_min, "MS",
                "shortest invisible duration");
  limits.Number("--invisible-ms-max", &front_.invisible_ms_max, "MS",
                "longest invisible duration");
  limits.Number("--drain-ms", &front_.drain_ms, "MS",
                "how long calls may go on after a stop");
}

void ServeFlags::DeclareClients(CLI::App* app) {
  NumberFlags limits(app, kFrontGroup);
  limits.Number("--long-poll-ms", &front_.long_poll_ms, "MS",
                "how long push consumers are told to wait");
  limits.Number("--receive-messages-max", &front_.receive_messages_max, "N",
                "how many messages push consumers are told to ask for");
  limits.Number("--producer-attempts-max", &front_.producer_attempts_max, "N",
                "how often producers are told to try a send");
  limits.Number("--producer-backoff-first-ms",
                &front_.producer_backoff_first_ms, "MS",
                "what they are told to wait before the second");
  limits.Number("--producer-backoff-max-ms", &front_.producer_backoff_max_ms,
                "MS", "... and at most");
  limits.Number("--settings-again-ms", &front_.settings_again_ms, "MS",
                "when a client is told its settings once more");
  limits.Number("--leased-per-group-max", &groups_.leased_per_group_max, "N",
                "messages of a group handed out and not acknowledged");
  limits.Number("--client-silence-max-ms", &groups_.client_silence_max_ms, "MS",
                "without a heartbeat a client is gone");
}

void ServeFlags::DeclareAdmin(CLI::App* app) {
  NumberFlags limits(app, kFrontGroup);
  limits.Number("--admin-threads", &admin_.threads, "N", "of the admin API");
  limits.Number("--admin-read-timeout-ms", &admin_.read_timeout_ms, "MS",
                "for one request of the admin API to come in");
  limits.Number("--admin-page-max", &admin_.page_max, "N",
                "messages in one answer of the admin API");
  limits.Number("--admin-bulk-max", &admin_.bulk_max, "N",
                "messages cancelled or shifted by one request");
  limits.Number("--admin-scan-max", &admin_.scan_max, "N",
                "messages looked at for one request");
  limits.Number("--metric-labels-max", &admin_.metric_labels_max, "N",
                "topics, and groups, with metrics of their own");
}

absl::StatusOr<FrontServerConfig> ServeFlags::Config(
    const StoreOptions& store) const {
  FrontServerConfig config;
  ASSIGN_OR_RETURN(const auto address, ParseAddress("--listen", listen_));
  config.host = address.first;
  config.port = address.second;
  const std::string lacks =
      Lacks(!access_file_.empty(), tls_ && !plaintext_,
            tls_ ? "--no-plaintext" : "--tls --no-plaintext");
  if (!IsLoopback(config.host) && !allow_public_ && !lacks.empty()) {
    return NotPublic("--listen", listen_, lacks);
  }
  if (!tls_ && !plaintext_) {
    return absl::InvalidArgumentError(
        "--no-tls and --no-plaintext: nobody could connect; expected one");
  }
  if (certificate_.empty() != key_.empty()) {
    return absl::InvalidArgumentError(
        "--tls-certificate and --tls-key: expected both or none");
  }
  config.plaintext = plaintext_;
  config.options = front_;
  config.options.body_bytes_max = store.body_bytes_max;
  config.options.delay_ms_max = store.delay_ms_max;
  config.groups = groups_;
  RETURN_IF_ERROR(config.options.Validate());
  return config;
}

absl::StatusOr<std::optional<AdminOptions>> ServeFlags::Admin() const {
  if (admin_listen_ == "none") return std::nullopt;
  ASSIGN_OR_RETURN(const auto address, ParseAddress("--admin", admin_listen_));
  const std::string lacks =
      Lacks(!access_file_.empty(), admin_tls_, "--admin-tls");
  if (!IsLoopback(address.first) && !allow_public_ && !lacks.empty()) {
    return NotPublic("--admin", admin_listen_, lacks);
  }
  if (admin_tls_ && !tls_) {
    return absl::InvalidArgumentError(
        "--admin-tls and --no-tls: there is no certificate; expected one of "
        "them");
  }
  if (admin_.threads < 1 || admin_.page_max < 1 || admin_.bulk_max < 1 ||
      admin_.scan_max < 1) {
    return absl::InvalidArgumentError(
        "--admin-threads, --admin-page-max, --admin-bulk-max, "
        "--admin-scan-max: expected at least 1");
  }
  AdminOptions options = admin_;
  options.host = address.first;
  options.port = address.second;
  return options;
}

}  // namespace hourglass
