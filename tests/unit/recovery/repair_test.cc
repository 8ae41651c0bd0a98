#include "recovery/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "recovery/dir_tree.h"
#include "storage/hour_format.h"
#include "storage/identity.h"
#include "tests/support/damaged_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

class RepairTest : public testing::Test {
 protected:
  static constexpr char kOut[] = "/repaired";

  RepairOptions Options(DamagedStore* box) {
    RepairOptions options;
    options.out = kOut;
    options.store = box->options;
    return options;
  }

  // Repairs into kOut, which must be a sound store, and opens that.
  RepairReport Repair(DamagedStore* box) {
    const auto before = box->Image();
    auto report = RepairStore(box->Source(), Options(box));
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(box->Image() == before) << "the old store was changed";
    if (!report.ok()) return {};
    SalvageSource made{box->fs.get(), kOut};
    const auto verified = VerifyStore(made);
    EXPECT_TRUE(verified.ok()) << verified.status();
    if (verified.ok()) {
      EXPECT_TRUE(verified->sound()) << box->TextOf(*verified);
      EXPECT_EQ(verified->pending_messages, report->pending);
    }
    return *std::move(report);
  }
  RepairReport RepairAndOpen(DamagedStore* box) {
    const RepairReport report = Repair(box);
    OpenRepaired(box);
    return report;
  }
  static void OpenRepaired(DamagedStore* box) {
    auto opened = DelayStore::OpenExisting(kOut, box->options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    box->store = *std::move(opened);
    EXPECT_THAT(box->store->Stats().notices, IsEmpty());
  }

  // All that was ever to be delivered, in any order.
  static std::vector<std::string> Everything() {
    std::vector<std::string> all = {"moved"};
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i);
      for (const char* kind : {"soon", "pending", "next hour", "at once"}) {
        all.push_back(kind + n);
      }
    }
    return all;
  }
  static void ExpectAllOnce(DamagedStore* box) {
    box->Advance(3 * 3'600'000);
    EXPECT_THAT(box->Ready(), UnorderedElementsAreArray(Everything()));
    EXPECT_EQ(box->store->Stats().pending_messages, 0u);
    EXPECT_EQ(box->store->Stats().lost_messages, 0u);
  }
  // Repairs, and expects that nothing at all was lost.
  void ExpectWhole(DamagedStore* box) {
    const RepairReport report = RepairAndOpen(box);
    EXPECT_EQ(report.lost, 0u);
    EXPECT_EQ(report.maybe_twice, 0u);
    if (box->store == nullptr) return;
    EXPECT_TRUE(box->store->GetProgress("t", "group") ==
                DamagedStore::Expected());
    ExpectAllOnce(box);
    Reset(box);
  }
  static void Reset(DamagedStore* box) {
    box->store.reset();
    ASSERT_TRUE(RemoveTree(box->fs.get(), kOut).ok());
    box->clock.StepMs(-3 * 3'600'000);
  }

  // Makes the log begin later: as retention would have it.
  static void RetireLog(DamagedStore* box) {
    const auto logs = box->LogFiles();
    for (size_t i = 0; i + 1 < logs.size(); ++i) box->Remove(logs[i]);
  }

  DamagedStore box_;
};

TEST_F(RepairTest, ASoundStoreComesOutAsItWas) {
  box_.Fill();
  ExpectWhole(&box_);
}

TEST_F(RepairTest, AnyOneDerivedFileMayBeMissing) {
  box_.Fill();
  for (const Path& file : box_.Files()) {
    if (file.string().find("/commitlog/") != std::string::npos) continue;
    SCOPED_TRACE(file.string());
    const std::string content = box_.fs->Content(file);
    box_.Remove(file);
    ExpectWhole(&box_);
    box_.fs->SetContent(file, content);
  }
}

TEST_F(RepairTest, TheWholeDatabaseMayBeMissing) {
  box_.Fill();
  box_.RemoveAll(box_.dir / "checkpoint");
  ExpectWhole(&box_);
}

TEST_F(RepairTest, AllDerivedFilesMayBeMissing) {
  box_.Fill();
  for (const char* name : {"checkpoint", "hours", "queues"}) {
    box_.RemoveAll(box_.dir / name);
  }
  ExpectWhole(&box_);
}

