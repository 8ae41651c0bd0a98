#include "hourglass/timers/delay_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "storage/random.h"

namespace hourglass {
namespace {

TEST(DelayQueueTest, HasTheEarliestOnTop) {
  DelayQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.Set(7, Tick(100));
  queue.Set(3, Tick(50));
  EXPECT_EQ(queue.top().number, 3u);
  queue.Set(7, Tick(10));  // moved forward
  EXPECT_EQ(queue.top().number, 7u);
  EXPECT_EQ(queue.top().due, Tick(10));
  queue.Set(7, Tick(60));  // and back
  EXPECT_EQ(queue.top().number, 3u);
  EXPECT_EQ(queue.size(), 2u);
  queue.Remove(3);
  queue.Remove(3);
  queue.Remove(99);
  EXPECT_EQ(queue.top().number, 7u);
  EXPECT_FALSE(queue.Contains(3));
}

TEST(DelayQueueTest, AgreesWithASortedSet) {
  Random random(23);
  DelayQueue queue;
  std::map<uint32_t, int64_t> model;
  std::set<std::pair<int64_t, uint32_t>> sorted;
  for (int i = 0; i < 100'000; ++i) {
    const auto number = static_cast<uint32_t>(random.Uniform(50));
    if (model.contains(number)) sorted.erase({model[number], number});
    if (random.Uniform(3) == 0) {
      queue.Remove(number);
      model.erase(number);
    } else {
      const auto due = static_cast<int64_t>(random.Uniform(100));
      queue.Set(number, Tick(due));
      model[number] = due;
      sorted.insert({due, number});
    }
    ASSERT_EQ(queue.size(), model.size());
    if (model.empty()) continue;
    ASSERT_EQ(queue.top().due, Tick(sorted.begin()->first));
    ASSERT_EQ(model.at(queue.top().number), queue.top().due.value());
  }
}

}  // namespace
}  // namespace hourglass
