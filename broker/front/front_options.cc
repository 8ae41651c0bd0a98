#include "broker/front/front_options.h"

#include "absl/strings/str_cat.h"

namespace hourglass {
namespace {

absl::Status Expect(bool good, const char* name, const char* expected) {
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", expected));
}

}  // namespace

absl::Status FrontOptions::Validate() const {
  absl::Status status;
  const auto positive = [&status](auto value, const char* name) {
    status.Update(Expect(value > 0, name, "more than 0"));
  };
  positive(body_bytes_max, "body_bytes_max");
  positive(delay_ms_max, "delay_ms_max");
  positive(batch_messages_max, "batch_messages_max");
  positive(request_bytes_max, "request_bytes_max");
  status.Update(Expect(topics_max > 0 && topics_max <= 1'000'000, "topics_max",
                       "1 to 1000000"));
  positive(attempts_max, "attempts_max");
  positive(producer_attempts_max, "producer_attempts_max");
  positive(producer_backoff_first_ms, "producer_backoff_first_ms");
  positive(receive_messages_max, "receive_messages_max");
  positive(long_poll_ms, "long_poll_ms");
  positive(invisible_ms_min, "invisible_ms_min");
  positive(transaction_check_ms, "transaction_check_ms");
  positive(transaction_checks_max, "transaction_checks_max");
  positive(connections_max, "connections_max");
  positive(handshakes_max, "handshakes_max");
  positive(handshake_ms, "handshake_ms");
  status.Update(Expect(topic_bytes_max > 0 && topic_bytes_max <= 200,
                       "topic_bytes_max", "1 to 200"));
  status.Update(Expect(body_bytes_max <= request_bytes_max, "request_bytes_max",
                       "at least body_bytes_max"));
  status.Update(Expect(invisible_ms_min <= invisible_ms_max, "invisible_ms_max",
                       "at least invisible_ms_min"));
  status.Update(Expect(dedupe_window_ms >= 0, "dedupe_window_ms",
                       "0 or more; 0 switches it off"));
  status.Update(Expect(signature_skew_ms_max >= 0, "signature_skew_ms_max",
                       "0 or more; 0 takes any time"));
  status.Update(Expect(drain_ms >= 0, "drain_ms", "0 or more"));
  return status;
}

}  // namespace hourglass
