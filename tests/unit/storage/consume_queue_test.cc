#include "storage/consume_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "storage/queue_format.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

const Path kRoot = "/queues";
constexpr int kCheckpointsToUnlink = 3;

QueueEntry Entry(uint64_t n) {
  return {LogOffset(512 + 64 * n), static_cast<uint32_t>(60 + n % 4),
          static_cast<uint32_t>(n * 7)};
}

class ConsumeQueueTest : public testing::Test {
 protected:
  ConsumeQueueTest() { Reopen({}); }

  void Reopen(const std::map<std::string, QueueFacts>& facts) {
    table_ =
        std::make_unique<QueueTable>(fs_.get(), kRoot, StoreId{}, options_);
    const absl::Status status = table_->Restore(facts);
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status TryReopen(const std::map<std::string, QueueFacts>& facts) {
    table_ =
        std::make_unique<QueueTable>(fs_.get(), kRoot, StoreId{}, options_);
    return table_->Restore(facts);
  }
  void UseOptions(const QueueOptions& options) {
    options_ = options;
    Reopen(table_->AllFacts());
  }
  void PowerLoss(int keep_percent = 0, uint64_t seed = 1) {
    table_.reset();
    fs_ = fs_->CrashClone(seed, keep_percent);
  }

  // Entries Entry(from), Entry(from + 1), ... at those indexes.
  void Append(std::string_view topic, uint64_t from, uint64_t count) {
    for (uint64_t n = from; n < from + count; ++n) {
      const auto index = table_->Append(topic, Entry(n));
      ASSERT_TRUE(index.ok()) << index.status();
      ASSERT_EQ(index->value(), n);
    }
  }
  QueueTable::Changes Checkpoint() {
    auto changes = table_->TakeChanges();
    EXPECT_TRUE(changes.ok()) << changes.status();
    const absl::Status status = table_->SyncFiles(*changes);
    EXPECT_TRUE(status.ok()) << status;
    return *std::move(changes);
  }
  void ExpectRead(std::string_view topic, uint64_t from, size_t count_max,
                  size_t count) {
    const auto read = table_->Read(topic, QueueIndex(from), count_max);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ((*read)[i], Entry(from + i)) << from + i;
    }
  }
  std::vector<std::string> FilesOf(std::string_view topic) {
    return *fs_->List(kRoot / QueueDirName(topic));
  }
  static QueueFacts MakeFacts(uint64_t first, uint64_t next) {
    return {QueueIndex(first), QueueIndex(next)};
  }

  QueueOptions options_{.entries_per_file = 10};
  std::unique_ptr<MemoryFileSystem> fs_ = std::make_unique<MemoryFileSystem>();
  std::unique_ptr<QueueTable> table_;
};

TEST_F(ConsumeQueueTest, ReadsWhatWasAppendedBeforeAnyFlush) {
  Append("orders", 0, 25);
  ExpectRead("orders", 0, 100, 25);
  ExpectRead("orders", 24, 100, 1);
  EXPECT_TRUE(fs_->List(kRoot)->empty()) << "an append opened a file";
}

TEST_F(ConsumeQueueTest, ReadsAcrossFilesAndBuffer) {
  Append("orders", 0, 25);
  Checkpoint();
  Append("orders", 25, 3);
  EXPECT_EQ(FilesOf("orders"),
            (std::vector<std::string>{QueueFileName(QueueIndex(0)),
                                      QueueFileName(QueueIndex(10)),
                                      QueueFileName(QueueIndex(20))}));
  for (uint64_t from = 0; from < 28; ++from) {
    for (size_t count = 0; count < 30; ++count) {
      ExpectRead("orders", from, count, std::min<size_t>(count, 28 - from));
    }
  }
}

TEST_F(ConsumeQueueTest, AFileThatIsFullIsNotWrittenAgain) {
  Append("orders", 0, 10);
  Checkpoint();
  const std::string full =
      fs_->Content(kRoot / "orders" / QueueFileName(QueueIndex(0)));
  Append("orders", 10, 1);
  Checkpoint();
  EXPECT_EQ(full,
            fs_->Content(kRoot / "orders" / QueueFileName(QueueIndex(0))));
  EXPECT_EQ(FilesOf("orders").size(), 2u);
}

