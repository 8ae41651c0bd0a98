// The small parts of the front that know nobody: recall handle, dedupe window,
// signature, filter, verdicts, polls' times, topics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "broker/front/dedupe_window.h"
#include "broker/front/message_filter.h"
#include "broker/front/proto_time.h"
#include "broker/front/recall_handle.h"
#include "broker/front/receive_terms.h"
#include "broker/front/signature.h"
#include "broker/front/topics.h"
#include "broker/front/verdict.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

Handle SomeHandle() {
  Handle handle;
  handle.hour = Hour(498'675);
  handle.number = RecordNumber(7);
  handle.ms_into_hour = 1234;
  handle.id_hash = 99;
  handle.seal = 4711;
  return handle;
}

TEST(RecallHandle, ThereAndBack) {
  for (const std::string id : {"01ABC", "", "with-dashes-", "a\nb"}) {
    const std::string text = RecallHandle{SomeHandle(), id}.ToString("t");
    const auto parsed = RecallHandle::Parse(text, "t");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->handle, SomeHandle());
    EXPECT_EQ(parsed->message_id, id);
  }
}

TEST(RecallHandle, OfAnotherTopicIsNotFound) {
  const std::string text = RecallHandle{SomeHandle(), "id"}.ToString("t");
  EXPECT_TRUE(absl::IsNotFound(RecallHandle::Parse(text, "u").status()));
}

// Every single wrong character is seen.
TEST(RecallHandle, EachChangeIsNoticed) {
  const std::string text = RecallHandle{SomeHandle(), "id-1"}.ToString("t");
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'a', '2', '-', 'Z', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      if (changed == text) continue;
      EXPECT_FALSE(RecallHandle::Parse(changed, "t").ok()) << changed;
    }
    EXPECT_FALSE(RecallHandle::Parse(text.substr(0, i), "t").ok()) << i;
  }
  EXPECT_FALSE(RecallHandle::Parse(text + "x", "t").ok());
}

PutResult ResultAt(uint64_t offset) {
  PutResult result;
  result.handle = SomeHandle();
  result.offset = LogOffset(offset);
  return result;
}

struct Window {
  DedupeWindow window{1000, 1600};
  PutResult known;
  int waited = 0;

  DedupeWindow::Place Begin(const std::string& id, int64_t now_ms) {
    DedupeWindow::Waiter waiter =
        [this](const absl::StatusOr<PutResult>& result) {
          waited += result.ok() ? 1 : 100;
        };
    return window.Begin("t", id, now_ms, &known, &waiter);
  }
};

TEST(DedupeWindow, ASecondSendGetsTheFirstsAnswer) {
  Window w;
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
  w.window.End("t", "a", 0, ResultAt(512));
  EXPECT_EQ(w.Begin("a", 999), DedupeWindow::kKnown);
  EXPECT_EQ(w.known.offset, LogOffset(512));
  EXPECT_EQ(w.known.handle, SomeHandle());
  EXPECT_EQ(w.known.id, "a");
}

TEST(DedupeWindow, TheWindowCloses) {
  Window w;
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
  w.window.End("t", "a", 0, ResultAt(512));
  EXPECT_EQ(w.Begin("a", 1000), DedupeWindow::kFirst);
}

TEST(DedupeWindow, ASendMeanwhileWaits) {
  Window w;
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kWaits);
  // However long the first takes.
  EXPECT_EQ(w.Begin("a", 5000), DedupeWindow::kWaits);
  EXPECT_EQ(w.waited, 0);
  w.window.End("t", "a", 5000, ResultAt(512));
  EXPECT_EQ(w.waited, 2);
}

TEST(DedupeWindow, AFailureIsForgotten) {
  Window w;
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kWaits);
  w.window.End("t", "a", 0, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(w.waited, 100);
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
}

TEST(DedupeWindow, WhatWasPutBeforeIsKnown) {
  Window w;
  w.window.Restore("t", "a", 0, ResultAt(512));
  w.window.Restore("t", "b", 500, ResultAt(1024));
  w.window.Restore("t", "a", 700, ResultAt(2048));  // it was moved
  EXPECT_EQ(w.Begin("b", 1400), DedupeWindow::kKnown);
  EXPECT_EQ(w.known.offset, LogOffset(1024));
  // A move makes it no younger.
  EXPECT_EQ(w.Begin("a", 1400), DedupeWindow::kFirst);
  EXPECT_EQ(w.Begin("b", 1500), DedupeWindow::kFirst);
}

TEST(DedupeWindow, WhatIsRestoredIsBounded) {
  Window w;
  for (int i = 0; i < 10'000; ++i) {
    w.window.Restore("t", std::to_string(i), i / 100, ResultAt(512));
  }
  EXPECT_LE(w.window.size(), 1600u + 16);
  EXPECT_EQ(w.Begin("9999", 100), DedupeWindow::kKnown);
}

