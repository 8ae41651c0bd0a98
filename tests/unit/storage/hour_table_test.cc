// All hours of a store: which are open, what is buffered, what a checkpoint
// takes, what recovery cuts and removes.
#include "storage/hour_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/hour_files.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kFrame = kFrameHeaderBytes;

// A table on a disk in memory, and a checkpoint that is just two maps.
class HourTableTest : public ::testing::Test {
 protected:
  HourTableTest() {
    EXPECT_TRUE(disk_->CreateDir(dir_).ok());
    EXPECT_TRUE(disk_->SyncDir("/").ok());
    NewTable();
  }

  void NewTable() {
    table_.reset();
    table_.emplace(disk_.get(), dir_, id_, options_,
                   [this](Hour hour) { return Heads(hour); });
  }
  absl::StatusOr<std::string> Heads(Hour hour) {
    if (!heads_error_.ok()) return heads_error_;
    const auto it = heads_.find(hour);
    return it == heads_.end() ? "" : it->second;
  }

  void Put(Hour hour, std::string_view payload, uint32_t ms = 0) {
    auto segment = table_->ForAppend(hour);
    ASSERT_TRUE(segment.ok()) << segment.status();
    PutMessage(segment->get(), payload, ms);
    const absl::Status status = table_->Appended(segment->get());
    ASSERT_TRUE(status.ok()) << status;
  }

  // TakeChanges and SyncFiles, and what the checkpoint store would keep.
  HourTable::Changes Checkpoint() {
    auto changes = table_->TakeChanges();
    EXPECT_TRUE(changes.ok()) << changes.status();
    const absl::Status synced = table_->SyncFiles(*changes);
    EXPECT_TRUE(synced.ok()) << synced;
    for (const HourTable::Changed& change : changes->hours) {
      facts_[change.hour] = change.facts;
      if (!change.heads.empty()) heads_[change.hour] = change.heads;
    }
    return *std::move(changes);
  }
  std::vector<Hour> HoursOf(const HourTable::Changes& changes) {
    std::vector<Hour> hours;
    for (const auto& change : changes.hours) hours.push_back(change.hour);
    return hours;
  }

  // Power fails; the store starts again from its last checkpoint.
  void Crash(uint64_t seed, int keep_percent) {
    disk_ = disk_->CrashClone(seed, keep_percent);
    NewTable();
  }
  absl::Status Restore() { return table_->Restore(facts_); }

  std::string Payload(Hour hour, uint32_t number) {
    const auto segment = table_->ForRead(hour);
    if (!segment.ok()) return segment.status().ToString();
    const auto record = (*segment)->ReadIndex(RecordNumber{number});
    if (!record.ok()) return record.status().ToString();
    std::string buffer;
    const auto payload = (*segment)->ReadFrame(
        RecordNumber{number}, record->location, record->size, &buffer);
    return payload.ok() ? std::string(*payload) : payload.status().ToString();
  }
  std::vector<std::string> Names() { return *disk_->List(dir_); }
  Path Log(Hour hour) { return dir_ / DelayLogName(hour); }
  Path Index(Hour hour) { return dir_ / DelayIndexName(hour); }

  const Path dir_ = "/hours";
  const StoreId id_ = TestStoreId();
  std::unique_ptr<MemoryFileSystem> disk_ =
      std::make_unique<MemoryFileSystem>();
  HourTableOptions options_;
  std::map<Hour, HourFacts> facts_;
  std::map<Hour, std::string> heads_;
  absl::Status heads_error_;
  std::optional<HourTable> table_;
};

constexpr Hour kA{498'675}, kB{498'676}, kC{498'677}, kD{498'678};

// --- Opening ---

TEST_F(HourTableTest, MakesFilesOnTheFirstAppendOnly) {
  EXPECT_TRUE(absl::IsNotFound(table_->ForRead(kA).status()));
  EXPECT_EQ(table_->Facts(kA), HourFacts());
  EXPECT_THAT(Names(), IsEmpty());
  Put(kA, "m");
  EXPECT_THAT(Names(), ElementsAre("2026-11-21T03.delayindex",
                                   "2026-11-21T03.delaylog"));
  EXPECT_EQ(table_->Facts(kA).last, RecordNumber{1});
  EXPECT_TRUE(table_->ForRead(kA).ok());
  EXPECT_EQ(*table_->ForAppend(kA), *table_->ForRead(kA)) << "one object";
}

