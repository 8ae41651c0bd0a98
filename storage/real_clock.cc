// The machine's clock: the only place of Hourglass that asks for the time.
#include <chrono>

#include "hourglass/clock.h"

namespace hourglass {
namespace {

class MachineClock final : public Clock {
 public:
  int64_t NowMs() override {
    return Count<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  int64_t MonotonicNs() override {
    return Count<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
  }

 private:
  template <typename Unit, typename Point>
  static int64_t Count(Point now) {
    return std::chrono::floor<Unit>(now.time_since_epoch()).count();
  }
};

}  // namespace

Clock* RealClock() {
  // Never destroyed: threads may still read the time while statics go.
  static MachineClock* const clock = new MachineClock();
  return clock;
}

}  // namespace hourglass
