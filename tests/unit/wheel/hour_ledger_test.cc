#include "wheel/hour_ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "storage/random.h"

namespace hourglass {
namespace {

TEST(NumberSetTest, IsASet) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    NumberSet numbers;
    std::set<uint32_t> model;
    for (int i = 0; i < 4000; ++i) {
      const auto value = static_cast<uint32_t>(random.Uniform(5000));
      ASSERT_EQ(numbers.Contains(RecordNumber(value)), model.contains(value));
      ASSERT_EQ(numbers.Insert(RecordNumber(value)),
                model.insert(value).second);
    }
    // One bit each, and the room it grows into.
    EXPECT_LE(numbers.bytes(), 5000u / 8 * 2);
  }
}

TEST(HourLedgerTest, AMessageIsClaimedOnce) {
  HourLedger ledger;
  EXPECT_TRUE(ledger.Claim(Hour(3), RecordNumber(9)));
  EXPECT_FALSE(ledger.Claim(Hour(3), RecordNumber(9)));
  EXPECT_TRUE(ledger.IsClaimed(Hour(3), RecordNumber(9)));
  EXPECT_FALSE(ledger.IsClaimed(Hour(4), RecordNumber(9)));
  EXPECT_TRUE(ledger.Claim(Hour(4), RecordNumber(9)));
}

TEST(HourLedgerTest, ACancelledMessageIsNotClaimed) {
  HourLedger ledger;
  ledger.At(Hour(3)).cancelled.Insert(RecordNumber(9));
  EXPECT_TRUE(ledger.IsCancelled(Hour(3), RecordNumber(9)));
  EXPECT_FALSE(ledger.Claim(Hour(3), RecordNumber(9)));
  EXPECT_FALSE(ledger.IsClaimed(Hour(3), RecordNumber(9)));
}

TEST(HourLedgerTest, EraseForgetsAnHour) {
  HourLedger ledger;
  ledger.Claim(Hour(3), RecordNumber(9));
  ledger.Erase(Hour(3));
  EXPECT_EQ(ledger.Find(Hour(3)), nullptr);
  EXPECT_EQ(ledger.bytes(), 0u);
}

TEST(HourLedgerTest, ShrinkDropsTheFarthestCancelledBits) {
  HourLedger ledger;
  for (int hour = 0; hour < 10; ++hour) {
    ledger.At(Hour(hour)).cancelled.Insert(RecordNumber(10'000));
    ledger.At(Hour(hour)).cancelled_complete = true;
  }
  const size_t one = ledger.bytes() / 10;
  ledger.Shrink(Hour(4), 6 * one);
  for (int hour = 0; hour < 6; ++hour) {
    EXPECT_TRUE(ledger.IsCancelled(Hour(hour), RecordNumber(10'000))) << hour;
  }
  for (int hour = 6; hour < 10; ++hour) {
    EXPECT_EQ(ledger.Find(Hour(hour)), nullptr) << hour;
  }
  // Nothing before `from` is dropped, however little is allowed.
  ledger.Shrink(Hour(4), 0);
  EXPECT_EQ(ledger.bytes(), 4 * one);
}

TEST(HourLedgerTest, ShrinkNeverForgetsAClaim) {
  HourLedger ledger;
  ledger.At(Hour(9)).cancelled.Insert(RecordNumber(10'000));
  ledger.At(Hour(9)).cancelled_complete = true;
  ledger.Claim(Hour(9), RecordNumber(5));
  ledger.Shrink(Hour(0), 0);
  EXPECT_TRUE(ledger.IsClaimed(Hour(9), RecordNumber(5)));
  ASSERT_NE(ledger.Find(Hour(9)), nullptr);
  EXPECT_FALSE(ledger.Find(Hour(9))->cancelled_complete);
}

}  // namespace
}  // namespace hourglass