TEST_F(RepairTest, AFlippedByteInADerivedFileCostsNothing) {
  box_.Fill();
  for (const char* ending :
       {"HOURGLASS", ".delaylog", ".delayindex", ".queue"}) {
    for (const Path& file : box_.Ending(ending)) {
      const std::string content = box_.fs->Content(file);
      for (size_t at = 5; at < content.size(); at += 97) {
        SCOPED_TRACE(file.string() + " byte " + std::to_string(at));
        box_.Flip(file, at);
        ExpectWhole(&box_);
        box_.fs->SetContent(file, content);
      }
    }
  }
}

TEST_F(RepairTest, HandlesStillCancel) {
  box_.Fill();
  box_.RemoveAll(box_.dir / "checkpoint");
  RepairAndOpen(&box_);
  ASSERT_NE(box_.store, nullptr);
  EXPECT_EQ(box_.Cancel(box_.handles[2]), CancelAnswer::kCancelled);
  box_.Advance(3 * 3'600'000);
  EXPECT_THAT(box_.Ready(), Not(testing::Contains("pending2")));
}

// --- the log is gone or damaged ---

// As Fill, with a log of many files, so that its first ones can go.
class RetiredLogTest : public RepairTest {
 protected:
  void FillBig(bool deliver_some) {
    box_.options.log_segment_bytes = 128u << 10;
    box_.options.body_bytes_max = 8u << 10;
    box_.options.properties_bytes_max = 1u << 10;
    box_.options.batch_bytes_max = 16u << 10;
    box_.options.unsynced_bytes_max = 256u << 10;
    // The disk in memory has times of its own.
    box_.options.retention_ms = int64_t{1} << 60;
    box_.Open();
    for (int i = 0; i < 80; ++i) {
      expected_.push_back(Name(i) + std::string(4000, '.'));
      handles_.push_back(
          box_.Put(expected_.back(), box_.InMs(3'600'000 + 977 * i)));
    }
    for (const int i : {3, 40, 77}) {
      EXPECT_EQ(box_.Cancel(handles_[i]), CancelAnswer::kCancelled);
    }
    if (deliver_some) box_.Advance(3'600'000 + 977 * 20);
    // Padding that pushes the above out of the last file.
    for (int i = 0; i < 60; ++i) {
      box_.TryPut("pad" + std::string(4000, '.'), 0).IgnoreError();
    }
    box_.Advance(1500);
    box_.Shut();
    Erase(77), Erase(40), Erase(3);
  }
  void Erase(int i) { expected_.erase(expected_.begin() + i); }
  static std::string Name(int i) { return "m" + std::to_string(1000 + i); }
  // Names of all delivered in the repaired store, and after.
  std::vector<std::string> DeliveredNames(int64_t advance_ms) {
    box_.Advance(advance_ms);
    std::vector<std::string> names;
    for (const std::string& body : box_.Ready()) {
      if (body[0] == 'm') names.push_back(body.substr(0, 5));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<std::string> Names(size_t from = 0) {
    std::vector<std::string> names;
    for (size_t i = from; i < expected_.size(); ++i) {
      names.push_back(expected_[i].substr(0, 5));
    }
    return names;
  }

  std::vector<std::string> expected_;
  std::vector<Handle> handles_;
};

TEST_F(RetiredLogTest, HoursAloneAreEnough) {
  FillBig(/*deliver_some=*/false);
  RetireLog(&box_);
  box_.RemoveAll(box_.dir / "checkpoint");
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(report.pending, 77u);
  EXPECT_EQ(box_.Cancel(handles_[10]), CancelAnswer::kCancelled);
  auto names = Names();
  std::erase(names, Name(10));
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), names);
}

TEST_F(RetiredLogTest, EvenWithoutAnyLog) {
  FillBig(false);
  box_.RemoveAll(box_.dir / "commitlog");
  box_.RemoveAll(box_.dir / "checkpoint");
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), Names());
}

TEST_F(RetiredLogTest, WithoutTheIndexTheDelayLogIsScanned) {
  FillBig(false);
  RetireLog(&box_);
  for (const Path& file : box_.Ending(".delayindex")) box_.Remove(file);
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  // The three cancels have frames there too.
  EXPECT_EQ(report.pending, 77u);
  EXPECT_TRUE(report.findings.all().empty());
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), Names());
}

