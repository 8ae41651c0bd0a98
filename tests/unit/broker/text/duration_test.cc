#include "broker/text/duration.h"

#include <gtest/gtest.h>

#include <random>

#include "broker/text/text.h"

namespace hourglass {
namespace {

TEST(DurationTest, Parses) {
  const struct {
    const char* text;
    int64_t ms;
  } kCases[] = {{"0", 0},
                {"0s", 0},
                {"250ms", 250},
                {"30s", 30'000},
                {"1h30m", 5'400'000},
                {"10d", 864'000'000},
                {"2w", 1'209'600'000},
                {"1w2d3h4m5s6ms", 788'645'006},
                {"1.5s", 1'500},
                {"0.25h", 900'000},
                {"1m0.5s", 60'500},
                {"90m", 5'400'000},
                // Part of a millisecond is a whole one: never early.
                {"0.0001s", 1},
                {"1.0000000001ms", 2},
                {"0.9999999999s", 1'000},
                {"9223372036854775807ms", INT64_MAX}};
  for (const auto& [text, ms] : kCases) {
    const auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(DurationTest, RefusesWithReason) {
  const struct {
    const char* text;
    const char* what;
  } kCases[] = {
      {"", R"("" is empty)"},
      {"-5s", R"("-5s" is negative)"},
      {"5", R"("5" has no unit)"},
      {"1h30", R"("1h30" has no unit)"},
      {"soon", R"("soon" is not a duration)"},
      {" 5s", R"(" 5s" is not a duration)"},
      {"5s ", R"("5s " is not a duration)"},
      {"5 s", R"("5 s" has an unknown unit)"},
      {"5S", R"("5S" has an unknown unit)"},
      {"5min", R"("5min" has an unknown unit)"},
      {"5.s", R"("5.s" has an unknown unit)"},
      {"1e3s", R"("1e3s" has an unknown unit)"},
      {"30m1h", R"("30m1h" has its units out of order)"},
      {"1s1s", R"("1s1s" has its units out of order)"},
      {"9223372036854775808ms", R"("9223372036854775808ms" is too long)"},
      {"9223372036854775807s", R"("9223372036854775807s" is too long)"},
      {"15250284452471w1w", R"("15250284452471w1w" is too long)"}};
  for (const auto& [text, what] : kCases) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text << " = " << *parsed;
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status()));
    EXPECT_EQ(MessageOf(parsed.status()), what);
  }
}

TEST(DurationTest, Formats) {
  EXPECT_EQ(FormatDuration(0), "0ms");
  EXPECT_EQ(FormatDuration(250), "250ms");
  EXPECT_EQ(FormatDuration(5'400'000), "1h30m");
  EXPECT_EQ(FormatDuration(864'000'000), "10d");
  EXPECT_EQ(FormatDuration(90'061'001), "1d1h1m1s1ms");
  EXPECT_EQ(FormatDuration(-1'500), "-1s500ms");
  EXPECT_EQ(FormatDurationBriefly(90'061'001), "1d1h");
  EXPECT_EQ(FormatDurationBriefly(86'400'001), "1d");
  EXPECT_EQ(FormatDurationBriefly(1'999), "1s999ms");
}

TEST(DurationTest, FormattedParsesBack) {
  constexpr uint64_t kSeed = 20261121;
  SCOPED_TRACE(Concat("seed ", kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const auto ms = static_cast<int64_t>(random() >> (random() % 63 + 1));
    const auto parsed = ParseDuration(FormatDuration(ms));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(*parsed, ms);
  }
}

}  // namespace
}  // namespace hourglass
