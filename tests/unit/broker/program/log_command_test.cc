#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/text/text.h"
#include "storage/ack_format.h"
#include "storage/checkpoint.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/commit_log.h"
#include "storage/identity.h"
#include "storage/message_codec.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNowMs = StringConsole::kStartMs;

// A store directory with a commit log of one group a record.
class LogCommandTest : public ::testing::Test {
 protected:
  LogCommandTest() {
    id_.bytes[0] = 7;
    fs().CreateDir("/s").IgnoreError();
    fs().CreateDir("/s/commitlog").IgnoreError();
    EXPECT_TRUE(WriteIdentity(&fs(), "/s", {id_, kNowMs}).ok());
    CommitLogOptions options;
    options.segment_bytes = 16u << 20;
    options.direct_io = false;
    log_ = *CommitLog::Create(&fs(), "/s/commitlog", id_, options);
  }

  MemoryFileSystem& fs() { return console_.file_system; }

  void Add(RecordKind kind, Hour hour, uint32_t number,
           const std::string& payload, uint8_t flags = 0) {
    GroupBuilder group(HashBytes(id_.view()));
    group.Start(log_->NextStart(log_->end(), 4096), log_->durable(), kNowMs);
    group.Add(kind, flags, hour, RecordNumber(number), payload,
              HashBytes(payload));
    group.Finish();
    ASSERT_TRUE(log_->Append(group).ok());
    ASSERT_TRUE(log_->Sync().ok());
  }

  static std::string Encoded(const char* message_id, int64_t due_ms) {
    MessageView message;
    message.topic = "orders";
    message.id = message_id;
    message.due_ms = due_ms;
    message.stored_ms = kNowMs;
    std::string out;
    EncodeMessage(message, &out);
    return out;
  }

  void AddOneOfEach() {
    const Hour hour = HourOf(kNowMs);
    Add(RecordKind::kReady, Hour(), 0, Encoded("A", kDueNow));
    Add(RecordKind::kDelayed, hour, 1, Encoded("B", kNowMs + 5));
    Add(RecordKind::kDelivered, hour, 1, Encoded("B", kNowMs + 5));
    Add(RecordKind::kDelivered, hour, 2, "", kFlagMarkOnly);
    std::string cancel;
    AppendFixed<uint32_t>(&cancel, 1);
    AppendFixed<uint32_t>(&cancel, 5);
    Add(RecordKind::kCancel, hour, 3, cancel);
    std::string ack;
    AppendPrefixed(&ack, "orders");
    AppendPrefixed(&ack, "pipe");
    AppendFixed<uint64_t>(&ack, 12);
    Add(RecordKind::kAck, Hour(), 0, ack);
  }
  void AddMarks() {
    GroupProgress marks(QueueIndex(2));
    marks.Ack(QueueIndex(7), QueueIndex(10));
    marks.NoteAttempts(QueueIndex(5), 3);
    Add(RecordKind::kAck, Hour(), 0, EncodeMarks("orders", "pipe", marks),
        kFlagMarks);
    GroupProgress many;
    for (uint64_t i = 1; i < 20; ++i) {
      many.Ack(QueueIndex(2 * i), QueueIndex(2 * i + 1));
      many.NoteAttempts(QueueIndex(2 * i + 1), 1);
    }
    Add(RecordKind::kAck, Hour(), 0, EncodeMarks("orders", "pipe", many),
        kFlagMarks);
  }

  StringConsole console_;
  StoreId id_;
  std::unique_ptr<CommitLog> log_;
};

TEST_F(LogCommandTest, EveryKindAsJson) {
  AddOneOfEach();
  EXPECT_EQ(console_.Run({"log", "/s", "--json"}), 0) << console_.err.text();
  EXPECT_EQ(
      console_.out.text(),
      R"({"offset":560,"kind":"ready","id":"A","topic":"orders","due_ms":1795230000000,"stored_ms":1795230000000,"size":46,"written_ms":1795230000000})"
      "\n"
      R"({"offset":1072,"kind":"delayed","id":"B","topic":"orders","due_ms":1795230000005,"stored_ms":1795230000000,"hour":"2026-11-21T03","number":1,"size":46,"written_ms":1795230000000})"
      "\n"
      R"({"offset":1584,"kind":"delivered","id":"B","topic":"orders","due_ms":1795230000005,"stored_ms":1795230000000,"hour":"2026-11-21T03","number":1,"size":46,"written_ms":1795230000000})"
      "\n"
      R"({"offset":2096,"kind":"delivered","hour":"2026-11-21T03","number":2,"size":24,"written_ms":1795230000000})"
      "\n"
      R"({"offset":2608,"kind":"cancel","due_ms":1795230000005,"hour":"2026-11-21T03","number":3,"size":32,"target":1,"written_ms":1795230000000})"
      "\n"
      R"({"offset":3120,"kind":"ack","topic":"orders","size":44,"group":"pipe","next":12,"written_ms":1795230000000})"
      "\n");
  EXPECT_THAT(console_.err.text(), IsEmpty());
  EXPECT_EQ(console_.state->opened, 0);
}

