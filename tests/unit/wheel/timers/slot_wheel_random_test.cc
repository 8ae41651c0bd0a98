// The slot wheel over a store that fails at random, before or after it did
// what it was asked; drivers that die and producers that try again. Nothing
// is lost, nothing is early, and nothing runs twice without a death.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include "hourglass/timers/memory_slot_store.h"
#include "hourglass/timers/slot_wheel.h"
#include "storage/random.h"

namespace hourglass {
namespace {

// Each call may fail without being done, or be done and yet fail.
class FlakyStore final : public SlotStore {
 public:
  FlakyStore(SlotStore* store, Random* random)
      : store_(store), random_(random) {}

  absl::StatusOr<Second> Push(Second second, Second now, std::string_view task,
                              const Stamp& stamp) override {
    return Flaky([&] { return store_->Push(second, now, task, stamp); });
  }
  absl::StatusOr<uint64_t> Pending() override { return store_->Pending(); }
  absl::StatusOr<Lease> Acquire(const std::string& owner,
                                int64_t ttl_ms) override {
    return Flaky([&] { return store_->Acquire(owner, ttl_ms); });
  }
  absl::Status Renew(const Lease& lease, int64_t ttl_ms) override {
    return Flaky([&] { return store_->Renew(lease, ttl_ms); });
  }
  absl::Status Release(const Lease& lease) override {
    return Flaky([&] { return store_->Release(lease); });
  }
  absl::StatusOr<Position> Skip(const Lease& lease, Second until) override {
    return Flaky([&] { return store_->Skip(lease, until); });
  }
  absl::StatusOr<Claim> Take(const Lease& lease, Second second,
                             size_t count_max) override {
    return Flaky([&] { return store_->Take(lease, second, count_max); });
  }
  absl::Status Confirm(const Lease& lease, uint64_t claim,
                       size_t count) override {
    return Flaky([&] { return store_->Confirm(lease, claim, count); });
  }

 private:
  template <typename Call>
  auto Flaky(Call&& call) -> decltype(call()) {
    const uint64_t die = random_->Uniform(10);
    if (die == 0) return absl::UnavailableError("not sent");
    auto answer = call();
    if (die == 1) return absl::UnavailableError("no answer");
    return answer;
  }

  SlotStore* const store_;
  Random* const random_;
};

class SlotWheelRandomTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t kLeaseMs = 3000;

  std::unique_ptr<SlotDriver> NewDriver() {
    return std::make_unique<SlotDriver>(
        &flaky_, &clock_,
        SlotDriverOptions{.owner = "d" + std::to_string(++drivers_),
                          .lease_ms = kLeaseMs,
                          .page_max = 4},
        [this](const SlotTask& task) {
          const std::string name(task.body);
          EXPECT_LE(due_ms_.at(name), clock_.NowMs()) << "early";
          ++runs_[name];
          return absl::OkStatus();
        });
  }

  void Push() {
    if (!unsure_) {
      const std::string name = "t" + std::to_string(due_ms_.size());
      due_ms_[name] =
          clock_.NowMs() + static_cast<int64_t>(random_.Uniform(8000));
      unsure_ = name;
      if (producer_.Schedule(due_ms_[name], name).ok()) unsure_.reset();
      return;
    }
    if (producer_.Again(due_ms_[*unsure_], *unsure_).ok()) unsure_.reset();
  }

  void Drive(bool may_die) {
    std::unique_ptr<SlotDriver>& driver = drivers_now_[random_.Uniform(2)];
    if (may_die && random_.Uniform(50) == 0) driver = NewDriver();
    const auto step = driver->RunOnce();
    if (!step.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(step.status()) ||
                  absl::IsFailedPrecondition(step.status()));
    }
  }

  Random random_{SystemEntropy()};
  VirtualClock clock_{1'800'000'000'000};
  MemorySlotStore store_{&clock_};
  FlakyStore flaky_{&store_, &random_};
  SlotProducer producer_{&flaky_, &clock_, "p"};
  int drivers_ = 0;
  std::unique_ptr<SlotDriver> drivers_now_[2] = {NewDriver(), NewDriver()};
  std::map<std::string, int64_t> due_ms_;
  std::map<std::string, int> runs_;
  std::optional<std::string> unsure_;  // pushed, maybe
};

// Without deaths the clock stays slow enough for leases to be kept: a driver
// that loses its lease counts as dead.
TEST_P(SlotWheelRandomTest, NothingIsLostAndNothingTwiceWithoutADeath) {
  const uint64_t seed = SystemEntropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  random_ = Random(seed);
  const bool deaths = GetParam();
  for (int i = 0; i < 20'000; ++i) {
    if (random_.Uniform(3) == 0) Push();
    Drive(deaths);
    if (!deaths) {
      // Both get their turn before a third of the lease has gone.
      for (auto& driver : drivers_now_) (void)driver->RunOnce();
    }
    clock_.AdvanceMs(static_cast<int64_t>(random_.Uniform(100)));
  }
  while (unsure_) Push();
  for (int i = 0; i < 10'000 && *store_.Pending() > 0; ++i) {
    Drive(false);
    clock_.AdvanceMs(100);
  }
  EXPECT_EQ(runs_.size(), due_ms_.size());
  int twice = 0;
  for (const auto& [task, times] : runs_) twice += times > 1 ? 1 : 0;
  if (!deaths) {
    EXPECT_EQ(twice, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, SlotWheelRandomTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "WithDeaths" : "WithoutDeaths";
                         });

}  // namespace
}  // namespace hourglass
