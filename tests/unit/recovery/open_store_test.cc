#include "recovery/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "storage/hour_format.h"
#include "storage/identity.h"
#include "storage/log_format.h"
#include "tests/support/disk_image.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OpenStoreTest : public testing::Test {
 protected:
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const absl::Status status = box_.TryOpen();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(TextOf(status), HasSubstr(text));
  }

  // A store with a pending, a delivered and a cancelled message, closed.
  void MakeStore() {
    box_.Open();
    box_.Put("delivered", box_.InMs(500));
    const Handle handle = box_.Put("cancelled", box_.InMs(60'000));
    box_.Put("pending", box_.InMs(7'200'000));
    box_.Advance(1000);
    EXPECT_EQ(box_.Cancel(handle), CancelAnswer::kCancelled);
    ASSERT_TRUE(box_.store->Close().ok());
    box_.store.reset();
  }

  void ExpectWhole() {
    EXPECT_THAT(box_.Ready(), ElementsAre("delivered"));
    box_.Advance(2 * 3'600'000 + 1000);
    EXPECT_THAT(box_.Ready(), ElementsAre("delivered", "pending"));
    EXPECT_EQ(box_.store->Stats().pending_messages, 0u);
  }

  Path Only(const Path& dir, const std::string& ending) {
    for (const std::string& name : box_.Names(dir)) {
      if (name.size() >= ending.size() &&
          name.compare(name.size() - ending.size(), ending.size(), ending) ==
              0) {
        return dir / name;
      }
    }
    ADD_FAILURE() << "no *" << ending << " in " << dir;
    return {};
  }

  // Large ones: the log has several files then.
  void PutSixty() {
    const std::string body(20'000, 'x');
    for (int i = 0; i < 60; ++i) box_.Put(body, box_.InMs(3'600'000));
  }
  std::vector<std::string> LogNames() {
    std::vector<std::string> names = box_.Names(box_.dir / kLogDirName);
    std::erase_if(names, [](const std::string& n) { return n.size() < 20; });
    return names;
  }

  // As damage, saying `text`, each time; and nothing is changed by it.
  void ExpectDamage(const std::string& text) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const absl::Status status = box_.TryOpen();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(TextOf(status), HasSubstr(text));
      EXPECT_THAT(TextOf(status), HasSubstr("recover verify"));
    }
  }

  void Flip(const Path& path, size_t at) {
    std::string bytes = box_.fs->Content(path);
    ASSERT_LT(at, bytes.size());
    bytes[at] ^= 1;
    box_.fs->SetContent(path, bytes);
  }

  TestStore box_;
};

TEST_F(OpenStoreTest, MakesAStoreWithItsParents) {
  box_.options.file_system = box_.fs.get();
  const auto store = DelayStore::Open("/a/b/c", box_.options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(*box_.fs->Exists("/a/b/c/HOURGLASS"));
  EXPECT_FALSE(*box_.fs->Exists("/a/b/c/CREATING"));
}

TEST_F(OpenStoreTest, FindsEverythingAgain) {
  MakeStore();
  box_.Open();
  ExpectWhole();
}

TEST_F(OpenStoreTest, RefusesAStoreThatIsOpen) {
  box_.Open();
  const auto again = DelayStore::Open(box_.dir, box_.options);
  EXPECT_TRUE(absl::IsFailedPrecondition(again.status())) << again.status();
  EXPECT_THAT(TextOf(again.status()), HasSubstr("LOCK"));
}

TEST_F(OpenStoreTest, OpenExistingMakesNothing) {
  const auto missing = DelayStore::OpenExisting(box_.dir, box_.options);
  EXPECT_TRUE(absl::IsFailedPrecondition(missing.status()));
  EXPECT_FALSE(*box_.fs->Exists(box_.dir));
  ASSERT_TRUE(box_.fs->CreateDir(box_.dir).ok());
  const auto empty = DelayStore::OpenExisting(box_.dir, box_.options);
  EXPECT_TRUE(absl::IsFailedPrecondition(empty.status()));
  EXPECT_THAT(*box_.fs->List(box_.dir), IsEmpty());
}

TEST_F(OpenStoreTest, RefusesAFileInsteadOfADirectory) {
  box_.fs->SetContent(box_.dir, "hello");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "not a directory");
}

