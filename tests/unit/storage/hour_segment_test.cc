// One hour's pair of files: appends, chains, reads and heads on reopening.
#include "storage/hour_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/hour_files.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kFrame = kFrameHeaderBytes;

std::string PayloadOf(const HourSegment& segment, RecordNumber number) {
  const auto record = segment.ReadIndex(number);
  EXPECT_TRUE(record.ok()) << record.status();
  if (!record.ok()) return "";
  std::string buffer;
  const auto payload =
      segment.ReadFrame(number, record->location, record->size, &buffer);
  EXPECT_TRUE(payload.ok()) << payload.status();
  return payload.ok() ? std::string(*payload) : "";
}

TEST(HourSegment, NumbersFromOneAndReadsBack) {
  HourFiles files;
  auto segment = files.Create();
  EXPECT_EQ(PutMessage(segment.get(), "first", 0), RecordNumber{1});
  EXPECT_EQ(PutMessage(segment.get(), "", 1000), RecordNumber{2});
  EXPECT_EQ(PutMessage(segment.get(), "third", 3'599'999), RecordNumber{3});
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{1}), "first");
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{2}), "");
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{3}), "third");
  const auto third = segment->ReadIndex(RecordNumber{3});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(*third, (IndexRecord{.prev = {},
                                 .ms_into_hour = 3'599'999,
                                 .location = 64 + 2 * kFrame + 5,
                                 .size = kFrame + 5,
                                 .kind = IndexKind::kMessage,
                                 .flags = 0,
                                 .id_hash = IdHash("third")}));
}

TEST(HourSegment, KeepsFactsThatTellWhatIsThere) {
  HourFiles files;
  auto segment = files.Create();
  PutMessage(segment.get(), "12345", 0);
  PutMessage(segment.get(), "123", 1);
  ASSERT_TRUE(segment->Flush().ok());
  ASSERT_TRUE(segment
                  ->AppendTombstone(RecordNumber{1},
                                    *segment->ReadIndex(RecordNumber{1}))
                  .ok());
  const HourFacts& facts = segment->facts();
  EXPECT_EQ(facts.last, RecordNumber{3});
  EXPECT_EQ(facts.records(), 3u);
  EXPECT_EQ(facts.messages(), 2u);
  EXPECT_EQ(facts.tombstones, 1u);
  EXPECT_EQ(facts.message_bytes, 2 * kFrame + 8);
  EXPECT_EQ(facts.cancelled_bytes, kFrame + 5);
  EXPECT_EQ(facts.delay_log_bytes, 64 + 2 * kFrame + 8 + kCancelFrameBytes);
  EXPECT_EQ(facts.index_bytes(), 64 + 3 * 32u);
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_EQ(files.fs.Content(files.log_path()).size(), facts.delay_log_bytes);
  EXPECT_EQ(files.fs.Content(files.index_path()).size(), facts.index_bytes());
}

TEST(HourSegment, ChainsHoldTheRecordsOfTheirSlotNewestFirst) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  HourFiles files;
  auto segment = files.Create();
  std::map<Slot, std::vector<RecordNumber>> model;
  for (int i = 0; i < 3000; ++i) {
    const uint32_t ms = random() % 50 * 71'000 + random() % 1000;
    auto& chain = model[Slot{ms / 1000}];
    chain.insert(chain.begin(),
                 PutMessage(segment.get(), absl::StrCat("payload ", i), ms));
  }
  ASSERT_TRUE(segment->Flush().ok());
  for (uint32_t slot = 0; slot < kSlotsPerHour; ++slot) {
    ASSERT_EQ(WalkChain(segment.get(), Slot{slot}), model[Slot{slot}]) << slot;
  }
}

TEST(HourSegment, ATombstoneIsMetBeforeItsTarget) {
  HourFiles files;
  auto segment = files.Create();
  const RecordNumber target = PutMessage(segment.get(), "cancel me", 5500);
  const RecordNumber other = PutMessage(segment.get(), "same slot", 5400);
  ASSERT_TRUE(segment->Flush().ok());
  const auto record = segment->ReadIndex(target);
  const auto number = segment->AppendTombstone(target, *record);
  ASSERT_TRUE(number.ok()) << number.status();
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_THAT(WalkChain(segment.get(), Slot{5}),
              ElementsAre(*number, other, target));
  const auto tombstone = segment->ReadIndex(*number);
  ASSERT_TRUE(tombstone.ok());
  EXPECT_EQ(tombstone->kind, IndexKind::kTombstone);
  EXPECT_EQ(tombstone->target(), target);
  EXPECT_EQ(tombstone->size, 0u);
  EXPECT_EQ(tombstone->id_hash, record->id_hash);
}

