// File: duration.h
//
// Durations as people write them, to and from milliseconds.
//
//   ParseDuration("1h30m")   -> 5 400 000
//   ParseDuration("1.5s")    -> 1 500
//   ParseDuration("-5s")     -> INVALID_ARGUMENT: "-5s" is negative
//   FormatDuration(5400000)  -> "1h30m"
//
// Units: ms, s, m, h, d, w; the larger ones first, each at most once. Part of
// a millisecond counts as a whole one, because early is worse than late.
//
// Serves promise 3: a delay means what was typed, or is refused.
#ifndef HOURGLASS_BROKER_TEXT_DURATION_H_
#define HOURGLASS_BROKER_TEXT_DURATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hourglass {

// What a message about a bad duration ends with.
inline constexpr std::string_view kDurationExpected =
    R"(a duration such as "250ms", "30s", "1h30m")";

// INVALID_ARGUMENT says what is wrong, quoting `text`; the caller adds
// kDurationExpected.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);

// The shortest exact spelling: "0ms", "250ms", "1h30m", "10d".
std::string FormatDuration(int64_t ms);

// For columns: at most the two largest units, rounded down ("3d4h").
std::string FormatDurationBriefly(int64_t ms);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TEXT_DURATION_H_
