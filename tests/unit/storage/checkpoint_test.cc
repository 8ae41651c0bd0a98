#include "storage/checkpoint.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/checkpoint_format.h"
#include "storage/rocks_file_system.h"
#include "tests/support/disk_image.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

const Path kDir = "/checkpoint";

bool operator==(const CheckpointState& a, const CheckpointState& b) {
  return a.record == b.record && a.hours == b.hours && a.queues == b.queues &&
         a.progress == b.progress;
}

StoreId TestStore(char fill) {
  StoreId id;
  id.bytes.fill(fill);
  return id;
}

HourFacts Facts(uint32_t n) {
  return {.base = RecordNumber(n % 3),
          .last = RecordNumber(n + 10),
          .delay_log_bytes = 64 + 300ull * n,
          .tombstones = n % 5,
          .message_bytes = 300ull * n,
          .cancelled_bytes = n};
}

// A checkpoint that is different for every n and touches some of everything.
CheckpointUpdate Update(uint32_t n) {
  CheckpointUpdate update;
  update.applied = LogOffset(1000 * n);
  update.replay_from = LogOffset(900 * n);
  update.cursor = Second(100 + n);
  for (uint32_t i = 0; i < 3; ++i) {
    const Hour hour(static_cast<int32_t>(490'000 + n % 4 + i));
    update.hours.push_back({hour, Facts(n + i), absl::StrCat("heads", n, i)});
  }
  if (n % 4 == 3) update.forgotten_hours.push_back(Hour(490'001));
  update.queues[absl::StrCat("topic", n % 3)] = {QueueIndex(n),
                                                 QueueIndex(2 * n)};
  GroupProgress& progress =
      update.progress[{"topic0", absl::StrCat("group", n % 2)}];
  progress.next = QueueIndex(n);
  if (n % 3 != 0) progress.Ack(QueueIndex(n + 2), QueueIndex(2 * n + 9));
  if (n % 2 != 0) progress.NoteAttempts(QueueIndex(n + 1), n);
  return update;
}

// What the store must hold after `update`.
void Apply(const CheckpointUpdate& update, CheckpointState* state) {
  for (const auto& change : update.hours) {
    state->hours[change.hour] = change.facts;
  }
  for (const Hour hour : update.forgotten_hours) state->hours.erase(hour);
  for (const auto& [topic, facts] : update.queues) {
    state->queues[topic] = facts;
  }
  for (const auto& [key, next] : update.progress) state->progress[key] = next;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { Open(); }

  absl::Status TryOpen(char store = 's', bool background = false) {
    store_.reset();
    auto opened =
        CheckpointStore::Open(fs_.get(), kDir, TestStore(store), background);
    if (!opened.ok()) return opened.status();
    store_ = *std::move(opened);
    return absl::OkStatus();
  }
  void Open(bool background = false) {
    const absl::Status status = TryOpen('s', background);
    ASSERT_TRUE(status.ok()) << status;
  }
  void NewDisk() {
    store_.reset();
    fs_ = std::make_unique<MemoryFileSystem>();
    Open();
  }
  void PowerLoss(uint64_t seed = 1, int keep_percent = 0) {
    auto after = fs_->CrashClone(seed, keep_percent);
    store_.reset();  // RocksDB ran to the end, and its disk must outlive it
    fs_ = std::move(after);
    Open();
  }
  CheckpointState Load() {
    auto state = store_->Load();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : CheckpointState();
  }
  // Writes Update(n) and keeps `expected_` in step.
  void Write(uint32_t n) {
    const CheckpointUpdate update = Update(n);
    const auto record = store_->Write(update);
    ASSERT_TRUE(record.ok()) << record.status();
    Apply(update, &expected_);
    expected_.record = *record;
  }
  // Changes the database behind the store's back.
  void Tamper(const std::function<void(rocksdb::DB*)>& change) {
    store_.reset();
    const std::unique_ptr<rocksdb::Env> env =
        rocksdb::NewCompositeEnv(std::make_shared<RocksFileSystem>(fs_.get()));
    rocksdb::Options options;
    options.env = env.get();
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, kDir.string(), &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    change(db.get());
  }

  std::unique_ptr<MemoryFileSystem> fs_ = std::make_unique<MemoryFileSystem>();
  std::unique_ptr<CheckpointStore> store_;
  CheckpointState expected_;
};

TEST_F(CheckpointTest, ANewStoreHasNoCheckpoint) {
  EXPECT_TRUE(Load() == CheckpointState());
  EXPECT_EQ(*store_->ReadHeads(Hour(1)), "");
  Open();
  EXPECT_TRUE(Load() == CheckpointState());
}

TEST_F(CheckpointTest, LoadsWhatWasWritten) {
  for (uint32_t n = 1; n <= 12; ++n) {
    SCOPED_TRACE(n);
    Write(n);
    EXPECT_EQ(expected_.record.sequence, n);
    EXPECT_EQ(expected_.record.applied, LogOffset(1000 * n));
    EXPECT_EQ(expected_.record.replay_from, LogOffset(900 * n));
    EXPECT_EQ(expected_.record.cursor, Second(100 + n));
    EXPECT_TRUE(Load() == expected_);
    if (n % 3 == 0) {
      Open();
      EXPECT_TRUE(Load() == expected_);
    } else if (n % 3 == 1) {
      Open();  // and Write without Load
    }
  }
}

TEST_F(CheckpointTest, HoursBefore1970AndFarAwayKeepTheirOrder) {
  CheckpointUpdate update;
  for (const int32_t hour : {-2, 0, 5, 0x7fffffff, 256, -0x7fffffff}) {
    update.hours.push_back({Hour(hour), Facts(7), ""});
    expected_.hours[Hour(hour)] = Facts(7);
  }
  expected_.record = *store_->Write(update);
  EXPECT_TRUE(Load() == expected_);
}

TEST_F(CheckpointTest, AnyBytesMayBeNames) {
  CheckpointUpdate update;
  for (const char* topic : {"", "s", "\xff", "a", "ab"}) {
    update.queues[topic] = {QueueIndex(1), QueueIndex(2)};
    for (const char* group : {"", "b", "\xff\xff"}) {
      update.progress[{topic, group}] =
          GroupProgress(QueueIndex(update.progress.size()));
    }
  }
  update.progress[{std::string(300, 't'), "g"}] = GroupProgress(QueueIndex(9));
  Apply(update, &expected_);
  expected_.record = *store_->Write(update);
  Open();
  EXPECT_TRUE(Load() == expected_);
}

TEST_F(CheckpointTest, HeadsStayUntilReplacedRetiredOrForgotten) {
  const auto write = [&](HourFacts facts, const std::string& heads) {
    CheckpointUpdate update;
    update.hours.push_back({Hour(7), facts, heads});
    ASSERT_TRUE(store_->Write(update).ok());
  };
  HourFacts facts = Facts(3);
  write(facts, "first");
  write(facts, "");
  EXPECT_EQ(*store_->ReadHeads(Hour(7)), "first");
  write(facts, "second");
  EXPECT_EQ(*store_->ReadHeads(Hour(7)), "second");
  facts.retired = true;
  write(facts, "");
  EXPECT_EQ(*store_->ReadHeads(Hour(7)), "");
  EXPECT_TRUE(Load().hours.at(Hour(7)).retired);
  facts.retired = false;
  write(facts, "third");
  CheckpointUpdate forget;
  forget.forgotten_hours = {Hour(7), Hour(8)};
  ASSERT_TRUE(store_->Write(forget).ok());
  EXPECT_EQ(*store_->ReadHeads(Hour(7)), "");
  EXPECT_TRUE(Load().hours.empty());
}

TEST_F(CheckpointTest, AnotherStoresCheckpointIsRefusedByName) {
  const absl::Status status = TryOpen('t');
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  const std::string message(status.message());
  EXPECT_NE(message.find(TestStore('s').ToHex()), std::string::npos);
  EXPECT_NE(message.find(TestStore('t').ToHex()), std::string::npos);
  Open();
}

TEST_F(CheckpointTest, IsOpenOnlyOnce) {
  const auto second =
      CheckpointStore::Open(fs_.get(), kDir, TestStore('s'), false);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

TEST_F(CheckpointTest, ReadingOnlyWritesNothing) {
  Write(1);
  store_.reset();
  const uint64_t written = fs_->bytes_written();
  const auto creates = fs_->operations(MemoryOp::kCreate);
  for (const auto op : {MemoryOp::kWrite, MemoryOp::kCreate, MemoryOp::kRename,
                        MemoryOp::kRemove}) {
    fs_->FailAfter(op, 1, absl::PermissionDeniedError("read-only"), true);
  }
  auto store = CheckpointStore::OpenForRead(fs_.get(), kDir, TestStore('s'));
  ASSERT_TRUE(store.ok()) << store.status();
  const auto state = (*store)->Load();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(*state == expected_);
  EXPECT_EQ(*(*store)->ReadHeads(Hour(490'001)), "heads10");
  EXPECT_FALSE((*store)->Write(Update(2)).ok());
  EXPECT_EQ(fs_->bytes_written(), written);
  EXPECT_EQ(fs_->operations(MemoryOp::kCreate), creates);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      CheckpointStore::OpenForRead(fs_.get(), kDir, TestStore('t')).status()));
  EXPECT_FALSE(
      CheckpointStore::OpenForRead(fs_.get(), "/none", TestStore('s')).ok());
}

// --- Crashes and faults -----------------------------------------------------

TEST_F(CheckpointTest, WhatWriteReturnedSurvivesPowerLoss) {
  PowerLoss();  // right after creation
  EXPECT_TRUE(Load() == expected_);
  for (uint32_t n = 1; n <= 10; ++n) {
    SCOPED_TRACE(n);
    Write(n);
    if (n % 2 == 0) continue;
    PowerLoss(/*seed=*/n);
    EXPECT_TRUE(Load() == expected_);
  }
}

// The n-th write or sync of a checkpoint fails, and then power goes.
TEST_F(CheckpointTest, AnInterruptedCheckpointIsOldOrNew) {
  int failed = 0;
  for (const MemoryOp op : {MemoryOp::kWrite, MemoryOp::kSync}) {
    for (int n = 1; n <= 3; ++n) {
      for (const int keep : {0, 30, 70, 100}) {
        SCOPED_TRACE(absl::StrCat("operation ", n, " keep ", keep));
        expected_ = CheckpointState();
        NewDisk();
        Write(1);
        Write(2);
        const CheckpointState old = expected_;
        fs_->FailAfter(op, n, absl::DataLossError("bad block"), false);
        const auto written = store_->Write(Update(3));
        failed += !written.ok();
        Apply(Update(3), &expected_);
        PowerLoss(/*seed=*/n, keep);
        const CheckpointState loaded = Load();
        if (written.ok() || loaded.record.sequence == 3) {
          expected_.record = loaded.record;
          EXPECT_EQ(loaded.record.sequence, 3u);
          EXPECT_TRUE(loaded == expected_);
        } else {
          EXPECT_TRUE(loaded == old);
        }
      }
    }
  }
  EXPECT_GT(failed, 0);
}

// A life of a database: made, written, closed, recovered, written again.
// Power goes at the n-th operation of it, whatever that is, and the disk
// keeps any part of what was not synced.
class CheckpointCrashTest : public CheckpointTest,
                            public testing::WithParamInterface<int> {
 protected:
  // Returns the number of checkpoints that were acknowledged.
  uint64_t Live() {
    uint64_t written = 0;
    for (int life = 0; life < 3; ++life) {
      if (!TryOpen().ok()) break;
      for (int i = 0; i < 2; ++i) {
        if (!store_->Write(Update(written + 1)).ok()) return written;
        ++written;
      }
    }
    return written;
  }
  static CheckpointState StateAt(const CheckpointRecord& record) {
    CheckpointState state;
    for (uint32_t n = 1; n <= record.sequence; ++n) Apply(Update(n), &state);
    state.record = record;
    return state;
  }
};

TEST_P(CheckpointCrashTest, AtAnyOperation) {
  const int keep_percent = GetParam();
  store_.reset();
  fs_ = std::make_unique<MemoryFileSystem>();
  ASSERT_EQ(Live(), 6u);
  const uint64_t operations = fs_->operations(MemoryOp::kAny);
  for (uint64_t n = 1; n < operations; n += 2) {
    SCOPED_TRACE(absl::StrCat("operation ", n));
    store_.reset();
    fs_ = std::make_unique<MemoryFileSystem>();
    fs_->FailAfter(MemoryOp::kAny, static_cast<int>(n),
                   absl::UnavailableError("no power"), /*sticky=*/true);
    const uint64_t written = Live();
    PowerLoss(/*seed=*/n, keep_percent);
    const CheckpointState loaded = Load();
    EXPECT_GE(loaded.record.sequence, written);
    EXPECT_LE(loaded.record.sequence, written + 1);
    EXPECT_TRUE(loaded == StateAt(loaded.record));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(KeepPercent, CheckpointCrashTest,
                         testing::Values(0, 20, 50, 80, 100));

// Found by the simulator: readers met a null pointer.
TEST_F(CheckpointTest, ADatabaseThatCannotBeOpenedAgainHasNoHeads) {
  Write(1);
  const auto full = absl::ResourceExhaustedError("disk full");
  fs_->FailAfter(MemoryOp::kWrite, 1, full, /*sticky=*/true);
  ASSERT_FALSE(store_->Write(Update(2)).ok());
  ASSERT_FALSE(store_->Reopen().ok());
  EXPECT_FALSE(store_->ReadHeads(Hour(490'001)).ok());
  EXPECT_FALSE(store_->Write(Update(2)).ok());
  fs_->ClearFaults();
  ASSERT_TRUE(store_->Reopen().ok());
  EXPECT_EQ(*store_->ReadHeads(Hour(490'001)), "heads10");
}

TEST_F(CheckpointTest, AFailedWriteClosesTheDatabase) {
  for (const auto& fault : {absl::DataLossError("bad block"),
                            absl::ResourceExhaustedError("disk full")}) {
    NewDisk();
    expected_ = CheckpointState();
    Write(1);
    fs_->FailAfter(MemoryOp::kWrite, 1, fault, false);
    EXPECT_EQ(store_->Write(Update(2)).status().code(), fault.code());
    const absl::Status again = store_->Write(Update(2)).status();
    EXPECT_EQ(again.code(), fault.code());
    EXPECT_NE(std::string(again.message()).find(std::string(fault.message())),
              std::string::npos);
    EXPECT_EQ(store_->Load().status(), again);
    EXPECT_EQ(store_->ReadHeads(Hour(490'001)).status(), again);
    // The lock is free: the database is closed.
    const auto other =
        CheckpointStore::Open(fs_.get(), kDir, TestStore('s'), false);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ((*other)->Load()->record.sequence, 1u);
  }
}

// Each operation of a checkpoint that makes RocksDB flush fails once, or for
// ever. Debian's RocksDB has its assertions on: it must not abort.
TEST_F(CheckpointTest, AFaultAnywhereInAFlushIsReportedOrHarmless) {
  CheckpointUpdate large = Update(2);
  large.hours[0].heads.assign(9 << 20, 'h');
  store_->Write(Update(1)).IgnoreError();
  const uint64_t before = fs_->operations(MemoryOp::kAny);
  ASSERT_TRUE(store_->Write(large).ok());
  const uint64_t operations = fs_->operations(MemoryOp::kAny) - before;
  ASSERT_GT(operations, 10u);
  for (uint64_t n = 1; n <= operations; n += 1 + n / 5) {
    for (const bool sticky : {false, true}) {
      SCOPED_TRACE(absl::StrCat("operation ", n, sticky ? " and later" : ""));
      NewDisk();
      expected_ = CheckpointState();
      Write(1);
      fs_->FailAfter(MemoryOp::kAny, static_cast<int>(n),
                     absl::ResourceExhaustedError("disk full"), sticky);
      const auto written = store_->Write(large);
      const auto next = store_->Write(Update(3));
      fs_->ClearFaults();
      PowerLoss();
      const uint64_t sequence = Load().record.sequence;
      EXPECT_LE(sequence, 3u);
      EXPECT_GE(sequence, next.ok() ? 3u : written.ok() ? 2u : 1u);
    }
  }
}

TEST_F(CheckpointTest, ValuesRewrittenForEverDoNotFillTheDisk) {
  Open(/*background=*/true);
  CheckpointUpdate update;
  for (int32_t hour = 0; hour < 50; ++hour) {
    update.hours.push_back({Hour(hour), Facts(1), std::string(20'000, 'h')});
  }
  for (int n = 0; n < 200; ++n) ASSERT_TRUE(store_->Write(update).ok());
  store_.reset();
  uint64_t bytes = 0;
  const auto names = fs_->List(kDir);
  for (const auto& name : *names) bytes += *fs_->FileSize(kDir / name);
  EXPECT_GT(fs_->bytes_written(), 200u << 20);
  EXPECT_LT(bytes, 80u << 20);
}

TEST_F(CheckpointTest, HeadsAreReadBesideWrites) {
  Write(1);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const auto heads = store_->ReadHeads(Hour(490'002));
      EXPECT_TRUE(!heads.ok() || heads->substr(0, 5) == "heads") << *heads;
    }
  });
  for (uint32_t n = 2; n < 60; ++n) Write(n % 4 == 3 ? n + 1 : n);
  fs_->FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad block"), true);
  EXPECT_FALSE(store_->Write(Update(1)).ok());  // closes under the reader
  done = true;
  reader.join();
}

// --- Damage ------------------------------------------------------------------

TEST_F(CheckpointTest, AnAlteredMissingOrForeignKeyIsReported) {
  Write(1);
  const CheckpointUpdate update = Update(1);
  const std::vector<std::string> counted = {
      HourKey(update.hours[0].hour), HourKey(update.hours[2].hour),
      QueueKey("topic1"), ProgressKey({"topic0", "group1"}), RecordKey()};
  const auto expect_reported = [&] {
    ASSERT_TRUE(TryOpen().ok());
    EXPECT_TRUE(absl::IsDataLoss(store_->Load().status()));
    EXPECT_TRUE(absl::IsDataLoss(store_->Write(Update(2)).status()));
  };
  for (const std::string& key : counted) {
    SCOPED_TRACE(key.substr(0, 1));
    std::string value;
    Tamper([&](rocksdb::DB* db) {
      ASSERT_TRUE(db->Get({}, key, &value).ok());
      ASSERT_TRUE(db->Delete({}, key).ok());
    });
    expect_reported();
    for (size_t i = 0; i < value.size(); ++i) {
      std::string altered = value;
      altered[i] ^= 1;
      Tamper([&](rocksdb::DB* db) { db->Put({}, key, altered); });
      expect_reported();
    }
    Tamper([&](rocksdb::DB* db) { db->Put({}, key, value + "x"); });
    expect_reported();
    Tamper([&](rocksdb::DB* db) { db->Put({}, key, value); });
    ASSERT_TRUE(TryOpen().ok());
    EXPECT_TRUE(Load() == expected_);
  }
  for (const std::string& key : {std::string("z"), std::string("h123"),
                                 HourKey(Hour(3)), QueueKey("new")}) {
    Tamper([&](rocksdb::DB* db) { db->Put({}, key, "value"); });
    if (key == "z") {
      // Behind the heads: nobody reads it.
      ASSERT_TRUE(TryOpen().ok());
      EXPECT_TRUE(Load() == expected_);
    } else {
      expect_reported();
    }
    Tamper([&](rocksdb::DB* db) { db->Delete({}, key); });
  }
}

TEST_F(CheckpointTest, TwoValuesInEachOthersPlaceAreReported) {
  Write(1);
  const auto hours = Update(1).hours;
  Tamper([&](rocksdb::DB* db) {
    db->Put({}, HourKey(hours[0].hour), EncodeHourFacts(hours[1].facts));
    db->Put({}, HourKey(hours[1].hour), EncodeHourFacts(hours[0].facts));
  });
  ASSERT_TRUE(TryOpen().ok());
  EXPECT_TRUE(absl::IsDataLoss(store_->Load().status()));
}

TEST_F(CheckpointTest, ALostIdentityIsReported) {
  Write(1);
  Tamper([](rocksdb::DB* db) { db->Delete({}, IdentityKey()); });
  EXPECT_TRUE(absl::IsDataLoss(TryOpen()));
}

// Whatever happens to one file of RocksDB's: refused, or an older state, or
// the whole of the newest one. Never a wrong state under the newest number.
class CheckpointDamageTest : public CheckpointTest {
 protected:
  enum Outcome { kRefused, kOlder, kUnharmed, kWrong };

  Outcome Try(const DiskImage& image) {
    store_.reset();
    fs_ = image.NewDisk();
    if (!TryOpen().ok()) return kRefused;
    const auto state = store_->Load();
    if (!state.ok()) return kRefused;
    if (*state == expected_) return kUnharmed;
    const uint64_t newest = expected_.record.sequence;
    return state->record.sequence < newest ? kOlder : kWrong;
  }

  // The files of a database with five checkpoints; some in tables, some in
  // the live log.
  DiskImage MakeImage(bool tables) {
    for (uint32_t n = 1; n <= 4; ++n) Write(n);
    if (tables) Open();
    Write(5);
    if (tables) Open();
    store_.reset();
    DiskImage image = DiskImage::Of(fs_.get(), kDir);
    image.files.erase((kDir / "LOCK").string());
    EXPECT_EQ(Try(image), kUnharmed);
    return image;
  }
};

TEST_F(CheckpointDamageTest, FlippedBits) {
  for (const bool tables : {false, true}) {
    NewDisk();
    expected_ = CheckpointState();
    const DiskImage intact = MakeImage(tables);
    int outcomes[4] = {};
    for (const auto& [path, content] : intact.files) {
      const size_t step = 1 + content.size() * 8 / 150;
      for (size_t bit = 0; bit < content.size() * 8; bit += step) {
        DiskImage image = intact;
        image.files[path][bit / 8] ^= static_cast<char>(1 << bit % 8);
        const Outcome outcome = Try(image);
        EXPECT_NE(outcome, kWrong) << path << " bit " << bit;
        ++outcomes[outcome];
      }
    }
    EXPECT_GT(outcomes[kRefused], 0);
    if (!tables) {
      EXPECT_GT(outcomes[kOlder], 0);
    }
  }
}

TEST_F(CheckpointDamageTest, TruncatedAndMissingFiles) {
  for (const bool tables : {false, true}) {
    NewDisk();
    expected_ = CheckpointState();
    const DiskImage intact = MakeImage(tables);
    for (const auto& [path, content] : intact.files) {
      DiskImage image = intact;
      image.files.erase(path);
      EXPECT_NE(Try(image), kWrong) << path << " missing";
      const size_t step = 1 + content.size() / 50;
      for (size_t size = 0; size < content.size(); size += step) {
        image.files[path] = content.substr(0, size);
        EXPECT_NE(Try(image), kWrong) << path << " cut to " << size;
      }
    }
  }
}

// The bytes of docs/formats/checkpoint.md.
TEST_F(CheckpointTest, TheWorkedExampleIsWhatIsWritten) {
  CheckpointUpdate update;
  update.applied = update.replay_from = LogOffset(512);
  update.cursor = Second(1'763'700'000);
  update.queues["a"] = {QueueIndex(0), QueueIndex(5)};
  ASSERT_TRUE(store_->Write(update).ok());
  const auto expect_stored = [&](const std::string& key,
                                 const std::string& hex) {
    Tamper([&](rocksdb::DB* db) {
      std::string value;
      ASSERT_TRUE(db->Get({}, key, &value).ok());
      EXPECT_EQ(absl::BytesToHexString(value), hex);
    });
  };
  expect_stored("qa", "00000000000000000500000000000000");
  expect_stored("r",
                "01"
                "0100000000000000"
                "0002000000000000"
                "0002000000000000"
                "20ed1f6900000000"
                "eef2450ab6611d0a");
}

// The rest of that page's example: key and value of each other kind.
TEST(CheckpointFormat, TheOtherWorkedExamplesAreWhatIsWritten) {
  const auto hex = [](const std::string& bytes) {
    return absl::BytesToHexString(bytes);
  };
  const HourFacts facts = {.base = RecordNumber(1),
                           .last = RecordNumber(9),
                           .delay_log_bytes = 4096,
                           .tombstones = 2,
                           .message_bytes = 900,
                           .cancelled_bytes = 200,
                           .delivered = 3,
                           .delivered_bytes = 300,
                           .retired = false};
  EXPECT_EQ(hex(HourKey(Hour(490'000))), "6880077a10");
  EXPECT_EQ(hex(HeadsKey(Hour(490'000))), "7380077a10");
  const std::string facts_hex =
      "010000000900000002000000"
      "0010000000000000"
      "8403000000000000"
      "c800000000000000"
      "03000000"
      "2c01000000000000"
      "00";
  EXPECT_EQ(hex(EncodeHourFacts(facts)), facts_hex);
  StoreId id;
  for (size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<char>(i + 1);
  }
  EXPECT_EQ(hex(IdentityKey()), "69");
  EXPECT_EQ(hex(EncodeIdentity(id)), "010102030405060708090a0b0c0d0e0f10");
  EXPECT_EQ(hex(ProgressKey({"a", "g"})), "70016167");
  EXPECT_EQ(hex(EncodeProgress(GroupProgress(QueueIndex(3)))),
            "0300000000000000");

  GroupProgress marks(QueueIndex(3));
  marks.Ack(QueueIndex(5), QueueIndex(7));
  marks.NoteAttempts(QueueIndex(4), 2);
  const std::string marks_hex =
      "0300000000000000"
      "010202"
      "010102";
  EXPECT_EQ(hex(EncodeProgress(marks)), marks_hex);

  CheckpointState state;
  ASSERT_TRUE(DecodeEntry(ProgressKey({"a", "h"}),
                          absl::HexStringToBytes(marks_hex), &state)
                  .ok());
  EXPECT_TRUE(state.progress.at({"a", "h"}) == marks);
  ASSERT_TRUE(DecodeEntry(HourKey(Hour(490'000)),
                          absl::HexStringToBytes(facts_hex), &state)
                  .ok());
  EXPECT_EQ(state.hours.at(Hour(490'000)), facts);
  ASSERT_TRUE(DecodeEntry(ProgressKey({"a", "g"}),
                          absl::HexStringToBytes("0300000000000000"), &state)
                  .ok());
  EXPECT_EQ(state.progress.at({"a", "g"}), GroupProgress(QueueIndex(3)));
}

// --- Checkpoint records ------------------------------------------------------

TEST(CheckpointRecordTest, ComesBack) {
  const CheckpointRecord record{.sequence = 1,
                                .applied = LogOffset::Max(),
                                .replay_from = LogOffset(3),
                                .cursor = Second(-4),
                                .state_hash = 5};
  const std::string bytes = EncodeCheckpointRecord(record);
  EXPECT_EQ(bytes.size(), kCheckpointRecordBytes);
  const auto decoded = DecodeCheckpointRecord(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, record);
}

TEST(CheckpointRecordTest, EveryOtherLengthAndVersionIsRefused) {
  std::string bytes = EncodeCheckpointRecord(CheckpointRecord());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(
        DecodeCheckpointRecord(bytes.substr(0, size)).status()));
  }
  EXPECT_TRUE(absl::IsDataLoss(DecodeCheckpointRecord(bytes + "x").status()));
  bytes[0] = 0;
  EXPECT_TRUE(absl::IsDataLoss(DecodeCheckpointRecord(bytes).status()));
  bytes[0] = 2;
  EXPECT_TRUE(
      absl::IsFailedPrecondition(DecodeCheckpointRecord(bytes).status()));
}

}  // namespace
}  // namespace hourglass
