#include "wheel/slot_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "storage/random.h"
#include "tests/support/hour_world.h"

namespace hourglass {
namespace {

using testing::HasSubstr;

constexpr int64_t kStartMs = StartMs(kTestHour);

// Flips a bit of an index record on the disk.
void DamageRecord(HourWorld* world, RecordNumber number) {
  const Path path = Path("/hours") / DelayIndexName(kTestHour);
  std::string bytes = world->fs.Content(path);
  bytes[kHourHeaderBytes + kIndexRecordBytes * (number.value() - 1) + 5] ^= 4;
  world->fs.SetContent(path, bytes);
}

// A random hour: some crowded seconds, some cancelled messages.
void Fill(HourWorld* world, Random* random, int messages) {
  std::vector<DueEntry> entries;
  for (int i = 0; i < messages; ++i) {
    const bool crowded = random->Uniform(3) == 0;
    const int64_t second =
        crowded ? 17 : static_cast<int64_t>(random->Uniform(kSlotsPerHour));
    entries.push_back(world->Put(
        kStartMs + second * kMsPerSecond +
        static_cast<int64_t>(random->Uniform(crowded ? 3 : kMsPerSecond))));
    if (random->Uniform(4) == 0) {
      const DueEntry& victim = entries[random->Uniform(entries.size())];
      if (world->pending.contains(victim.key())) world->Cancel(victim);
    }
  }
}

DueKey RandomKey(Random* random) {
  return {kStartMs + static_cast<int64_t>(random->Uniform(kMsPerHour)),
          RecordNumber(static_cast<uint32_t>(random->Uniform(300)))};
}

// The answer must hold what the model has up to `end`. It may end before
// `until` only when something had to be left out.
void ExpectAnswers(const HourWorld& world, LoadRequest request,
                   const LoadResult& result) {
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_LE(result.entries.size(), request.entries_max);
  EXPECT_LE(result.end, request.until);
  const bool all = world.Expected(request).size() < request.entries_max &&
                   request.entries_max > 400;
  if (all) {
    EXPECT_EQ(result.end, request.until);
  } else {
    EXPECT_TRUE(request.after < result.end) << "no progress";
  }
  request.until = result.end;
  EXPECT_EQ(result.entries, world.Expected(request));
  EXPECT_EQ(result.hour, kTestHour);
  EXPECT_EQ(result.generation, request.generation);
}

TEST(SlotLoaderTest, BothWaysAgreeWithTheModel) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HourWorld world;
    Fill(&world, &random, 400);
    LoadRequest request = world.RequestFor(kTestHour);
    for (int i = 0; i < 40; ++i) {
      request.generation = seed * 100 + static_cast<uint64_t>(i);
      request.after = i == 0 ? DueKey::Before(kStartMs) : RandomKey(&random);
      request.until = i < 10 ? DueKey::EndOf(kTestHour) : RandomKey(&random);
      if (request.until < request.after) {
        std::swap(request.until, request.after);
      }
      request.entries_max = 1 + random.Uniform(i % 2 == 0 ? 20 : 1000);
      SCOPED_TRACE(testing::Message() << "request " << i);
      ExpectAnswers(world, request, ForwardSweep(request));
      ExpectAnswers(world, request, ChainWalk(request));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SlotLoaderTest, StreamsASlotThatIsLargerThanMemory) {
  for (const LoadMethod method : {LoadMethod::kSweep, LoadMethod::kWalk}) {
    Random random(3);
    HourWorld world;
    for (int i = 0; i < 500; ++i) {
      world.Put(kStartMs + static_cast<int64_t>(random.Uniform(900)));
    }
    LoadRequest request = world.RequestFor(kTestHour);
    request.method = method;
    request.entries_max = 16;
    std::vector<DueEntry> got;
    int loads = 0;
    while (request.after < request.until && ++loads < 100) {
      const LoadResult result = Load(request);
      EXPECT_LE(result.entries.size(), 16u);
      got.insert(got.end(), result.entries.begin(), result.entries.end());
      request.after = result.end;
    }
    EXPECT_EQ(loads, 32);
    request.after = DueKey::Before(kStartMs);
    request.entries_max = 1000;
    EXPECT_EQ(got, world.Expected(request));
  }
}

TEST(SlotLoaderTest, LeavesOutWhatArrivedLater) {
  HourWorld world;
  const DueEntry first = world.Put(kStartMs + 10);
  const LoadRequest request = world.RequestFor(kTestHour);
  world.Put(kStartMs + 5);
  ASSERT_TRUE(request.segment->Flush().ok());
  EXPECT_EQ(ForwardSweep(request).entries, std::vector<DueEntry>{first});
  EXPECT_EQ(ChainWalk(request).entries, std::vector<DueEntry>{first});
}

TEST(SlotLoaderTest, ReportsADamagedRecordAndGivesTheRest) {
  for (const LoadMethod method : {LoadMethod::kSweep, LoadMethod::kWalk}) {
    HourWorld world;
    std::vector<DueEntry> entries;
    for (int i = 0; i < 9; ++i) entries.push_back(world.Put(kStartMs + i));
    LoadRequest request = world.RequestFor(kTestHour);
    request.method = method;
    DamageRecord(&world, RecordNumber(5));
    const LoadResult result = Load(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    entries.erase(entries.begin() + 4);
    EXPECT_EQ(result.entries, entries);
    ASSERT_EQ(result.damaged.size(), 1u);
    EXPECT_EQ(result.damaged[0].first, RecordNumber(5));
    EXPECT_THAT(MessageOf(result.damaged[0].second),
                HasSubstr(DelayIndexName(kTestHour)));
  }
}

// These payloads are no messages, so only cancels can be made again.
TEST(SlotLoaderTest, ADamagedCancelStillCancels) {
  HourWorld world;
  const DueEntry first = world.Put(kStartMs + 5000);
  world.Put(kStartMs + 5001);
  world.Cancel(first);
  world.Put(kStartMs + 5002);
  LoadRequest request = world.RequestFor(kTestHour);
  DamageRecord(&world, RecordNumber(3));
  for (const auto& load : {ForwardSweep, ChainWalk}) {
    const LoadResult result = load(request);
    ExpectAnswers(world, request, result);
    EXPECT_TRUE(result.damaged.empty());
    ASSERT_EQ(result.rescued.size(), 1u);
    EXPECT_EQ(result.rescued[0].first, RecordNumber(3));
    EXPECT_THAT(MessageOf(result.rescued[0].second), HasSubstr("record 3"));
  }
}

TEST(SlotLoaderTest, ADiskThatCannotBeReadFailsTheLoad) {
  for (const LoadMethod method : {LoadMethod::kSweep, LoadMethod::kWalk}) {
    HourWorld world;
    world.Put(kStartMs);
    LoadRequest request = world.RequestFor(kTestHour);
    request.method = method;
    world.fs.FailAfter(MemoryOp::kRead, 1, absl::DataLossError("bad block"),
                       true);
    const LoadResult result = Load(request);
    EXPECT_TRUE(!result.status.ok() || result.damaged.size() == 1)
        << result.status;
    EXPECT_TRUE(result.entries.empty());
  }
}

TEST(SlotLoaderTest, ATombstoneHidesOnlyItsTarget) {
  HourWorld world;
  const DueEntry a = world.Put(kStartMs + 1);
  const DueEntry b = world.Put(kStartMs + 1);
  world.Cancel(a);
  const LoadRequest request = world.RequestFor(kTestHour);
  EXPECT_EQ(ForwardSweep(request).entries, std::vector<DueEntry>{b});
  EXPECT_EQ(ChainWalk(request).entries, std::vector<DueEntry>{b});
}

// The rows of docs/preload.md.
TEST(SlotLoaderTest, ChoosesWhatWasMeasuredToBeFaster) {
  EXPECT_EQ(ChooseLoad(0, 60), LoadMethod::kSweep);
  EXPECT_EQ(ChooseLoad(8000, 1), LoadMethod::kSweep);  // one read
  for (const uint64_t records : {100'000, 1'000'000, 10'000'000}) {
    EXPECT_EQ(ChooseLoad(records, 1), LoadMethod::kWalk) << records;
    EXPECT_EQ(ChooseLoad(records, 10), LoadMethod::kSweep) << records;
    EXPECT_EQ(ChooseLoad(records, 60), LoadMethod::kSweep) << records;
    EXPECT_EQ(ChooseLoad(records, 3600), LoadMethod::kSweep) << records;
  }
}

}  // namespace
}  // namespace hourglass
