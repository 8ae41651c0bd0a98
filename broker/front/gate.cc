#include "broker/front/gate.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "broker/front/digest.h"
#include "broker/front/names.h"
#include "broker/text.h"

namespace hourglass {
namespace {

// "20261121T030000Z". Between its digits must stand what Abseil needs to tell
// year from month.
std::optional<int64_t> ParseDateTime(std::string_view text) {
  if (text.size() != 16 ||
      text.find_first_not_of("0123456789TZ") != text.npos) {
    return std::nullopt;
  }
  std::string spread(text);
  for (const size_t at : {13, 11}) spread.insert(at, ":");
  for (const size_t at : {6, 4}) spread.insert(at, "-");
  absl::Time time;
  if (!absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", spread, &time, nullptr)) {
    return std::nullopt;
  }
  return absl::ToUnixMillis(time);
}

Verdict Unauthorized(std::string text) {
  return Verdict::Refuse(proto::UNAUTHORIZED, std::move(text));
}

}  // namespace

Caller Gate::CallerOf(const grpc::CallbackServerContext& context) const {
  Caller caller = Caller::From(context);
  const bool scoped =
      access_ != nullptr && caller.signature.ok() && !caller.client_id.empty();
  if (scoped) {
    caller.client_id =
        Concat(caller.signature->access_key, "/", caller.client_id);
  }
  return caller;
}

Verdict Gate::Admit(Caller* caller) const {
  if (caller->client_id.empty()) {
    return Verdict::Refuse(proto::CLIENT_ID_REQUIRED,
                           "header x-mq-client-id: expected the client's id");
  }
  return access_ == nullptr ? Verdict() : Verify(caller);
}

Verdict Gate::Verify(Caller* caller) const {
  const absl::StatusOr<Signature>& signature = caller->signature;
  if (!signature.ok()) return VerdictOf(signature.status());
  const std::string& key = signature->access_key;
  if (key.empty()) {
    return Unauthorized(
        "no access key; this server expects credentials: the key and the "
        "secret of a user");
  }
  const std::shared_ptr<const User> user = access_->Find(key);
  // Also of an unknown user, so that both take the same time.
  const std::string expected =
      HmacSha1Hex(user == nullptr ? key : user->secret, signature->date_time);
  const bool same = SameSecret(expected, signature->hmac_hex);
  if (user == nullptr || !same) return VerdictOf(WrongCredentials(key));
  if (const absl::Status time = CheckTime(signature->date_time); !time.ok()) {
    return VerdictOf(time);
  }
  caller->user = user;
  return {};
}

absl::Status Gate::CheckTime(std::string_view date_time) const {
  if (skew_ms_max_ == 0) return absl::OkStatus();
  const std::optional<int64_t> signed_ms = ParseDateTime(date_time);
  if (!signed_ms.has_value()) {
    return absl::UnauthenticatedError(
        Concat("header x-mq-date-time: \"", date_time,
               "\"; expected it as 20261121T030000Z"));
  }
  const int64_t skew_ms = std::abs(clock_->NowMs() - *signed_ms);
  if (skew_ms <= skew_ms_max_) return absl::OkStatus();
  return absl::UnauthenticatedError(
      Concat("header x-mq-date-time: ", date_time, " is ", skew_ms,
             " ms from the server's time; expected at most ", skew_ms_max_,
             " (signature_skew_ms_max)"));
}

Verdict Gate::CheckPublish(const Caller& caller,
                           const proto::Resource& topic) const {
  if (access_ == nullptr) return {};
  return VerdictOf(caller.user->CheckPublish(StoreName(topic)));
}

Verdict Gate::CheckSubscribe(const Caller& caller, const proto::Resource& topic,
                             const proto::Resource& group) const {
  if (access_ == nullptr) return {};
  const Verdict verdict =
      VerdictOf(caller.user->CheckSubscribe(StoreName(topic)));
  if (!verdict.ok()) return verdict;
  return VerdictOf(caller.user->CheckGroup(StoreName(group)));
}

Verdict Gate::CheckRoute(const Caller& caller,
                         const proto::Resource& topic) const {
  if (access_ == nullptr) return {};
  return VerdictOf(caller.user->CheckEither(StoreName(topic)));
}

// A producer is asked about other producers' transactions of its topics; a
// consumer's Settings are its whole group's.
Verdict Gate::CheckSettings(const Caller& caller,
                            const proto::Settings& settings) const {
  if (access_ == nullptr) return {};
  for (const proto::Resource& topic : settings.publishing().topics()) {
    const Verdict verdict = CheckPublish(caller, topic);
    if (!verdict.ok()) return verdict;
  }
  if (!settings.has_subscription()) return {};
  const proto::Subscription& asked = settings.subscription();
  if (asked.has_group()) {
    const Verdict verdict =
        VerdictOf(caller.user->CheckGroup(StoreName(asked.group())));
    if (!verdict.ok()) return verdict;
  }
  for (const proto::SubscriptionEntry& entry : asked.subscriptions()) {
    const Verdict verdict =
        VerdictOf(caller.user->CheckSubscribe(StoreName(entry.topic())));
    if (!verdict.ok()) return verdict;
  }
  return {};
}

}  // namespace hourglass