TEST(HourSegment, CancelsOnlyMessagesThatAreThere) {
  HourFiles files;
  auto segment = files.Create(RecordNumber{10});
  const RecordNumber first = PutMessage(segment.get(), "m", 0);
  ASSERT_TRUE(segment->Flush().ok());
  const IndexRecord record = *segment->ReadIndex(first);
  for (const uint32_t number : {0u, 1u, 10u, 12u}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        segment->AppendTombstone(RecordNumber{number}, record).status()));
  }
  const auto tombstone = segment->AppendTombstone(first, record);
  ASSERT_TRUE(tombstone.ok());
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      segment->AppendTombstone(*tombstone, *segment->ReadIndex(*tombstone))
          .status()));
  EXPECT_EQ(segment->facts().last, *tombstone);
}

TEST(HourSegment, RefusesDueTimesOfOtherHours) {
  HourFiles files;
  auto segment = files.Create();
  for (const int64_t due_ms :
       {StartMs(kTestHour) - 1, StartMs(kTestHour + 1), int64_t{0}, int64_t{-1},
        int64_t{253'402'300'799'999}}) {
    const auto number = segment->Append("m", HashBytes("m"), due_ms, 0);
    EXPECT_TRUE(absl::IsInvalidArgument(number.status())) << due_ms;
  }
  EXPECT_EQ(segment->facts().last, RecordNumber{0});
  EXPECT_EQ(segment->buffered_bytes(), 0u);
}

TEST(HourSegment, EndsWithTheLastNumber) {
  HourFiles files;
  auto segment = files.Create(RecordNumber::Max() - 2);
  PutMessage(segment.get(), "last but one", 0);
  EXPECT_EQ(PutMessage(segment.get(), "last", 0), RecordNumber::Max());
  const int64_t due_ms = StartMs(kTestHour);
  EXPECT_TRUE(absl::IsResourceExhausted(
      segment->Append("m", HashBytes("m"), due_ms, 0).status()));
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      segment
          ->AppendTombstone(RecordNumber::Max(),
                            *segment->ReadIndex(RecordNumber::Max()))
          .status()));
  EXPECT_EQ(ScanAll(*segment, RecordNumber::Max()).size(), 2u);
  const auto reopened = files.Open(segment->facts());
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_EQ((*reopened)->heads()->Get(Slot{0}), RecordNumber::Max());
  EXPECT_EQ(PayloadOf(**reopened, RecordNumber::Max()), "last");
}

TEST(HourSegment, ShowsRecordsOnlyWhenFlushed) {
  HourFiles files;
  auto segment = files.Create();
  PutMessage(segment.get(), "one", 0);
  ASSERT_TRUE(segment->Flush().ok());
  PutMessage(segment.get(), "two", 0);
  EXPECT_EQ(segment->flushed(), RecordNumber{1});
  EXPECT_EQ(segment->buffered_bytes(), kFrame + 3 + kIndexRecordBytes);
  EXPECT_EQ(ScanAll(*segment, RecordNumber{1}).size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(segment->ReadIndex(RecordNumber{2}).status()));
  EXPECT_TRUE(absl::IsNotFound(segment->ScanIndex(
      RecordNumber{1}, RecordNumber{2},
      [](RecordNumber, const IndexRecord&) { return true; })));
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_EQ(segment->buffered_bytes(), 0u);
  EXPECT_EQ(segment->flushed(), RecordNumber{2});
  EXPECT_EQ(ScanAll(*segment, RecordNumber{2}).size(), 2u);
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{2}), "two");
}

TEST(HourSegment, KnowsNoNumbersOutsideItsFiles) {
  HourFiles files;
  auto segment = files.Create(RecordNumber{5});
  PutMessage(segment.get(), "six", 0);
  ASSERT_TRUE(segment->Flush().ok());
  std::string buffer;
  for (const uint32_t number : {0u, 1u, 5u, 7u}) {
    EXPECT_TRUE(
        absl::IsNotFound(segment->ReadIndex(RecordNumber{number}).status()));
    EXPECT_TRUE(absl::IsNotFound(
        segment->ReadFrame(RecordNumber{number}, 64, kFrame + 3, &buffer)
            .status()));
  }
  const auto records = ScanAll(*segment, RecordNumber{6});
  ASSERT_EQ(records.size(), 1u);  // from 1 asked: 1..5 are not here
  EXPECT_EQ(records.begin()->first, RecordNumber{6});
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{6}), "six");
}

