// What only a real server can do: die, come back, refuse.
#include "wheel/redis/redis_slot_store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>

#include "hourglass/timers/slot_wheel.h"
#include "tests/unit/wheel/redis/redis_server.h"

namespace hourglass {
namespace {

using testing::ElementsAre;

constexpr int64_t kStartMs = 1'800'000'000'000;

class RedisSlotStoreTest : public testing::Test {
 protected:
  SlotDriver NewDriver(SlotStore* store, const std::string& owner) {
    return SlotDriver(store, &clock_,
                      {.owner = owner, .lease_ms = 30'000, .page_max = 2},
                      [this](const SlotTask& task) {
                        ran_.emplace_back(task.body);
                        return absl::OkStatus();
                      });
  }
  // Until nothing is due; errors that pass are counted.
  int Drive(SlotDriver* driver) {
    int unavailable = 0;
    for (int i = 0; i < 1000; ++i) {
      const auto step = driver->RunOnce();
      if (absl::IsUnavailable(step.status())) {
        ++unavailable;
        if (!server_up_) Up();
        continue;
      }
      EXPECT_TRUE(step.ok()) << step.status();
      if (step->leading && step->wait_ms > 0) return unavailable;
      if (!step->leading) Nap();
    }
    ADD_FAILURE() << "it does not end";
    return unavailable;
  }
  void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
  void Down() {
    server_.Kill();
    server_up_ = false;
  }
  void Up() {
    server_.Start();
    server_up_ = true;
  }

  VirtualClock clock_{kStartMs};
  RedisServer server_;
  bool server_up_ = true;
  std::vector<std::string> ran_;
};

TEST_F(RedisSlotStoreTest, NothingIsLostWhenTheServerIsKilled) {
  RedisSlotStore store(server_.url(), "t");
  SlotProducer producer(&store, &clock_, "p");
  SlotDriver driver = NewDriver(&store, "d");
  for (const char* task : {"a", "b", "c"}) {
    ASSERT_TRUE(producer.Schedule(kStartMs, task).ok());
  }
  EXPECT_EQ(driver.RunOnce()->ran, 2u);
  Down();
  EXPECT_TRUE(absl::IsUnavailable(producer.Schedule(kStartMs, "d").status()));
  EXPECT_GE(Drive(&driver), 1);
  ASSERT_TRUE(producer.Again(kStartMs, "d").ok());
  clock_.AdvanceMs(1000);
  Drive(&driver);
  EXPECT_THAT(ran_, ElementsAre("a", "b", "c", "d"));
}

// A real driver process, killed between take and confirm.
TEST_F(RedisSlotStoreTest, ADriverIsKilledBetweenTakeAndConfirm) {
  RedisSlotStore store(server_.url(), "t");
  SlotProducer producer(&store, &clock_, "p");
  for (const char* task : {"a", "b", "c"}) {
    ASSERT_TRUE(producer.Schedule(kStartMs, task).ok());
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    RedisSlotStore own(server_.url(), "t");
    SlotDriver driver(&own, &clock_, {.owner = "dead", .lease_ms = 300},
                      [](const SlotTask& task) {
                        if (task.body == "b") ::raise(SIGKILL);
                        return absl::OkStatus();
                      });
    (void)driver.RunOnce();
    ::_exit(1);
  }
  int how = 0;
  ::waitpid(pid, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  EXPECT_EQ(*store.Pending(), 3u);
  SlotDriver next = NewDriver(&store, "next");
  Drive(&next);  // waits for the lease of the dead to end
  EXPECT_THAT(ran_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(*store.Pending(), 0u);
}

// Full: it refuses what needs memory, says so, and takes it later.
TEST_F(RedisSlotStoreTest, RefusedWritesAreUnavailableAndLeaveNoTrace) {
  RedisSlotStore store(server_.url(), "t");
  RedisConnection redis(server_.url());
  SlotProducer producer(&store, &clock_, "p");
  ASSERT_TRUE(producer.Schedule(kStartMs, "a").ok());
  ASSERT_TRUE(redis.Call({"CONFIG", "SET", "maxmemory", "1"}).ok());
  const auto refused = producer.Schedule(kStartMs, "b");
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              testing::HasSubstr("OOM"));
  SlotDriver driver = NewDriver(&store, "d");
  EXPECT_TRUE(absl::IsUnavailable(driver.RunOnce().status()));
  ASSERT_TRUE(redis.Call({"CONFIG", "SET", "maxmemory", "0"}).ok());
  ASSERT_TRUE(producer.Again(kStartMs, "b").ok());
  Drive(&driver);
  EXPECT_THAT(ran_, ElementsAre("a", "b"));
}

// Producers and drivers in threads of their own, each with a connection.
TEST_F(RedisSlotStoreTest, ManyProducersAndTwoDrivers) {
  constexpr int kProducers = 3, kTasks = 300;
  std::mutex mu;
  std::map<std::string, int> runs;
  std::atomic<bool> done{false};
  const auto drive = [&](const std::string& owner) {
    RedisSlotStore store(server_.url(), "t");
    SlotDriver driver(&store, &clock_, {.owner = owner, .lease_ms = 30'000},
                      [&](const SlotTask& task) {
                        std::lock_guard<std::mutex> lock(mu);
                        ++runs[std::string(task.body)];
                        return absl::OkStatus();
                      });
    while (!done) {
      const auto step = driver.RunOnce();
      ASSERT_TRUE(step.ok()) << step.status();
      if (step->wait_ms > 0) clock_.AdvanceMs(7);
      // They take turns, as after a restart.
      if (step->ran > 50) {
        ASSERT_TRUE(driver.Stop().ok());
      }
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(drive, "one");
  threads.emplace_back(drive, "two");
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      RedisSlotStore store(server_.url(), "t");
      SlotProducer producer(&store, &clock_, "p" + std::to_string(p));
      for (int i = 0; i < kTasks; ++i) {
        const std::string task = std::to_string(p) + "/" + std::to_string(i);
        ASSERT_TRUE(
            producer.Schedule(clock_.NowMs() + i % 5 * 1000, task).ok());
      }
    });
  }
  for (int p = 0; p < kProducers; ++p) threads[2 + p].join();
  RedisSlotStore store(server_.url(), "t");
  for (int i = 0; i < 1000 && *store.Pending() > 0; ++i) Nap();
  done = true;
  threads[0].join();
  threads[1].join();
  EXPECT_EQ(runs.size(), size_t{kProducers * kTasks});
  for (const auto& [task, times] : runs) EXPECT_EQ(times, 1) << task;
}

TEST_F(RedisSlotStoreTest, SaysWhatIsWrongWithTheServer) {
  RedisConnection nobody({.host = "127.0.0.1", .port = 1});
  EXPECT_TRUE(absl::IsUnavailable(nobody.Call({"PING"}).status()));
  RedisUrl url = server_.url();
  url.password = "wrong";
  EXPECT_EQ(RedisConnection(url).Call({"PING"}).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(RedisConnection(server_.url()).Call({"NO"}).status().code(),
            absl::StatusCode::kInternal);
}

TEST(RedisUrlTest, IsParsed) {
  const auto url = RedisUrl::Parse("redis://me:p@ss@example.org:7000/3");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->user, "me");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, 7000);
  EXPECT_EQ(url->database, 3);
  EXPECT_EQ(url->ToString(), "redis://example.org:7000/3");
  EXPECT_EQ(RedisUrl::Parse("redis://localhost")->port, 6379);
  EXPECT_EQ(RedisUrl::Parse("redis://:pw@localhost/")->password, "pw");
}

TEST(RedisUrlTest, RefusesOthers) {
  for (const char* text :
       {"", "localhost", "http://localhost", "redis://", "redis://:6379",
        "redis://h:0", "redis://h:x", "redis://h:99999", "redis://h/x",
        "redis://h/-1", "redis://nocolon@h"}) {
    EXPECT_FALSE(RedisUrl::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace hourglass
