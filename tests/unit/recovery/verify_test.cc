#include "recovery/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "recovery/store_state.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/hour_format.h"
#include "storage/identity.h"
#include "tests/support/damaged_store.h"

namespace hourglass {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class VerifyTest : public testing::Test {
 protected:
  void ExpectSound(const std::string& after) {
    const auto before = box_.Image();
    const VerifyReport report = box_.Verify();
    EXPECT_TRUE(report.sound()) << after << "\n" << box_.TextOf(report);
    EXPECT_TRUE(box_.Image() == before) << "verify changed something";
  }
  void ExpectDamaged(const std::string& after, const std::string& file = "") {
    const VerifyReport report = box_.Verify();
    EXPECT_FALSE(report.sound()) << after;
    EXPECT_THAT(box_.TextOf(report), HasSubstr(file)) << after;
  }

  DamagedStore box_;
};

TEST_F(VerifyTest, AStoreOfEverythingIsSound) {
  box_.Fill();
  ExpectSound("fill");
  EXPECT_EQ(box_.Verify().pending_messages, 13u);
}

TEST_F(VerifyTest, AnEmptyStoreIsSound) {
  box_.Open();
  box_.Shut();
  ExpectSound("nothing");
}

TEST_F(VerifyTest, SoundAfterACrashAtAnyMoment) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    DamagedStore box;
    box.Open();
    std::vector<Handle> handles;
    for (uint64_t i = 0; i < 40; ++i) {
      const int64_t in_ms =
          static_cast<int64_t>((seed * 7919 + i * 104729) % (3 * 3'600'000));
      handles.push_back(box.Put("m", box.InMs(i % 3 == 0 ? i * 10 : in_ms)));
      if (i % 7 == 3 && !handles.back().IsNone()) box.Cancel(handles.back());
      if (i % 5 == 2) box.Advance(static_cast<int64_t>(i * seed % 1500));
      if (i == 20) box.clock.StepMs(-5000);
      if (i % 11 == 10) {
        box.Crash(static_cast<int>(seed * 13 % 101), seed);
        const VerifyReport report = box.Verify();
        EXPECT_TRUE(report.sound()) << box.TextOf(report);
        box.Open();
      }
    }
    box.Advance(1'000'000);
    const uint64_t pending = box.store->Stats().pending_messages;
    EXPECT_GT(pending, 0u);
    box.Shut();
    const VerifyReport report = box.Verify();
    EXPECT_TRUE(report.sound()) << box.TextOf(report);
    EXPECT_EQ(report.pending_messages, pending);
  }
}

TEST_F(VerifyTest, AnyFileThatIsMissingIsReported) {
  box_.Fill();
  for (const Path& file : box_.Files()) {
    const std::string name = file.filename().string();
    // Empty, or RocksDB's own housekeeping.
    if (name == "LOCK" || name == "IDENTITY" || name == "next.tmp" ||
        name.starts_with("LOG")) {
      continue;
    }
    const std::string content = box_.fs->Content(file);
    box_.Remove(file);
    ExpectDamaged("without " + file.string());
    box_.fs->SetContent(file, content);
  }
  ExpectSound("all back");
}

TEST_F(VerifyTest, EachFlippedByteIsReported) {
  box_.Fill();
  for (const char* ending :
       {"HOURGLASS", ".delaylog", ".delayindex", ".queue"}) {
    for (const Path& file : box_.Ending(ending)) {
      const std::string content = box_.fs->Content(file);
      for (size_t at = 0; at < content.size(); at += 3) {
        box_.Flip(file, at, static_cast<char>(1 << at % 8));
        ExpectDamaged(file.string() + " byte " + std::to_string(at));
        box_.fs->SetContent(file, content);
      }
    }
  }
}

TEST_F(VerifyTest, EachFlippedByteOfTheLogIsReported) {
  box_.Fill();
  const Path file = box_.LogFiles().front();
  const std::string content = box_.fs->Content(file);
  const auto last = content.find_last_not_of('\0');
  size_t reported = 0, flips = 0;
  for (size_t at = 0; at < last; at += 5) {
    // Zeros between groups have no meaning; a torn last group is a note.
    if (content[at] == 0) continue;
    box_.Flip(file, at, 2);
    const VerifyReport report = box_.Verify();
    ++flips;
    reported += !report.findings.all().empty();
    box_.fs->SetContent(file, content);
  }
  EXPECT_GT(flips, 50u);
  EXPECT_EQ(reported, flips);
}

TEST_F(VerifyTest, EachTruncationIsReported) {
  box_.Fill();
  for (const char* ending :
       {"HOURGLASS", ".delaylog", ".delayindex", ".queue"}) {
    for (const Path& file : box_.Ending(ending)) {
      const std::string content = box_.fs->Content(file);
      for (size_t size = 0; size < content.size(); size += 7) {
        box_.fs->SetContent(file, content.substr(0, size));
        ExpectDamaged(file.string() + " cut to " + std::to_string(size));
      }
      box_.fs->SetContent(file, content);
    }
  }
}

