#include "broker/admin/http_params.h"

#include <charconv>

#include "broker/text/duration.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"

namespace hourglass {
namespace {

absl::Status Bad(const std::string& name, std::string_view value,
                 std::string_view expected) {
  return absl::InvalidArgumentError(
      Concat(name, ": ", Quoted(value), "; expected ", expected));
}

}  // namespace

std::string HttpParams::Text(const std::string& name) {
  asked_.insert(name);
  const auto at = query_.find(name);
  return at == query_.end() ? "" : at->second;
}

absl::StatusOr<int64_t> HttpParams::Moment(const std::string& name,
                                           int64_t otherwise, int64_t now_ms) {
  const std::string text = Text(name);
  if (text.empty()) return otherwise;
  const auto moment = ParseMoment(text, now_ms);
  if (moment.ok()) return *moment;
  return Bad(name, text,
             Concat(kTimestampExpected, ", or a duration from now"));
}

absl::StatusOr<uint64_t> HttpParams::Count(const std::string& name,
                                           uint64_t otherwise, uint64_t max) {
  const std::string text = Text(name);
  if (text.empty()) return otherwise;
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end && value <= max) return value;
  return Bad(name, text, Concat("a number from 0 to ", max));
}

absl::StatusOr<int64_t> HttpParams::SignedDuration(const std::string& name) {
  const std::string text = Text(name);
  const bool back = text.starts_with('-');
  const auto ms = ParseDuration(std::string_view(text).substr(back ? 1 : 0));
  if (!ms.ok()) return Bad(name, text, R"(a duration such as "1h" or "-30s")");
  return back ? -*ms : *ms;
}

absl::StatusOr<bool> HttpParams::Flag(const std::string& name) {
  const std::string text = Text(name);
  if (text.empty() || text == "false" || text == "0") return false;
  if (text == "true" || text == "1") return true;
  return Bad(name, text, "true or false");
}

absl::Status HttpParams::Unknown() const {
  for (const auto& [name, value] : query_) {
    if (asked_.contains(name)) continue;
    std::string known;
    for (const std::string& one : asked_) {
      Append(&known, known.empty() ? "" : ", ", one);
    }
    return absl::InvalidArgumentError(
        Concat("unknown parameter ", Quoted(name), "; there ",
               known.empty() ? "are none here" : Concat("are: ", known)));
  }
  return absl::OkStatus();
}

}  // namespace hourglass
