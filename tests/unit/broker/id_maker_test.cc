#include "broker/id_maker.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hourglass {
namespace {

TEST(IdMakerTest, IdsAreShortAndDiffer) {
  IdMaker ids(12345);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = ids.Next();
    ASSERT_EQ(id.size(), 15u);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdefghijklmnopqrstuv"),
              std::string::npos);
    ASSERT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(IdMakerTest, TwoStoresMakeDifferentIds) {
  IdMaker a(1);
  IdMaker b(2);
  EXPECT_NE(a.Next(), b.Next());
}

TEST(IdMakerTest, ThreadsNeverGetTheSame) {
  IdMaker ids(7);
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&ids, &mine] {
      for (int i = 0; i < 2000; ++i) mine.push_back(ids.Next());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 8000u);
}

}  // namespace
}  // namespace hourglass
