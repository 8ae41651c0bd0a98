// File: tick.h
//
// Time as a timing wheel counts it: whole ticks from a start that the host
// chooses. What a tick is (a millisecond, a second) is the host's affair, and
// `TickScale` is the one place where time becomes ticks:
//
//   TickScale scale(/*tick_ns=*/1'000'000);
//   Tick deadline = scale.DeadlineAt(now_ns + 2'500'000);  // rounded up
//   Tick now = scale.NowAt(now_ns);                        // rounded down
//
// A deadline is rounded up and the time is rounded down, so that nothing
// fires early; what is due exactly at a tick fires when the hand enters it.
//
// Limitations: ticks are not negative. A deadline past the last tick there is
// means the last tick.
//
// Serves promise 3: never early begins with how time is rounded.
#ifndef HOURGLASS_TIMERS_TICK_H_
#define HOURGLASS_TIMERS_TICK_H_

#include <cstdint>

#include "hourglass/types.h"

namespace hourglass {

using Tick = StrongInt<struct TickTag, int64_t>;

class TickScale {
 public:
  constexpr explicit TickScale(int64_t tick_ns) : tick_ns_(tick_ns) {}

  constexpr int64_t tick_ns() const { return tick_ns_; }
  constexpr Tick NowAt(int64_t ns) const { return Tick(ns / tick_ns_); }
  constexpr Tick DeadlineAt(int64_t ns) const {
    return Tick(ns / tick_ns_ + (ns % tick_ns_ > 0 ? 1 : 0));
  }
  // How long from `now_ns` until `tick` begins: 0 if it has begun, and at
  // most `ns_max`.
  constexpr int64_t NsUntil(Tick tick, int64_t now_ns, int64_t ns_max) const {
    const int64_t ticks = tick - NowAt(now_ns);
    if (ticks <= 0) return 0;
    if (ticks > ns_max / tick_ns_) return ns_max;
    return ticks * tick_ns_ - now_ns % tick_ns_;
  }

 private:
  int64_t tick_ns_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_TICK_H_
