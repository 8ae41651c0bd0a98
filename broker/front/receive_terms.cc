#include "broker/front/receive_terms.h"

#include <algorithm>
#include <string>

#include "broker/front/message_filter.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"
#include "broker/text.h"

namespace hourglass {
namespace {

// Clients wait this much longer than they ask the server to.
constexpr int64_t kRequestTimeoutMs = 3000;
// What push consumers are told; the groups renew it.
constexpr int64_t kPushLeaseMs = GroupOptions().push_lease_ms;

Verdict CheckInvisible(int64_t ms, const FrontOptions& options) {
  if (ms >= options.invisible_ms_min && ms <= options.invisible_ms_max) {
    return {};
  }
  return Verdict::Refuse(
      proto::ILLEGAL_INVISIBLE_TIME,
      Concat("invisible duration: ", ms, " ms; expected ",
             options.invisible_ms_min, " to ", options.invisible_ms_max,
             " (invisible_ms_min, invisible_ms_max)"));
}

}  // namespace

int64_t PollMs(const proto::ReceiveMessageRequest& asked,
               std::optional<int64_t> remaining_ms,
               std::optional<int64_t> settings_poll_ms,
               const FrontOptions& options) {
  int64_t poll_ms = options.long_poll_ms;
  if (asked.has_long_polling_timeout()) {
    poll_ms = MsOf(asked.long_polling_timeout());
  } else if (settings_poll_ms.has_value()) {
    poll_ms = *settings_poll_ms;
  } else if (remaining_ms.has_value()) {
    poll_ms = *remaining_ms - std::min(kRequestTimeoutMs, *remaining_ms / 2);
  }
  poll_ms = std::min(poll_ms, options.long_poll_ms_max);
  if (remaining_ms.has_value()) {
    poll_ms = std::min(poll_ms, *remaining_ms - options.poll_margin_ms);
  }
  return std::max<int64_t>(poll_ms, 0);
}

Verdict ReceiveTerms::Read(const proto::ReceiveMessageRequest& asked,
                           const Caller& caller,
                           std::optional<int64_t> settings_poll_ms,
                           const FrontOptions& options, int64_t now_ms) {
  const proto::Resource& topic = asked.message_queue().topic();
  Verdict verdict = CheckTopicName(topic, options);
  if (verdict.ok()) verdict = CheckGroupName(asked.group(), options);
  if (!verdict.ok()) return verdict;

  auto filter = MakeFilter(asked.filter_expression());
  if (!filter.ok()) {
    return Verdict::Refuse(proto::ILLEGAL_FILTER_EXPRESSION,
                           std::string(filter.status().message()));
  }
  request.auto_renew = asked.auto_renew();
  if (!asked.auto_renew()) {
    request.lease_ms = MsOf(asked.invisible_duration());
    verdict = CheckInvisible(request.lease_ms, options);
    if (!verdict.ok()) return verdict;
  }
  invisible_ms = asked.auto_renew() ? kPushLeaseMs : request.lease_ms;
  request.topic = StoreName(topic);
  request.group = StoreName(asked.group());
  request.client_id = caller.client_id;
  request.filter = *std::move(filter);
  request.count_max = static_cast<size_t>(
      std::clamp(asked.batch_size(), 1, options.receive_batch_max));
  request.poll_until_ms =
      now_ms + PollMs(asked, caller.remaining_ms, settings_poll_ms, options);
  request.attempt_id = asked.attempt_id();
  return {};
}

}  // namespace hourglass