TEST_F(HourTableTest, EvictsTheLeastRecentlyUsed) {
  options_.open_segments_max = 2;
  NewTable();
  Put(kA, "a1");
  Put(kB, "b1");
  Put(kA, "a2");
  Put(kC, "c1");  // B goes, flushed
  EXPECT_EQ(table_->open_segments(), 2u);
  EXPECT_EQ(disk_->Content(Index(kB)).size(), 64 + 32u);
  EXPECT_EQ(disk_->Content(Index(kA)).size(), 64u) << "A is still buffered";
  EXPECT_EQ(table_->Facts(kB).last, RecordNumber{1});
  const uint64_t opens = disk_->operations(MemoryOp::kOpen);
  Put(kA, "a3");
  EXPECT_EQ(disk_->operations(MemoryOp::kOpen), opens);
  Put(kB, "b2");
  EXPECT_EQ(disk_->operations(MemoryOp::kOpen), opens + 2);
  EXPECT_EQ(table_->Facts(kB).last, RecordNumber{2});
}

TEST_F(HourTableTest, DoesNotEvictWhatSomebodyHolds) {
  options_.open_segments_max = 1;
  NewTable();
  auto held = *table_->ForAppend(kA);
  Put(kB, "b");
  EXPECT_EQ(table_->open_segments(), 2u);
  EXPECT_EQ(*table_->ForAppend(kA), held);
  Put(kC, "c");
  EXPECT_EQ(table_->open_segments(), 2u) << "B went, A is held";
  held.reset();
  Put(kD, "d");
  Put(kB, "b");
  EXPECT_LE(table_->open_segments(), 2u);
}

TEST_F(HourTableTest, AgreesWithAModelWhateverIsEvictedAndReopened) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  options_.open_segments_max = 3;
  options_.segment_buffer_bytes = 700;
  options_.buffer_bytes_max = 1500;
  NewTable();
  std::map<Hour, std::map<Slot, std::vector<RecordNumber>>> chains;
  std::map<Hour, std::vector<std::string>> payloads;
  for (int i = 0; i < 4000; ++i) {
    const Hour hour = kA + static_cast<int32_t>(random() % 8);
    const uint32_t ms = random() % 20 * 180'000;
    const std::string payload(random() % 300, static_cast<char>(i));
    Put(hour, payload, ms);
    payloads[hour].push_back(payload);
    auto& chain = chains[hour][Slot{ms / 1000}];
    chain.insert(chain.begin(), RecordNumber(payloads[hour].size()));
    ASSERT_LE(table_->open_segments(), 3u);
    if (random() % 200 == 0) Checkpoint();
    if (random() % 500 == 0) heads_.clear();
  }
  Checkpoint();
  for (const auto& [hour, expected] : payloads) {
    for (uint32_t n = 1; n <= expected.size(); ++n) {
      ASSERT_EQ(Payload(hour, n), expected[n - 1]);
    }
    auto segment = *table_->ForAppend(hour);
    for (uint32_t slot = 0; slot < kSlotsPerHour; ++slot) {
      ASSERT_EQ(WalkChain(segment.get(), Slot{slot}), chains[hour][Slot{slot}]);
    }
  }
  EXPECT_EQ(table_->AllFacts(), facts_);
}

TEST_F(HourTableTest, OpensWithoutHeadsThatCannotBeLoaded) {
  options_.open_segments_max = 1;
  NewTable();
  Put(kA, "a", 5000);
  Put(kB, "b");
  for (const std::string heads : {"", "damaged"}) {
    heads_[kA] = heads;
    Put(kC, "c");
    const auto segment = table_->ForRead(kA);
    ASSERT_TRUE(segment.ok()) << segment.status();
    EXPECT_EQ((*segment)->heads()->Get(Slot{5}), RecordNumber{1});
  }
  heads_error_ = absl::UnavailableError("no checkpoint today");
  Put(kC, "c");
  EXPECT_TRUE(table_->ForRead(kA).ok());
}

