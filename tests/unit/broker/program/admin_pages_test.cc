#include "broker/program/admin_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/top_pages.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

TEST(AdminPages, ASampleIsRead) {
  TopNumbers numbers;
  numbers.put = 1234;
  numbers.pending = 17;
  numbers.due_this_second = 9;
  const auto sample = ParseTopSample(MakeTopPages(numbers));
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->put, 1234);
  EXPECT_EQ(sample->put_bytes, 1000);
  EXPECT_EQ(sample->pending, 17);
  EXPECT_EQ(sample->checkpoint_age_s, 12.5);
  EXPECT_EQ(sample->seconds.size(), 60u);
  EXPECT_EQ(sample->seconds[0], 9u);
  EXPECT_TRUE(sample->up);
  // The largest lag first.
  ASSERT_EQ(sample->groups.size(), 2u);
  EXPECT_EQ(sample->groups[0].group, "far");
  EXPECT_EQ(sample->groups[0].dead_letters, 4u);
}

TEST(AdminPages, WhatIsMissingIsNamed) {
  const TopPages whole = MakeTopPages({});
  TopPages pages = whole;
  pages.metrics = "hourglass_up 1\n";
  EXPECT_THAT(std::string(ParseTopSample(pages).status().message()),
              HasSubstr("hourglass_put_messages_total"));
  for (const std::string& body :
       {std::string("<html>"), std::string("[]"), std::string("{}"),
        std::string("{\"seconds\":7}"), std::string()}) {
    pages = whole;
    pages.forecast = body;
    EXPECT_FALSE(ParseTopSample(pages).ok()) << body;
    pages = whole;
    pages.groups = body;
    EXPECT_FALSE(ParseTopSample(pages).ok()) << body;
    EXPECT_FALSE(ParseTopics(body).ok()) << body;
    EXPECT_FALSE(ParseDueByTopic(body).ok()) << body;
  }
}

TEST(AdminPages, OddValuesAreNoNumbers) {
  const auto rows = ParseGroups(
      R"({"groups":[{"topic":7,"group":null,"lag":"x","leased":-1},3]})");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].topic, "");
  EXPECT_EQ((*rows)[0].lag, 0u);
  const auto due = ParseDueByTopic(
      R"({"by_topic":{"a":3,"b":"x"},"by_topic_complete":false})");
  ASSERT_TRUE(due.ok()) << due.status();
  EXPECT_EQ(due->messages.size(), 1u);
  EXPECT_FALSE(due->complete);
}

TEST(AdminPages, PercentilesAreOfWhatCameSince) {
  TopNumbers before;
  before.late_1ms = before.late_10ms = before.late_all = 1'000'000;
  TopNumbers after = before;
  after.late_10ms += 100;
  after.late_all += 100;
  const auto then = ParseTopSample(MakeTopPages(before));
  const auto now = ParseTopSample(MakeTopPages(after));
  ASSERT_TRUE(then.ok() && now.ok());
  const Buckets since = now->lateness.Since(then->lateness);
  EXPECT_EQ(since.count(), 100);
  // All of them are between 1 and 10 ms.
  EXPECT_NEAR(since.PercentileMs(50), 5.5, 0.01);
  EXPECT_NEAR(since.PercentileMs(99), 9.91, 0.01);
  EXPECT_LT(now->lateness.PercentileMs(99), 1.0);
  // Nothing came: no percentile, rather than a zero.
  EXPECT_EQ(then->lateness.Since(then->lateness).PercentileMs(50), -1);
  // After a restart of the server the counts are smaller than before.
  EXPECT_EQ(then->lateness.Since(now->lateness).count(), 1'000'000);
}

TEST(AdminPages, BeyondTheLastBoundIsAtLeastThat) {
  TopNumbers numbers;
  numbers.late_all = 10;
  const auto sample = ParseTopSample(MakeTopPages(numbers));
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->lateness.PercentileMs(50), 10);
}

}  // namespace
}  // namespace hourglass
