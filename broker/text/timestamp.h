// File: timestamp.h
//
// Moments as people and programs write them, to and from UTC milliseconds.
//
//   ParseTimestamp("2026-11-21T03:00:00Z")           RFC 3339
//   ParseTimestamp("2026-11-21T04:00:00.250+01:00")  with offset and fraction
//   ParseTimestamp("1795230000000")                  UTC milliseconds
//   FormatTimestamp(1795230000000)  -> "2026-11-21T03:00:00.000Z"
//   FormatHour(HourOf(ms))          -> "2026-11-21T03", as files are named
//
// Part of a millisecond counts as a whole one: early is worse than late.
// Limitations: leap seconds (":60") count as the first of the next minute.
//
// Serves promise 3: a moment means what was typed, or is refused.
#ifndef HOURGLASS_BROKER_TEXT_TIMESTAMP_H_
#define HOURGLASS_BROKER_TEXT_TIMESTAMP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hourglass/types.h"

namespace hourglass {

// What a message about a bad moment ends with.
inline constexpr std::string_view kTimestampExpected =
    R"(a moment such as "2026-11-21T03:00:00Z", or UTC milliseconds)";

// INVALID_ARGUMENT says what is wrong, quoting `text`.
absl::StatusOr<int64_t> ParseTimestamp(std::string_view text);

// As ParseTimestamp; or "now"; or a duration, counted from `now_ms` on.
absl::StatusOr<int64_t> ParseMoment(std::string_view text, int64_t now_ms);

// The value of `flag`: as ParseMoment, and an error names the flag. "" leaves
// `ms` as it is.
absl::Status ParseMomentFlag(std::string_view flag, const std::string& text,
                             int64_t now_ms, int64_t* ms);

// "2026-11-21T03" (as in file names), or the hour of any timestamp.
absl::StatusOr<Hour> ParseHour(std::string_view text);

std::string FormatTimestamp(int64_t ms);
std::string FormatHour(Hour hour);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TEXT_TIMESTAMP_H_
