#include "broker/front/topic_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMinute = 60'000, kHour = 60 * kMinute;
constexpr int64_t kNow = 498'675 * kHour;  // the beginning of an hour

FrontOptions Options(uint64_t messages_max, uint64_t bytes_max) {
  FrontOptions options;
  options.topic_pending_messages_max = messages_max;
  options.topic_pending_bytes_max = bytes_max;
  return options;
}

Handle HandleOf(int64_t due_ms, uint32_t number) {
  Handle handle;
  handle.hour = HourOf(due_ms);
  handle.ms_into_hour = static_cast<uint32_t>(due_ms % kHour);
  handle.number = RecordNumber(number);
  return handle;
}

TEST(TopicQuota, WithoutABoundNothingIsCounted) {
  TopicQuota quota(Options(0, 0));
  EXPECT_FALSE(quota.on());
  EXPECT_TRUE(quota.Take("t", kNow + kHour, 1u << 30, kNow).ok());
  EXPECT_EQ(quota.Get("t", kNow).messages, 0u);
}

TEST(TopicQuota, RefusesWhatIsOverTheMessages) {
  TopicQuota quota(Options(2, 0));
  EXPECT_TRUE(quota.Take("t", kNow + kHour, 10, kNow).ok());
  EXPECT_TRUE(quota.Take("t", kNow + 9 * kHour, 10, kNow).ok());
  const absl::Status full = quota.Take("t", kNow + kHour, 10, kNow);
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(TextOf(full), HasSubstr("topic t: 2 messages pending"));
  EXPECT_THAT(TextOf(full), HasSubstr("topic_pending_messages_max"));
  // Others have room; what is due now needs none.
  EXPECT_TRUE(quota.Take("u", kNow + kHour, 10, kNow).ok());
  EXPECT_TRUE(quota.Take("t", kNow, 10, kNow).ok());
  EXPECT_TRUE(quota.Take("t", kDueNow, 10, kNow).ok());
}

TEST(TopicQuota, RefusesWhatIsOverTheBytes) {
  TopicQuota quota(Options(0, 100));
  EXPECT_TRUE(quota.Take("t", kNow + kHour, 60, kNow).ok());
  const absl::Status full = quota.Take("t", kNow + kHour, 41, kNow);
  EXPECT_THAT(TextOf(full), HasSubstr("60 bytes pending"));
  EXPECT_THAT(TextOf(full), HasSubstr("topic_pending_bytes_max"));
  EXPECT_TRUE(quota.Take("t", kNow + kHour, 40, kNow).ok());
}

TEST(TopicQuota, WhatIsDueWaitsNoMore) {
  TopicQuota quota(Options(100, 0));
  ASSERT_TRUE(quota.Take("t", kNow + 1, 1, kNow).ok());
  ASSERT_TRUE(quota.Take("t", kNow + kMinute, 2, kNow).ok());
  ASSERT_TRUE(quota.Take("t", kNow + 5 * kHour + 1, 4, kNow).ok());
  const auto bytes = [&quota](int64_t at_ms) {
    return quota.Get("t", at_ms).bytes;
  };
  EXPECT_EQ(bytes(kNow), 7u);
  EXPECT_EQ(bytes(kNow + kMinute - 1), 7u);
  EXPECT_EQ(bytes(kNow + kMinute), 6u);
  EXPECT_EQ(bytes(kNow + 2 * kMinute), 4u);
  EXPECT_EQ(bytes(kNow + 6 * kHour - 1), 4u);
  EXPECT_EQ(bytes(kNow + 6 * kHour), 0u);
}

TEST(TopicQuota, AFailedPutGivesItBack) {
  TopicQuota quota(Options(1, 0));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(quota.Take("t", kNow + kHour, 10, kNow).ok());
    quota.GiveBack("t", kNow + kHour, 10);
  }
  quota.GiveBack("t", kNow + kHour, 10);
  quota.GiveBack("u", kNow + kHour, 10);
  EXPECT_EQ(quota.Get("t", kNow).messages, 0u);
}

