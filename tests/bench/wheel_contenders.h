// File: wheel_contenders.h
//
// One face for everything that tests/bench/wheels_bench.cc compares: our
// wheels, the containers people use instead, and the timers of Boost.Asio and
// libevent. Each holds timers 0..n-1, is given deadlines in ticks, and calls
// back with the number of a timer that is due.
//
// Time is the benchmark's: a virtual clock for Asio; for libevent, whose
// clock cannot be replaced, one tick is a microsecond, timers are added from
// inside its loop (where its time stands still), and Advance waits until the
// last one is due, outside of the measurement.
#ifndef HOURGLASS_TESTS_BENCH_WHEEL_CONTENDERS_H_
#define HOURGLASS_TESTS_BENCH_WHEEL_CONTENDERS_H_

#include <event2/event.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "hourglass/timers/timer_wheel.h"

namespace hourglass::bench {

struct alignas(64) BenchEntry : TimerEntry {
  uint32_t id = 0;
};

template <typename Wheel>
class WheelContender {
 public:
  template <typename... Arguments>
  explicit WheelContender(uint32_t count, Arguments... arguments)
      : entries_(count), wheel_(arguments...) {
    for (uint32_t i = 0; i < count; ++i) entries_[i].id = i;
  }
  void Schedule(uint32_t id, int64_t deadline) {
    wheel_.Schedule(&entries_[id], Tick(deadline));
  }
  void Cancel(uint32_t id) { wheel_.Cancel(&entries_[id]); }
  template <typename Fire>
  void Advance(int64_t to, Fire&& fire) {
    wheel_.Advance(Tick(to), kNoLimit,
                   [&](const BenchEntry& entry) { fire(entry.id); });
  }
  Wheel& wheel() { return wheel_; }

 private:
  std::vector<BenchEntry> entries_;
  Wheel wheel_;
};

// The usual heap: a cancelled timer stays in it until it comes to the top,
// and a number of its use tells the stale from the live.
class PriorityQueueContender {
 public:
  explicit PriorityQueueContender(uint32_t count) : uses_(count) {}
  void Schedule(uint32_t id, int64_t deadline) {
    queue_.push({deadline, id, ++uses_[id]});
  }
  void Cancel(uint32_t id) { ++uses_[id]; }
  template <typename Fire>
  void Advance(int64_t to, Fire&& fire) {
    while (!queue_.empty() && queue_.top().deadline <= to) {
      const Item item = queue_.top();
      queue_.pop();
      if (uses_[item.id] == item.use) fire(item.id);
    }
  }

 private:
  struct Item {
    int64_t deadline;
    uint32_t id, use;
    bool operator<(const Item& other) const {
      return deadline > other.deadline;
    }
  };
  std::priority_queue<Item> queue_;
  std::vector<uint32_t> uses_;
};

class MultimapContender {
 public:
  explicit MultimapContender(uint32_t count) : places_(count) {}
  void Schedule(uint32_t id, int64_t deadline) {
    places_[id] = map_.emplace(deadline, id);
  }
  void Cancel(uint32_t id) { map_.erase(places_[id]); }
  template <typename Fire>
  void Advance(int64_t to, Fire&& fire) {
    while (!map_.empty() && map_.begin()->first <= to) {
      const uint32_t id = map_.begin()->second;
      map_.erase(map_.begin());
      fire(id);
    }
  }

 private:
  using Map = std::multimap<int64_t, uint32_t>;
  Map map_;
  std::vector<Map::iterator> places_;
};

struct TraceClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TraceClock>;
  static constexpr bool is_steady = false;
  static inline int64_t now_ms = 0;
  static time_point now() { return time_point(duration(now_ms)); }
};

class AsioContender {
 public:
  explicit AsioContender(uint32_t count) {
    TraceClock::now_ms = 0;
    timers_.reserve(count);
    for (uint32_t i = 0; i < count; ++i) timers_.emplace_back(context_);
  }
  void Schedule(uint32_t id, int64_t deadline) {
    timers_[id].expires_at(
        TraceClock::time_point(std::chrono::milliseconds(deadline)));
    timers_[id].async_wait([this, id](boost::system::error_code error) {
      if (!error) fired_(id);
    });
  }
  // The handler of a cancelled timer still has to run.
  void Cancel(uint32_t id) { timers_[id].cancel(); }
  template <typename Fire>
  void Advance(int64_t to, Fire&& fire) {
    TraceClock::now_ms = to;
    fired_ = std::ref(fire);
    // Asio looks at its timers when a timer of the kernel says so, and that
    // one knows nothing of our clock: a timer in the past makes it go off.
    kick_.expires_at(TraceClock::time_point(std::chrono::milliseconds(-1)));
    kick_.async_wait([](boost::system::error_code) {});
    Settle();
  }
  // As an application's loop does between two batches of work.
  void Settle() {
    context_.restart();
    context_.poll();
  }

 private:
  boost::asio::io_context context_{1};
  using Timer = boost::asio::basic_waitable_timer<TraceClock>;
  Timer kick_{context_};
  std::vector<Timer> timers_;
  std::function<void(uint32_t)> fired_;
};

class LibeventContender {
 public:
  explicit LibeventContender(uint32_t count) : base_(event_base_new()) {
    timers_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      timers_[i] = {this, nullptr, i};
      timers_[i].event =
          evtimer_new(base_, &LibeventContender::OnTimer, &timers_[i]);
    }
  }
  ~LibeventContender() {
    for (Timer& timer : timers_) event_free(timer.event);
    event_base_free(base_);
  }
  LibeventContender(const LibeventContender&) = delete;
  LibeventContender& operator=(const LibeventContender&) = delete;

  // Runs `work` where libevent's own time stands still, and comes back when
  // all timers are due.
  template <typename Work>
  void Inside(int64_t last_deadline, Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    std::function<void()> function = std::ref(work);
    event_base_once(
        base_, -1, EV_TIMEOUT,
        [](evutil_socket_t, short, void* argument) {
          (*static_cast<std::function<void()>*>(argument))();
        },
        &function, nullptr);
    event_base_loop(base_, EVLOOP_ONCE);
    while (std::chrono::steady_clock::now() - start <
           std::chrono::microseconds(last_deadline + 10'000)) {
    }
  }
  void Schedule(uint32_t id, int64_t deadline) {
    const timeval timeout = {deadline / 1'000'000, deadline % 1'000'000};
    event_add(timers_[id].event, &timeout);
  }
  void Cancel(uint32_t id) { event_del(timers_[id].event); }
  template <typename Fire>
  void Advance(int64_t, Fire&& fire) {
    fired_ = std::ref(fire);
    event_base_loop(base_, EVLOOP_NONBLOCK);
  }

 private:
  struct Timer {
    LibeventContender* owner;
    struct event* event;
    uint32_t id;
  };
  static void OnTimer(evutil_socket_t, short, void* argument) {
    auto* const timer = static_cast<Timer*>(argument);
    timer->owner->fired_(timer->id);
  }

  event_base* base_;
  std::vector<Timer> timers_;
  std::function<void(uint32_t)> fired_;
};

}  // namespace hourglass::bench

#endif  // HOURGLASS_TESTS_BENCH_WHEEL_CONTENDERS_H_