TEST_F(HourTableTest, AFailedCreateLeavesNothingInTheWay) {
  for (int nth = 1; nth <= 2; ++nth) {
    for (const MemoryOp op : {MemoryOp::kCreate, MemoryOp::kWrite}) {
      disk_->FailAfter(op, nth, absl::ResourceExhaustedError("full"), false);
      EXPECT_TRUE(absl::IsResourceExhausted(table_->ForAppend(kA).status()));
      EXPECT_THAT(Names(), IsEmpty());
      EXPECT_EQ(table_->open_segments(), 0u);
    }
  }
  Put(kA, "now");
}

// --- Buffers ---

TEST_F(HourTableTest, FlushesASegmentBeforeItsBufferPassesItsBound) {
  options_.segment_buffer_bytes = 4096;
  NewTable();
  auto segment = *table_->ForAppend(kA);
  for (int i = 0; i < 1000; ++i) {
    PutMessage(segment.get(), std::string(100, 'x'), 0);
    ASSERT_TRUE(table_->Appended(segment.get()).ok());
    ASSERT_LE(segment->buffered_bytes(), 4096u);
    ASSERT_LE(segment->buffer_capacity(), 2 * 4096u);
    ASSERT_GE(segment->flushed() + 28, segment->facts().last);
  }
  EXPECT_GT(segment->flushed(), RecordNumber{900});
  EXPECT_LT(disk_->operations(MemoryOp::kWrite), 2 * 1000 / 20u) << "buffered";
}

TEST_F(HourTableTest, ABigMessageDoesNotKeepItsMemory) {
  auto segment = *table_->ForAppend(kA);
  PutMessage(segment.get(), std::string(4 << 20, 'x'), 0);
  ASSERT_TRUE(table_->Appended(segment.get()).ok());
  EXPECT_EQ(segment->buffered_bytes(), 0u);
  EXPECT_LE(segment->buffer_capacity(), options_.segment_buffer_bytes);
}

TEST_F(HourTableTest, FlushesTheLargestWhenAllTogetherPassTheirBound) {
  options_.buffer_bytes_max = 20'000;
  NewTable();
  std::vector<std::shared_ptr<HourSegment>> segments;
  for (int i = 0; i < 20; ++i) {
    segments.push_back(*table_->ForAppend(kA + i));
    if (i > 0) Put(kA + i, std::string(400, 'x'));
  }
  EXPECT_EQ(disk_->operations(MemoryOp::kWrite), 40u) << "headers only";
  size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    Put(kA, std::string(400, 'x'));
    size_t sum = 0;
    for (const auto& segment : segments) sum += segment->buffered_bytes();
    most = std::max(most, sum);
    ASSERT_LE(sum, options_.buffer_bytes_max);
  }
  EXPECT_GT(most, options_.buffer_bytes_max - 500);
  EXPECT_GT(segments[0]->flushed(), RecordNumber{10});
}

TEST_F(HourTableTest, TheSumOfBuffersStaysTrueOverFlushesByOthers) {
  options_.buffer_bytes_max = 10'000;
  NewTable();
  auto segment = *table_->ForAppend(kA);
  for (int i = 0; i < 1000; ++i) {
    Put(kA, "some bytes");
    if (i % 7 == 0) {  // not by the table
      ASSERT_TRUE(segment->Flush().ok());
    }
    if (i % 31 == 0) Checkpoint();
  }
  Checkpoint();
  const uint64_t writes = disk_->operations(MemoryOp::kWrite);
  for (int i = 0; i < 50; ++i) Put(kA, "some bytes");
  EXPECT_EQ(disk_->operations(MemoryOp::kWrite), writes) << "bound not passed";
  for (int i = 0; i < 500; ++i) {
    Put(kA, "some bytes");
    ASSERT_LE(segment->buffered_bytes(), options_.buffer_bytes_max);
  }
}

TEST_F(HourTableTest, IdleSegmentsGiveTheirBuffersBack) {
  Put(kA, "m");
  Put(kB, "m");
  auto a = *table_->ForRead(kA);
  auto b = *table_->ForRead(kB);
  Checkpoint();
  EXPECT_GT(a->buffer_capacity(), 0u) << "in use: kept for the next second";
  Put(kB, "m");
  Checkpoint();
  EXPECT_EQ(a->buffer_capacity(), 0u);
  EXPECT_GT(b->buffer_capacity(), 0u);
}

// --- Checkpoints ---