// In the new log a topic begins at index 0 again.
TEST_F(RetiredLogTest, AcknowledgedOnesStaySoUnderTheirNewIndexes) {
  FillBig(/*deliver_some=*/true);
  box_.Open();
  const QueueIndex first = box_.store->FirstReady("t");
  const auto read = box_.store->ReadReady("t", first, 1000, 10u << 20);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_GT(read->size(), 70u);
  // Every third of those that the last log files hold, and all before them.
  const size_t kept = read->size() - 20;
  std::vector<QueueIndex> acked;
  for (size_t i = 0; i < read->size(); ++i) {
    if (i < kept || i % 3 == 0) acked.push_back((*read)[i].index);
  }
  box_.Acknowledge(acked);
  const AttemptCount count{(*read)[kept + (kept % 3 == 1 ? 0 : 1)].index, 7};
  ASSERT_FALSE(box_.store->GetProgress("t", "group").IsAcked(count.index));
  box_.store->NoteAttemptsAsync("t", "group", {&count, 1},
                                [](const absl::Status&) {});
  box_.Step();
  const GroupProgress before = box_.store->GetProgress("t", "group");
  ASSERT_GT(before.acked.size(), 4u);
  const QueueIndex end = box_.store->EndOfReady("t");
  box_.Shut();
  RetireLog(&box_);
  RepairAndOpen(&box_);
  const GroupProgress after = box_.store->GetProgress("t", "group");
  const QueueIndex new_end = box_.store->EndOfReady("t");
  ASSERT_LT(new_end, end);
  const uint64_t shift = end - new_end;
  for (uint64_t i = 0; i < 20; ++i) {
    const QueueIndex index = end - 20 + i;
    EXPECT_EQ(after.IsAcked(index - shift), before.IsAcked(index)) << i;
    EXPECT_EQ(after.AttemptsOf(index - shift), before.AttemptsOf(index)) << i;
  }
}

TEST_F(RetiredLogTest, DeliveredOnesStayDelivered) {
  FillBig(/*deliver_some=*/true);
  const auto delivered = [&] {
    box_.Open();
    const auto names = DeliveredNames(0);
    box_.Shut();
    return names;
  }();
  ASSERT_GT(delivered.size(), 15u);
  RetireLog(&box_);
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(report.maybe_twice, 0u);
  // Most Delivered records went with the log's files, and none comes back.
  auto names = DeliveredNames(2 * 3'600'000);
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  ASSERT_GE(names.size(), Names(delivered.size()).size());
  EXPECT_LE(names.size(), Names(delivered.size()).size() + 2);
  names.erase(names.begin(),
              names.end() - static_cast<int>(Names(delivered.size()).size()));
  EXPECT_EQ(names, Names(delivered.size()));
}

TEST_F(RetiredLogTest, ADamagedBodyIsListedByIdAndTheRestDelivered) {
  FillBig(false);
  RetireLog(&box_);
  const Path file = box_.Ending(".delaylog").back();
  const size_t at = box_.fs->Content(file).find(Name(12));
  ASSERT_NE(at, std::string::npos);
  box_.Flip(file, at + 100);
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 1u);
  ASSERT_EQ(report.findings.all().size(), 1u);
  const Finding& lost = report.findings.all()[0];
  EXPECT_EQ(lost.record, handles_[12].number.value());
  EXPECT_EQ(lost.ids.size(), 1u);
  EXPECT_THAT(lost.what, HasSubstr("a message due 2026-11-21T04:00:11.724Z"));
  auto names = Names();
  std::erase(names, Name(12));
  EXPECT_EQ(box_.Cancel(handles_[20]), CancelAnswer::kCancelled)
      << "numbers behind the lost one stay";
  std::erase(names, Name(20));
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), names);
}

TEST_F(RetiredLogTest, DamageInTheMiddleOfTheLogCostsNoPendingMessage) {
  FillBig(false);
  const auto logs = box_.LogFiles();
  ASSERT_GE(logs.size(), 4u);
  std::string content = box_.fs->Content(logs[1]);
  std::fill(content.begin() + 20'000, content.begin() + 60'000, '\x5a');
  box_.fs->SetContent(logs[1], content);
  EXPECT_FALSE(box_.Verify().sound());
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), Names());
}

TEST_F(RetiredLogTest, DamageWhereDeliveredRecordsStoodDeliversAgain) {
  FillBig(true);
  const auto logs = box_.LogFiles();
  // Every Delivered record of "m1005" is flipped away.
  uint64_t flipped = 0;
  for (const Path& log : logs) {
    const std::string content = box_.fs->Content(log);
    for (size_t at = content.find(Name(5)); at != std::string::npos;
         at = content.find(Name(5), at + 1)) {
      if (++flipped == 2) box_.Flip(log, at);
    }
  }
  ASSERT_EQ(flipped, 2u);
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_EQ(report.lost, 0u);
  EXPECT_GE(report.maybe_twice, 1u);
  EXPECT_EQ(DeliveredNames(2 * 3'600'000), Names()) << "each once, again";
}

