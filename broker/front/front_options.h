// File: front_options.h
//
// Every bound and choice of the protocol front, with its default. What a
// client may not exceed is answered with a status that names the option.
//
// Keeps promise 7: the front's memory is bounded, too.
#ifndef HOURGLASS_BROKER_FRONT_FRONT_OPTIONS_H_
#define HOURGLASS_BROKER_FRONT_FRONT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hourglass {

struct FrontOptions {
  // --- what a message may be; the store has limits of its own ---
  size_t body_bytes_max = 4u << 20;
  int64_t delay_ms_max = 10LL * 366 * 24 * 3'600'000;
  size_t topic_bytes_max = 127;
  size_t user_properties_max = 128;
  size_t user_properties_bytes_max = 16u << 10;
  size_t message_group_bytes_max = 63;
  size_t batch_messages_max = 1024;        // in one SendMessage
  size_t request_bytes_max = 32u << 20;    // of one call, as on the wire
  size_t requests_bytes_max = 512u << 20;  // of all calls under way

  // --- topics and groups ---
  bool auto_create_topics = true;
  // "orders", or "orders:NORMAL+DELAY" for a topic that takes only these.
  std::vector<std::string> topics;
  size_t topics_max = 100'000;  // named so, or made by operators
  // Groups whose push consumers take message groups one batch at a time.
  // "*" at the end stands for any rest.
  std::vector<std::string> fifo_groups;
  // Groups whose consumers do not keep the order of message groups, simple
  // ones neither. RocketMQ does it so for a group that was not made orderly.
  std::vector<std::string> unordered_groups;
  int attempts_max = 16;  // then a message goes to the dead letters

  // Waiting in one topic, counted as topic_quota.h says; 0: no bound.
  uint64_t topic_pending_messages_max = 0;
  uint64_t topic_pending_bytes_max = 0;  // of bodies

  // --- what clients are told in their Settings ---
  int producer_attempts_max = 3;
  int64_t producer_backoff_first_ms = 10;
  int64_t producer_backoff_max_ms = 1000;
  int receive_messages_max = 32;  // a push consumer asks for
  int64_t long_poll_ms = 20'000;  // a push consumer waits
  // Settings are said once more after this time: some clients lose the first
  // answer when it comes while they are still starting.
  int64_t settings_again_ms = 500;

  // --- receiving ---
  int64_t long_poll_ms_max = 60'000;
  int receive_batch_max = 1024;
  int64_t invisible_ms_min = 1000;
  int64_t invisible_ms_max = 12LL * 3'600'000;
  // A poll ends this long before its caller stops waiting for it.
  int64_t poll_margin_ms = 100;

  // --- a send that is tried again with the same id ---
  int64_t dedupe_window_ms = 600'000;
  size_t dedupe_entries_max = 500'000;  // some 150 bytes each
  // How much of the newest commit log is read at the start to know the sends
  // before it: 64 MiB are about 40 ms.
  size_t dedupe_restore_bytes_max = 64u << 20;

  // --- transactions ---
  int64_t transaction_check_ms = 30'000;  // unless the message says another
  int64_t transaction_check_ms_max = 3'600'000;
  int transaction_checks_max = 15;  // then it is rolled back
  // ... or, while no producer of its topic is there to be asked, at this age.
  int64_t transaction_age_ms_max = 72LL * 3'600'000;

  // --- signatures ---
  // How far a signature's time may be from the server's; 0: any time will do.
  // Several clients sign their local time without saying where they are.
  int64_t signature_skew_ms_max = 0;

  // --- connections ---
  size_t connections_max = 20'000;
  size_t handshakes_max = 1024;  // that have sent nothing yet
  int64_t handshake_ms = 5000;   // to send the first byte
  size_t clients_max = 100'000;  // whose Settings are kept
  int64_t drain_ms = 3000;       // calls under way may end, at the stop

  // INVALID_ARGUMENT naming the first option that makes no sense.
  absl::Status Validate() const;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_FRONT_OPTIONS_H_
