#include "broker/text/duration.h"

#include <array>
#include <cctype>
#include <optional>

#include "absl/status/status.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"

namespace hourglass {
namespace {

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array<Unit, 6> kUnits = {{{"w", 604'800'000},
                                         {"d", 86'400'000},
                                         {"h", 3'600'000},
                                         {"m", 60'000},
                                         {"s", 1'000},
                                         {"ms", 1}}};
// FormatDuration leaves weeks out: "10d" reads better than "1w3d".
constexpr size_t kLargestPrinted = 1;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes "12" or "12.345" off the front: the whole part, and the fraction in
// billionths (further digits only round up).
struct Number {
  int64_t whole = 0;
  int64_t billionths = 0;
};
std::optional<Number> TakeNumber(std::string_view* text) {
  Number number;
  size_t i = 0;
  for (; i < text->size() && IsDigit((*text)[i]); ++i) {
    if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
        __builtin_add_overflow(number.whole, (*text)[i] - '0', &number.whole)) {
      return std::nullopt;
    }
  }
  if (i + 1 < text->size() && (*text)[i] == '.' && IsDigit((*text)[i + 1])) {
    int64_t place = 100'000'000;
    bool more = false;
    for (++i; i < text->size() && IsDigit((*text)[i]); ++i) {
      const int digit = (*text)[i] - '0';
      number.billionths += digit * place;
      if (place == 0 && digit > 0) more = true;
      place /= 10;
    }
    if (more) ++number.billionths;
  }
  text->remove_prefix(i);
  return number;
}

// The index in kUnits of the unit at the front, which it takes off.
std::optional<size_t> TakeUnit(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() &&
         std::isalpha(static_cast<unsigned char>((*text)[length]))) {
    ++length;
  }
  for (size_t i = 0; i < kUnits.size(); ++i) {
    if (text->substr(0, length) == kUnits[i].name) {
      text->remove_prefix(length);
      return i;
    }
  }
  return std::nullopt;
}

// number * unit, rounded up to a millisecond; nullopt past int64.
std::optional<int64_t> Times(const Number& number, int64_t unit_ms) {
  const int64_t part =
      (number.billionths * unit_ms + 999'999'999) / 1'000'000'000;
  int64_t ms = 0;
  if (__builtin_mul_overflow(number.whole, unit_ms, &ms) ||
      __builtin_add_overflow(ms, part, &ms)) {
    return std::nullopt;
  }
  return ms;
}

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(Concat(Quoted(text), " ", what));
}

std::string Format(int64_t ms, size_t parts_max) {
  std::string out;
  size_t parts = 0;
  for (size_t i = kLargestPrinted; i < kUnits.size(); ++i) {
    if (parts > 0 && parts >= parts_max) break;
    const int64_t count = ms / kUnits[i].ms;
    if (count > 0) Append(&out, count, kUnits[i].name);
    if (count > 0 || parts > 0) ++parts;
    ms %= kUnits[i].ms;
  }
  return out.empty() ? "0ms" : out;
}

}  // namespace

absl::StatusOr<int64_t> ParseDuration(std::string_view text) {
  if (text.empty()) return Bad(text, "is empty");
  if (text[0] == '-') return Bad(text, "is negative");
  if (text == "0") return 0;
  std::string_view rest = text;
  int64_t total_ms = 0;
  size_t unit_min = 0;  // units must come in descending order
  while (!rest.empty()) {
    if (!IsDigit(rest[0])) return Bad(text, "is not a duration");
    const auto number = TakeNumber(&rest);
    if (!number) return Bad(text, "is too long");
    if (rest.empty()) return Bad(text, "has no unit");
    const auto unit = TakeUnit(&rest);
    if (!unit) return Bad(text, "has an unknown unit");
    if (*unit < unit_min) return Bad(text, "has its units out of order");
    unit_min = *unit + 1;
    const auto part_ms = Times(*number, kUnits[*unit].ms);
    if (!part_ms || __builtin_add_overflow(total_ms, *part_ms, &total_ms)) {
      return Bad(text, "is too long");
    }
  }
  return total_ms;
}

std::string FormatDuration(int64_t ms) {
  if (ms < 0) return Concat("-", FormatDuration(-ms));
  return Format(ms, kUnits.size());
}

std::string FormatDurationBriefly(int64_t ms) {
  if (ms < 0) return Concat("-", FormatDurationBriefly(-ms));
  return Format(ms, 2);
}

}  // namespace hourglass
