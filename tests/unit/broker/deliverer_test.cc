// Delivery to a host's own sink.
#include "broker/deliverer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A host's log: what it took is durable, and it drops what it has by key.
class HostLog : public DeliverySink {
 public:
  absl::Status Deliver(absl::Span<const DueMessage> batch) override {
    ++calls;
    if (refuse > 0) {
      --refuse;
      return absl::UnavailableError("not now");
    }
    for (const DueMessage& due : batch) {
      const std::string body(due.message.body);
      const auto [at, added] = bodies.emplace(due.key, body);
      if (added) order.push_back(body);
      EXPECT_EQ(at->second, body) << "one key, two messages";
      if (!added) ++repeated;
    }
    return absl::OkStatus();
  }
  int64_t retry_ms() const override { return 100; }

  int calls = 0;
  int refuse = 0;
  int repeated = 0;
  std::map<MessageKey, std::string> bodies;
  std::vector<std::string> order;
};

class DelivererTest : public testing::Test {
 protected:
  TestStore box_;
  HostLog host_;
};

TEST_F(DelivererTest, GivesTheHostItsMessages) {
  box_.Open(&host_);
  const Handle handle = box_.Put("a", box_.InMs(500));
  box_.Put("b", box_.InMs(400));
  box_.Advance(1000);
  EXPECT_THAT(host_.order, ElementsAre("b", "a"));
  EXPECT_TRUE(host_.bodies.contains({handle.hour, handle.number}));
  EXPECT_EQ(box_.store->Stats().pending_messages, 0u);
  EXPECT_EQ(box_.Cancel(handle), CancelAnswer::kAlreadyDelivered);
}

TEST_F(DelivererTest, KeepsABatchThatIsRefusedAndItsOrder) {
  box_.Open(&host_);
  host_.refuse = 3;
  box_.Put("a", box_.InMs(10));
  box_.Advance(10);
  EXPECT_EQ(host_.calls, 1);
  EXPECT_LE(box_.store->NextStepMs(), box_.InMs(100));
  box_.Put("b", box_.InMs(10));
  box_.Advance(90);
  EXPECT_EQ(host_.calls, 1);
  box_.Advance(10);
  EXPECT_EQ(host_.calls, 2);
  EXPECT_THAT(host_.order, IsEmpty());
  box_.Advance(2000);
  EXPECT_THAT(host_.order, ElementsAre("a", "b"));
  EXPECT_EQ(host_.repeated, 0);
}

TEST_F(DelivererTest, AMessageTheHostHasNotTakenIsStillThereAfterACrash) {
  box_.Open(&host_);
  host_.refuse = 1000;
  box_.Put("a", box_.InMs(10));
  box_.Advance(50);
  box_.Crash(0);
  host_.refuse = 0;
  box_.Open(&host_);
  box_.Advance(50);
  EXPECT_THAT(host_.order, ElementsAre("a"));
}

TEST_F(DelivererTest, ABatchRepeatedAfterACrashCarriesTheSameKeys) {
  for (int n = 1; n <= 8; ++n) {
    SCOPED_TRACE(testing::Message() << "write " << n);
    TestStore box;
    HostLog host;
    box.Open(&host);
    for (int i = 0; i < 5; ++i) {
      box.Put(std::to_string(i), box.InMs(500 + i / 2));
    }
    box.fs->FailAfter(MemoryOp::kSync, n, absl::DataLossError("bad"), true);
    box.Advance(2000);
    box.Crash(0, static_cast<uint64_t>(n));
    box.Open(&host);
    box.Advance(2000);
    EXPECT_THAT(host.order, ElementsAre("0", "1", "2", "3", "4"));
    if (n == 1) {
      EXPECT_EQ(host.repeated, 5);
    }
    // All is marked: it does not come a third time.
    const int repeated = host.repeated;
    box.Crash(0);
    box.Open(&host);
    box.Advance(2000);
    EXPECT_EQ(host.repeated, repeated);
  }
}

TEST_F(DelivererTest, ACancelledMessageNeverReachesTheHost) {
  box_.Open(&host_);
  const Handle handle = box_.Put("a", box_.InMs(500));
  EXPECT_EQ(box_.Cancel(handle), CancelAnswer::kCancelled);
  box_.Advance(1000);
  EXPECT_THAT(host_.order, IsEmpty());
}

}  // namespace
}  // namespace hourglass