TEST_F(HourTableTest, HandsOutWhatChangedOnce) {
  Put(kB, "b", 7000);
  Put(kA, "a", 3000);
  auto changes = Checkpoint();
  EXPECT_THAT(HoursOf(changes), ElementsAre(kA, kB));
  EXPECT_TRUE(changes.dir_changed);
  EXPECT_EQ(changes.hours[0].facts, table_->Facts(kA));
  SlotHeads heads;
  RecordNumber upto;
  ASSERT_TRUE(
      heads.Decode(HashBytes(id_.view()), kA, changes.hours[0].heads, &upto)
          .ok());
  EXPECT_EQ(upto, RecordNumber{1});
  EXPECT_EQ(heads.Get(Slot{3}), RecordNumber{1});

  changes = Checkpoint();
  EXPECT_THAT(changes.hours, IsEmpty());
  EXPECT_FALSE(changes.dir_changed);
  Put(kB, "b");
  changes = Checkpoint();
  EXPECT_THAT(HoursOf(changes), ElementsAre(kB));
  EXPECT_FALSE(changes.dir_changed);
}

TEST_F(HourTableTest, EvictedHoursAreHandedOutAndSyncedByName) {
  options_.open_segments_max = 1;
  NewTable();
  Put(kA, "a1", 1000);
  Put(kB, "b1");
  const auto changes = Checkpoint();
  ASSERT_THAT(HoursOf(changes), ElementsAre(kA, kB));
  EXPECT_EQ(changes.hours[0].segment, nullptr);
  EXPECT_EQ(changes.hours[0].heads, "");
  EXPECT_NE(changes.hours[1].segment, nullptr);
  Crash(1, 0);
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(Payload(kA, 1), "a1");
  EXPECT_EQ(Payload(kB, 1), "b1");
}

TEST_F(HourTableTest, ErrorsOfFlushAndSyncComeOut) {
  Put(kA, "a");
  auto changes = table_->TakeChanges();
  ASSERT_TRUE(changes.ok());
  for (int nth = 1; nth <= 2; ++nth) {
    disk_->FailAfter(MemoryOp::kSync, nth, absl::DataLossError("bad"), false);
    EXPECT_TRUE(absl::IsDataLoss(table_->SyncFiles(*changes)));
  }
  disk_->FailAfter(MemoryOp::kSyncDir, 1, absl::DataLossError("bad"), false);
  EXPECT_TRUE(absl::IsDataLoss(table_->SyncFiles(*changes)));
  Put(kA, "a");
  disk_->FailAfter(MemoryOp::kWrite, 1, absl::DataLossError("bad"), false);
  EXPECT_TRUE(absl::IsUnavailable(table_->TakeChanges().status()));
}

