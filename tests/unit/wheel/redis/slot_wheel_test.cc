// The slot wheel over both of its stores: what is said of one holds for the
// other. Time is virtual, for leases in Redis, too: redis_slot_store_test.cc
// has one that ends by itself.
#include "hourglass/timers/slot_wheel.h"

#include <gmock/gmock.h>

#include <memory>

#include "hourglass/timers/memory_slot_store.h"
#include "tests/unit/wheel/redis/redis_server.h"
#include "wheel/redis/redis_slot_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kStartMs = 1'800'000'000'000;
constexpr int64_t kLeaseMs = 60'000;

struct MemoryWorld {
  explicit MemoryWorld(Clock* clock) : store(clock) {}
  SlotStore* NewStore() { return &store; }
  void PassLease() {}
  MemorySlotStore store;
};

struct RedisWorld {
  explicit RedisWorld(Clock*) {
    static RedisServer server;
    static int worlds = 0;
    url = server.url();
    prefix = "world" + std::to_string(++worlds);
  }
  SlotStore* NewStore() {
    stores.push_back(std::make_unique<RedisSlotStore>(url, prefix));
    return stores.back().get();
  }
  // As if it had expired.
  void PassLease() {
    (void)RedisConnection(url).Call({"DEL", "{" + prefix + "}:lease"});
  }
  RedisUrl url;
  std::string prefix;
  std::vector<std::unique_ptr<SlotStore>> stores;
};

template <typename World>
class SlotWheelTest : public testing::Test {
 protected:
  std::unique_ptr<SlotDriver> NewDriver(const std::string& owner,
                                        int64_t lease_ms = kLeaseMs) {
    return std::make_unique<SlotDriver>(
        world_.NewStore(), &clock_,
        SlotDriverOptions{.owner = owner, .lease_ms = lease_ms, .page_max = 3},
        [this](const SlotTask& task) {
          EXPECT_LE(StartMs(task.second), clock_.NowMs()) << "early";
          ran_.emplace_back(task.body);
          return after_task_ ? after_task_() : absl::OkStatus();
        });
  }

  void Push(int64_t delay_ms, const std::string& task) {
    const auto pushed = producer_.Schedule(clock_.NowMs() + delay_ms, task);
    ASSERT_TRUE(pushed.ok()) << pushed.status();
  }

  // All that is due; what ran.
  std::vector<std::string> Drive(SlotDriver* driver) {
    ran_.clear();
    while (true) {
      const auto step = driver->RunOnce();
      EXPECT_TRUE(step.ok()) << step.status();
      if (!step.ok() || step->wait_ms > 0) return ran_;
    }
  }

  void PassLease() {
    world_.PassLease();
    clock_.AdvanceMs(kLeaseMs + 20);
  }

  VirtualClock clock_{kStartMs};
  World world_{&clock_};
  SlotProducer producer_{world_.NewStore(), &clock_, "producer"};
  std::vector<std::string> ran_;
  std::function<absl::Status()> after_task_;
};

struct WorldNames {
  template <typename World>
  static std::string GetName(int) {
    return std::is_same_v<World, MemoryWorld> ? "Memory" : "Redis";
  }
};
using Worlds = testing::Types<MemoryWorld, RedisWorld>;
TYPED_TEST_SUITE(SlotWheelTest, Worlds, WorldNames);

TYPED_TEST(SlotWheelTest, RunsInTheirSecondAndNotBefore) {
  auto driver = this->NewDriver("d");
  EXPECT_THAT(this->Drive(driver.get()), IsEmpty());
  this->Push(2001, "c");
  this->Push(2000, "b");
  this->Push(1, "a");
  EXPECT_THAT(this->Drive(driver.get()), IsEmpty());
  this->clock_.AdvanceMs(999);
  EXPECT_THAT(this->Drive(driver.get()), IsEmpty());
  this->clock_.AdvanceMs(1);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("a"));
  this->clock_.AdvanceMs(1000);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("b"));
  this->clock_.AdvanceMs(1000);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("c"));
}

TYPED_TEST(SlotWheelTest, RunsASlotInPagesInOrder) {
  for (char c = 'a'; c <= 'h'; ++c) this->Push(500, std::string(1, c));
  auto driver = this->NewDriver("d");
  this->clock_.AdvanceMs(1000);
  EXPECT_EQ(driver->RunOnce()->ran, 3u);
  EXPECT_EQ(*this->world_.NewStore()->Pending(), 5u);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("d", "e", "f", "g", "h"));
  EXPECT_EQ(*this->world_.NewStore()->Pending(), 0u);
}

TYPED_TEST(SlotWheelTest, KeepsBytesAsTheyAre) {
  const std::string bytes("\0\r\n\xff{}", 6);
  this->Push(0, bytes);
  auto driver = this->NewDriver("d");
  this->clock_.AdvanceMs(1000);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre(bytes));
}

TYPED_TEST(SlotWheelTest, WhatComesForACompletedSecondRunsInTheNext) {
  auto driver = this->NewDriver("d");
  this->Drive(driver.get());
  this->clock_.AdvanceMs(10'000);
  this->Drive(driver.get());
  this->Push(-9000, "late");
  EXPECT_THAT(this->Drive(driver.get()), IsEmpty());
  this->clock_.AdvanceMs(1000);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("late"));
}

// The list was taken, its tasks run; one more comes for the same second.
TYPED_TEST(SlotWheelTest, AProducerPushesWhileTheSlotIsTaken) {
  this->Push(0, "a");
  auto driver = this->NewDriver("d");
  this->after_task_ = [this] {
    if (this->ran_.size() == 1) this->Push(0, "b");
    return absl::OkStatus();
  };
  this->clock_.AdvanceMs(0);
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("a", "b"));
}