TEST_F(ConsumeQueueTest, TheEndAndTheUnknownAreEmpty) {
  Append("orders", 0, 3);
  ExpectRead("orders", 3, 10, 0);
  ExpectRead("orders", ~uint64_t{0}, 10, 0);
  ExpectRead("nobody", 0, 10, 0);
  ExpectRead("orders", 1, ~size_t{0}, 2);
  EXPECT_EQ(table_->Facts("nobody"), QueueFacts{});
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(0, 3));
}

TEST_F(ConsumeQueueTest, ATopicNeedsANameOfItsOwn) {
  EXPECT_TRUE(absl::IsInvalidArgument(table_->Append("", Entry(0)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      table_->Append(std::string(kQueueTopicBytesMax + 1, 'x'), Entry(0))
          .status()));
}

TEST_F(ConsumeQueueTest, StrangeTopicsStayApart) {
  const std::vector<std::string> topics = {
      ".",
      "..",
      "../queues",
      "a/b",
      "a%2Fb",
      "~",
      std::string("\0", 1),
      std::string(255, '/'),
      std::string(254, '/') + "x",
      std::string(kQueueTopicBytesMax, '\xff')};
  for (size_t i = 0; i < topics.size(); ++i) Append(topics[i], 0, i + 1);
  Checkpoint();
  EXPECT_EQ(fs_->List(kRoot)->size(), topics.size());
  Reopen(table_->AllFacts());
  for (size_t i = 0; i < topics.size(); ++i) {
    ExpectRead(topics[i], 0, 100, i + 1);
  }
}

TEST_F(ConsumeQueueTest, BuffersAreBoundedOverAllTopics) {
  UseOptions({.entries_per_file = 1000, .buffer_bytes_max = 24 * 50});
  for (uint64_t n = 0; n < 20; ++n) {
    for (int t = 0; t < 5; ++t) Append(absl::StrCat("topic", t), n, 1);
  }
  EXPECT_GE(fs_->bytes_written(), 24u * 50);
  EXPECT_EQ(fs_->syncs(), 0u);
  for (int t = 0; t < 5; ++t) ExpectRead(absl::StrCat("topic", t), 0, 100, 20);
}

TEST_F(ConsumeQueueTest, ManyTopicsNeedFewOpenFiles) {
  UseOptions({.entries_per_file = 4, .open_topics_max = 3});
  for (uint64_t round = 0; round < 3; ++round) {
    for (int t = 0; t < 40; ++t) Append(absl::StrCat("t", t), round * 3, 3);
    const auto changes = Checkpoint();
    EXPECT_EQ(changes.topics.size(), 40u);
    EXPECT_LE(changes.files.size(), 3u);
    EXPECT_GE(changes.closed.size(), 37u);
  }
  PowerLoss();
  std::map<std::string, QueueFacts> facts;
  for (int t = 0; t < 40; ++t) facts[absl::StrCat("t", t)] = MakeFacts(0, 9);
  Reopen(facts);
  for (int t = 0; t < 40; ++t) ExpectRead(absl::StrCat("t", t), 0, 100, 9);
}

TEST_F(ConsumeQueueTest, ChangesNameEachChangedTopicOnce) {
  Append("a", 0, 2);
  Append("b", 0, 1);
  auto changes = Checkpoint();
  EXPECT_EQ(changes.topics,
            (std::map<std::string, QueueFacts>{{"a", MakeFacts(0, 2)},
                                               {"b", MakeFacts(0, 1)}}));
  EXPECT_EQ(changes.files.size(), 2u);
  EXPECT_EQ(changes.dirs.size(), 3u);

  Append("b", 1, 1);
  changes = Checkpoint();
  EXPECT_EQ(changes.topics,
            (std::map<std::string, QueueFacts>{{"b", MakeFacts(0, 2)}}));
  EXPECT_EQ(changes.files.size(), 1u);
  EXPECT_TRUE(changes.dirs.empty());

  changes = Checkpoint();
  EXPECT_TRUE(changes.topics.empty());
  EXPECT_TRUE(changes.files.empty());
}

TEST_F(ConsumeQueueTest, WhatACheckpointSyncedSurvivesPowerLoss) {
  for (int keep = 0; keep <= 100; keep += 25) {
    SCOPED_TRACE(keep);
    fs_ = std::make_unique<MemoryFileSystem>();
    Reopen({});
    Append("orders", 0, 25);
    Append("a/b", 0, 3);
    Checkpoint();
    Append("orders", 25, 8);
    Append("later", 0, 4);
    ASSERT_TRUE(table_->TakeChanges().ok());  // written, not synced
    PowerLoss(keep, /*seed=*/keep + 1);
    Reopen({{"orders", MakeFacts(0, 25)}, {"a/b", MakeFacts(0, 3)}});
    ExpectRead("orders", 0, 100, 25);
    ExpectRead("a/b", 0, 100, 3);
    // Recovery replays the rest of the log, to the same entries.
    Append("orders", 25, 8);
    Append("later", 0, 4);
    Checkpoint();
    ExpectRead("orders", 0, 100, 33);
    ExpectRead("later", 0, 100, 4);
  }
}

TEST_F(ConsumeQueueTest, WithoutSyncAPowerLossIsReported) {
  Append("orders", 0, 25);
  ASSERT_TRUE(table_->TakeChanges().ok());
  PowerLoss();
  EXPECT_TRUE(absl::IsDataLoss(TryReopen({{"orders", MakeFacts(0, 25)}})));
}

TEST_F(ConsumeQueueTest, RestoreCutsToTheFacts) {
  Append("orders", 0, 35);
  Checkpoint();
  for (const uint64_t next : {35, 31, 30, 29, 21, 20, 11, 10, 9, 1, 0}) {
    SCOPED_TRACE(next);
    Reopen({{"orders", MakeFacts(0, next)}});
    ExpectRead("orders", 0, 100, next);
    EXPECT_EQ(FilesOf("orders").size(), (next + 9) / 10);
  }
  Append("orders", 0, 12);
  ExpectRead("orders", 0, 100, 12);
}

TEST_F(ConsumeQueueTest, WhatRestoreCutStaysCutAfterAPowerLoss) {
  Append("orders", 0, 35);
  Checkpoint();
  Reopen({{"orders", MakeFacts(0, 12)}});
  PowerLoss();
  EXPECT_EQ(FilesOf("orders").size(), 2u);
  EXPECT_EQ(
      fs_->Content(kRoot / "orders" / QueueFileName(QueueIndex(10))).size(),
      512u + 2 * 24);
}

TEST_F(ConsumeQueueTest, RestoreOpensOnlyWhatItCuts) {
  for (int t = 0; t < 10; ++t) Append(absl::StrCat("t", t), 0, 25);
  Checkpoint();
  auto facts = table_->AllFacts();
  facts["t3"].next = QueueIndex(24);
  const uint64_t opened = fs_->operations(MemoryOp::kOpen);
  Reopen(facts);
  EXPECT_EQ(fs_->operations(MemoryOp::kOpen), opened + 1);
}

TEST_F(ConsumeQueueTest, RestoreRemovesUnknownTopicsButNoForeignFiles) {
  Append("known", 0, 3);
  Append("unknown", 0, 30);
  Append("mixed", 0, 30);
  Checkpoint();
  fs_->SetContent(kRoot / "mixed" / "notes.txt", "keep me");
  fs_->SetContent(kRoot / "README", "keep me too");
  Reopen({{"known", MakeFacts(0, 3)}});
  EXPECT_EQ(*fs_->List(kRoot),
            (std::vector<std::string>{"README", "known", "mixed"}));
  EXPECT_EQ(FilesOf("mixed"), std::vector<std::string>{"notes.txt"});
  Append("unknown", 0, 3);
  Checkpoint();
  ExpectRead("unknown", 0, 10, 3);
}

TEST_F(ConsumeQueueTest, RestoreReportsFactsWithoutFiles) {
  Append("orders", 0, 15);
  Checkpoint();
  EXPECT_TRUE(absl::IsDataLoss(TryReopen({{"orders", MakeFacts(0, 16)}})));
  EXPECT_TRUE(absl::IsDataLoss(TryReopen({{"orders", MakeFacts(5, 4)}})));
  EXPECT_TRUE(absl::IsDataLoss(TryReopen({{"gone", MakeFacts(0, 1)}})));
  EXPECT_TRUE(TryReopen({{"gone", MakeFacts(7, 7)}}).ok());
  // A table that could not be restored knows nothing, and stays harmless.
  EXPECT_TRUE(absl::IsDataLoss(TryReopen({{"orders", MakeFacts(0, 99)}})));
  ExpectRead("orders", 0, 10, 0);
}

TEST_F(ConsumeQueueTest, RestoreTwiceIsTheSame) {
  Append("orders", 0, 25);
  Checkpoint();
  Reopen({{"orders", MakeFacts(0, 13)}});
  Reopen({{"orders", MakeFacts(0, 13)}});
  ExpectRead("orders", 0, 100, 13);
}

TEST_F(ConsumeQueueTest, FileSizeMayChangeBetweenRuns) {
  Append("orders", 0, 25);
  Checkpoint();
  UseOptions({.entries_per_file = 3});
  Append("orders", 25, 10);
  Checkpoint();
  UseOptions({.entries_per_file = 100});
  Append("orders", 35, 10);
  Checkpoint();
  Reopen(table_->AllFacts());
  ExpectRead("orders", 0, 100, 45);
}

TEST_F(ConsumeQueueTest, RemoveBeforeGivesUpWholeFiles) {
  Append("orders", 0, 35);
  Checkpoint();
  const auto remove = [&](uint64_t n) {
    ASSERT_TRUE(table_->RemoveBefore("orders", Entry(n).offset).ok());
  };
  remove(9);  // the first file's last entry is still wanted
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(0, 35));
  remove(10);
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(10, 35));
  remove(29);
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(20, 35));
  remove(34);
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(30, 35));
  ExpectRead("orders", 30, 100, 5);
  const auto below = table_->Read("orders", QueueIndex(29), 10);
  EXPECT_TRUE(absl::IsOutOfRange(below.status())) << below.status();
  EXPECT_TRUE(table_->RemoveBefore("nobody", LogOffset::Max()).ok());
}