TEST_F(HourTableTest, AFullDiskFillsTheBuffersAndIsWrittenToLater) {
  options_.buffer_bytes_max = 4096;
  options_.segment_buffer_bytes = 1024;
  NewTable();
  Put(kA, "a1");
  disk_->FailAfter(MemoryOp::kWrite, 1,
                   absl::ResourceExhaustedError("disk full"), true);
  uint32_t put = 1;
  while (table_->HasRoom().ok()) {
    ASSERT_LT(put, 100u) << "it takes more than its buffers may hold";
    Put(kA, std::string(100, 'a'));
    ++put;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(table_->HasRoom()));
  EXPECT_TRUE(absl::IsResourceExhausted(table_->TakeChanges().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(table_->ForAppend(kB).status()))
      << "there is no room for new files";
  disk_->ClearFaults();
  EXPECT_TRUE(table_->HasRoom().ok());
  EXPECT_THAT(HoursOf(Checkpoint()), ElementsAre(kA)) << "nothing was taken";
  EXPECT_EQ(Payload(kA, 1), "a1");
  EXPECT_EQ(Payload(kA, put), std::string(100, 'a'));
  Put(kB, "b1");
}

TEST_F(HourTableTest, OnAFullDiskHoursAreStillRead) {
  options_.open_segments_max = 1;
  NewTable();
  Put(kA, "a1");
  Put(kB, "b1");  // A goes, flushed
  disk_->FailAfter(MemoryOp::kWrite, 1,
                   absl::ResourceExhaustedError("disk full"), true);
  EXPECT_EQ(Payload(kA, 1), "a1") << "though B cannot be pushed out";
  EXPECT_EQ(table_->open_segments(), 2u);
  disk_->ClearFaults();
  Put(kC, "c1");
  EXPECT_EQ(table_->open_segments(), 1u);
}

// --- Recovery ---

TEST_F(HourTableTest, RestoreCutsWhatTheCheckpointDoesNotKnow) {
  Put(kA, "known", 1000);
  Put(kB, "known too");
  Checkpoint();
  Put(kA, "not known", 1000);
  Put(kC, "hour not known");
  ASSERT_TRUE(table_->TakeChanges().ok());  // flushed; no checkpoint follows
  disk_->SetContent(dir_ / "notes.txt", "not ours");
  disk_->SetContent(Log(kD), "half a pair, and not even a header");
  NewTable();
  const uint64_t opens = disk_->operations(MemoryOp::kOpen);
  const uint64_t syncs = disk_->syncs();
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(disk_->operations(MemoryOp::kOpen), opens + 2) << "B was opened";
  EXPECT_EQ(disk_->syncs(), syncs + 2);
  EXPECT_THAT(Names(),
              ElementsAre("2026-11-21T03.delayindex", "2026-11-21T03.delaylog",
                          "2026-11-21T04.delayindex", "2026-11-21T04.delaylog",
                          "notes.txt"));
  EXPECT_EQ(disk_->Content(Log(kA)).size(), facts_[kA].delay_log_bytes);
  EXPECT_EQ(disk_->Content(Index(kA)).size(), facts_[kA].index_bytes());
  EXPECT_EQ(table_->AllFacts(), facts_);
  Put(kA, "second", 1000);
  EXPECT_EQ(table_->Facts(kA).last, RecordNumber{2});
  Checkpoint();
  EXPECT_EQ(Payload(kA, 2), "second");
  EXPECT_THAT(WalkChain(table_->ForRead(kA)->get(), Slot{1}),
              ElementsAre(RecordNumber{2}, RecordNumber{1}));
}

TEST_F(HourTableTest, RestoreRefusesShortAndMissingFilesAndChangesNothing) {
  Put(kA, "a");
  Put(kB, "b");
  Checkpoint();
  Put(kA, "longer: to be cut, but not now");
  ASSERT_TRUE(table_->TakeChanges().ok());
  disk_->SetContent(Log(kC), "unknown");
  for (const Path& path : {Log(kB), Index(kB)}) {
    const std::string good = disk_->Content(path);
    const std::string longer = disk_->Content(Log(kA));
    for (const bool missing : {true, false}) {
      disk_->SetContent(path, good.substr(0, good.size() - 1));
      if (missing) {
        ASSERT_TRUE(disk_->Remove(path).ok());
      }
      NewTable();
      const absl::Status status = Restore();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(MessageOf(status), HasSubstr(path.string()));
      EXPECT_THAT(MessageOf(status),
                  HasSubstr(missing ? "is missing"
                                    : absl::StrCat("has ", good.size() - 1)));
      EXPECT_THAT(MessageOf(status),
                  HasSubstr(absl::StrCat("expects ", good.size(), " bytes")));
      EXPECT_EQ(disk_->Content(Log(kA)), longer);
      EXPECT_EQ(disk_->Content(Log(kC)), "unknown");
    }
    disk_->SetContent(path, good);
  }
  NewTable();
  EXPECT_TRUE(Restore().ok());
}

TEST_F(HourTableTest, RestoreCanBeInterruptedAnywhere) {
  Put(kA, "a", 1000);
  Checkpoint();
  Put(kA, "cut");
  Put(kB, "remove");
  ASSERT_TRUE(table_->TakeChanges().ok());
  for (int nth = 1;; ++nth) {
    NewTable();
    disk_->FailAfter(MemoryOp::kAny, nth, absl::DataLossError("bad"), false);
    const bool done = Restore().ok();
    disk_->ClearFaults();
    NewTable();
    ASSERT_TRUE(Restore().ok()) << "after a failure at operation " << nth;
    EXPECT_EQ(Payload(kA, 1), "a");
    EXPECT_EQ(Names().size(), 2u);
    if (done) break;
    Put(kA, "cut");
    Put(kB, "remove");
    ASSERT_TRUE(table_->TakeChanges().ok());
    ASSERT_LT(nth, 100);
  }
}

TEST_F(HourTableTest, FactsWithoutFilesKeepTheirNumbers) {
  facts_[kA].last = RecordNumber{9};
  ASSERT_TRUE(Restore().ok());
  EXPECT_TRUE(absl::IsNotFound(table_->ForRead(kA).status()));
  Put(kA, "ten");
  EXPECT_EQ(Payload(kA, 10).substr(0, 9), "NOT_FOUND") << "still buffered";
  Checkpoint();
  EXPECT_EQ(Payload(kA, 10), "ten");
}

// Power fails at a random moment of random work: what the last checkpoint
// knew is there, and the files can be appended to again.
TEST_F(HourTableTest, SurvivesLostPowerAtAnyTime) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  options_.open_segments_max = 2;
  options_.segment_buffer_bytes = 500;
  NewTable();
  std::map<Hour, std::vector<std::string>> known, applied;
  for (int i = 0; i < 3000; ++i) {
    const Hour hour = kA + static_cast<int32_t>(random() % 5);
    const std::string payload(random() % 100, static_cast<char>(i));
    Put(hour, payload, random() % kMsPerHour);
    applied[hour].push_back(payload);
    if (random() % 50 == 0) {
      Checkpoint();
      known = applied;
    }
    if (random() % 60 != 0) continue;
    Crash(random(), random() % 101);
    const absl::Status status = Restore();
    ASSERT_TRUE(status.ok()) << status;
    for (const auto& [at, expected] : known) {
      for (uint32_t n = 1; n <= expected.size(); ++n) {
        ASSERT_EQ(Payload(at, n), expected[n - 1]);
      }
    }
    applied = known;
  }
}

