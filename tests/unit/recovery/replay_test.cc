// What recovery reads from the log, seen from the outside: after any crash
// the store goes on as if nothing had happened.
#include "recovery/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "storage/random.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReplayTest : public testing::Test {
 protected:
  void CrashAndOpen(int keep_percent = 0) {
    box_.Crash(keep_percent);
    box_.Open();
  }

  TestStore box_;
};

TEST_F(ReplayTest, AppliesWhatCameAfterTheCheckpoint) {
  box_.Open();
  box_.Put("before", box_.InMs(5000));
  box_.Advance(1000);
  ASSERT_GE(box_.store->Stats().checkpoints, 1u);
  box_.Put("after", box_.InMs(5000));
  CrashAndOpen();
  EXPECT_EQ(box_.store->Stats().pending_messages, 2u);
  EXPECT_GE(box_.store->Stats().recovered_records, 1u);
  box_.Advance(6000);
  EXPECT_THAT(box_.Ready(), ElementsAre("before", "after"));
}

TEST_F(ReplayTest, RecordNumbersAndHandlesAreTheSameAgain) {
  box_.Open();
  const Handle a = box_.Put("a", box_.InMs(60'000));
  const Handle b = box_.Put("b", box_.InMs(60'000));
  box_.Cancel(a);
  CrashAndOpen();
  EXPECT_EQ(box_.Cancel(a), CancelAnswer::kCancelled);
  const Handle c = box_.Put("c", box_.InMs(60'000));
  EXPECT_EQ(c.number.value(), b.number.value() + 2);  // one tombstone
  EXPECT_EQ(box_.Cancel(b), CancelAnswer::kCancelled);
  box_.Advance(61'000);
  EXPECT_THAT(box_.Ready(), ElementsAre("c"));
}

TEST_F(ReplayTest, WhatWasDeliveredInTheCursorsSecondIsNotDeliveredAgain) {
  box_.Open();
  box_.Advance(100);
  box_.Put("early in the second", box_.InMs(100));
  box_.Put("late in the second", box_.InMs(700));
  box_.Advance(300);
  ASSERT_THAT(box_.Ready(), ElementsAre("early in the second"));
  for (int i = 0; i < 3; ++i) CrashAndOpen();
  EXPECT_THAT(box_.Ready(), ElementsAre("early in the second"));
  box_.Advance(1000);
  EXPECT_THAT(box_.Ready(),
              ElementsAre("early in the second", "late in the second"));
}

TEST_F(ReplayTest, TellsOfATornTailOnceItIsCut) {
  box_.Open();
  box_.Put("acked", kDueNow);
  box_.fs->FailAfter(MemoryOp::kSync, 1, absl::DataLossError("unplugged"),
                     true);
  EXPECT_FALSE(box_.TryPut(std::string(20'000, 'x'), kDueNow).ok());
  box_.Crash(40, 11);
  box_.Open();
  const size_t ready = box_.Ready().size();
  EXPECT_GE(ready, 1u);
  EXPECT_EQ(box_.Ready()[0], "acked");
  CrashAndOpen();
  EXPECT_THAT(box_.store->Stats().notices, IsEmpty());
  EXPECT_EQ(box_.Ready().size(), ready);
}

TEST_F(ReplayTest, OverdueAfterDowntimeComesInOrderAndOnce) {
  box_.Open();
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(std::to_string(i));
    box_.Put(expected.back(), box_.InMs(10'000 + i * 60'000));
  }
  box_.Crash(0);
  box_.clock.AdvanceMs(2 * kMsPerHour);
  box_.Open();
  box_.Step();
  CrashAndOpen();
  box_.Advance(1000);
  EXPECT_EQ(box_.Ready(), expected);
}

// Random work with a crash every now and then.
TEST_F(ReplayTest, ExactlyOnceThroughManyCrashes) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    TestStore box;
    box.options.checkpoint_interval_ms = 300 + 500 * (seed % 4);
    box.options.preload_bytes_max = seed % 2 == 0 ? 4096 : 64u << 20;
    box.Open();
    std::multiset<std::string> expected;
    std::vector<std::pair<std::string, Handle>> handles;
    for (int i = 0; i < 400; ++i) {
      const uint64_t what = random.Uniform(20);
      if (what < 10) {
        const std::string body = std::to_string(i);
        const int64_t ahead = static_cast<int64_t>(
            random.Uniform(random.Uniform(2) == 0 ? 2000 : 2 * kMsPerHour));
        handles.emplace_back(body, box.Put(body, box.InMs(ahead)));
        expected.insert(body);
      } else if (what < 12 && !handles.empty()) {
        const auto& [body, handle] = handles[random.Uniform(handles.size())];
        if (!handle.IsNone() && expected.contains(body)) {
          if (box.Cancel(handle) == CancelAnswer::kCancelled) {
            expected.erase(body);
          }
        }
      } else if (what < 18) {
        box.Advance(static_cast<int64_t>(
            random.Uniform(random.Uniform(10) == 0 ? 600'000 : 700)));
      } else if (what == 18) {
        box.clock.StepMs(static_cast<int64_t>(random.Uniform(20'000)) - 10'000);
      } else {
        box.Crash(static_cast<int>(random.Uniform(3)) * 50, random.Next());
        box.Open();
        if (HasFatalFailure()) return;
      }
    }
    box.Advance(20'000);
    for (int i = 0; i < 4; ++i) {
      box.clock.AdvanceMs(kMsPerHour);
      box.Advance(1000);
    }
    const auto ready = box.Ready();
    ASSERT_EQ(std::multiset<std::string>(ready.begin(), ready.end()), expected);
    EXPECT_EQ(box.store->Stats().pending_messages, 0u);
  }
}

}  // namespace
}  // namespace hourglass