TEST_F(VerifyTest, SwappedFilesAreReported) {
  box_.Fill();
  for (const char* ending : {".delaylog", ".delayindex"}) {
    const auto files = box_.Ending(ending);
    ASSERT_GE(files.size(), 2u);
    const std::string first = box_.fs->Content(files[0]);
    const std::string second = box_.fs->Content(files[1]);
    box_.fs->SetContent(files[0], second);
    box_.fs->SetContent(files[1], first);
    ExpectDamaged(std::string("swapped ") + ending);
    box_.fs->SetContent(files[0], first);
    box_.fs->SetContent(files[1], second);
  }
}

TEST_F(VerifyTest, NamesTheMessageWhoseBodyIsDamaged) {
  box_.Open();
  MessageView view = TestStore::View("precious body", box_.InMs(7'200'000));
  view.id = "id-17";
  ASSERT_TRUE(box_.store->Put(view).ok());
  box_.Shut();
  // The log is gone as well: nothing else knows the message.
  const Path file = box_.Ending(".delaylog").front();
  box_.Flip(file, box_.fs->Content(file).find("precious"));
  const Path log = box_.LogFiles().front();
  box_.Flip(log, box_.fs->Content(log).find("precious"));
  const VerifyReport report = box_.Verify();
  const Finding* found = nullptr;
  for (const Finding& finding : report.findings.all()) {
    if (finding.messages > 0) found = &finding;
  }
  ASSERT_NE(found, nullptr) << box_.TextOf(report);
  EXPECT_THAT(found->file, HasSubstr(".delaylog"));
  EXPECT_EQ(found->record, 1u);
  EXPECT_THAT(found->means,
              HasSubstr("1 message due 2026-11-21T05:00:00.000Z"));
  EXPECT_THAT(found->ids, testing::ElementsAre("id-17"));
}

// What only a writer's bug makes: every checksum is right.
TEST_F(VerifyTest, AChainThatGoesWrongIsReported) {
  box_.Open();
  for (int i = 0; i < 3; ++i) box_.Put("m", box_.InMs(7'200'000));
  box_.Shut();
  const uint64_t salt =
      HashBytes(ReadIdentity(box_.fs.get(), box_.dir)->store_id.view());
  const Path file = box_.Ending(".delayindex").front();
  const Hour hour = ParseHourFileName(file.filename().string())->hour;
  std::string bytes = box_.fs->Content(file);
  char* third = bytes.data() + kHourHeaderBytes + 2 * kIndexRecordBytes;
  IndexRecord record = *DecodeIndexRecord(salt, hour, RecordNumber(3), third);
  record.prev = RecordNumber(1);
  EncodeIndexRecord(salt, hour, RecordNumber(3), record, third);
  box_.fs->SetContent(file, bytes);
  const VerifyReport report = box_.Verify();
  EXPECT_THAT(box_.TextOf(report),
              HasSubstr("its chain goes on at record 1, but the record before "
                        "it in second 0 is 2"));
}

TEST_F(VerifyTest, AnHourThatIsNotTheLogsIsReported) {
  box_.Open();
  box_.Put("one", box_.InMs(7'200'000));
  box_.Put("two", box_.InMs(7'200'000));
  box_.Shut();
  // The frame with another body, sealed as if it had been written so.
  const uint64_t salt =
      HashBytes(ReadIdentity(box_.fs.get(), box_.dir)->store_id.view());
  const Path file = box_.Ending(".delaylog").front();
  const Hour hour = ParseHourFileName(file.filename().string())->hour;
  std::string bytes = box_.fs->Content(file);
  bytes[bytes.find("one")] = 'X';
  const auto size = GetFixed<uint32_t>(bytes.data() + kHourHeaderBytes);
  const std::string payload = bytes.substr(kHourHeaderBytes + kFrameHeaderBytes,
                                           size - kFrameHeaderBytes);
  EncodeFrameHeader(salt, hour, RecordNumber(1),
                    static_cast<uint32_t>(payload.size()), HashBytes(payload),
                    bytes.data() + kHourHeaderBytes);
  box_.fs->SetContent(file, bytes);
  EXPECT_THAT(box_.TextOf(box_.Verify()),
              HasSubstr("not those of the commit log"));
}

TEST_F(VerifyTest, RefusesAnOpenStoreInOneSentence) {
  box_.Open();
  const auto report = VerifyStore(box_.Source());
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status()));
  EXPECT_THAT(TextOf(report.status()),
              HasSubstr("/store is open in another process"));
}

TEST_F(VerifyTest, RefusesWhatIsNoStore) {
  EXPECT_TRUE(absl::IsNotFound(VerifyStore(box_.Source()).status()));
  ASSERT_TRUE(box_.fs->CreateDir(box_.dir).ok());
  box_.fs->SetContent(box_.dir / "thesis.tex", "precious");
  EXPECT_TRUE(absl::IsFailedPrecondition(VerifyStore(box_.Source()).status()));
}