// --- Retired hours ---

TEST_F(HourTableTest, RetiredFilesGoWhenTheCheckpointSaysSo) {
  Put(kA, "done");
  Put(kB, "pending");
  Checkpoint();
  ASSERT_TRUE(table_->Retire(kA).ok());
  EXPECT_TRUE(absl::IsNotFound(table_->ForRead(kA).status()));
  EXPECT_TRUE(table_->Facts(kA).retired);
  EXPECT_TRUE(absl::IsNotFound(table_->Retire(kA)));
  ASSERT_TRUE(table_->RemoveRetired().ok());
  EXPECT_EQ(Names().size(), 4u) << "no checkpoint says so yet";
  EXPECT_THAT(HoursOf(Checkpoint()), ElementsAre(kA));
  EXPECT_TRUE(facts_[kA].retired);
  EXPECT_EQ(Names().size(), 4u);
  ASSERT_TRUE(table_->RemoveRetired().ok());
  EXPECT_EQ(Names().size(), 2u);
  EXPECT_TRUE(Checkpoint().dir_changed);
  EXPECT_FALSE(Checkpoint().dir_changed);
}

TEST_F(HourTableTest, TheNextCheckpointRemovesRetiredFilesToo) {
  Put(kA, "done");
  ASSERT_TRUE(table_->Retire(kA).ok());
  Checkpoint();
  EXPECT_EQ(Names().size(), 2u);
  EXPECT_TRUE(Checkpoint().dir_changed);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HourTableTest, UnknownHoursCannotBeRetired) {
  EXPECT_TRUE(absl::IsNotFound(table_->Retire(kA)));
  EXPECT_THAT(Checkpoint().hours, IsEmpty());
}

TEST_F(HourTableTest, ARetiredHourThatIsGoneBeginsAgainBehindItsLastNumber) {
  Put(kA, "1");
  Put(kA, "22", 9000);
  Checkpoint();
  ASSERT_TRUE(table_->Retire(kA).ok());
  Checkpoint();
  ASSERT_TRUE(table_->RemoveRetired().ok());
  Put(kA, "333", 9000);
  const HourFacts facts = table_->Facts(kA);
  EXPECT_EQ(facts.base, RecordNumber{2});
  EXPECT_EQ(facts.last, RecordNumber{3});
  EXPECT_FALSE(facts.retired);
  EXPECT_EQ(facts.message_bytes, 3 * kFrame + 6) << "of all ever put";
  EXPECT_EQ(facts.delay_log_bytes, 64 + kFrame + 3);
  EXPECT_TRUE(Checkpoint().dir_changed);
  EXPECT_EQ(Payload(kA, 3), "333");
  EXPECT_THAT(WalkChain(table_->ForRead(kA)->get(), Slot{9}),
              ElementsAre(RecordNumber{3}));
  Crash(3, 0);
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(Payload(kA, 3), "333");
  EXPECT_THAT(WalkChain(table_->ForRead(kA)->get(), Slot{9}),
              ElementsAre(RecordNumber{3}));
}