TEST(DedupeWindow, TopicsAreApart) {
  Window w;
  EXPECT_EQ(w.Begin("a", 0), DedupeWindow::kFirst);
  DedupeWindow::Waiter waiter;
  EXPECT_EQ(w.window.Begin("u", "a", 0, &w.known, &waiter),
            DedupeWindow::kFirst);
}

TEST(DedupeWindow, MemoryIsBounded) {
  Window w;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = std::to_string(i);
    EXPECT_EQ(w.Begin(id, 0), DedupeWindow::kFirst);
    w.window.End("t", id, 0, ResultAt(512));
  }
  EXPECT_LE(w.window.size(), 1600u + 16);
  EXPECT_EQ(w.Begin("9999", 0), DedupeWindow::kKnown);
  EXPECT_EQ(w.Begin("0", 0), DedupeWindow::kFirst);
}

TEST(DedupeWindow, ZeroSwitchesItOff) {
  DedupeWindow window(0, 100);
  PutResult known;
  DedupeWindow::Waiter waiter;
  EXPECT_EQ(window.Begin("t", "a", 0, &known, &waiter), DedupeWindow::kFirst);
  window.End("t", "a", 0, ResultAt(512));
  EXPECT_EQ(window.Begin("t", "a", 0, &known, &waiter), DedupeWindow::kFirst);
  EXPECT_EQ(window.size(), 0u);
}

constexpr char kHmac[] = "0123456789ABCDEF0123456789ABCDEF01234567";

TEST(Signature, AsClientsWriteIt) {
  const auto signature =
      Signature::Parse(std::string("MQv2-HMAC-SHA1 Credential=key/cn/RocketMQ, "
                                   "SignedHeaders=x-mq-date-time, Signature=") +
                           kHmac,
                       "20261121T030000Z");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->access_key, "key");
  EXPECT_EQ(signature->hmac_hex, "0123456789abcdef0123456789abcdef01234567");
  EXPECT_EQ(signature->date_time, "20261121T030000Z");
}

TEST(Signature, WithoutCredentialsTheKeyIsEmpty) {
  const auto signature = Signature::Parse(
      std::string("MQv2-HMAC-SHA1 Credential=, SignedHeaders=x-mq-date-time, "
                  "Signature=") +
          kHmac,
      "");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->access_key, "");
}

TEST(Signature, AnythingElseIsRefused) {
  for (const std::string text :
       {"", "MQv2-HMAC-SHA1", "Bearer x", "MQv2-HMAC-SHA1 ",
        "MQv2-HMAC-SHA1 Credential=a, SignedHeaders=x-mq-date-time",
        "MQv2-HMAC-SHA1 Credential=a, SignedHeaders=x-mq-date-time, "
        "Signature=zz",
        "MQv2-HMAC-SHA1 ,,,=,=,,"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(Signature::Parse(text, "").status()))
        << text;
  }
}

bool Wants(const std::string& expression, const std::string& tag) {
  proto::FilterExpression filter;
  filter.set_type(proto::TAG);
  filter.set_expression(expression);
  const auto made = MakeFilter(filter);
  EXPECT_TRUE(made.ok()) << made.status();
  Message message;
  message.tag = tag;
  return *made == nullptr || (*made)(message);
}

TEST(MessageFilter, Tags) {
  EXPECT_TRUE(Wants("*", ""));
  EXPECT_TRUE(Wants("", "a"));
  EXPECT_TRUE(Wants("a", "a"));
  EXPECT_TRUE(Wants("a||b", "b"));
  EXPECT_TRUE(Wants("  a  ||  b  ", "b"));
  EXPECT_FALSE(Wants("a || b", "c"));
  EXPECT_FALSE(Wants("a || b", ""));
  EXPECT_FALSE(Wants("a", "ab"));
}

TEST(MessageFilter, WhatCannotBeHadIsRefused) {
  proto::FilterExpression filter;
  for (const std::string text : {"||", "a ||", "|| a", "a || || b"}) {
    filter.set_expression(text);
    EXPECT_TRUE(absl::IsInvalidArgument(MakeFilter(filter).status())) << text;
  }
  filter.set_expression(std::string(5000, 'a'));
  EXPECT_FALSE(MakeFilter(filter).ok());
  filter.set_type(proto::SQL);
  for (const std::string text : {"", "*", "a >", "a || b"}) {
    filter.set_expression(text);
    EXPECT_TRUE(absl::IsInvalidArgument(MakeFilter(filter).status())) << text;
  }
  filter.set_expression("a = 1 AND b ! 2");
  EXPECT_THAT(std::string(MakeFilter(filter).status().message()),
              HasSubstr("at 13"));
}