TEST(HourSegment, ScansAnyRangeInOrderAndStopsWhenTold) {
  HourFiles files;
  auto segment = files.Create();
  const uint32_t count = 40'000;  // more than two blocks of a scan
  for (uint32_t i = 0; i < count; ++i) {
    PutMessage(segment.get(), "m", i % kMsPerHour);
  }
  ASSERT_TRUE(segment->Flush().ok());
  for (const auto& [first, last] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, count},
                                                  {1, 1},
                                                  {count, count},
                                                  {16'384, 16'385},
                                                  {9, 8},
                                                  {17, 32'800}}) {
    uint32_t next = first;
    const absl::Status status =
        segment->ScanIndex(RecordNumber{first}, RecordNumber{last},
                           [&](RecordNumber number, const IndexRecord& record) {
                             EXPECT_EQ(number.value(), next);
                             EXPECT_EQ(record.ms_into_hour, next - 1);
                             ++next;
                             return true;
                           });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(next, std::max(first, last + 1));
  }
  int visits = 0;
  EXPECT_TRUE(segment
                  ->ScanIndex(RecordNumber{1}, RecordNumber{count},
                              [&](RecordNumber, const IndexRecord&) {
                                return ++visits < 20'000;
                              })
                  .ok());
  EXPECT_EQ(visits, 20'000);
}

TEST(HourSegment, VerifiesFramesReadInBulk) {
  HourFiles files;
  auto segment = files.Create();
  PutMessage(segment.get(), "alpha", 0);
  PutMessage(segment.get(), "beta", 0);
  ASSERT_TRUE(segment->Flush().ok());
  std::string bytes(1000, '?');
  segment->PrefetchDelayLog(64, 1000);
  const auto got = segment->ReadDelayLog(64, bytes.size(), bytes.data());
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(*got, 2 * kFrame + 9);
  const std::string_view all(bytes.data(), *got);
  uint64_t hash = 0;
  const auto beta =
      segment->VerifyFrame(RecordNumber{2}, all.substr(kFrame + 5), &hash);
  ASSERT_TRUE(beta.ok()) << beta.status();
  EXPECT_EQ(*beta, "beta");
  EXPECT_EQ(hash, HashBytes("beta"));
  const auto wrong =
      segment->VerifyFrame(RecordNumber{2}, all.substr(0, kFrame + 5), nullptr);
  EXPECT_TRUE(absl::IsDataLoss(wrong.status()));
  EXPECT_THAT(MessageOf(wrong.status()),
              HasSubstr("2026-11-21T03.delaylog: record 2"));
}

// What is flushed is read without a lock while more is appended.
TEST(HourSegment, IsReadWhileItGrows) {
  HourFiles files;
  auto segment = files.Create();
  std::atomic<bool> done{false};
  uint64_t read = 0;
  std::thread reader([&] {
    std::string buffer;
    for (RecordNumber next{1}; !done || next <= segment->flushed();) {
      const RecordNumber last = segment->flushed();
      const absl::Status status = segment->ScanIndex(
          next, last, [&](RecordNumber number, const IndexRecord& record) {
            const auto payload = segment->ReadFrame(number, record.location,
                                                    record.size, &buffer);
            EXPECT_TRUE(payload.ok()) << payload.status();
            return ++read, payload.ok();
          });
      EXPECT_TRUE(status.ok()) << status;
      next = last + 1;
    }
  });
  for (uint32_t i = 0; i < 3000; ++i) {
    PutMessage(segment.get(), std::string(i % 200, 'x'), i * 1000);
    if (i % 7 == 0) {
      EXPECT_TRUE(segment->Flush().ok());
    }
  }
  EXPECT_TRUE(segment->Flush().ok());
  done = true;
  reader.join();
  EXPECT_EQ(read, 3000u);
}

// --- Reopening ---

std::vector<uint32_t> HeadsOf(HourSegment* segment) {
  std::vector<uint32_t> heads;
  for (uint32_t slot = 0; slot < kSlotsPerHour; ++slot) {
    heads.push_back(segment->heads()->Get(Slot{slot}).value());
  }
  return heads;
}

void ExpectSameAfterReopening(HourFiles* files, HourSegment* segment,
                              const std::string& stored_heads) {
  const auto reopened = files->Open(segment->facts(), stored_heads);
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_EQ((*reopened)->facts(), segment->facts());
  EXPECT_EQ((*reopened)->flushed(), segment->facts().last);
  EXPECT_EQ(HeadsOf(reopened->get()), HeadsOf(segment));
}

TEST(HourSegment, ReopensWithTheSameHeads) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (const uint32_t base : {0u, 1000u}) {
    HourFiles files;
    auto segment = files.Create(RecordNumber{base});
    std::string stored;
    for (int i = 0; i < 6; ++i) {
      for (int n = random() % 500; n > 0; --n) {
        PutMessage(segment.get(), "m", random() % kMsPerHour);
      }
      ASSERT_TRUE(segment->Flush().ok());
      ExpectSameAfterReopening(&files, segment.get(), "");
      ExpectSameAfterReopening(&files, segment.get(), stored);
      ExpectSameAfterReopening(&files, segment.get(), "no heads at all");
      stored = segment->heads()->Encode(files.salt, kTestHour,
                                        segment->facts().last);
      ExpectSameAfterReopening(&files, segment.get(), stored);
    }
  }
}

