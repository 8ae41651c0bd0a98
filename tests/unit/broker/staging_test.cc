#include "broker/staging.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hourglass {
namespace {

Op OpOf(std::string_view payload, int64_t mark = 0) {
  Op op;
  op.payload_bytes = static_cast<uint32_t>(payload.size());
  op.due_ms = mark;
  return op;
}

TEST(StagingTest, GivesOpsWithTheirPayloads) {
  Staging staging(1u << 20);
  EXPECT_TRUE(staging.Push(OpOf("one"), "one"));
  EXPECT_TRUE(staging.Push(OpOf("three"), "three"));
  std::deque<OpBatch> batches;
  EXPECT_TRUE(staging.Drain(&batches));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].bytes, "onethree");
  ASSERT_EQ(batches[0].ops.size(), 2u);
  EXPECT_EQ(batches[0].ops[1].payload_bytes, 5u);
  EXPECT_FALSE(staging.Drain(&batches));
}

TEST(StagingTest, RefusesBeyondTheBoundAndLeavesTheOpAlone) {
  Staging staging(Staging::CountedBytes(OpOf("12345")) * 2);
  bool told = false;
  Op op = OpOf("12345");
  op.done = [&](const OpResult&) { told = true; };
  EXPECT_TRUE(staging.Push(OpOf("12345"), "12345"));
  EXPECT_TRUE(staging.Push(OpOf("12345"), "12345"));
  EXPECT_FALSE(staging.Push(std::move(op), "12345"));
  op.Fail(absl::UnavailableError(""));  // NOLINT: untouched when refused
  EXPECT_TRUE(told);
  // Drained is not durable: only Release makes room.
  std::deque<OpBatch> batches;
  staging.Drain(&batches);
  EXPECT_FALSE(staging.Push(OpOf("12345"), "12345"));
  staging.Release(Staging::CountedBytes(OpOf("12345")));
  EXPECT_TRUE(staging.Push(OpOf("12345"), "12345"));
}

TEST(StagingTest, InternalOpsAreAlwaysLetIn) {
  Staging staging(0);
  EXPECT_FALSE(staging.Push(OpOf(""), ""));
  EXPECT_TRUE(staging.Push(OpOf(""), "", /*always=*/true));
  EXPECT_GT(staging.bytes(), 0u);
}

TEST(StagingTest, AFloodIsCutIntoBatchesOfOneSize) {
  Staging staging(1u << 30);
  const std::string payload(1000, 'x');
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(staging.Push(OpOf(payload), payload));
  }
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(staging.Push(OpOf(""), ""));
  std::deque<OpBatch> batches;
  ASSERT_TRUE(staging.Drain(&batches));
  size_t ops = 0;
  for (OpBatch& batch : batches) {
    EXPECT_FALSE(batch.ops.empty());
    EXPECT_LE(batch.ops.size(), OpBatch::kOpsMax);
    EXPECT_LE(batch.bytes.size(), OpBatch::kBytesMax);
    ops += batch.ops.size();
    staging.Recycle(std::move(batch));
  }
  EXPECT_EQ(ops, 4000u);
}

TEST(StagingTest, APayloadLargerThanABatchIsTaken) {
  Staging staging(1u << 30);
  const std::string large(OpBatch::kBytesMax * 3, 'L');
  ASSERT_TRUE(staging.Push(OpOf("a"), "a"));
  ASSERT_TRUE(staging.Push(OpOf(large), large));
  ASSERT_TRUE(staging.Push(OpOf("b"), "b"));
  std::deque<OpBatch> batches;
  ASSERT_TRUE(staging.Drain(&batches));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].bytes, "a");
  EXPECT_EQ(batches[1].bytes, large);
  EXPECT_EQ(batches[2].bytes, "b");
}

TEST(StagingTest, ARecycledBatchIsEmpty) {
  Staging staging(1u << 20);
  std::deque<OpBatch> batches;
  for (const char* payload : {"first", "second"}) {
    ASSERT_TRUE(staging.Push(OpOf(payload), payload));
    ASSERT_TRUE(staging.Drain(&batches));
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].bytes, payload);
    EXPECT_EQ(batches[0].ops.size(), 1u);
    batches[0].next_op = 1;
    batches[0].next_byte = batches[0].bytes.size();
    staging.Recycle(std::move(batches.front()));
    batches.clear();
  }
}

TEST(StagingTest, KeepsTheOrderOfEachThread) {
  constexpr int kThreads = 8;
  constexpr int64_t kOps = 3000;
  Staging staging(1u << 30);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&staging, t] {
      for (int64_t i = 0; i < kOps; ++i) {
        const std::string payload = std::to_string(i);
        Op op = OpOf(payload, i);
        op.id_hash = static_cast<uint32_t>(t);
        while (!staging.Push(std::move(op), payload)) {
        }
      }
    });
  }
  std::vector<int64_t> next(kThreads, 0);
  int64_t seen = 0;
  while (seen < kThreads * kOps) {
    std::deque<OpBatch> batches;
    if (!staging.Drain(&batches)) {
      staging.Wait(100);
      continue;
    }
    for (const OpBatch& batch : batches) {
      size_t at = 0;
      for (const Op& op : batch.ops) {
        ASSERT_EQ(op.due_ms, next[op.id_hash]++);
        ASSERT_EQ(batch.bytes.substr(at, op.payload_bytes),
                  std::to_string(op.due_ms));
        at += op.payload_bytes;
        staging.Release(Staging::CountedBytes(op));
        ++seen;
      }
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(staging.bytes(), 0u);
}

TEST(StagingTest, WakesTheWriter) {
  Staging staging(1u << 20);
  std::thread producer([&] { staging.Push(OpOf("x"), "x"); });
  std::deque<OpBatch> batches;
  // Far longer than the test may take: it must be the push that wakes.
  while (!staging.Drain(&batches)) staging.Wait(60'000);
  producer.join();
}

}  // namespace
}  // namespace hourglass
