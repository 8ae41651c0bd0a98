// What the random stories of tests/model found, each told once and short:
// clocks that were stepped back, hours that are long gone, and bounds.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/hour_format.h"
#include "storage/message_codec.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

constexpr Hour kHour{498'675};

class DelayStoreBoundsTest : public ::testing::Test {
 protected:
  DelayStoreBoundsTest() : clock_(StartMs(kHour)), fs_(&clock_) {
    options_.threads = false;
    options_.clock = &clock_;
    options_.file_system = &fs_;
    options_.disk_reserve_bytes = 0;
    options_.log_segment_bytes = 64u << 10;
    options_.body_bytes_max = 1024;
    options_.properties_bytes_max = 1024;
    options_.batch_bytes_max = 16u << 10;
  }

  void Open() {
    auto store = DelayStore::Open("/store", options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  Handle Put(int64_t due_ms, const std::string& body = "x",
             const std::string& topic = "t") {
    MessageView message;
    message.topic = topic;
    message.body = body;
    message.due_ms = due_ms;
    const auto put = store_->Put(message);
    EXPECT_TRUE(put.ok()) << put.status();
    return put.ok() ? put->handle : Handle();
  }

  void Pass(int64_t ms) {
    clock_.AdvanceMs(ms);
    store_->Step();
  }
  // Each put is a change, so that there is something to write down.
  void Checkpoints(int count) {
    for (int i = 0; i < count; ++i) {
      Put(kDueNow);
      Pass(options_.checkpoint_interval_ms);
    }
  }
  int64_t now_ms() { return clock_.NowMs(); }
  size_t HourFiles() { return fs_.List("/store/hours")->size(); }

  VirtualClock clock_;
  MemoryFileSystem fs_;
  StoreOptions options_;
  std::unique_ptr<DelayStore> store_;
};

TEST_F(DelayStoreBoundsTest, ForecastCountsOnlyThePendingOfAnHourMadeAnew) {
  Open();
  Put(now_ms() + 1000, std::string(500, 'a'));
  Pass(kMsPerHour);
  Checkpoints(3);
  ASSERT_EQ(HourFiles(), 0u);
  clock_.StepMs(-kMsPerHour);
  Put(StartMs(kHour) + 3'000'000, "b");
  const auto page = store_->Pending({});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->messages.size(), 1u);
  const auto forecast = store_->GetForecast(kHour);
  ASSERT_TRUE(forecast.ok());
  ASSERT_EQ(forecast->hours.size(), 1u);
  EXPECT_EQ(forecast->hours[0].messages, 1u);
  EXPECT_EQ(
      forecast->hours[0].bytes,
      kFrameHeaderBytes + EncodedMessageSize(page->messages[0].message.View()));
  EXPECT_EQ(store_->Stats().pending_bytes, forecast->hours[0].bytes);
}

TEST_F(DelayStoreBoundsTest, FirstReadyCanBeReadAfterRetention) {
  options_.retention_bytes = 128u << 10;
  Open();
  for (int i = 0; i < 400; ++i) {
    Put(kDueNow, std::string(900, 'a'));
    Pass(100);
  }
  const QueueIndex first = store_->FirstReady("t");
  EXPECT_GT(first, QueueIndex(0));
  const auto read = store_->ReadReady("t", first, 1, 1u << 20);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), 1u);
  const auto gone = store_->ReadReady("t", first - 1, 1, 1u << 20);
  EXPECT_TRUE(absl::IsOutOfRange(gone.status())) << gone.status();
}

TEST_F(DelayStoreBoundsTest, AHandleOfAForgottenHourIsAlreadyDelivered) {
  Open();
  const Handle handle = Put(now_ms() + 1000);
  Pass(1000);
  for (int64_t days = 0; days < 368; days += 46) {
    Pass(46 * 24 * kMsPerHour);
    Checkpoints(3);
  }
  EXPECT_EQ(*store_->Cancel(handle), CancelAnswer::kAlreadyDelivered);
  EXPECT_EQ(store_->DeliverNow(handle)->answer,
            CancelAnswer::kAlreadyDelivered);
  Handle forged = handle;
  forged.number += 1;
  EXPECT_EQ(*store_->Cancel(forged), CancelAnswer::kNeverExisted);
}

TEST_F(DelayStoreBoundsTest, NumbersGoOnAfterAClockStepOfDays) {
  Open();
  const Handle first = Put(now_ms() + 1000);
  Pass(100 * kMsPerHour);
  Checkpoints(4);
  clock_.StepMs(StartMs(kHour) - now_ms());
  const Handle second = Put(StartMs(kHour) + 2000);
  EXPECT_EQ(second.hour, first.hour);
  EXPECT_GT(second.number, first.number);
}

TEST_F(DelayStoreBoundsTest, ACancelledLateMessageLetsItsHourGo) {
  Open();
  Pass(kMsPerHour);
  clock_.StepMs(-kMsPerHour);
  const Handle late = Put(StartMs(kHour) + 3'000'000);
  ASSERT_EQ(store_->Stats().window_entries, 1u);
  ASSERT_EQ(*store_->Cancel(late), CancelAnswer::kCancelled);
  EXPECT_EQ(store_->Stats().window_entries, 0u);
  Checkpoints(3);
  EXPECT_EQ(HourFiles(), 0u);
}

TEST_F(DelayStoreBoundsTest, OverdueOfManyHoursKeepsFewSegmentsOpen) {
  options_.open_segments_max = 4;
  options_.checkpoint_interval_ms = 1'000'000'000;
  Open();
  for (int hour = 1; hour <= 40; ++hour) {
    Put(StartMs(kHour + hour));
  }
  Pass(50 * kMsPerHour);
  EXPECT_EQ(store_->Stats().pending_messages, 0u);
  Put(StartMs(kHour + 100));
  EXPECT_LE(store_->Stats().open_segments, 4u + 4u);
}

TEST_F(DelayStoreBoundsTest, LateMessagesFillNoMoreThanAGroup) {
  Open();
  Pass(kMsPerHour);
  clock_.StepMs(-kMsPerHour);
  for (int i = 0; i < 100; ++i) {
    Put(StartMs(kHour) + 1000, std::string(1000, 'a'));
  }
  Pass(1000);
  EXPECT_EQ(store_->Stats().pending_messages, 0u);
  EXPECT_EQ(store_->ReadReady("t", QueueIndex(), 1000, 1u << 20)->size(), 100u);
}

TEST_F(DelayStoreBoundsTest, ABatchOfTinyMessagesFillsNoMoreThanAGroup) {
  options_.batch_bytes_max = 58'880;
  ASSERT_TRUE(options_.Validate().ok());
  Open();
  std::vector<MessageView> messages(3000);
  std::vector<std::string> ids(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    ids[i] = std::to_string(i);
    messages[i].topic = "t";
    messages[i].id = ids[i];
    messages[i].due_ms = now_ms() + 1000;
  }
  for (const auto& put : store_->PutMany(messages)) ASSERT_TRUE(put.ok());
  Pass(1000);
  EXPECT_EQ(store_->Stats().pending_messages, 0u);
}

TEST_F(DelayStoreBoundsTest, ACancelThatCannotBeJudgedIsNoAnswer) {
  Open();
  const Handle handle = Put(now_ms() + 1000);
  fs_.FailAfter(MemoryOp::kRead, 1, absl::UnavailableError("no"), true);
  EXPECT_FALSE(store_->Cancel(handle).ok());
  fs_.ClearFaults();
  EXPECT_EQ(*store_->Cancel(handle), CancelAnswer::kCancelled);
}

}  // namespace
}  // namespace hourglass