TEST(MessageFilter, Sql) {
  Message message;
  message.tag = "red";
  message.properties = {{"price", "42"}, {"__hg.type", "3"}};
  const auto wants = [&message](const char* text) {
    proto::FilterExpression filter;
    filter.set_type(proto::SQL);
    filter.set_expression(text);
    const auto made = MakeFilter(filter);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() && (*made)(message);
  };
  EXPECT_TRUE(wants("TAGS = 'red' AND price BETWEEN 40 AND 42.5"));
  EXPECT_FALSE(wants("TAGS = 'blue' OR price > 42"));
  EXPECT_FALSE(wants("colour <> 'red'"));  // unknown is not a match
  EXPECT_TRUE(wants("colour IS NULL"));
  EXPECT_TRUE(wants("__hg.type IS NULL"));
  message.tag = "";
  EXPECT_TRUE(wants("TAGS IS NULL"));
}

TEST(Verdict, ReceiptsHaveOneCode) {
  // Push consumers try again for ever on any other.
  EXPECT_EQ(VerdictOfReceipt(absl::NotFoundError("")).code,
            proto::INVALID_RECEIPT_HANDLE);
  EXPECT_EQ(VerdictOfReceipt(absl::InvalidArgumentError("")).code,
            proto::INVALID_RECEIPT_HANDLE);
  EXPECT_EQ(VerdictOfReceipt(absl::ResourceExhaustedError("")).code,
            proto::TOO_MANY_REQUESTS);
  EXPECT_EQ(VerdictOf(absl::NotFoundError("")).code, proto::NOT_FOUND);
  EXPECT_EQ(VerdictOf(absl::DataLossError("")).code,
            proto::INTERNAL_SERVER_ERROR);
  EXPECT_TRUE(VerdictOf(absl::OkStatus()).ok());
}

TEST(Verdict, SeveralAgreeOrNot) {
  JointVerdict none;
  EXPECT_TRUE(none.Get().ok());
  JointVerdict same;
  same.Add(Verdict::Refuse(proto::BAD_REQUEST, "a"));
  same.Add(Verdict::Refuse(proto::BAD_REQUEST, "b"));
  EXPECT_EQ(same.Get().code, proto::BAD_REQUEST);
  JointVerdict mixed;
  mixed.Add(Verdict());
  mixed.Add(Verdict::Refuse(proto::BAD_REQUEST, "b"));
  EXPECT_EQ(mixed.Get().code, proto::MULTIPLE_RESULTS);
  EXPECT_EQ(mixed.FirstFailure().text, "b");
}

TEST(PollMs, FieldThenSettingsThenDeadline) {
  const FrontOptions options;
  proto::ReceiveMessageRequest asked;
  EXPECT_EQ(PollMs(asked, std::nullopt, std::nullopt, options), 20'000);
  EXPECT_EQ(PollMs(asked, 8000, std::nullopt, options), 5000);
  EXPECT_EQ(PollMs(asked, 8000, 4000, options), 4000);
  *asked.mutable_long_polling_timeout() = DurationOfMs(1000);
  EXPECT_EQ(PollMs(asked, 8000, 4000, options), 1000);
}

TEST(PollMs, NeverBeyondTheCallersPatience) {
  const FrontOptions options;
  proto::ReceiveMessageRequest asked;
  *asked.mutable_long_polling_timeout() = DurationOfMs(1 << 30);
  EXPECT_EQ(PollMs(asked, 5000, std::nullopt, options), 4900);
  EXPECT_EQ(PollMs(asked, std::nullopt, std::nullopt, options), 60'000);
  EXPECT_EQ(PollMs(asked, 50, std::nullopt, options), 0);
  asked.mutable_long_polling_timeout()->set_seconds(INT64_MIN);
  EXPECT_EQ(PollMs(asked, std::nullopt, std::nullopt, options), 0);
}

TEST(Topics, CreatedOnUseOrNamed) {
  FrontOptions options;
  options.topics = {"bills:NORMAL+DELAY"};
  auto topics = Topics::From(options);
  ASSERT_TRUE(topics.ok()) << topics.status();
  EXPECT_TRUE(topics->CheckTakes("any", proto::FIFO).ok());
  EXPECT_TRUE(topics->CheckTakes("bills", proto::DELAY).ok());
  EXPECT_EQ(topics->CheckTakes("bills", proto::FIFO).code,
            proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE);
  options.auto_create_topics = false;
  topics = Topics::From(options);
  ASSERT_TRUE(topics.ok()) << topics.status();
  EXPECT_TRUE(topics->CheckExists("bills").ok());
  EXPECT_TRUE(topics->CheckExists("%DLQ%g").ok());
  EXPECT_EQ(topics->CheckExists("any").code, proto::TOPIC_NOT_FOUND);
  // Word for word: applications look for it.
  EXPECT_EQ(topics->CheckExists("any").text,
            "CODE: 17  DESC: No topic route info in name server for the topic: "
            "any");
}

TEST(Topics, WrongTextsAreNamed) {
  for (const std::string text : {"a:LITE", "a:NORMAL+", "a b", ":NORMAL"}) {
    FrontOptions options;
    options.topics = {text};
    const bool good = Topics::From(options).ok();
    EXPECT_EQ(good, text == "a:NORMAL+") << text;
  }
}

}  // namespace
}  // namespace hourglass