// Stored heads spare the scan: that is what they are for.
TEST(HourSegment, ReadsNoRecordsThatStoredHeadsCover) {
  HourFiles files;
  auto segment = files.Create();
  for (int i = 0; i < 1000; ++i) PutMessage(segment.get(), "m", i * 1000);
  ASSERT_TRUE(segment->Flush().ok());
  const std::string stored =
      segment->heads()->Encode(files.salt, kTestHour, segment->facts().last);
  PutMessage(segment.get(), "newer", 0);
  ASSERT_TRUE(segment->Flush().ok());
  std::string index = files.fs.Content(files.index_path());
  index[64 + 500 * 32] ^= 1;  // nobody looks there
  files.fs.SetContent(files.index_path(), index);
  const auto reopened = files.Open(segment->facts(), stored);
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_EQ((*reopened)->heads()->Get(Slot{0}), RecordNumber{1001});
  EXPECT_TRUE(absl::IsDataLoss(files.Open(segment->facts()).status()));
}

TEST(HourSegment, DoesNotTrustHeadsOfAnEarlierOrLaterLife) {
  HourFiles files;
  SlotHeads stale;
  stale.Set(Slot{7}, RecordNumber{90});
  stale.Set(Slot{8}, RecordNumber{104});
  auto segment = files.Create(RecordNumber{100});
  for (int i = 0; i < 10; ++i) PutMessage(segment.get(), "m", i * 1000);
  ASSERT_TRUE(segment->Flush().ok());
  for (const uint32_t upto : {104u, 105u, 110u, 111u}) {
    SCOPED_TRACE(upto);
    ExpectSameAfterReopening(
        &files, segment.get(),
        stale.Encode(files.salt, kTestHour, RecordNumber{upto}));
  }
  SlotHeads later;
  later.Set(Slot{3}, RecordNumber{111});
  ExpectSameAfterReopening(
      &files, segment.get(),
      later.Encode(files.salt, kTestHour, RecordNumber{111}));
  SlotHeads old;
  old.Set(Slot{7}, RecordNumber{90});
  ExpectSameAfterReopening(
      &files, segment.get(),
      old.Encode(files.salt, kTestHour, RecordNumber{100}));
}

TEST(HourSegment, GoesOnWhereItWas) {
  HourFiles files;
  HourFacts facts;
  {
    auto segment = files.Create();
    PutMessage(segment.get(), "one", 1000);
    ASSERT_TRUE(segment->Flush().ok());
    facts = segment->facts();
    PutMessage(segment.get(), "dropped with its buffer", 1000);
  }
  auto segment = *files.Open(facts);
  EXPECT_EQ(PutMessage(segment.get(), "two", 1999), RecordNumber{2});
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_THAT(WalkChain(segment.get(), Slot{1}),
              ElementsAre(RecordNumber{2}, RecordNumber{1}));
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{1}), "one");
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{2}), "two");
}

TEST(HourSegment, IgnoresWhatIsBeyondItsFacts) {
  HourFiles files;
  auto segment = files.Create();
  PutMessage(segment.get(), "one", 1000);
  ASSERT_TRUE(segment->Flush().ok());
  const HourFacts facts = segment->facts();
  PutMessage(segment.get(), "later", 1000);
  ASSERT_TRUE(segment->Flush().ok());
  auto earlier = *files.Open(facts);
  EXPECT_EQ(earlier->heads()->Get(Slot{1}), RecordNumber{1});
  EXPECT_TRUE(absl::IsNotFound(earlier->ReadIndex(RecordNumber{2}).status()));
  EXPECT_EQ(PutMessage(earlier.get(), "else", 1000), RecordNumber{2});
  ASSERT_TRUE(earlier->Flush().ok());
  EXPECT_EQ(PayloadOf(*earlier, RecordNumber{2}), "else");
}

// --- Errors of the disk ---

