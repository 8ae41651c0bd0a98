#include "broker/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

class WriterTest : public testing::Test {
 protected:
  TestStore box_;
};

TEST_F(WriterTest, ManyPutsShareOneSync) {
  box_.Open();
  box_.Put("first", kDueNow);
  const uint64_t syncs = box_.fs->syncs();
  const uint64_t groups = box_.store->Stats().groups;
  const std::vector<MessageView> messages(50, TestStore::View("x", kDueNow));
  for (const auto& put : box_.store->PutMany(messages)) EXPECT_TRUE(put.ok());
  EXPECT_EQ(box_.fs->syncs(), syncs + 1);
  EXPECT_EQ(box_.store->Stats().groups, groups + 1);
}

TEST_F(WriterTest, NothingIsAnsweredOrReadableBeforeTheSync) {
  box_.Open();
  bool answered = false;
  box_.store->PutAsync(TestStore::View("x", kDueNow),
                       [&](const absl::StatusOr<PutResult>& result) {
                         EXPECT_TRUE(result.ok()) << result.status();
                         answered = true;
                       });
  EXPECT_FALSE(answered);
  EXPECT_TRUE(box_.Ready().empty());
  box_.Step();
  EXPECT_TRUE(answered);
  EXPECT_EQ(box_.Ready().size(), 1u);
}

TEST_F(WriterTest, CountsWhatItWrote) {
  box_.Open();
  const StoreStats before = box_.store->Stats();
  box_.Put("hello", box_.InMs(100));
  box_.Advance(150);
  const StoreStats after = box_.store->Stats();
  EXPECT_EQ(after.put_messages, before.put_messages + 1);
  EXPECT_EQ(after.delivered_messages, before.delivered_messages + 1);
  EXPECT_EQ(after.at_once_messages, before.at_once_messages);
  EXPECT_GT(after.log_bytes_written, before.log_bytes_written);
  EXPECT_EQ(after.log_end, after.log_durable);
  EXPECT_EQ(after.lateness_us.count(), 1u);
}

TEST_F(WriterTest, CountsWhatWasReadyAtOnceApartFromWhatWasDelivered) {
  box_.Open();
  box_.Put("now", kDueNow);
  box_.Put("past", box_.InMs(-5));
  const StoreStats stats = box_.store->Stats();
  EXPECT_EQ(stats.put_messages, 2u);
  EXPECT_EQ(stats.at_once_messages, 2u);
  EXPECT_EQ(stats.delivered_messages, 0u);
}

TEST_F(WriterTest, AReadyVersionGrowsWithReadyMessagesOnly) {
  box_.Open();
  const uint64_t version = box_.store->ReadyVersion();
  box_.Put("later", box_.InMs(60'000));
  EXPECT_EQ(box_.store->ReadyVersion(), version);
  box_.Put("now", kDueNow);
  EXPECT_GT(box_.store->ReadyVersion(), version);
}

}  // namespace
}  // namespace hourglass
