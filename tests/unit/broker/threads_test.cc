// The store with its threads, and many of the host's: run it under
// ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

class ThreadsTest : public testing::Test {
 protected:
  ThreadsTest() {
    box_.options.threads = true;
    box_.options.clock = RealClock();
    box_.options.checkpoint_interval_ms = 20;
    box_.options.log_segment_bytes = 1u << 20;
    box_.options.unsynced_bytes_max = 64u << 20;
    box_.options.disk_reserve_bytes = 0;
  }

  // Reads everything there is, as a consumer does.
  std::map<std::string, int> ReadAll() {
    std::map<std::string, int> counts;
    for (const std::string& body : box_.Ready()) ++counts[body];
    return counts;
  }

  TestStore box_;
};

TEST_F(ThreadsTest, ProducersCancelsAndReadersAtOnce) {
  constexpr int kProducers = 3;
  constexpr int kMessages = 1500;
  box_.Open();
  std::atomic<bool> stop{false};
  std::vector<std::set<std::string>> cancelled(kProducers);
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([this, p, &cancelled] {
      std::vector<std::pair<std::string, Handle>> mine;
      for (int i = 0; i < kMessages; i += 10) {
        std::vector<std::string> bodies;
        std::vector<MessageView> views;
        for (int j = 0; j < 10; ++j) {
          bodies.push_back(std::to_string(p) + "/" + std::to_string(i + j));
        }
        const int64_t now_ms = RealClock()->NowMs();
        for (const std::string& body : bodies) {
          views.push_back(TestStore::View(body, now_ms + i % 700));
        }
        const auto results = box_.store->PutMany(views);
        for (size_t j = 0; j < results.size(); ++j) {
          ASSERT_TRUE(results[j].ok()) << results[j].status();
          mine.emplace_back(bodies[j], results[j]->handle);
        }
        const auto& [body, handle] = mine[mine.size() - 1 - i % 10];
        const auto answer = box_.store->Cancel(handle);
        ASSERT_TRUE(answer.ok()) << answer.status();
        if (*answer == CancelAnswer::kCancelled) cancelled[p].insert(body);
      }
    });
  }
  threads.emplace_back([this, &stop] {
    QueueIndex next;
    while (!stop) {
      const uint64_t seen = box_.store->ReadyVersion();
      const auto read = box_.store->ReadReady("t", next, 100, 1u << 20);
      if (!read.ok() || read->empty()) {
        box_.store->WaitReady(seen, absl::Milliseconds(10));
        continue;
      }
      next = next + read->size();
      ASSERT_TRUE(box_.store->CommitProgress("t", "g", next).ok());
    }
  });
  threads.emplace_back([this, &stop] {
    while (!stop) {
      (void)box_.store->Stats();
      (void)box_.store->Topics();
      const auto page = box_.store->Pending({});
      ASSERT_TRUE(page.ok()) << page.status();
      const auto forecast =
          box_.store->GetForecast(HourOf(RealClock()->NowMs()));
      ASSERT_TRUE(forecast.ok()) << forecast.status();
    }
  });
  for (int p = 0; p < kProducers; ++p) threads[p].join();
  EXPECT_TRUE(box_.store->WaitEmpty(absl::Seconds(60)));
  stop = true;
  for (size_t i = kProducers; i < threads.size(); ++i) threads[i].join();
  const auto counts = ReadAll();
  size_t expected = 0;
  for (int p = 0; p < kProducers; ++p) {
    for (int i = 0; i < kMessages; ++i) {
      const std::string body = std::to_string(p) + "/" + std::to_string(i);
      const bool gone = cancelled[p].contains(body);
      expected += gone ? 0 : 1;
      ASSERT_EQ(counts.count(body), gone ? 0u : 1u) << body;
    }
  }
  EXPECT_EQ(counts.size(), expected);
  for (const auto& [body, count] : counts) EXPECT_EQ(count, 1) << body;
  EXPECT_TRUE(box_.store->Close().ok());
}

TEST_F(ThreadsTest, IsNeverEarly) {
  box_.Open();
  std::atomic<bool> stop{false};
  std::atomic<int> seen{0};
  std::thread reader([&] {
    QueueIndex next;
    while (!stop) {
      const auto read = box_.store->ReadReady("t", next, 100, 1u << 20);
      if (!read.ok()) continue;
      for (const ReadyMessage& ready : *read) {
        EXPECT_LE(ready.message.due_ms, RealClock()->NowMs());
        ++seen;
      }
      next = next + read->size();
    }
  });
  constexpr int kMessages = 300;
  for (int i = 0; i < kMessages; ++i) {
    box_.Put("x", RealClock()->NowMs() + i % 50);
  }
  EXPECT_TRUE(box_.store->WaitEmpty(absl::Seconds(60)));
  for (int i = 0; i < 1000 && seen < kMessages; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  stop = true;
  reader.join();
  EXPECT_EQ(seen, kMessages);
}

TEST_F(ThreadsTest, AllWaitersHearOfAFailure) {
  box_.Open();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        const auto put = box_.TryPut("x", kDueNow);
        if (put.ok()) continue;
        EXPECT_TRUE(absl::IsUnavailable(put.status())) << put.status();
        ++failed;
        return;
      }
    });
  }
  box_.fs->FailAfter(MemoryOp::kSync, 50, absl::DataLossError("bad"), true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 4);
  EXPECT_FALSE(box_.store->Close().ok());
}

TEST_F(ThreadsTest, CloseWritesWhatIsStaged) {
  box_.Open();
  std::atomic<int> answers{0};
  for (int i = 0; i < 1000; ++i) {
    box_.store->PutAsync(TestStore::View("x", kDueNow),
                         [&](const absl::StatusOr<PutResult>& result) {
                           if (result.ok()) ++answers;
                         });
  }
  EXPECT_TRUE(box_.store->Close().ok());
  EXPECT_EQ(answers, 1000);
  box_.Crash(0);
  box_.Open();
  EXPECT_EQ(box_.Ready().size(), 1000u);
}

}  // namespace
}  // namespace hourglass
