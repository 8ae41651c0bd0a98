#include "broker/program/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "broker/program/terminal.h"
#include "broker/text/text.h"
#include "tests/support/top_pages.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TopSample Sample(const TopNumbers& numbers, int64_t monotonic_ns) {
  auto sample = ParseTopSample(MakeTopPages(numbers));
  EXPECT_TRUE(sample.ok()) << sample.status();
  sample->monotonic_ns = monotonic_ns;
  return *std::move(sample);
}

TEST(TopView, RatesAreOfTheInterval) {
  const TopSample before = Sample({.put = 1000, .delivered = 500}, 0);
  const TopSample after = Sample(
      {.put = 4000, .delivered = 600, .pending = 1'234'567}, 2'000'000'000);
  const std::string text = RenderTop(after, &before, 80);
  EXPECT_THAT(text, HasSubstr("put: 1,500/s"));
  EXPECT_THAT(text, HasSubstr("delivered at their time: 50/s"));
  EXPECT_THAT(text, HasSubstr("pending: 1,234,567 (2.0 KiB)"));
  EXPECT_THAT(text, HasSubstr("checkpoint: 12s ago"));
  EXPECT_THAT(text, HasSubstr("oldest undelivered: none"));
  EXPECT_THAT(text, HasSubstr("2026-11-21T03:00:00.000Z"));
}

TEST(TopView, TheFirstFrameHasNoRates) {
  const TopSample sample = Sample({.put = 1000}, 5);
  EXPECT_THAT(RenderTop(sample, nullptr, 80), HasSubstr("put: -"));
  // Nor has one of no time, nor one after a restart of the server.
  EXPECT_THAT(RenderTop(sample, &sample, 80), HasSubstr("put: -"));
  const TopSample restarted = Sample({.put = 10}, 1'000'000'005);
  EXPECT_THAT(RenderTop(restarted, &sample, 80), HasSubstr("put: -"));
}

TEST(TopView, LatenessIsOfTheInterval) {
  const TopSample before =
      Sample({.late_1ms = 1000, .late_10ms = 1000, .late_all = 1000}, 0);
  const TopSample after = Sample(
      {.late_1ms = 1000, .late_10ms = 1100, .late_all = 1100}, 1'000'000'000);
  EXPECT_THAT(RenderTop(after, &before, 80),
              HasSubstr("lateness: p50 5.5 ms  p99 9.9 ms"));
  EXPECT_THAT(RenderTop(after, &after, 80),
              HasSubstr("lateness: p50 -  p99 -"));
}

TEST(TopView, GroupsWithTheLargestLagStandFirst) {
  const std::string text = RenderTop(Sample({}, 0), nullptr, 80);
  EXPECT_THAT(text, HasSubstr("12,345"));
  EXPECT_LT(text.find("far"), text.find("near"));
}

TEST(TopView, WhatIsDueIsDrawn) {
  const std::string text =
      RenderTop(Sample({.due_this_second = 7}, 0), nullptr, 80);
  EXPECT_THAT(text, HasSubstr("due in the next 60 seconds: 7, at most 7/s"));
  EXPECT_THAT(text, HasSubstr("█··"));
}

TEST(TopView, NoLineIsWiderThanTheTerminal) {
  for (const int width : {20, 40, 61, 80, 200}) {
    TopSample sample = Sample({.due_this_second = 7}, 0);
    sample.groups[0].topic = std::string(300, 'x');
    sample.groups[0].group = "ümläute\033[2J";
    const std::string text = RenderTop(sample, nullptr, width);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      // A cut line ends with an ellipsis.
      EXPECT_LE(DisplayWidth(FromAbsl(line)), static_cast<size_t>(width) + 1)
          << line;
    }
    EXPECT_THAT(text, Not(HasSubstr("\033")));
  }
}

TEST(TopView, AStoreThatStoppedIsSaid) {
  EXPECT_THAT(RenderTop(Sample({.up = 0}, 0), nullptr, 80),
              HasSubstr("THE STORE HAS STOPPED"));
}

TEST(TopView, ColumnsAddUpWhatHasNoRoom) {
  EXPECT_EQ(Columns({0, 1, 8}, 10), "·▁█");
  EXPECT_EQ(Columns({1, 1, 4, 4}, 2), "▂█");
  EXPECT_EQ(Columns({}, 10), "");
}

TEST(TopView, JsonHasNullForWhatIsNotKnown) {
  using nlohmann::json;
  const TopSample before = Sample({.put = 1000}, 0);
  const TopSample after = Sample({.put = 1010}, 1'000'000'000);
  const json first = json::parse(TopJson(before, nullptr));
  EXPECT_TRUE(first["put_per_s"].is_null());
  const json second = json::parse(TopJson(after, &before));
  EXPECT_EQ(second["put_per_s"], 10.0);
  EXPECT_TRUE(second["lateness_p99_ms"].is_null());
  EXPECT_EQ(second["groups"][0]["group"], "far");
  EXPECT_EQ(second["due_seconds"].size(), 60u);
}

}  // namespace
}  // namespace hourglass