TEST_F(RepairTest, AFlipAnywhereInTheLogLosesNothingPending) {
  box_.Fill();
  const Path log = box_.LogFiles().front();
  const std::string content = box_.fs->Content(log);
  const size_t end = content.find_last_not_of('\0');
  for (size_t at = 0; at < end; at += 131) {
    if (content[at] == 0) continue;
    SCOPED_TRACE(at);
    box_.Flip(log, at, 4);
    const RepairReport report = RepairAndOpen(&box_);
    ASSERT_NE(box_.store, nullptr);
    box_.Advance(3 * 3'600'000);
    const auto ready = box_.Ready();
    for (int i = 0; i < 6; ++i) {
      for (const char* kind : {"pending", "next hour"}) {
        const std::string name = kind + std::to_string(i);
        EXPECT_EQ(std::count(ready.begin(), ready.end(), name), 1) << name;
      }
    }
    EXPECT_EQ(std::count(ready.begin(), ready.end(), "cancelled"), 0);
    EXPECT_EQ(std::count(ready.begin(), ready.end(), "moved"), 1);
    Reset(&box_);
    box_.fs->SetContent(log, content);
  }
}

TEST_F(RepairTest, ALostCheckpointAndADamagedLogMayDeliverTwiceAndSaySo) {
  box_.Fill();
  box_.RemoveAll(box_.dir / "checkpoint");
  box_.RemoveAll(box_.dir / "commitlog");
  const RepairReport report = RepairAndOpen(&box_);
  EXPECT_GT(report.maybe_twice, 0u);
  box_.Advance(3 * 3'600'000);
  const auto ready = box_.Ready();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(
        std::count(ready.begin(), ready.end(), "pending" + std::to_string(i)),
        1);
  }
  EXPECT_EQ(std::count(ready.begin(), ready.end(), "cancelled"), 0);
}

// --- where it writes ---

TEST_F(RepairTest, InPlaceKeepsTheOldStore) {
  box_.Fill();
  box_.RemoveAll(box_.dir / "checkpoint");
  const auto report = RepairInPlace(box_.Source(), Options(&box_));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->out, box_.dir);
  EXPECT_THAT(report->kept.string(), HasSubstr("/store.damaged-"));
  EXPECT_TRUE(*box_.fs->Exists(report->kept / kIdentityFileName));
  box_.Open();
  ExpectAllOnce(&box_);
}

TEST_F(RepairTest, RefusesADirectoryThatIsTaken) {
  box_.Fill();
  ASSERT_TRUE(box_.fs->CreateDir(kOut).ok());
  box_.fs->SetContent(Path(kOut) / "thesis.tex", "precious");
  const auto report = RepairStore(box_.Source(), Options(&box_));
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  EXPECT_EQ(box_.fs->Content(Path(kOut) / "thesis.tex"), "precious");
}

TEST_F(RepairTest, PowerMayGoAtAnyMoment) {
  DamagedStore first;
  first.Fill();
  first.RemoveAll(first.dir / "checkpoint");
  const auto before = first.Image();
  const uint64_t start = first.fs->operations(MemoryOp::kAny);
  ASSERT_TRUE(RepairStore(first.Source(), Options(&first)).ok());
  const uint64_t all = first.fs->operations(MemoryOp::kAny) - start;
  ASSERT_GT(all, 100u);
  for (uint64_t n = 1; n < all; n += 1 + n % 5) {
    SCOPED_TRACE(n);
    DamagedStore box;
    box.Fill();
    box.RemoveAll(box.dir / "checkpoint");
    const auto image = box.Image();
    box.fs->FailAfter(MemoryOp::kAny, static_cast<int>(n),
                      absl::UnavailableError("power"), /*sticky=*/true);
    EXPECT_FALSE(RepairStore(box.Source(), Options(&box)).ok());
    box.fs->ClearFaults();
    box.Crash(static_cast<int>(n * 37 % 101), n);
    EXPECT_TRUE(box.Image() == image) << "the old store was touched";
    // Again, over what the first attempt left.
    if (*box.fs->Exists(Path(kOut) / kIdentityFileName) &&
        !*box.fs->Exists(Path(kOut) / "CREATING")) {
      continue;  // it had become a store
    }
    const auto again = RepairStore(box.Source(), Options(&box));
    ASSERT_TRUE(again.ok()) << again.status();
    OpenRepaired(&box);
    ExpectAllOnce(&box);
  }
}

}  // namespace
}  // namespace hourglass