TEST(TopicQuota, ARecallCountsOnce) {
  TopicQuota quota(Options(10, 0));
  for (const int64_t due_ms : {kNow + kHour, kNow + 9 * kHour}) {
    ASSERT_TRUE(quota.Take("t", due_ms, 30, kNow).ok());
    ASSERT_TRUE(quota.Take("t", due_ms, 10, kNow).ok());
    for (int i = 0; i < 3; ++i) quota.Recalled("t", HandleOf(due_ms, 7));
  }
  EXPECT_EQ(quota.Get("t", kNow).messages, 2u);
  EXPECT_EQ(quota.Get("t", kNow).bytes, 40u);  // by the average
  quota.Recalled("t", HandleOf(kNow + kHour, 8));
  EXPECT_EQ(quota.Get("t", kNow).messages, 1u);
  quota.Recalled("none", HandleOf(kNow + kHour, 8));
}

// Both a minute's and an hour's count can hold the same due time: the second
// recall of one message must not be taken for one from the other.
TEST(TopicQuota, ARecallCountsOnceInMinuteAndHour) {
  TopicQuota quota(Options(10, 0));
  const int64_t due_ms = kNow + 3 * kHour;
  ASSERT_TRUE(quota.Take("t", due_ms, 1, kNow).ok());          // by the hour
  ASSERT_TRUE(quota.Take("t", due_ms, 1, kNow + kHour).ok());  // by the minute
  for (int i = 0; i < 3; ++i) quota.Recalled("t", HandleOf(due_ms, 7));
  EXPECT_EQ(quota.Get("t", kNow).messages, 1u);
}

TEST(TopicQuota, RememberedRecallsAreBounded) {
  TopicQuota quota(Options(10, 0), /*recalls_max=*/1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(quota.Take("t", kNow + kHour, 1, kNow).ok());
  }
  quota.Recalled("t", HandleOf(kNow + kHour, 1));
  quota.Recalled("t", HandleOf(kNow + kHour, 2));
  EXPECT_EQ(quota.Get("t", kNow).messages, 2u);
  // Forgotten with the hour.
  EXPECT_EQ(quota.Get("t", kNow + 2 * kHour).messages, 0u);
  ASSERT_TRUE(quota.Take("t", kNow + 4 * kHour, 1, kNow + 2 * kHour).ok());
  quota.Recalled("t", HandleOf(kNow + 4 * kHour, 3));
  EXPECT_EQ(quota.Get("t", kNow + 2 * kHour).messages, 0u);
}

// A restart: what waits is found by reading it, over more than one page.
TEST(TopicQuota, FindsWhatWaited) {
  TestStore box;
  box.Open();
  for (int i = 0; i < 2500; ++i) {
    box.Put(i % 2 == 0 ? "four" : "2", box.InMs(kMinute + i));
  }
  MessageView other = TestStore::View("other", box.InMs(kHour));
  other.topic = "u";
  ASSERT_TRUE(box.store->Put(other).ok());
  box.clock.AdvanceMs(10);
  const int64_t began_ms = box.clock.NowMs();
  box.Put("later, and counted by its put", box.InMs(kHour));
  TopicQuota quota(Options(1, 0));
  const std::atomic<bool> stop{false};
  const absl::Status found = quota.AddFound(box.store.get(), began_ms, &stop);
  EXPECT_TRUE(found.ok()) << found;
  EXPECT_EQ(quota.Get("t", began_ms).messages, 2500u);
  EXPECT_EQ(quota.Get("t", began_ms).bytes, 1250u * 4 + 1250u);
  EXPECT_EQ(quota.Get("u", began_ms).messages, 1u);
  EXPECT_FALSE(quota.Take("u", began_ms + kHour, 1, began_ms).ok());
  const std::atomic<bool> at_once{true};
  TopicQuota stopped(Options(1, 0));
  EXPECT_TRUE(stopped.AddFound(box.store.get(), began_ms, &at_once).ok());
  EXPECT_EQ(stopped.Get("t", began_ms).messages, 1000u);
}

}  // namespace
}  // namespace hourglass
