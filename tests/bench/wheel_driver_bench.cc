// Many producers: how many timers a second a TimerDriver takes and gives up,
// beside the container that people put a mutex around.
#include <benchmark/benchmark.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hourglass/timers/hashed_wheel.h"
#include "hourglass/timers/overflow_wheels.h"
#include "hourglass/timers/timer_driver.h"
#include "storage/random.h"

namespace hourglass::bench {
namespace {

constexpr int kEach = 300'000;
constexpr size_t kWindow = 1000;

// A container behind a mutex; nobody even fires from it.
class LockedMultimap {
 public:
  struct Handle {
    std::multimap<int64_t, int>::iterator place;
    LockedMultimap* owner;
    bool Cancel() {
      std::lock_guard<std::mutex> lock(owner->mu_);
      owner->map_.erase(place);
      return true;
    }
  };
  Handle Add(int64_t ms) {
    std::lock_guard<std::mutex> lock(mu_);
    return {map_.emplace(ms, 0), this};
  }

 private:
  std::mutex mu_;
  std::multimap<int64_t, int> map_;
};

template <template <typename> class Wheel>
class Driver {
 public:
  template <typename... Arguments>
  explicit Driver(Arguments... arguments)
      : driver_(RealClock(), {}, arguments...) {}
  auto Add(int64_t ms) {
    return *driver_.ScheduleAfterMs(ms, [] {});
  }

 private:
  TimerDriver<Wheel> driver_;
};

// Request deadlines: each is cancelled a thousand requests later.
template <typename Subject>
void Produce(Subject* subject, uint64_t seed) {
  Random random(seed);
  std::vector<decltype(subject->Add(1))> window;
  window.reserve(kWindow);
  for (int i = 0; i < kEach; ++i) {
    auto handle =
        subject->Add(30'000 + static_cast<int64_t>(random.Uniform(1000)));
    if (window.size() < kWindow) {
      window.push_back(std::move(handle));
    } else {
      window[i % kWindow].Cancel();
      window[i % kWindow] = std::move(handle);
    }
  }
}

template <typename Subject, typename... Arguments>
void Register(const std::string& name, Arguments... arguments) {
  for (const int producers : {1, 2, 4}) {
    benchmark::RegisterBenchmark(
        ("producers/" + name + "/" + std::to_string(producers)).c_str(),
        [=](benchmark::State& state) {
          for (auto _ : state) {
            Subject subject(arguments...);
            const auto start = std::chrono::steady_clock::now();
            std::vector<std::thread> threads;
            for (int i = 0; i < producers; ++i) {
              threads.emplace_back([&, i] { Produce(&subject, i); });
            }
            for (std::thread& thread : threads) thread.join();
            const std::chrono::duration<double> seconds =
                std::chrono::steady_clock::now() - start;
            state.SetIterationTime(seconds.count());
            state.counters["pairs_per_s"] = kEach * producers / seconds.count();
          }
        })
        ->UseManualTime()
        ->Iterations(3);
  }
}

[[maybe_unused]] const bool registered = [] {
  Register<Driver<HashedWheel>>("TimerDriver_HashedWheel", 65536);
  Register<Driver<OverflowWheels>>("TimerDriver_OverflowWheels", 64);
  Register<LockedMultimap>("mutex_multimap");
  return true;
}();

}  // namespace
}  // namespace hourglass::bench