TEST_F(ConsumeQueueTest, RemoveBeforeFindsOffsetsAfterARestart) {
  Append("orders", 0, 35);
  Checkpoint();
  Reopen(table_->AllFacts());
  ASSERT_TRUE(table_->RemoveBefore("orders", Entry(20).offset).ok());
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(20, 35));
  const uint64_t reads = fs_->operations(MemoryOp::kRead);
  ASSERT_TRUE(table_->RemoveBefore("orders", Entry(20).offset).ok());
  const uint64_t more = fs_->operations(MemoryOp::kRead);
  ASSERT_TRUE(table_->RemoveBefore("orders", Entry(20).offset).ok());
  EXPECT_LE(more, reads + 2);
  EXPECT_EQ(fs_->operations(MemoryOp::kRead), more) << "not remembered";
}

TEST_F(ConsumeQueueTest, AnIdleTopicGivesUpItsLastFile) {
  Append("orders", 0, 15);
  ASSERT_TRUE(table_->RemoveBefore("orders", LogOffset::Max()).ok());
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(0, 15)) << "still buffered";
  Checkpoint();
  ASSERT_TRUE(table_->RemoveBefore("orders", LogOffset::Max()).ok());
  EXPECT_EQ(table_->Facts("orders"), MakeFacts(15, 15));
  for (int i = 0; i < kCheckpointsToUnlink; ++i) Checkpoint();
  EXPECT_TRUE(FilesOf("orders").empty());
  Append("orders", 15, 3);
  Checkpoint();
  Reopen(table_->AllFacts());
  ExpectRead("orders", 15, 100, 3);
}

