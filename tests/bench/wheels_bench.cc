// What scheduling, cancelling and firing cost: our wheels beside the usual
// containers, Boost.Asio and libevent, on one trace. docs/wheels.md has the
// results; `make bench-wheels` runs it.
//
// A trace: n timers, due within a minute of ticks (uniform; or clustered on
// 100 of the ticks; or within a day, where "far"). It is filled; then, with n
// live, batches of timers are cancelled and scheduled anew in random order;
// then one Advance fires everything. What fired, tick by tick, goes into a
// checksum that must be the same for all. Random numbers and the checksum are
// made outside of what is timed.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>

#include "hourglass/timers/bounded_wheel.h"
#include "hourglass/timers/clock_wheel.h"
#include "hourglass/timers/hashed_wheel.h"
#include "hourglass/timers/overflow_list_wheel.h"
#include "hourglass/timers/overflow_wheels.h"
#include "hourglass/timers/round_wheel.h"
#include "storage/random.h"
#include "tests/bench/wheel_contenders.h"

namespace hourglass::bench {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 3'600'000;
constexpr int64_t kDay = 24 * kHour;
constexpr size_t kChurn = 1'000'000;

enum class Shape { kUniform, kClustered, kFar };
constexpr const char* kShapeNames[] = {"uniform", "clustered", "far"};

class Stopwatch {
 public:
  double Ns() const {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

double LiveBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

class Trace {
 public:
  Trace(uint32_t count, Shape shape)
      : shape_(shape), random_(4711), deadlines(count), order_(count) {
    for (int64_t& deadline : deadlines) deadline = SomeDeadline();
    std::iota(order_.begin(), order_.end(), 0);
    for (size_t i = count; i > 1; --i) {
      std::swap(order_[i - 1], order_[random_.Uniform(i)]);
    }
  }

  int64_t last() const { return shape_ == Shape::kFar ? kDay : kMinute; }

  int64_t SomeDeadline() {
    const int64_t any = 1 + static_cast<int64_t>(
                                random_.Uniform(static_cast<uint64_t>(last())));
    constexpr int64_t kCluster = kMinute / 100;
    return shape_ == Shape::kClustered
               ? (any + kCluster - 1) / kCluster * kCluster
               : any;
  }

  // The next so many timers in a random order, with new deadlines for them.
  void NextBatch(size_t size) {
    batch.clear();
    renewed.clear();
    for (size_t i = 0; i < size; ++i) {
      batch.push_back(order_[next_++ % order_.size()]);
      renewed.push_back(SomeDeadline());
    }
    for (size_t i = 0; i < size; ++i) deadlines[batch[i]] = renewed[i];
  }

  // 0 if anything fired out of order or not at all.
  uint32_t Checksum(const std::vector<uint32_t>& fired) const {
    if (fired.size() != deadlines.size()) return 0;
    uint64_t sum = 0, tick_sum = 0;
    for (size_t i = 0; i < fired.size(); ++i) {
      const bool new_tick =
          i > 0 && deadlines[fired[i]] != deadlines[fired[i - 1]];
      if (new_tick) {
        if (deadlines[fired[i]] < deadlines[fired[i - 1]]) return 0;
        sum = sum * 0x9e3779b97f4a7c15 + tick_sum;
        tick_sum = 0;
      }
      tick_sum += (fired[i] + 1) * uint64_t{0xbf58476d1ce4e5b9};
    }
    return static_cast<uint32_t>((sum ^ tick_sum) >> 32);
  }

 private:
  Shape shape_;
  Random random_;

 public:
  std::vector<int64_t> deadlines;  // by timer
  std::vector<uint32_t> batch;
  std::vector<int64_t> renewed;  // for each of the batch

 private:
  std::vector<uint32_t> order_;
  size_t next_ = 0;
};

struct Figures {
  double fill_ns = 0, schedule_ns = 0, cancel_ns = 0, expire_ns = 0;
  double bytes = 0;
  uint32_t checksum = 0;
};

template <typename Contender>
void FillAndChurn(Contender* contender, Trace* trace, Figures* figures) {
  const auto count = static_cast<uint32_t>(trace->deadlines.size());
  const Stopwatch fill;
  for (uint32_t id = 0; id < count; ++id) {
    contender->Schedule(id, trace->deadlines[id]);
  }
  figures->fill_ns = fill.Ns() / count;
  const size_t batch = std::min<size_t>(count / 2, 8192);
  size_t done = 0;
  for (; done < kChurn; done += batch) {
    trace->NextBatch(batch);
    const Stopwatch cancel;
    for (const uint32_t id : trace->batch) contender->Cancel(id);
    if constexpr (requires { contender->Settle(); }) contender->Settle();
    figures->cancel_ns += cancel.Ns();
    const Stopwatch schedule;
    for (size_t i = 0; i < batch; ++i) {
      contender->Schedule(trace->batch[i], trace->renewed[i]);
    }
    figures->schedule_ns += schedule.Ns();
  }
  figures->cancel_ns /= static_cast<double>(done);
  figures->schedule_ns /= static_cast<double>(done);
}

template <typename Contender, typename... Arguments>
Figures Measure(uint32_t count, Shape shape, Arguments... arguments) {
  Figures figures;
  Trace trace(count, shape);
  std::vector<uint32_t> fired;
  fired.reserve(count);
  const double before = LiveBytes();
  Contender contender(count, arguments...);
  const auto work = [&] { FillAndChurn(&contender, &trace, &figures); };
  if constexpr (requires { contender.Inside(kMinute, work); }) {
    contender.Inside(kMinute, work);
  } else {
    work();
  }
  figures.bytes = (LiveBytes() - before) / count;
  const auto fire = [&](uint32_t id) { fired.push_back(id); };
  const Stopwatch expire;
  contender.Advance(trace.last(), fire);
  figures.expire_ns = expire.Ns() / count;
  figures.checksum = trace.Checksum(fired);
  return figures;
}

void Report(benchmark::State& state, const Figures& figures) {
  if (figures.checksum == 0) state.SkipWithError("fired out of order");
  state.SetIterationTime(
      (figures.cancel_ns + figures.schedule_ns + figures.expire_ns) * 1e-9);
  state.counters["fill_ns"] = figures.fill_ns;
  state.counters["schedule_ns"] = figures.schedule_ns;
  state.counters["cancel_ns"] = figures.cancel_ns;
  state.counters["expire_ns"] = figures.expire_ns;
  state.counters["bytes"] = figures.bytes;
  state.counters["checksum"] = figures.checksum;
}

template <typename Contender, typename... Arguments>
void Register(const std::string& name, const std::vector<Shape>& shapes,
              Arguments... arguments) {
  for (const Shape shape : shapes) {
    for (const uint32_t count : {1'000u, 100'000u, 10'000'000u}) {
      if (shape == Shape::kFar && count != 100'000) continue;
      const std::string full = name + "/" +
                               kShapeNames[static_cast<int>(shape)] + "/" +
                               std::to_string(count);
      benchmark::RegisterBenchmark(
          full.c_str(),
          [=](benchmark::State& state) {
            for (auto _ : state) {
              Report(state, Measure<Contender>(count, shape, arguments...));
            }
          })
          ->UseManualTime()
          ->Iterations(1);
    }
  }
}

// One timer in an hour, and an Advance for every millisecond of it; or one
// Advance for the whole of it.
template <typename Wheel, typename... Arguments>
void RegisterEmptyHour(const std::string& name, Arguments... arguments) {
  for (const bool ticking : {true, false}) {
    const std::string full =
        "empty_hour/" + name + (ticking ? "/each_tick" : "/one_jump");
    benchmark::RegisterBenchmark(
        full.c_str(),
        [=](benchmark::State& state) {
          for (auto _ : state) {
            WheelContender<Wheel> contender(1, arguments...);
            contender.Schedule(0, kHour);
            uint32_t fired = 0;
            const auto fire = [&](uint32_t) { ++fired; };
            const Stopwatch hour;
            for (int64_t now = ticking ? 1 : kHour; now <= kHour; ++now) {
              contender.Advance(now, fire);
            }
            const double ns = hour.Ns();
            if (fired != 1) state.SkipWithError("it did not fire");
            state.SetIterationTime(ns * 1e-9);
            state.counters["hour_us"] = ns / 1000;
          }
        })
        ->UseManualTime()
        ->Iterations(3);
  }
}

void RegisterAll() {
  using enum Shape;
  const std::vector<Shape> near = {kUniform, kClustered};
  const std::vector<Shape> any = {kUniform, kClustered, kFar};
  Register<WheelContender<BoundedWheel<BenchEntry>>>("BoundedWheel", near,
                                                     65536);
  Register<WheelContender<OverflowListWheel<BenchEntry>>>("OverflowListWheel",
                                                          any, 4096);
  Register<WheelContender<HashedWheel<BenchEntry>>>("HashedWheel", any, 65536);
  Register<WheelContender<RoundWheel<BenchEntry>>>("RoundWheel", any, 4096);
  Register<WheelContender<ClockWheel<BenchEntry>>>("ClockWheel", near);
  Register<WheelContender<OverflowWheels<BenchEntry>>>("OverflowWheels", any,
                                                       64);
  Register<PriorityQueueContender>("std_priority_queue", any);
  Register<MultimapContender>("std_multimap", any);
  Register<AsioContender>("boost_asio", any);
  Register<LibeventContender>("libevent", near);

  RegisterEmptyHour<BoundedWheel<BenchEntry>>("BoundedWheel", 1 << 22);
  RegisterEmptyHour<OverflowListWheel<BenchEntry>>("OverflowListWheel", 4096);
  RegisterEmptyHour<HashedWheel<BenchEntry>>("HashedWheel", 4096);
  RegisterEmptyHour<RoundWheel<BenchEntry>>("RoundWheel", 4096);
  RegisterEmptyHour<OverflowWheels<BenchEntry>>("OverflowWheels", 64);
}

}  // namespace
}  // namespace hourglass::bench

int main(int argc, char** argv) {
  hourglass::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
