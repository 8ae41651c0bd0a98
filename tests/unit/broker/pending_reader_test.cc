#include "broker/pending_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/random.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PendingReaderTest : public testing::Test {
 protected:
  std::vector<std::string> Bodies(PendingQuery query) {
    std::vector<std::string> bodies;
    for (int pages = 0; pages < 10'000; ++pages) {
      const auto page = box_.store->Pending(query);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) return bodies;
      EXPECT_LE(page->messages.size(), query.count_max);
      for (const PendingMessage& pending : page->messages) {
        bodies.push_back(pending.message.body);
      }
      if (page->next.empty()) return bodies;
      query.after = page->next;
    }
    ADD_FAILURE() << "pages without end";
    return bodies;
  }

  TestStore box_;
};

TEST_F(PendingReaderTest, ListsByDueTimeWithHandlesThatWork) {
  box_.Open();
  box_.Put("b", box_.InMs(2000));
  const Handle handle = box_.Put("a", box_.InMs(1000));
  box_.Put("c", box_.InMs(20'000'000));
  EXPECT_THAT(Bodies({}), ElementsAre("a", "b", "c"));
  const auto page = box_.store->Pending({});
  EXPECT_EQ(page->messages[0].handle, handle);
  EXPECT_EQ(box_.Cancel(page->messages[1].handle), CancelAnswer::kCancelled);
  EXPECT_THAT(Bodies({}), ElementsAre("a", "c"));
  box_.Advance(1500);
  EXPECT_THAT(Bodies({}), ElementsAre("c"));
}

TEST_F(PendingReaderTest, WindowIsHalfOpen) {
  box_.Open();
  const int64_t at = box_.InMs(5000);
  for (int i = 0; i < 5; ++i) box_.Put(std::to_string(i), at + i);
  PendingQuery query;
  query.from_ms = at + 1;
  query.to_ms = at + 4;
  EXPECT_THAT(Bodies(query), ElementsAre("1", "2", "3"));
  query.to_ms = at + 1;
  EXPECT_THAT(Bodies(query), IsEmpty());
  query.from_ms = -7;
  query.to_ms = INT64_MAX;
  EXPECT_EQ(Bodies(query).size(), 5u);
}

TEST_F(PendingReaderTest, RefusesWhatMakesNoSense) {
  box_.Open();
  PendingQuery query;
  query.count_max = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(box_.store->Pending(query).status()));
  query.count_max = 1;
  for (const char* token : {"x", "1", "1.", "1.2x", ".5"}) {
    query.after = token;
    const auto page = box_.store->Pending(query);
    EXPECT_TRUE(absl::IsInvalidArgument(page.status())) << token;
    EXPECT_THAT(TextOf(page.status()), HasSubstr("after"));
  }
}

TEST_F(PendingReaderTest, PagesAndTopicsAgreeWithAModel) {
  Random random(5);
  box_.Open();
  std::multimap<int64_t, std::pair<std::string, std::string>> model;
  for (int i = 0; i < 400; ++i) {
    MessageView view;
    const std::string body = std::to_string(i);
    const std::string topic = random.Uniform(4) == 0 ? "rare" : "t";
    view.topic = topic;
    view.body = body;
    view.due_ms =
        box_.InMs(1 + static_cast<int64_t>(random.Uniform(
                          random.Uniform(2) == 0 ? 10 : 5 * kMsPerHour)));
    ASSERT_TRUE(box_.store->Put(view).ok());
    model.emplace(view.due_ms, std::pair(topic, body));
  }
  for (const std::string topic : {"", "rare", "t", "none"}) {
    std::vector<std::string> expected;
    for (const auto& [due_ms, message] : model) {
      if (topic.empty() || topic == message.first) {
        expected.push_back(message.second);
      }
    }
    for (const size_t count : {1, 3, 100, 1000}) {
      PendingQuery query;
      query.topic = topic;
      query.count_max = count;
      EXPECT_EQ(Bodies(query), expected) << topic << " by " << count;
    }
  }
}

TEST_F(PendingReaderTest, ForecastCountsHoursAndSeconds) {
  box_.Open();
  const int64_t hour_ms = StartMs(HourOf(box_.clock.NowMs()) + 2);
  box_.Put("a", hour_ms + 1000);
  box_.Put("b", hour_ms + 1999);
  const Handle handle = box_.Put("c", hour_ms + 5000);
  box_.Put("d", hour_ms + kMsPerHour);
  box_.Cancel(handle);
  const auto forecast = box_.store->GetForecast(HourOf(hour_ms));
  ASSERT_TRUE(forecast.ok()) << forecast.status();
  ASSERT_EQ(forecast->hours.size(), 2u);
  EXPECT_EQ(forecast->hours[0].start_ms, hour_ms);
  EXPECT_EQ(forecast->hours[0].messages, 2u);
  EXPECT_EQ(forecast->hours[1].messages, 1u);
  ASSERT_EQ(forecast->seconds.size(), 1u);
  EXPECT_EQ(forecast->seconds[0].start_ms, hour_ms + 1000);
  EXPECT_EQ(forecast->seconds[0].messages, 2u);
  EXPECT_EQ(forecast->seconds[0].bytes, forecast->hours[0].bytes);
  const auto empty = box_.store->GetForecast(HourOf(hour_ms) + 100);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(empty->seconds.empty());
}

}  // namespace
}  // namespace hourglass