TEST_F(OpenStoreTest, RefusesADirectoryOfSomethingElse) {
  ASSERT_TRUE(box_.fs->CreateDir(box_.dir).ok());
  box_.fs->SetContent(box_.dir / "thesis.tex", "precious");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "not a Hourglass store");
  EXPECT_THAT(*box_.fs->List(box_.dir), ElementsAre("thesis.tex"));
}

TEST_F(OpenStoreTest, LeavesForeignFilesInsideAStoreAlone) {
  MakeStore();
  for (const char* name : {"notes.txt", "hours/notes.txt",
                           "commitlog/notes.txt", "queues/notes.txt"}) {
    box_.fs->SetContent(box_.dir / name, "precious");
  }
  box_.Open();
  ExpectWhole();
  for (const char* name : {"notes.txt", "hours/notes.txt",
                           "commitlog/notes.txt", "queues/notes.txt"}) {
    EXPECT_EQ(box_.fs->Content(box_.dir / name), "precious") << name;
  }
}

// What a kill between the last two steps of a creation leaves. A repair that
// is told to write here must not take it for one that never became a store.
TEST_F(OpenStoreTest, OpeningTakesAwayAMarkThatCreationLeft) {
  MakeStore();
  box_.fs->SetContent(box_.dir / kCreatingName, "");
  box_.Open();
  EXPECT_FALSE(*box_.fs->Exists(box_.dir / kCreatingName));
  ExpectWhole();
}

TEST_F(OpenStoreTest, RefusesAnotherVersion) {
  MakeStore();
  Flip(box_.dir / kIdentityFileName, 9);
  const absl::Status status = box_.TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(status) || absl::IsDataLoss(status))
      << status;
  EXPECT_THAT(TextOf(status), HasSubstr(kIdentityFileName));
}

TEST_F(OpenStoreTest, RefusesADamagedIdentity) {
  MakeStore();
  Flip(box_.dir / kIdentityFileName, 20);
  ExpectRefused(absl::StatusCode::kDataLoss, kIdentityFileName);
  ExpectRefused(absl::StatusCode::kDataLoss, "hourglass recover verify /store");
}

TEST_F(OpenStoreTest, NamesTheToolWhereTheIdentityIsGone) {
  MakeStore();
  ASSERT_TRUE(box_.fs->Remove(box_.dir / kIdentityFileName).ok());
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                "hourglass recover verify /store");
}

TEST_F(OpenStoreTest, SaysWhenItMayNotWrite) {
  MakeStore();
  box_.fs->FailAfter(MemoryOp::kCreate, 1,
                     absl::PermissionDeniedError("/store/LOCK: read-only"),
                     true);
  ExpectRefused(absl::StatusCode::kPermissionDenied, "read-only");
}

TEST_F(OpenStoreTest, SaysWhenTheDiskIsFull) {
  box_.fs->SetCapacity(64u << 10);
  ExpectRefused(absl::StatusCode::kResourceExhausted, "");
  box_.fs->SetCapacity(1u << 30);
  box_.Open();
}

TEST_F(OpenStoreTest, RefusesInvalidOptions) {
  box_.options.open_topics_max = 0;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "open_topics_max");
}

// --- derived files: built again from the log -------------------------------

TEST_F(OpenStoreTest, RebuildsAMissingHourFile) {
  MakeStore();
  ASSERT_TRUE(
      box_.fs->Remove(Only(box_.dir / kHoursDirName, ".delaylog")).ok());
  box_.Open();
  EXPECT_THAT(box_.store->Stats().notices,
              Contains(HasSubstr("rebuilt everything from the commit log")));
  ExpectWhole();
}