TEST_F(HourTableTest, ARetiredHourWhoseFilesAreThereTakesThemUpAgain) {
  for (int checkpoints = 0; checkpoints <= 1; ++checkpoints) {
    const Hour hour = kA + checkpoints;
    Put(hour, "old", 9000);
    Checkpoint();
    ASSERT_TRUE(table_->Retire(hour).ok());
    for (int i = 0; i < checkpoints; ++i) Checkpoint();
    Put(hour, "new", 9000);
    EXPECT_FALSE(table_->Facts(hour).retired);
    Checkpoint();
    Checkpoint();  // nothing is removed behind its back
    EXPECT_EQ(Payload(hour, 1), "old");
    EXPECT_EQ(Payload(hour, 2), "new");
  }
}

TEST_F(HourTableTest, RestoreRemovesFilesOfRetiredHours) {
  Put(kA, "done");
  Checkpoint();
  ASSERT_TRUE(table_->Retire(kA).ok());
  Checkpoint();
  Crash(1, 100);
  ASSERT_EQ(Names().size(), 2u);
  ASSERT_TRUE(Restore().ok());
  EXPECT_THAT(Names(), IsEmpty());
  Put(kA, "again");
  EXPECT_EQ(table_->Facts(kA).last, RecordNumber{2});
}

// At each step of retiring and coming back the last checkpoint finds the
// files that it needs, whatever of the directory was kept.
TEST_F(HourTableTest, LostPowerWhileRetiringNeverLooksLikeDamage) {
  for (int step = 0; step < 8; ++step) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(absl::StrCat("step ", step, " seed ", seed));
      disk_ = std::make_unique<MemoryFileSystem>();
      ASSERT_TRUE(disk_->CreateDir(dir_).ok());
      ASSERT_TRUE(disk_->SyncDir("/").ok());
      facts_.clear();
      heads_.clear();
      NewTable();
      Put(kA, "one");
      Checkpoint();
      if (step >= 1) {
        ASSERT_TRUE(table_->Retire(kA).ok());
      }
      if (step >= 2) {
        ASSERT_TRUE(table_->TakeChanges().ok());
      }
      if (step >= 3) facts_[kA] = table_->Facts(kA);  // durable
      if (step >= 4) {
        ASSERT_TRUE(table_->RemoveRetired().ok());
      }
      if (step >= 5) Put(kA, "two");
      if (step == 6) {
        ASSERT_TRUE(table_->TakeChanges().ok());
      }
      if (step >= 7) Checkpoint();
      Crash(seed, 50);
      const absl::Status status = Restore();
      ASSERT_TRUE(status.ok()) << status;
      Put(kA, "next");
      const uint32_t last = step >= 7 ? 3 : 2;
      EXPECT_EQ(table_->Facts(kA).last, RecordNumber{last});
      Checkpoint();
      EXPECT_EQ(Payload(kA, last), "next");
    }
  }
}

TEST_F(HourTableTest, ForgetsRetiredHoursWhoseFilesAreGone) {
  for (const Hour hour : {kA, kB, kC, kD}) Put(hour, "m");
  for (const Hour hour : {kA, kC, kD}) ASSERT_TRUE(table_->Retire(hour).ok());
  EXPECT_THAT(table_->ForgetRetired(kD), IsEmpty()) << "files still there";
  Checkpoint();
  ASSERT_TRUE(table_->RemoveRetired().ok());
  EXPECT_THAT(table_->ForgetRetired(kD), ElementsAre(kA, kC));
  EXPECT_THAT(table_->ForgetRetired(kD), IsEmpty());
  EXPECT_EQ(table_->Facts(kA), HourFacts());
  EXPECT_EQ(table_->AllFacts().size(), 2u);
}

}  // namespace
}  // namespace hourglass
