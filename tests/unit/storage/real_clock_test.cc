#include <gtest/gtest.h>

#include "hourglass/clock.h"

namespace hourglass {
namespace {

TEST(RealClock, TellsTheYear) {
  constexpr int64_t kYear2024Ms = 1'704'067'200'000;
  constexpr int64_t kYear2200Ms = 7'258'118'400'000;
  EXPECT_GT(RealClock()->NowMs(), kYear2024Ms);
  EXPECT_LT(RealClock()->NowMs(), kYear2200Ms);
}

TEST(RealClock, MonotonicMovesInNanoseconds) {
  const int64_t start_ns = RealClock()->MonotonicNs();
  const int64_t start_ms = RealClock()->NowMs();
  int64_t now_ns = start_ns;
  // Waits for 20 ms by the one clock and looks at the other.
  while (now_ns - start_ns < 20'000'000) {
    const int64_t next_ns = RealClock()->MonotonicNs();
    ASSERT_GE(next_ns, now_ns);
    now_ns = next_ns;
  }
  const int64_t waited_ms = RealClock()->NowMs() - start_ms;
  EXPECT_GE(waited_ms, 19);
  EXPECT_LT(waited_ms, 10'000);  // wide: the machine may be busy
}

TEST(RealClock, IsOne) { EXPECT_EQ(RealClock(), RealClock()); }

TEST(VirtualClock, MovesOnlyWhenTold) {
  VirtualClock clock(1000);
  EXPECT_EQ(clock.NowMs(), 1000);
  clock.AdvanceMs(5);
  EXPECT_EQ(clock.NowMs(), 1005);
  EXPECT_EQ(clock.MonotonicNs(), 5'000'000);
  clock.StepMs(-500);
  EXPECT_EQ(clock.NowMs(), 505);
  EXPECT_EQ(clock.MonotonicNs(), 5'000'000);
}

}  // namespace
}  // namespace hourglass
