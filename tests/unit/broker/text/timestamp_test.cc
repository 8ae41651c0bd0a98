#include "broker/text/timestamp.h"

#include <gtest/gtest.h>

#include <random>

#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr int64_t kMs = 1'795'230'000'000;  // 2026-11-21T03:00:00Z

TEST(TimestampTest, Parses) {
  const struct {
    const char* text;
    int64_t ms;
  } kCases[] = {{"2026-11-21T03:00:00Z", kMs},
                {"2026-11-21t03:00:00z", kMs},
                {"2026-11-21 03:00:00Z", kMs},
                {"2026-11-21T04:00:00+01:00", kMs},
                {"2026-11-20T23:30:00-03:30", kMs},
                {"2026-11-21T03:00:00.25Z", kMs + 250},
                {"2026-11-21T03:00:00.123Z", kMs + 123},
                // Part of a millisecond is a whole one: never early.
                {"2026-11-21T03:00:00.1230001Z", kMs + 124},
                {"2026-11-21T03:00:00.1230000Z", kMs + 123},
                {"2026-11-21T03:00:00.9999Z", kMs + 1000},
                {"2026-11-21T02:59:60Z", kMs},
                {"2024-02-29T00:00:00Z", 1'709'164'800'000},
                {"1970-01-01T00:00:00Z", 0},
                {"9999-12-31T23:59:59.999Z", 253'402'300'799'999},
                {"1795230000000", kMs},
                {"0", 0}};
  for (const auto& [text, ms] : kCases) {
    const auto parsed = ParseTimestamp(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(TimestampTest, RefusesWithReason) {
  const struct {
    const char* text;
    const char* what;
  } kCases[] = {
      {"", R"("" is empty)"},
      {"tomorrow", R"("tomorrow" is not a moment)"},
      {"2026-11-21", R"("2026-11-21" is not a moment)"},
      {"2026-11-21T03:00Z", R"("2026-11-21T03:00Z" is not a moment)"},
      {"2026-11-21T03:00:00.Z", R"("2026-11-21T03:00:00.Z" is not a moment)"},
      {"2026-11-21T03:00:00", R"("2026-11-21T03:00:00" has no time zone)"},
      {"2026-11-21T03:00:00+1",
       R"("2026-11-21T03:00:00+1" has a malformed time zone)"},
      {"2026-11-21T03:00:00Zz",
       R"("2026-11-21T03:00:00Zz" has a malformed time zone)"},
      {"2026-11-21T03:00:00+24:00",
       R"("2026-11-21T03:00:00+24:00" has a malformed time zone)"},
      {"2026-02-29T00:00:00Z",
       R"("2026-02-29T00:00:00Z" does not exist in the calendar)"},
      {"2026-13-01T00:00:00Z",
       R"("2026-13-01T00:00:00Z" does not exist in the calendar)"},
      {"2026-11-21T24:00:00Z",
       R"("2026-11-21T24:00:00Z" does not exist in the calendar)"},
      {"1969-12-31T23:59:59Z", R"("1969-12-31T23:59:59Z" is before 1970)"},
      {"1970-01-01T00:00:00+01:00",
       R"("1970-01-01T00:00:00+01:00" is before 1970)"},
      {"-5", R"("-5" is before 1970)"},
      {"99999999999999999999", R"("99999999999999999999" is out of range)"},
      // Found by fuzzing: what could not be written as a moment again.
      {"9999-12-31T23:59:60Z",
       R"("9999-12-31T23:59:60Z" is after the year 9999)"},
      {"9999-12-31T23:59:59-00:01",
       R"("9999-12-31T23:59:59-00:01" is after the year 9999)"},
      {"253402300800000", R"("253402300800000" is after the year 9999)"}};
  for (const auto& [text, what] : kCases) {
    const auto parsed = ParseTimestamp(text);
    ASSERT_FALSE(parsed.ok()) << text << " = " << *parsed;
    EXPECT_EQ(MessageOf(parsed.status()), what);
  }
}

TEST(TimestampTest, FormattedParsesBack) {
  EXPECT_EQ(FormatTimestamp(kMs + 7), "2026-11-21T03:00:00.007Z");
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE(Concat("seed ", kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const auto ms = static_cast<int64_t>(random() % 253'402'300'800'000);
    const auto parsed = ParseTimestamp(FormatTimestamp(ms));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(*parsed, ms);
  }
}

TEST(TimestampTest, MomentsAreAlsoRelative) {
  EXPECT_EQ(*ParseMoment("now", kMs), kMs);
  EXPECT_EQ(*ParseMoment("10m", kMs), kMs + 600'000);
  EXPECT_EQ(*ParseMoment("1795230000000", 5), kMs);
  EXPECT_EQ(*ParseMoment("0", kMs), 0);
  EXPECT_EQ(*ParseMoment("2026-11-21T03:00:00Z", 5), kMs);
  EXPECT_FALSE(ParseMoment("9223372036854775807ms", kMs).ok());
  EXPECT_FALSE(ParseMoment("then", kMs).ok());
}

TEST(TimestampTest, Hours) {
  EXPECT_EQ(FormatHour(HourOf(kMs)), "2026-11-21T03");
  EXPECT_EQ(*ParseHour("2026-11-21T03"), HourOf(kMs));
  EXPECT_EQ(*ParseHour("2026-11-21T03:59:59Z"), HourOf(kMs));
  EXPECT_EQ(*ParseHour("1795230000000"), HourOf(kMs));
  EXPECT_FALSE(ParseHour("2026-11-21").ok());
  EXPECT_FALSE(ParseHour("9223372036854775807").ok());
}

}  // namespace
}  // namespace hourglass