TEST(HourSegment, AFailedFlushIsFinal) {
  for (const int nth : {1, 2}) {  // the DelayLog, then the index
    HourFiles files;
    auto segment = files.Create();
    PutMessage(segment.get(), "m", 0);
    files.fs.FailAfter(MemoryOp::kWrite, nth, absl::DataLossError("bad"),
                       false);
    EXPECT_TRUE(absl::IsUnavailable(segment->Flush()));
    EXPECT_EQ(segment->flushed(), RecordNumber{0});
    const uint64_t writes = files.fs.operations(MemoryOp::kWrite);
    EXPECT_TRUE(absl::IsUnavailable(segment->Flush()));
    EXPECT_TRUE(absl::IsUnavailable(
        segment->Append("m", HashBytes("m"), StartMs(kTestHour), 0).status()));
    EXPECT_EQ(files.fs.operations(MemoryOp::kWrite), writes) << "tried again";
  }
}

TEST(HourSegment, AFullDiskIsWrittenToLater) {
  for (const int nth : {1, 2}) {  // the DelayLog, then the index
    HourFiles files;
    auto segment = files.Create();
    PutMessage(segment.get(), "one", 0);
    files.fs.FailAfter(MemoryOp::kWrite, nth,
                       absl::ResourceExhaustedError("disk full"), true);
    EXPECT_TRUE(absl::IsResourceExhausted(segment->Flush()));
    EXPECT_EQ(segment->flushed(), RecordNumber{0});
    EXPECT_EQ(PutMessage(segment.get(), "two", 1000), RecordNumber{2});
    EXPECT_TRUE(absl::IsResourceExhausted(segment->Flush()));
    files.fs.ClearFaults();
    const absl::Status flushed = segment->Flush();
    EXPECT_TRUE(flushed.ok()) << flushed;
    EXPECT_EQ(PayloadOf(*segment, RecordNumber{1}), "one");
    EXPECT_EQ(PayloadOf(*segment, RecordNumber{2}), "two");
    auto reopened = files.Open(segment->facts());
    ASSERT_TRUE(reopened.ok()) << reopened.status();
    EXPECT_EQ(PayloadOf(**reopened, RecordNumber{2}), "two");
  }
}

TEST(HourSegment, BodiesAreWrittenBeforeTheirIndexRecords) {
  HourFiles files;
  auto segment = files.Create();
  PutMessage(segment.get(), "m", 0);
  files.fs.FailAfter(MemoryOp::kWrite, 2, absl::DataLossError("bad"), true);
  EXPECT_FALSE(segment->Flush().ok());
  EXPECT_EQ(files.fs.Content(files.log_path()).size(), 64 + kFrame + 1);
}

TEST(HourSegment, WhatIsSyncedSurvivesALostPower) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    HourFiles files;
    ASSERT_TRUE(files.fs.SyncDir("/").ok());
    auto segment = files.Create();
    for (int i = 0; i < 300; ++i) PutMessage(segment.get(), "durable", i * 999);
    ASSERT_TRUE(segment->Flush().ok());
    ASSERT_TRUE(segment->Sync().ok());
    ASSERT_TRUE(files.fs.SyncDir(files.dir).ok());
    const HourFacts facts = segment->facts();
    for (int i = 0; i < 300; ++i) PutMessage(segment.get(), "not yet", i * 999);
    ASSERT_TRUE(segment->Flush().ok());
    const auto disk = files.fs.CrashClone(seed, 50);
    const auto after = HourSegment::Open(disk.get(), files.dir, files.id,
                                         kTestHour, facts, "");
    ASSERT_TRUE(after.ok()) << after.status();
    for (uint32_t i = 1; i <= 300; ++i) {
      ASSERT_EQ(PayloadOf(**after, RecordNumber{i}), "durable");
    }
  }
}

// --- Memory ---

TEST(HourSegment, GivesBufferMemoryBack) {
  HourFiles files;
  auto segment = files.Create();
  EXPECT_EQ(segment->buffer_capacity(), 0u);
  PutMessage(segment.get(), std::string(100'000, 'x'), 0);
  segment->TrimBuffers(0);
  EXPECT_GT(segment->buffer_capacity(), 100'000u) << "still in use";
  ASSERT_TRUE(segment->Flush().ok());
  segment->TrimBuffers(65'536);
  EXPECT_EQ(segment->buffer_capacity(), 4096u);  // the index's small one
  segment->TrimBuffers(0);
  EXPECT_EQ(segment->buffer_capacity(), 0u);
  PutMessage(segment.get(), "and on", 0);
  ASSERT_TRUE(segment->Flush().ok());
  EXPECT_EQ(PayloadOf(*segment, RecordNumber{2}), "and on");
}

}  // namespace
}  // namespace hourglass
