// File: admin_options.h
//
// Every bound of the admin API, with its default.
//
// Keeps promise 7: no request makes it use memory without a limit.
#ifndef HOURGLASS_BROKER_ADMIN_ADMIN_OPTIONS_H_
#define HOURGLASS_BROKER_ADMIN_ADMIN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace hourglass {

struct AdminOptions {
  std::string host = "127.0.0.1";
  int port = 8082;  // 0: any free one
  // PEM; both empty: no TLS.
  std::string certificate_pem, key_pem;
  int threads = 4;
  int64_t read_timeout_ms = 5'000;  // of one request

  size_t page_max = 1000;       // messages in one answer
  size_t bulk_max = 1'000'000;  // messages changed by one request
  // Messages looked at to find one by its id, or to count by topic.
  size_t scan_max = 1'000'000;
  // Topics, and topics with groups, that have metrics of their own; the rest
  // are added up as "(other)".
  size_t metric_labels_max = 200;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_ADMIN_OPTIONS_H_