TEST_F(LogCommandTest, SingleAcknowledgements) {
  AddMarks();
  EXPECT_EQ(console_.Run({"log", "/s", "--json"}), 0) << console_.err.text();
  EXPECT_EQ(
      console_.out.text(),
      R"({"offset":560,"kind":"ack","topic":"orders","size":44,"group":"pipe","acked":"0-1,7-9","attempts":"5:3","written_ms":1795230000000})"
      "\n"
      R"({"offset":1072,"kind":"ack","topic":"orders","size":114,"group":"pipe","acked":"2,4,6,8,10,12,14,16,...","attempts":"3:1,5:1,7:1,9:1,11:1,13:1,15:1,17:1,...","written_ms":1795230000000})"
      "\n");
}

TEST_F(LogCommandTest, ForPeople) {
  AddOneOfEach();
  EXPECT_EQ(console_.Run({"log", "/s"}), 0);
  EXPECT_EQ(
      console_.out.text().substr(0, console_.out.text().find("1584")),
      "      OFFSET  KIND        ID                        TOPIC             "
      "       DUE_MS      STORED_MS  HOUR             NUMBER      SIZE\n"
      "         560  ready       A                         orders            "
      "1795230000000  1795230000000  -                     -        46\n"
      "        1072  delayed     B                         orders            "
      "1795230000005  1795230000000  2026-11-21T03         1        46\n"
      "        ");
  EXPECT_THAT(console_.out.text(), HasSubstr("44  group=pipe next=12\n"));
}

TEST_F(LogCommandTest, FromAnOffset) {
  AddOneOfEach();
  EXPECT_EQ(console_.Run({"log", "/s", "--json", "--from", "3120"}), 0);
  EXPECT_THAT(console_.out.text(), ::testing::StartsWith("{\"offset\":3120,"));
  EXPECT_EQ(console_.Run({"log", "/s", "--from", "99999999"}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("99999999"));
}

TEST_F(LogCommandTest, ATornTailIsANote) {
  AddOneOfEach();
  const Path file = Path("/s/commitlog") / LogFileName(LogOffset());
  std::string content = fs().Content(file);
  content[3072 + 60] ^= 1;  // inside the newest group
  fs().SetContent(file, content);
  EXPECT_EQ(console_.Run({"log", "/s", "--json"}), 0);
  EXPECT_THAT(console_.err.text(),
              HasSubstr("hourglass: /s: the log ends at offset 3072 with a "
                        "torn tail"));
}

TEST_F(LogCommandTest, DamageIsOne) {
  AddOneOfEach();
  const Path file = Path("/s/commitlog") / LogFileName(LogOffset());
  std::string content = fs().Content(file);
  content[1024 + 60] ^= 1;  // later groups know that this one was synced
  fs().SetContent(file, content);
  EXPECT_EQ(console_.Run({"log", "/s", "--json"}), 1);
  EXPECT_THAT(console_.out.text(), HasSubstr("\"offset\":560,"));
  EXPECT_THAT(console_.err.text(), HasSubstr("hourglass: "));
  EXPECT_THAT(console_.err.text(), HasSubstr("1024"));
}

TEST_F(LogCommandTest, APayloadOfAnotherShapeIsDamage) {
  Add(RecordKind::kAck, Hour(), 0, "x");
  Add(RecordKind::kReady, Hour(), 0, Encoded("A", kDueNow));
  EXPECT_EQ(console_.Run({"log", "/s", "--json"}), 1);
  // The record behind it is shown all the same.
  EXPECT_THAT(console_.out.text(), HasSubstr("\"id\":\"A\""));
  EXPECT_EQ(console_.err.text(),
            "hourglass: /s: the ack record at log offset 560 has a payload of "
            "another shape\n");
}

TEST_F(LogCommandTest, NotAStore) {
  EXPECT_EQ(console_.Run({"log", "/nowhere"}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace hourglass