TEST_F(OpenStoreTest, RebuildsAMissingDatabase) {
  MakeStore();
  const Path db = box_.dir / kCheckpointDirName;
  for (const std::string& name : box_.Names(db)) {
    ASSERT_TRUE(box_.fs->Remove(db / name).ok());
  }
  box_.Open();
  ExpectWhole();
}

TEST_F(OpenStoreTest, RebuildsFromADamagedDatabaseAndKeepsTheEvidence) {
  MakeStore();
  const Path db = box_.dir / kCheckpointDirName;
  for (const std::string& name : box_.Names(db)) {
    const std::string bytes = box_.fs->Content(db / name);
    if (name.ends_with(".log") && bytes.size() > 100) {
      Flip(db / name, bytes.size() / 2);
    }
    if (name.ends_with(".sst")) Flip(db / name, bytes.size() / 3);
  }
  box_.Open();
  EXPECT_THAT(*box_.fs->List(box_.dir),
              Contains(HasSubstr("checkpoint.damaged-")));
  ExpectWhole();
}

TEST_F(OpenStoreTest, CannotRebuildWithoutTheWholeLog) {
  box_.options.retention_ms = 0;
  box_.options.retention_bytes = 1;
  box_.options.retain_for_groups = false;
  box_.Open();
  const std::string body(20'000, 'x');
  for (int i = 0; i < 60; ++i) {
    box_.Put(body, box_.InMs(3'600'000));
    box_.Advance(1100);
  }
  ASSERT_GT(box_.store->Stats().log_start, LogOffset(100'000));
  ASSERT_TRUE(box_.store->Close().ok());
  box_.store.reset();
  const Path log = Only(box_.dir / kHoursDirName, ".delaylog");
  const std::string bytes = box_.fs->Content(log);
  ASSERT_TRUE(box_.fs->Remove(log).ok());
  ExpectRefused(absl::StatusCode::kDataLoss,
                "; run `hourglass recover verify /store`");
  const absl::Status status = box_.TryOpen();
  EXPECT_THAT(TextOf(status), HasSubstr(log.filename().string()));
  // The refusal changed nothing: with the file back, the store opens.
  box_.fs->SetContent(log, bytes);
  box_.Open();
  EXPECT_EQ(box_.store->Stats().pending_messages, 60u);
}

// --- the log: damage is refused --------------------------------------------

TEST_F(OpenStoreTest, RefusesAMissingLogFile) {
  MakeStore();
  ASSERT_TRUE(box_.fs->Remove(Only(box_.dir / kLogDirName, ".log")).ok());
  const absl::Status status = box_.TryOpen();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

// What was delivered since the cursor stands only in the log. With the first
// of its files gone, and needed, opening must not take that for retention:
// those messages would come again, and be counted twice.
TEST_F(OpenStoreTest, RefusesAMissingBeginOfTheLogThatIsNeeded) {
  box_.Open();
  box_.Put("due in the second that lasts", box_.InMs(300));
  box_.Put("due later in it", box_.InMs(900));
  box_.Advance(500);
  PutSixty();
  ASSERT_TRUE(box_.store->Close().ok());
  box_.store.reset();
  const auto names = LogNames();
  ASSERT_GE(names.size(), 3u);
  const Path first = box_.dir / kLogDirName / names.front();
  const std::string bytes = box_.fs->Content(first);
  ASSERT_TRUE(box_.fs->Remove(first).ok());
  ExpectDamage("begins with " + names[1]);
  // The refusal changed nothing: with the file back, the store opens.
  box_.fs->SetContent(first, bytes);
  box_.Open();
  box_.Advance(1000);
  EXPECT_THAT(box_.Ready(),
              ElementsAre("due in the second that lasts", "due later in it"));
}

TEST_F(OpenStoreTest, RefusesAMissingLogFileInTheMiddle) {
  box_.Open();
  PutSixty();
  const auto names = LogNames();
  ASSERT_GE(names.size(), 3u);
  box_.Crash(100);
  ASSERT_TRUE(box_.fs->Remove(box_.dir / kLogDirName / names[1]).ok());
  const absl::Status status = box_.TryOpen();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(TextOf(status), HasSubstr("recover verify"));
}

// The checkpoint knows that there was more: what is left of the log is whole,
// but to build everything again from it would lose the rest without a word.
TEST_F(OpenStoreTest, RefusesAMissingLogFileAtTheEnd) {
  box_.Open();
  PutSixty();
  ASSERT_TRUE(box_.store->Close().ok());
  box_.store.reset();
  const auto names = LogNames();
  ASSERT_GE(names.size(), 3u);
  const Path last = box_.dir / kLogDirName / names.back();
  const std::string bytes = box_.fs->Content(last);
  ASSERT_TRUE(box_.fs->Remove(last).ok());
  ExpectDamage("the checkpoint knows that the log");
  // The refusal changed nothing: with the file back, the store opens.
  box_.fs->SetContent(last, bytes);
  box_.Open();
  EXPECT_EQ(box_.store->Stats().pending_messages, 60u);
}

TEST_F(OpenStoreTest, RefusesDamageInTheLogThatMustBeRead) {
  box_.Open();
  box_.Put("one", box_.InMs(5000));
  box_.Put("two", box_.InMs(6000));
  box_.Put("three", box_.InMs(7000));
  box_.Crash(100);
  const Path log = Only(box_.dir / kLogDirName, ".log");
  const size_t at = box_.fs->Content(log).find("one");
  ASSERT_NE(at, std::string::npos);
  Flip(log, at);
  const absl::Status status = box_.TryOpen();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(TextOf(status), HasSubstr("recover verify"));
}

// --- interrupted -----------------------------------------------------------

// A message that was acknowledged must survive a power loss, whatever had
// happened before.
void ExpectUsable(TestStore* box) {
  box->Open();
  if (testing::Test::HasFatalFailure()) return;
  box->Put("kept", box->InMs(1000));
  box->Crash(0);
  box->Open();
  if (testing::Test::HasFatalFailure()) return;
  box->Advance(1000);
  EXPECT_THAT(box->Ready(), ElementsAre("kept"));
}

int OperationsOfCreation() {
  TestStore box;
  box.Open();
  return static_cast<int>(box.fs->operations(MemoryOp::kAny));
}

TEST(InterruptedTest, CreationMayFailAtEveryOperation) {
  const int operations = OperationsOfCreation();
  for (int n = 1; n <= operations; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    TestStore box;
    box.fs->FailAfter(MemoryOp::kAny, n, absl::DataLossError("unplugged"),
                      true);
    const absl::Status status = box.TryOpen();
    box.store.reset();
    box.fs->ClearFaults();
    ExpectUsable(&box);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(InterruptedTest, CreationMayLosePowerAtEveryOperation) {
  const int operations = OperationsOfCreation();
  for (int n = 1; n <= operations; ++n) {
    for (const int keep : {0, 50, 100}) {
      SCOPED_TRACE(testing::Message() << "operation " << n << " keep " << keep);
      TestStore box;
      box.fs->FailAfter(MemoryOp::kAny, n, absl::DataLossError("unplugged"),
                        true);
      (void)box.TryOpen();
      box.Crash(keep, static_cast<uint64_t>(n));
      ExpectUsable(&box);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Found by the simulator: the second attempt met the mark of the first, took
// it for durable, and made directories; the power loss took the mark alone.
TEST(InterruptedTest, CreationMayFailAndThenLosePower) {
  const int operations = OperationsOfCreation();
  for (int first = 1; first <= 20; ++first) {
    for (int n = 1; n <= operations; n += 3) {
      SCOPED_TRACE(testing::Message() << first << ", then " << n);
      TestStore box;
      box.fs->FailAfter(MemoryOp::kAny, first,
                        absl::ResourceExhaustedError("full"), false);
      if (box.TryOpen().ok()) break;
      box.fs->ClearFaults();
      box.fs->FailAfter(MemoryOp::kAny, n, absl::DataLossError("unplugged"),
                        true);
      (void)box.TryOpen();
      box.Crash(50, static_cast<uint64_t>(n));
      ExpectUsable(&box);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// A store that was killed with a log tail, a checkpoint behind it, delivered,
// cancelled and pending messages.
void MakeKilled(TestStore* box) {
  box->Open();
  box->Put("early", box->InMs(500));
  box->Advance(2000);
  box->Put("soon", box->InMs(100));
  const Handle handle = box->Put("cancelled", box->InMs(30'000));
  box->Put("later", box->InMs(40'000));
  box->Cancel(handle);
  box->clock.AdvanceMs(150);
  box->store->Step();
  box->Crash(50, 3);
}

void ExpectAll(TestStore* box) {
  box->Open();
  if (testing::Test::HasFatalFailure()) return;
  box->Advance(60'000);
  EXPECT_THAT(box->Ready(), ElementsAre("early", "soon", "later"));
}

// One bad answer of the disk is not damage: nothing is rebuilt, nothing set
// aside, and the store says what it met.
TEST(InterruptedTest, OneReadErrorWhileOpeningRebuildsNothing) {
  for (int n = 1; n <= 40; ++n) {
    SCOPED_TRACE(testing::Message() << "read " << n);
    TestStore box;
    MakeKilled(&box);
    box.fs->FailAfter(MemoryOp::kRead, n, absl::DataLossError("bad block"),
                      false);
    const absl::Status status = box.TryOpen();
    box.fs->ClearFaults();
    // Of the identity, which is read once, it is told.
    if (!status.ok()) {
      EXPECT_LE(n, 1) << status;
      continue;
    }
    for (const std::string& notice : box.store->Stats().notices) {
      EXPECT_THAT(notice, testing::Not(testing::HasSubstr("rebuilt")));
    }
    for (const std::string& name : box.Names(box.dir)) {
      EXPECT_THAT(name, testing::Not(testing::HasSubstr("damaged")));
    }
    ExpectAll(&box);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(InterruptedTest, RecoveryMayFailAtEveryOperation) {
  TestStore first;
  MakeKilled(&first);
  const DiskImage image = DiskImage::Of(first.fs.get(), first.dir);
  for (int n = 1;; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    TestStore box;
    box.clock.AdvanceMs(2150);
    box.fs = image.NewDisk();
    box.options.file_system = box.fs.get();
    box.fs->FailAfter(MemoryOp::kAny, n, absl::UnavailableError("unplugged"),
                      true);
    const bool opened = box.TryOpen().ok();
    const bool done =
        opened && box.fs->operations(MemoryOp::kAny) < static_cast<uint64_t>(n);
    box.Crash(n % 3 * 50, static_cast<uint64_t>(n));
    ExpectAll(&box);
    if (done || testing::Test::HasFailure()) return;
    ASSERT_LT(n, 20'000);
  }
}

TEST(InterruptedTest, RebuildingMayFailAtEveryOperation) {
  TestStore first;
  MakeKilled(&first);
  for (const std::string& name : first.Names("/store/hours")) {
    ASSERT_TRUE(first.fs->Remove(Path("/store/hours") / name).ok());
  }
  const DiskImage image = DiskImage::Of(first.fs.get(), first.dir);
  for (int n = 1;; n += 3) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    TestStore box;
    box.clock.AdvanceMs(2150);
    box.fs = image.NewDisk();
    box.options.file_system = box.fs.get();
    box.fs->FailAfter(MemoryOp::kAny, n, absl::UnavailableError("unplugged"),
                      true);
    const bool opened = box.TryOpen().ok();
    const bool done =
        opened && box.fs->operations(MemoryOp::kAny) < static_cast<uint64_t>(n);
    box.Crash(100);
    ExpectAll(&box);
    if (done || testing::Test::HasFailure()) return;
    ASSERT_LT(n, 20'000);
  }
}

}  // namespace
}  // namespace hourglass