TYPED_TEST(SlotWheelTest, OneDriverAtATime) {
  auto first = this->NewDriver("first");
  auto second = this->NewDriver("second");
  this->Push(0, "a");
  EXPECT_TRUE(first->RunOnce()->leading);
  EXPECT_FALSE(second->RunOnce()->leading);
  EXPECT_THAT(this->ran_, ElementsAre("a"));
  EXPECT_TRUE(second->Stop().ok());
  EXPECT_TRUE(first->Stop().ok());
  EXPECT_TRUE(second->RunOnce()->leading);
}

TYPED_TEST(SlotWheelTest, ALeaseIsKeptByDriving) {
  auto first = this->NewDriver("first");
  auto second = this->NewDriver("second");
  EXPECT_TRUE(first->RunOnce()->leading);
  for (int i = 0; i < 5; ++i) {
    this->clock_.AdvanceMs(kLeaseMs * 2 / 5);
    EXPECT_TRUE(first->RunOnce()->leading);
    EXPECT_FALSE(second->RunOnce()->leading);
  }
}

// It ran three of five, and confirmed them; then two more, and died.
TYPED_TEST(SlotWheelTest, TheNextDriverRunsWhatWasNotConfirmed) {
  for (char c = 'a'; c <= 'e'; ++c) this->Push(0, std::string(1, c));
  auto dead = this->NewDriver("dead");
  EXPECT_EQ(dead->RunOnce()->ran, 3u);
  SlotStore* const store = this->world_.NewStore();
  const SlotStore::Lease lease = *store->Acquire("dead", kLeaseMs);
  EXPECT_EQ(store->Take(lease, SlotOfDue(kStartMs), 9)->tasks.size(), 2u);
  auto next = this->NewDriver("next");
  EXPECT_FALSE(next->RunOnce()->leading);
  this->PassLease();
  EXPECT_THAT(this->Drive(next.get()), ElementsAre("d", "e"));
}

// Fencing: the lease ended while it slept, and another drives.
TYPED_TEST(SlotWheelTest, ADriverThatOutlivedItsLeaseIsRefused) {
  for (char c = 'a'; c <= 'e'; ++c) this->Push(0, std::string(1, c));
  SlotStore* const store = this->world_.NewStore();
  const SlotStore::Lease old = *store->Acquire("old", kLeaseMs);
  const Second second = SlotOfDue(kStartMs);
  const auto claim = store->Take(old, second, 9);
  this->PassLease();
  auto next = this->NewDriver("next");
  EXPECT_EQ(next->RunOnce()->ran, 3u);
  const auto refused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(store->Confirm(old, claim->number, 5).code(), refused);
  EXPECT_EQ(store->Take(old, second, 9).status().code(), refused);
  EXPECT_EQ(store->Skip(old, second).status().code(), refused);
  EXPECT_EQ(store->Renew(old, kLeaseMs).code(), refused);
  EXPECT_EQ(store->Release(old).code(), refused);
  const SlotStore::Lease taken = *store->Acquire("next", kLeaseMs);
  EXPECT_GT(taken.token, old.token);
  EXPECT_THAT(this->Drive(next.get()), ElementsAre("d", "e"));
}

// It notices before the next task, not after the page.
TYPED_TEST(SlotWheelTest, ADriverStopsInAPageWhenItsLeaseEnds) {
  for (char c = 'a'; c <= 'c'; ++c) this->Push(0, std::string(1, c));
  auto slow = this->NewDriver("slow");
  this->after_task_ = [this] {
    if (this->ran_.size() == 1) this->PassLease();
    return absl::OkStatus();
  };
  EXPECT_EQ(slow->RunOnce().status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(slow->leading());
  EXPECT_THAT(this->ran_, ElementsAre("a"));
  // It gets the lease again, and remembers what it ran.
  this->after_task_ = nullptr;
  EXPECT_THAT(this->Drive(slow.get()), ElementsAre("b", "c"));
}

TYPED_TEST(SlotWheelTest, APushThatIsMadeAgainIsAppliedOnce) {
  this->Push(0, "a");
  EXPECT_TRUE(this->producer_.Again(kStartMs, "a").ok());
  this->Push(0, "b");
  EXPECT_TRUE(this->producer_.Again(kStartMs, "b").ok());
  auto driver = this->NewDriver("d");
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("a", "b"));
}

TYPED_TEST(SlotWheelTest, CatchesUpAfterDaysWithoutADriver) {
  auto before = this->NewDriver("before");
  this->Drive(before.get());
  ASSERT_TRUE(before->Stop().ok());
  this->Push(1000, "a");
  this->Push(86'400'000, "b");
  this->Push(3 * 86'400'000, "c");
  this->clock_.AdvanceMs(4 * 86'400'000);
  auto driver = this->NewDriver("d");
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(this->Drive(driver.get()), IsEmpty());
}

TYPED_TEST(SlotWheelTest, ATaskThatFailedComesAgain) {
  for (char c = 'a'; c <= 'c'; ++c) this->Push(0, std::string(1, c));
  auto driver = this->NewDriver("d");
  this->after_task_ = [this] {
    return this->ran_.size() == 2 ? absl::InternalError("oops")
                                  : absl::OkStatus();
  };
  EXPECT_EQ(driver->RunOnce().status().code(), absl::StatusCode::kInternal);
  this->after_task_ = nullptr;
  EXPECT_THAT(this->Drive(driver.get()), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace hourglass