// A start may fall back to the checkpoint before the newest one.
TEST_F(ConsumeQueueTest, FilesGoOnlyWhenTwoCheckpointsSaySo) {
  Append("orders", 0, 35);
  Checkpoint();
  const auto before = table_->AllFacts();
  ASSERT_TRUE(table_->RemoveBefore("orders", Entry(20).offset).ok());
  Checkpoint();  // the newest says so
  Checkpoint();  // its predecessor says so, once this one is written
  EXPECT_EQ(FilesOf("orders").size(), 4u);
  const auto after = Checkpoint();
  EXPECT_EQ(FilesOf("orders").size(), 2u);
  EXPECT_EQ(after.dirs, std::vector<Path>{kRoot / "orders"});
  PowerLoss();
  EXPECT_EQ(FilesOf("orders").size(), 2u);
  Reopen({{"orders", MakeFacts(20, 35)}});
  ExpectRead("orders", 20, 100, 15);
}

TEST_F(ConsumeQueueTest, ACrashBeforeTheUnlinkLeavesBothStates) {
  for (const uint64_t first : {0, 20}) {
    fs_ = std::make_unique<MemoryFileSystem>();
    Reopen({});
    Append("orders", 0, 35);
    Checkpoint();
    ASSERT_TRUE(table_->RemoveBefore("orders", Entry(20).offset).ok());
    Checkpoint();
    PowerLoss();
    Reopen({{"orders", MakeFacts(first, 35)}});
    ExpectRead("orders", first, 100, 35 - first);
    EXPECT_EQ(FilesOf("orders").size(), first == 0 ? 4u : 2u);
  }
}