TEST_F(VerifyTest, WorksWhereNothingMayBeWritten) {
  box_.Fill();
  const auto denied = absl::PermissionDeniedError("read-only");
  for (const MemoryOp op :
       {MemoryOp::kWrite, MemoryOp::kCreate, MemoryOp::kRename,
        MemoryOp::kRemove, MemoryOp::kSync, MemoryOp::kSyncDir,
        MemoryOp::kTruncate, MemoryOp::kAllocate}) {
    box_.fs->FailAfter(op, 1, denied, /*sticky=*/true);
  }
  const VerifyReport report = box_.Verify();
  EXPECT_TRUE(report.sound()) << box_.TextOf(report);
}

TEST_F(VerifyTest, AnUnreadableSectorIsDamageAndTheRestIsRead) {
  box_.Fill();
  // Reads fail now and then; each piece is tried on its own.
  box_.fs->FailAfter(MemoryOp::kRead, 60, absl::DataLossError("bad sector"),
                     /*sticky=*/false);
  const auto report = VerifyStore(box_.Source());
  EXPECT_TRUE(report.ok()) << report.status();
}

// The version of a format one up, with a checksum that is right.
void MakeNewer(std::string* bytes, size_t version_at, size_t sum_at) {
  PutFixed<uint32_t>(bytes->data() + version_at, 9);
  PutFixed<uint64_t>(bytes->data() + sum_at,
                     HashBytes(std::string_view(*bytes).substr(0, sum_at)));
}

TEST_F(VerifyTest, SaysThatAFileIsOfANewerVersionAndTouchesNothing) {
  box_.Fill();
  const struct {
    const char* ending;
    size_t sum_at;
  } kinds[] = {{"HOURGLASS", 56},
               {"0.log", 504},
               {".delaylog", 56},
               {".delayindex", 56},
               {".queue", 504}};
  for (const auto& kind : kinds) {
    SCOPED_TRACE(kind.ending);
    const Path file = box_.Ending(kind.ending).front();
    const std::string content = box_.fs->Content(file);
    std::string newer = content;
    MakeNewer(&newer, 8, kind.sum_at);
    box_.fs->SetContent(file, newer);
    const auto before = box_.Image();
    const auto report = VerifyStore(box_.Source());
    EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
    EXPECT_THAT(TextOf(report.status()), ContainsRegex("version (is )?9"));
    EXPECT_TRUE(box_.Image() == before);
    box_.fs->SetContent(file, content);
  }
}

TEST_F(VerifyTest, AnotherStoresIdentityIsTheOneThatIsWrong) {
  box_.Fill();
  StoreIdentity identity = *ReadIdentity(box_.fs.get(), box_.dir);
  const std::string own = identity.store_id.ToHex();
  identity.store_id.bytes[3] ^= 1;
  ASSERT_TRUE(WriteIdentity(box_.fs.get(), box_.dir, identity).ok());
  const VerifyReport report = box_.Verify();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(box_.TextOf(report), HasSubstr(own + " is known"));
  EXPECT_THAT(box_.TextOf(report), HasSubstr("belongs to the store"));
}

TEST_F(VerifyTest, AnotherStoresCheckpointIsDamage) {
  TestStore other;
  other.Open();
  other.Put("not ours", kDueNow);
  other.Advance(3000);
  ASSERT_TRUE(other.store->Close().ok());
  other.store.reset();
  box_.Fill();
  const Path dir = box_.dir / kCheckpointDirName;
  for (const std::string& name : box_.Names(dir)) {
    EXPECT_TRUE(box_.fs->Remove(dir / name).ok());
  }
  for (const std::string& name : other.Names(dir)) {
    box_.fs->SetContent(dir / name, other.fs->Content(dir / name));
  }
  const VerifyReport report = box_.Verify();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(box_.TextOf(report), HasSubstr("checkpoint belongs to store"));
  EXPECT_THAT(box_.TextOf(report), HasSubstr("nothing is lost"));
}

TEST_F(VerifyTest, AMissingLogFileIsReported) {
  box_.options.log_segment_bytes = 64u << 10;
  box_.options.body_bytes_max = 1u << 10;
  box_.options.properties_bytes_max = 1u << 10;
  box_.options.batch_bytes_max = 16u << 10;
  box_.Open();
  for (int i = 0; i < 400; ++i) {
    box_.Put(std::string(900, 'x'), box_.InMs(3'600'000));
  }
  box_.Shut();
  ExpectSound("many log files");
  const auto logs = box_.LogFiles();
  ASSERT_GE(logs.size(), 4u);
  for (const size_t i : {size_t{1}, logs.size() - 1}) {
    const std::string content = box_.fs->Content(logs[i]);
    box_.Remove(logs[i]);
    ExpectDamaged(logs[i].string(), "commitlog/");
    box_.fs->SetContent(logs[i], content);
  }
}

}  // namespace
}  // namespace hourglass
