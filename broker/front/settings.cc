#include "broker/front/settings.h"

#include <algorithm>

#include "broker/access/name_pattern.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"
#include "broker/text.h"

namespace hourglass {
namespace {

// Clients read the limit as an int32.
constexpr size_t kInt32Max = 0x7fffffff;

// Producers: two clients do not start without a first wait, a largest one and
// a factor, whatever the server's own idea of a retry is.
void SetProducerBackoff(const FrontOptions& options,
                        proto::RetryPolicy* policy) {
  policy->set_max_attempts(options.producer_attempts_max);
  proto::ExponentialBackoff* const backoff =
      policy->mutable_exponential_backoff();
  *backoff->mutable_initial() = DurationOfMs(options.producer_backoff_first_ms);
  *backoff->mutable_max() = DurationOfMs(options.producer_backoff_max_ms);
  backoff->set_multiplier(2);
}

// Consumers: Java, Go and Python wait as this says. Node knows no list of
// waits and hands back at once; the groups then wait in its place.
void SetConsumerBackoff(const FrontOptions& options,
                        proto::RetryPolicy* policy) {
  policy->set_max_attempts(options.attempts_max);
  for (const int64_t ms : RetryWaitsMs()) {
    *policy->mutable_customized_backoff()->add_next() = DurationOfMs(ms);
  }
}

void AnswerPublishing(const FrontOptions& options,
                      proto::Publishing* publishing) {
  publishing->set_max_body_size(
      static_cast<int32_t>(std::min(options.body_bytes_max, kInt32Max)));
  publishing->set_validate_message_type(true);
}

// A simple consumer waits as long as its application says; a push consumer as
// long as suits the server.
int64_t LongPollMs(proto::ClientType type, const FrontOptions& options,
                   const proto::Subscription& asked) {
  const int64_t asked_ms = MsOf(asked.long_polling_timeout());
  const bool push = type == proto::PUSH_CONSUMER;
  if (push || asked_ms <= 0) return options.long_poll_ms;
  return std::min(asked_ms, options.long_poll_ms_max);
}

void AnswerSubscription(proto::ClientType type, const FrontOptions& options,
                        proto::Subscription* subscription) {
  const std::string group = StoreName(subscription->group());
  subscription->set_fifo(KeepsOrder(group, subscription->fifo(), options));
  subscription->set_receive_batch_size(options.receive_messages_max);
  *subscription->mutable_long_polling_timeout() =
      DurationOfMs(LongPollMs(type, options, *subscription));
}

}  // namespace

Verdict CheckSettings(const proto::Settings& asked) {
  switch (asked.client_type()) {
    case proto::CLIENT_TYPE_UNSPECIFIED:
    case proto::PRODUCER:
    case proto::PUSH_CONSUMER:
    case proto::SIMPLE_CONSUMER:
      return {};
    default:
      return Verdict::Refuse(
          proto::UNRECOGNIZED_CLIENT_TYPE,
          Concat("client type ", static_cast<int>(asked.client_type()),
                 " is not served; expected a producer, a push consumer or a "
                 "simple consumer"));
  }
}

bool IsProducer(const proto::Settings& settings) {
  return settings.has_publishing() || settings.client_type() == proto::PRODUCER;
}

bool KeepsOrder(std::string_view group, bool asked,
                const FrontOptions& options) {
  if (MatchesAny(options.unordered_groups, group)) return false;
  return asked || MatchesAny(options.fifo_groups, group);
}

const std::vector<int64_t>& RetryWaitsMs() {
  constexpr int64_t kSecond = 1000, kMinute = 60'000, kHour = 3'600'000;
  static const std::vector<int64_t>* const waits = new std::vector<int64_t>{
      1 * kSecond,  5 * kSecond, 10 * kSecond, 30 * kSecond, 1 * kMinute,
      2 * kMinute,  3 * kMinute, 4 * kMinute,  5 * kMinute,  6 * kMinute,
      7 * kMinute,  8 * kMinute, 9 * kMinute,  10 * kMinute, 20 * kMinute,
      30 * kMinute, 1 * kHour,   2 * kHour};
  return *waits;
}

proto::Settings AnswerSettings(const proto::Settings& asked, Dialect,
                               const FrontOptions& options) {
  proto::Settings answer = asked;
  answer.clear_backoff_policy();
  if (IsProducer(asked)) {
    SetProducerBackoff(options, answer.mutable_backoff_policy());
    AnswerPublishing(options, answer.mutable_publishing());
  } else {
    SetConsumerBackoff(options, answer.mutable_backoff_policy());
    AnswerSubscription(asked.client_type(), options,
                       answer.mutable_subscription());
  }
  // Present, and off: some clients wait for the field.
  answer.mutable_metric()->set_on(false);
  return answer;
}

}  // namespace hourglass
