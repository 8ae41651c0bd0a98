// Groups with their worker, over a store with its threads, and many clients at
// once: run it under ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/mutex.h"
#include "storage/random.h"
#include "tests/support/group_world.h"

namespace hourglass {
namespace {

class GroupThreadsTest : public testing::Test {
 protected:
  GroupThreadsTest() {
    world_.box.options.threads = true;
    world_.box.options.clock = RealClock();
    world_.box.options.checkpoint_interval_ms = 20;
    world_.box.options.log_segment_bytes = 1u << 20;
    world_.box.options.disk_reserve_bytes = 0;
    world_.group_options.threads = true;
    world_.settings.attempts_max = 1000;
    world_.settings.backoff_ms = {1};
    world_.box.Open();
    Begin();
  }
  void Begin() {
    groups_ = std::make_unique<ConsumerGroups>(
        world_.box.store.get(), RealClock(), world_.group_options);
    groups_->Configure("g", world_.settings);
  }

  // What a receive of this client brought.
  std::vector<Lease> Receive(uint64_t cancel_percent, Random* random) {
    struct Answer {
      Latch done{1};
      std::vector<Lease> leases;
    };
    auto answer = std::make_shared<Answer>();
    ReceiveRequest request = world_.Request();
    request.count_max = 1 + random->Uniform(16);
    request.lease_ms = 20 + static_cast<int64_t>(random->Uniform(2000));
    request.poll_until_ms = RealClock()->NowMs() + 50;
    const uint64_t id = groups_->Receive(
        request, [answer](absl::StatusOr<std::vector<Lease>> leases) {
          if (leases.ok()) answer->leases = *std::move(leases);
          answer->done.CountDown();
        });
    if (random->Uniform(100) < cancel_percent) groups_->CancelReceive(id);
    answer->done.Wait();
    return std::move(answer->leases);
  }

  // Runs until `total` messages are acknowledged.
  void Consume(uint64_t seed, uint64_t total) {
    Random random(seed);
    while (acked_count_ < total) {
      for (const Lease& lease : Receive(10, &random)) {
        const uint64_t index = lease.message.index.value();
        {
          MutexLock lock(&mu_);
          EXPECT_FALSE(acked_.contains(index)) << index << " came back";
        }
        const uint64_t die = random.Uniform(20);
        if (die == 0) continue;  // forgets it
        if (die == 1) {
          groups_->ChangeLease("t", "g", lease.receipt, 0,
                               [](const absl::StatusOr<std::string>&) {});
          continue;
        }
        Latch done(1);
        groups_->Ack("t", "g", lease.receipt, [&](const absl::Status& status) {
          MutexLock lock(&mu_);
          if (status.ok() && acked_.insert(index).second) ++acked_count_;
          done.CountDown();
        });
        done.Wait();
      }
    }
  }

  GroupWorld world_;
  std::unique_ptr<ConsumerGroups> groups_;
  Mutex mu_;
  std::set<uint64_t> acked_;
  std::atomic<uint64_t> acked_count_{0};
};

TEST_F(GroupThreadsTest, WhatIsAcknowledgedNeverComesBack) {
  constexpr uint64_t kTotal = 3000;
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    threads.emplace_back([this, seed] { Consume(seed, kTotal); });
  }
  for (uint64_t i = 0; i < kTotal; ++i) {
    world_.box.store->PutAsync(
        TestStore::View("x",
                        RealClock()->NowMs() + static_cast<int64_t>(i % 9)),
        [](const absl::StatusOr<PutResult>& put) {
          EXPECT_TRUE(put.ok()) << put.status();
        });
  }
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    while (!stop) {
      (void)groups_->List();
      groups_->ClientAlive("c");
      groups_->ClientGone("c");
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  looker.join();
  EXPECT_EQ(world_.box.store->Progress("t", "g"), QueueIndex(kTotal));
  groups_.reset();
  EXPECT_TRUE(world_.box.store->Close().ok());
  world_.box.store.reset();
}

TEST_F(GroupThreadsTest, ALongPollHearsOfAnArrivalAtOnce) {
  for (int i = 0; i < 50; ++i) {
    Latch done(1);
    std::atomic<int64_t> arrived_ms{0};
    ReceiveRequest request = world_.Request();
    request.poll_until_ms = RealClock()->NowMs() + 20'000;
    groups_->Receive(request, [&](absl::StatusOr<std::vector<Lease>> leases) {
      EXPECT_TRUE(leases.ok()) << leases.status();
      EXPECT_FALSE(leases->empty()) << "waited for its end";
      arrived_ms = RealClock()->NowMs();
      done.CountDown();
    });
    world_.box.Put("x", RealClock()->NowMs() + i % 5);
    done.Wait();
  }
  groups_.reset();
}

TEST_F(GroupThreadsTest, TheEndAnswersEverybody) {
  std::atomic<int> answered{0};
  for (int i = 0; i < 100; ++i) {
    ReceiveRequest request = world_.Request();
    request.poll_until_ms = RealClock()->NowMs() + 20'000;
    groups_->Receive(request, [&](const absl::StatusOr<std::vector<Lease>>&) {
      ++answered;
    });
  }
  for (int i = 0; i < 10; ++i) {
    world_.box.store->PutAsync(TestStore::View("x", kDueNow),
                               [](const absl::StatusOr<PutResult>&) {});
  }
  groups_.reset();
  EXPECT_EQ(answered, 100);
}

}  // namespace
}  // namespace hourglass
