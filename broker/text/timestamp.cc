#include "broker/text/timestamp.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "broker/text/duration.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(Concat(Quoted(text), " ", what));
}

// Takes the parts of an RFC 3339 moment off the front, one after the other.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  bool Digits(size_t count, int* value) {
    if (rest_.size() < count || !IsDigits(rest_.substr(0, count))) return false;
    if (!absl::SimpleAtoi(ToAbsl(rest_.substr(0, count)), value)) return false;
    rest_.remove_prefix(count);
    return true;
  }
  bool OneOf(std::string_view choices, char* found = nullptr) {
    if (rest_.empty() || choices.find(rest_[0]) == std::string_view::npos) {
      return false;
    }
    if (found != nullptr) *found = rest_[0];
    rest_.remove_prefix(1);
    return true;
  }
  // ".25" -> 250, rounded up to a millisecond; nothing -> 0.
  bool FractionMs(int* ms) {
    *ms = 0;
    if (!OneOf(".")) return true;
    size_t count = 0;
    bool rounded = false;
    for (; count < rest_.size() && IsDigit(rest_[count]); ++count) {
      if (count < 3) {
        *ms = *ms * 10 + (rest_[count] - '0');
      } else if (rest_[count] != '0') {
        rounded = true;
      }
    }
    for (size_t i = count; i < 3; ++i) *ms *= 10;
    if (rounded) ++*ms;
    rest_.remove_prefix(count);
    return count > 0;
  }
  // "Z", "+01:00", "-03:30".
  bool OffsetMinutes(int* minutes) {
    char sign = 0;
    *minutes = 0;
    if (OneOf("Zz")) return true;
    int hour = 0, minute = 0;
    if (!OneOf("+-", &sign) || !Digits(2, &hour) || !OneOf(":") ||
        !Digits(2, &minute) || hour > 23 || minute > 59) {
      return false;
    }
    *minutes = (hour * 60 + minute) * (sign == '-' ? -1 : 1);
    return true;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool DayExists(int year, int month, int day) {
  const absl::CivilDay civil(year, month, day);  // normalizes
  return civil.year() == year && civil.month() == month && civil.day() == day;
}

// A leap second or a zone west of Greenwich may leave the four-digit years.
absl::StatusOr<int64_t> InRange(std::string_view text, int64_t ms) {
  if (ms < 0) return Bad(text, "is before 1970");
  if (ms > kDueMsMax) return Bad(text, "is after the year 9999");
  return ms;
}

absl::StatusOr<int64_t> ParseRfc3339(std::string_view text) {
  Parts parts(text);
  int year, month, day, hour, minute, second, fraction_ms, offset_minutes;
  if (!parts.Digits(4, &year) || !parts.OneOf("-") ||
      !parts.Digits(2, &month) || !parts.OneOf("-") || !parts.Digits(2, &day) ||
      !parts.OneOf("Tt ") || !parts.Digits(2, &hour) || !parts.OneOf(":") ||
      !parts.Digits(2, &minute) || !parts.OneOf(":") ||
      !parts.Digits(2, &second) || !parts.FractionMs(&fraction_ms)) {
    return Bad(text, "is not a moment");
  }
  if (parts.AtEnd()) return Bad(text, "has no time zone");
  if (!parts.OffsetMinutes(&offset_minutes) || !parts.AtEnd()) {
    return Bad(text, "has a malformed time zone");
  }
  if (!DayExists(year, month, day) || hour > 23 || minute > 59 || second > 60) {
    return Bad(text, "does not exist in the calendar");
  }
  const absl::CivilSecond civil(year, month, day, hour, minute, second);
  const int64_t ms = (civil - absl::CivilSecond()) * kMsPerSecond +
                     fraction_ms - offset_minutes * int64_t{60'000};
  return InRange(text, ms);
}

}  // namespace

absl::StatusOr<int64_t> ParseTimestamp(std::string_view text) {
  if (text.empty()) return Bad(text, "is empty");
  if (text[0] == '-') return Bad(text, "is before 1970");
  if (!IsDigits(text)) return ParseRfc3339(text);
  int64_t ms = 0;
  if (!absl::SimpleAtoi(ToAbsl(text), &ms)) return Bad(text, "is out of range");
  return InRange(text, ms);
}

absl::StatusOr<int64_t> ParseMoment(std::string_view text, int64_t now_ms) {
  if (text == "now") return now_ms;
  // A duration ends in its unit; a timestamp ends in a digit or a zone.
  const absl::StatusOr<int64_t> duration_ms = ParseDuration(text);
  if (!duration_ms.ok() || IsDigits(text)) return ParseTimestamp(text);
  if (*duration_ms > INT64_MAX - now_ms) return Bad(text, "is too far");
  return now_ms + *duration_ms;
}

absl::Status ParseMomentFlag(std::string_view flag, const std::string& text,
                             int64_t now_ms, int64_t* ms) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<int64_t> parsed = ParseMoment(text, now_ms);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        Concat(flag, ": ", MessageOf(parsed.status()), "; expected ",
               kTimestampExpected, ", or ", kDurationExpected));
  }
  *ms = *parsed;
  return absl::OkStatus();
}

absl::StatusOr<Hour> ParseHour(std::string_view text) {
  constexpr size_t kHourLength = sizeof("2026-11-21T03") - 1;
  const std::string full =
      text.size() == kHourLength && text.find('-') != std::string_view::npos
          ? Concat(text, ":00:00Z")
          : std::string(text);
  ASSIGN_OR_RETURN(const int64_t ms, ParseTimestamp(full));
  constexpr int64_t kHoursEndMs = INT32_MAX * kMsPerHour;
  if (ms >= kHoursEndMs) return Bad(text, "is out of range");
  return HourOf(ms);
}

std::string FormatTimestamp(int64_t ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(ms),
                          absl::UTCTimeZone());
}

std::string FormatHour(Hour hour) {
  return absl::FormatTime("%Y-%m-%dT%H", absl::FromUnixMillis(StartMs(hour)),
                          absl::UTCTimeZone());
}

}  // namespace hourglass