TEST_F(ConsumeQueueTest, AFailedWriteIsSticky) {
  for (const MemoryOp op : {MemoryOp::kWrite, MemoryOp::kCreate}) {
    fs_ = std::make_unique<MemoryFileSystem>();
    Reopen({});
    Append("orders", 0, 3);
    Checkpoint();
    Append("other", 0, 3);
    fs_->FailAfter(op, 1, absl::DataLossError("bad block"), false);
    EXPECT_TRUE(absl::IsDataLoss(table_->TakeChanges().status()));
    EXPECT_TRUE(absl::IsDataLoss(table_->Append("x", Entry(0)).status()));
    EXPECT_TRUE(absl::IsDataLoss(table_->HasRoom()));
    EXPECT_TRUE(absl::IsDataLoss(table_->TakeChanges().status()));
    EXPECT_TRUE(absl::IsDataLoss(table_->RemoveBefore("orders", LogOffset(0))));
    ExpectRead("orders", 0, 10, 3);
  }
}

// At whichever call the disk is full: nothing is lost, nothing is written
// twice, and a half-made file is not in the way.
TEST_F(ConsumeQueueTest, AFullDiskIsWrittenToLater) {
  options_ = {.entries_per_file = 4, .buffer_bytes_max = 10 * kQueueEntryBytes};
  int waited = 0;
  for (const bool sticky : {false, true}) {
    for (int n = 1; n <= 30; ++n) {
      SCOPED_TRACE(absl::StrCat("call ", n, sticky ? " and later" : ""));
      fs_ = std::make_unique<MemoryFileSystem>();
      Reopen({});
      Append("a", 0, 3);
      for (const MemoryOp op : {MemoryOp::kWrite, MemoryOp::kCreate}) {
        fs_->FailAfter(op, n, absl::ResourceExhaustedError("disk full"),
                       sticky);
      }
      Append("a", 3, 12);
      Append("b", 0, 9);
      ExpectRead("a", 0, 100, 15);
      const auto changes = table_->TakeChanges();
      if (changes.ok()) {
        EXPECT_TRUE(table_->SyncFiles(*changes).ok());
      } else {
        EXPECT_TRUE(absl::IsResourceExhausted(changes.status()));
        ++waited;
      }
      if (sticky && n == 1) {
        EXPECT_TRUE(absl::IsResourceExhausted(table_->HasRoom()));
      }
      fs_->ClearFaults();
      EXPECT_TRUE(table_->HasRoom().ok());
      Append("b", 9, 9);
      Checkpoint();
      PowerLoss();
      Reopen({{"a", MakeFacts(0, 15)}, {"b", MakeFacts(0, 18)}});
      ExpectRead("a", 0, 100, 15);
      ExpectRead("b", 0, 100, 18);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(waited, 10);
}

TEST_F(ConsumeQueueTest, AFailedSyncIsReported) {
  for (const MemoryOp op : {MemoryOp::kSync, MemoryOp::kSyncDir}) {
    Append("orders", table_->Facts("orders").next.value(), 11);
    const auto changes = table_->TakeChanges();
    ASSERT_TRUE(changes.ok());
    fs_->FailAfter(op, 1, absl::DataLossError("bad block"), false);
    EXPECT_TRUE(absl::IsDataLoss(table_->SyncFiles(*changes)));
  }
}

TEST_F(ConsumeQueueTest, ReadsRunBesideAppends) {
  UseOptions({.entries_per_file = 64,
              .open_topics_max = 2,
              .buffer_bytes_max = 24 * 100});
  constexpr uint64_t kCount = 4000;
  std::atomic<bool> failed = false;
  const auto consume = [&](const std::string& topic) {
    for (uint64_t next = 0; next < kCount && !failed;) {
      const auto read = table_->Read(topic, QueueIndex(next), 17);
      if (!read.ok()) failed = true;
      for (size_t i = 0; read.ok() && i < read->size(); ++i) {
        if ((*read)[i] != Entry(next++)) failed = true;
      }
      if (table_->AllFacts().size() > 2) failed = true;
    }
  };
  std::thread a(consume, "a");
  std::thread b(consume, "b");
  for (uint64_t n = 0; n < kCount; ++n) {
    Append("a", n, 1);
    Append("b", n, 1);
    if (n % 500 == 0) Checkpoint();
  }
  a.join();
  b.join();
  EXPECT_FALSE(failed);
}

// Any sequence of calls, power losses and restarts against a vector.
class ConsumeQueueModelTest : public testing::TestWithParam<int> {
 protected:
  struct Model {
    uint64_t first = 0;
    std::vector<QueueEntry> entries;
  };
  using Models = std::map<std::string, Model>;

  std::string AnyTopic() { return absl::StrCat("t", random_() % 5); }

  void AppendSome() {
    const std::string topic = AnyTopic();
    for (size_t i = random_() % 12; i > 0; --i) {
      const QueueEntry entry{LogOffset(offset_ += 64),
                             static_cast<uint32_t>(random_()), 3};
      const auto index = table_->Append(topic, entry);
      ASSERT_TRUE(index.ok()) << index.status();
      ASSERT_EQ(index->value(), now_[topic].entries.size());
      now_[topic].entries.push_back(entry);
    }
  }

  void ReadSome() {
    const std::string topic = AnyTopic();
    const std::vector<QueueEntry>& all = now_[topic].entries;
    const uint64_t from = random_() % (all.size() + 2);
    const size_t count_max = random_() % 20;
    const auto read = table_->Read(topic, QueueIndex(from), count_max);
    const uint64_t first = table_->Facts(topic).first.value();
    if (from < first) {
      ASSERT_TRUE(absl::IsOutOfRange(read.status()));
      return;
    }
    ASSERT_TRUE(read.ok()) << read.status();
    const uint64_t begin = std::min<uint64_t>(from, all.size());
    const uint64_t end = std::min<uint64_t>(begin + count_max, all.size());
    ASSERT_EQ(*read,
              std::vector<QueueEntry>(all.begin() + begin, all.begin() + end));
  }

  void RemoveSome() {
    const std::string topic = AnyTopic();
    const LogOffset keep_from(offset_ - std::min(offset_, random_() % 4000));
    ASSERT_TRUE(table_->RemoveBefore(topic, keep_from).ok());
    Model& model = now_[topic];
    const uint64_t first = table_->Facts(topic).first.value();
    ASSERT_GE(first, model.first);
    for (; model.first < first; ++model.first) {
      ASSERT_LT(model.entries[model.first].offset, keep_from);
    }
  }

  void Checkpoint() {
    const auto changes = table_->TakeChanges();
    ASSERT_TRUE(changes.ok()) << changes.status();
    ASSERT_TRUE(table_->SyncFiles(*changes).ok());
    for (const auto& [topic, facts] : changes->topics) {
      facts_[topic] = facts;
      ASSERT_EQ(facts.next.value(), now_[topic].entries.size());
    }
    previous_ = std::exchange(saved_, {now_, facts_});
  }

  void CrashAndRestore() {
    table_.reset();
    fs_ = fs_->CrashClone(random_(), static_cast<int>(random_() % 101));
    // The newest checkpoint may turn out unusable: then its predecessor.
    if (random_() % 3 == 0) saved_ = previous_;
    previous_ = saved_;
    std::tie(now_, facts_) = saved_;
    Open();
  }

  void Open() {
    table_ = std::make_unique<QueueTable>(
        fs_.get(), kRoot, StoreId{},
        QueueOptions{.entries_per_file = 1 + uint32_t(random_() % 9),
                     .open_topics_max = 1 + uint32_t(random_() % 4),
                     .buffer_bytes_max = 24 * (random_() % 40)});
    const absl::Status status = table_->Restore(facts_);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Step() {
    const uint64_t dice = random_() % 100;
    if (dice < 45) return AppendSome();
    if (dice < 80) return ReadSome();
    if (dice < 87) return RemoveSome();
    if (dice < 97) return Checkpoint();
    CrashAndRestore();
  }

  std::mt19937_64 random_;
  std::unique_ptr<MemoryFileSystem> fs_ = std::make_unique<MemoryFileSystem>();
  std::unique_ptr<QueueTable> table_;
  uint64_t offset_ = 512;
  Models now_;
  std::map<std::string, QueueFacts> facts_;
  std::pair<Models, std::map<std::string, QueueFacts>> saved_, previous_;
};

TEST_P(ConsumeQueueModelTest, BehavesAsAVectorATopic) {
  for (uint64_t seed = GetParam() * 100; seed < GetParam() * 100u + 100;
       ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    fs_ = std::make_unique<MemoryFileSystem>();
    now_.clear();
    facts_.clear();
    saved_ = previous_ = {};
    Open();
    for (int i = 0; i < 150 && !HasFatalFailure(); ++i) Step();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConsumeQueueModelTest, testing::Range(0, 4));

}  // namespace
}  // namespace hourglass
