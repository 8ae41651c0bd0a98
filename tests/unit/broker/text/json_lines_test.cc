#include "broker/text/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/text/text.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kNowMs = 1'795'230'000'000;  // 2026-11-21T03:00:00Z

InputLimits Limits() {
  return {.body_bytes_max = 10,
          .properties_bytes_max = 20,
          .delay_ms_max = 86'400'000};
}

Message Parse(std::string_view line) {
  Message message;
  const auto error = ParseInputLine(line, kNowMs, Limits(), &message);
  EXPECT_FALSE(error.has_value()) << line << ": " << error->ToString();
  return message;
}

std::string Refusal(std::string_view line) {
  Message message;
  auto error = ParseInputLine(line, kNowMs, Limits(), &message);
  if (!error) return "accepted";
  error->line = 7;
  return error->ToString();
}

TEST(JsonLinesTest, ReadsEveryField) {
  const Message message =
      Parse(R"({"topic":"orders","id":"A-17","tag":"new","keys":["k1","k2"],)"
            R"("properties":{"p":"1","q":""},"body":"grüße","delay":"1m30s"})");
  EXPECT_EQ(message.topic, "orders");
  EXPECT_EQ(message.id, "A-17");
  EXPECT_EQ(message.tag, "new");
  EXPECT_THAT(message.keys, ElementsAre("k1", "k2"));
  EXPECT_THAT(message.properties, ElementsAre(Pair("p", "1"), Pair("q", "")));
  EXPECT_EQ(message.body, "grüße");
  EXPECT_EQ(message.due_ms, kNowMs + 90'000);
}

TEST(JsonLinesTest, EverythingHasADefault) {
  const Message message = Parse("{}");
  EXPECT_EQ(message.topic, "default");
  EXPECT_EQ(message.id, "");
  EXPECT_EQ(message.body, "");
  EXPECT_EQ(message.due_ms, kDueNow);
}

TEST(JsonLinesTest, DueInEachSpelling) {
  EXPECT_EQ(Parse(R"({"delay":"0s"})").due_ms, kNowMs);
  EXPECT_EQ(Parse(R"({"delay_ms":0})").due_ms, kNowMs);
  EXPECT_EQ(Parse(R"({"delay_ms":86400000})").due_ms, kNowMs + 86'400'000);
  EXPECT_EQ(Parse(R"({"deliver_at":"2026-11-21T04:00:01+01:00"})").due_ms,
            kNowMs + 1000);
  EXPECT_EQ(Parse(R"({"deliver_at":"1795230000001"})").due_ms, kNowMs + 1);
  EXPECT_EQ(Parse(R"({"deliver_at":1795230000001})").due_ms, kNowMs + 1);
  // The past is allowed: it is delivered at once.
  EXPECT_EQ(Parse(R"({"deliver_at":5})").due_ms, 5);
}

TEST(JsonLinesTest, BytesByBase64) {
  EXPECT_EQ(Parse(R"({"body_base64":"AP8="})").body,
            std::string("\x00\xFF", 2));
  EXPECT_EQ(Parse(R"({"body_base64":""})").body, "");
}

TEST(JsonLinesTest, ALineMayEndAsOnWindows) {
  EXPECT_EQ(Parse("{\"body\":\"x\"}\r").body, "x");
  EXPECT_TRUE(IsBlank(" \t\r"));
  EXPECT_TRUE(IsBlank(""));
  EXPECT_FALSE(IsBlank(" {}"));
}

// What people get wrong, and the very words they are told.
struct BadLine {
  std::string line;
  std::string said;
};

constexpr char kNotALine[] =
    R"(; expected one JSON object a line, such as {"body":"hello","delay":"30s"})";
constexpr char kADuration[] =
    R"(; expected a duration such as "250ms", "30s", "1h30m")";
constexpr char kAMoment[] =
    R"(; expected a moment such as "2026-11-21T03:00:00Z", or UTC milliseconds)";

TEST(JsonLinesTest, RefusesWithTheReason) {
  const std::vector<BadLine> kCases = {
      // Not one JSON object.
      {"hello", Concat("line 7: is not JSON at byte 1", kNotALine)},
      {R"({"body":"x")", Concat("line 7: is not JSON at byte 12", kNotALine)},
      {R"({"body":"x"} {})",
       Concat("line 7: is not JSON at byte 14", kNotALine)},
      {R"({"body":"\ud800"})",
       Concat("line 7: is not JSON at byte 16", kNotALine)},
      {"", Concat("line 7: is not JSON at byte 1", kNotALine)},
      {"[]", Concat("line 7: is a list", kNotALine)},
      {"5", Concat("line 7: is the number 5", kNotALine)},
      {"-5", Concat("line 7: is the number -5", kNotALine)},
      {R"("text")", Concat("line 7: is a string", kNotALine)},
      {"null", Concat("line 7: is null", kNotALine)},
      {"{\"body\":\"\xFF\"}",
       "line 7: is not UTF-8 at byte 10; expected UTF-8 (body_base64 for "
       "bytes)"},
      // Fields.
      {R"({"dealy":"5s"})",
       "line 7: dealy: is not a field; expected one of topic, body, "
       "body_base64, delay, delay_ms, deliver_at, id, tag, keys, properties"},
      {R"({"id":"a","id":"a"})",
       "line 7: id: is given twice; expected each field at most once"},
      {R"({"delay":"5s","delay_ms":5000})",
       "line 7: delay, delay_ms: are given together; expected at most one of "
       "delay, delay_ms, deliver_at"},
      {R"({"deliver_at":5,"delay_ms":5,"delay":"5s"})",
       "line 7: delay, delay_ms, deliver_at: are given together; expected at "
       "most one of delay, delay_ms, deliver_at"},
      {R"({"body":"","body_base64":""})",
       "line 7: body, body_base64: are given together; expected one of body, "
       "body_base64"},
      // Due times.
      {R"({"delay":"-5s"})",
       Concat(R"(line 7: delay: "-5s" is negative)", kADuration)},
      {R"({"delay":"soon"})",
       Concat(R"(line 7: delay: "soon" is not a duration)", kADuration)},
      {R"({"delay":5})", Concat("line 7: delay: 5 has no unit", kADuration)},
      {R"({"delay":null})", Concat("line 7: delay: is null", kADuration)},
      {R"({"delay":"86400001ms"})",
       R"(line 7: delay: "86400001ms" is longer than the maximum delay; expected at most "1d")"},
      {R"({"delay":"9223372036854775807ms"})",
       R"(line 7: delay: "9223372036854775807ms" is longer than the maximum delay; expected at most "1d")"},
      {R"({"delay_ms":-1})",
       "line 7: delay_ms: -1 is negative; expected a whole number of "
       "milliseconds, 0 or more"},
      {R"({"delay_ms":1.5})",
       "line 7: delay_ms: is the number 1.5; expected a whole number of "
       "milliseconds, 0 or more"},
      {R"({"delay_ms":"5"})",
       R"(line 7: delay_ms: is the string "5"; expected a whole number of milliseconds, 0 or more)"},
      {R"({"delay_ms":86400001})",
       R"(line 7: delay_ms: 86400001 is longer than the maximum delay; expected at most "1d")"},
      {R"({"delay_ms":18446744073709551615})",
       R"(line 7: delay_ms: 9223372036854775807 is longer than the maximum delay; expected at most "1d")"},
      {R"({"deliver_at":"2026-11-21"})",
       Concat(R"(line 7: deliver_at: "2026-11-21" is not a moment)", kAMoment)},
      {R"({"deliver_at":-1})",
       Concat("line 7: deliver_at: -1 is negative", kAMoment)},
      {R"({"deliver_at":true})",
       Concat("line 7: deliver_at: is true", kAMoment)},
      {R"({"deliver_at":"2026-11-22T03:00:00.001Z"})",
       R"(line 7: deliver_at: "2026-11-22T03:00:00.001Z" is past the maximum delay; expected at the latest "2026-11-22T03:00:00.000Z" (a delay of "1d"))"},
      // Lengths.
      {R"({"body":"12345678901"})",
       "line 7: body: is 11 bytes; expected at most 10 bytes "
       "(--body-bytes-max)"},
      {R"({"body_base64":"MTIzNDU2Nzg5MDE="})",
       "line 7: body: is 11 bytes; expected at most 10 bytes "
       "(--body-bytes-max)"},
      {R"({"tag":"12345678","keys":["1234","5678"],"properties":{"a":"1234"}})",
       "line 7: tag, keys and properties: is 21 bytes; expected at most 20 "
       "bytes (--properties-bytes-max)"},
      {R"({"topic":""})",
       "line 7: topic: is empty; expected a name of 1 to 255 bytes"},
      {Concat(R"({"topic":")", std::string(256, 't'), R"("})"),
       "line 7: topic: is 256 bytes; expected at most 255 bytes"},
      {Concat(R"({"id":")", std::string(256, 'i'), R"("})"),
       "line 7: id: is 256 bytes; expected at most 255 bytes"},
      // Types.
      {R"({"topic":5})",
       "line 7: topic: is the number 5; expected a string of 1 to 255 bytes"},
      {R"({"body":{"a":1}})",
       "line 7: body: is an object; expected a string (body_base64 for bytes)"},
      {R"({"body":["a"]})",
       "line 7: body: is a list; expected a string (body_base64 for bytes)"},
      {R"({"body_base64":"?"})",
       R"(line 7: body_base64: "?" is not base64; expected base64, such as "aGVsbG8=")"},
      {R"({"keys":"a"})",
       R"(line 7: keys: is the string "a"; expected a list of strings, such as ["A-17"])"},
      {R"({"keys":[1]})",
       R"(line 7: keys: holds the number 1; expected a list of strings, such as ["A-17"])"},
      {R"({"keys":[["a"]]})",
       R"(line 7: keys: holds a list; expected a list of strings, such as ["A-17"])"},
      {R"({"properties":["a"]})",
       R"(line 7: properties: is a list; expected an object of strings, such as {"region":"eu"})"},
      {R"({"properties":{"a":1}})",
       R"(line 7: properties: holds the number 1; expected an object of strings, such as {"region":"eu"})"},
      {R"({"properties":{"a":{}}})",
       R"(line 7: properties: holds an object; expected an object of strings, such as {"region":"eu"})"},
      {R"({"properties":{"a":"1","a":"2"}})",
       R"(line 7: properties: has "a" twice; expected each name at most once)"},
  };
  for (const BadLine& bad : kCases) {
    EXPECT_EQ(Refusal(bad.line), bad.said) << bad.line;
  }
}

TEST(JsonLinesTest, WritesReadyMessages) {
  ReadyMessage ready;
  ready.message.id = "A-17";
  ready.message.topic = "orders";
  ready.message.body = "say \"hi\"";
  ready.message.due_ms = kNowMs;
  ready.delivered_ms = kNowMs + 1;
  std::string out;
  AppendReadyLine(ready, &out);
  EXPECT_EQ(out, R"({"id":"A-17","topic":"orders","body":"say \"hi\"",)"
                 R"("due_ms":1795230000000,"delivered_ms":1795230000001})"
                 "\n");
  ready.message.body = "\xFF";
  ready.message.due_ms = kDueNow;  // then it was due when it was stored
  ready.message.stored_ms = kNowMs - 5;
  ready.message.tag = "t";
  ready.message.keys = {"k"};
  ready.message.properties = {{"p", "v"}};
  out.clear();
  AppendReadyLine(ready, &out);
  EXPECT_EQ(out, R"({"id":"A-17","topic":"orders","body_base64":"/w==",)"
                 R"("due_ms":1795229999995,"delivered_ms":1795230000001,)"
                 R"("tag":"t","keys":["k"],"properties":{"p":"v"}})"
                 "\n");
}

TEST(JsonLinesTest, WritesAcks) {
  PutResult put;
  put.id = "A-17";
  std::string out;
  AppendAckLine(put, &out);
  EXPECT_EQ(out, "{\"id\":\"A-17\",\"handle\":null}\n");
  put.handle.hour = HourOf(kNowMs);
  put.handle.number = RecordNumber(3);
  out.clear();
  AppendAckLine(put, &out);
  EXPECT_EQ(out, Concat(R"({"id":"A-17","handle":")", put.handle.ToString(),
                        "\"}\n"));
}

TEST(JsonLinesTest, NoLineOfAnAllowedMessageIsTooLong) {
  std::string body;
  for (int i = 0; i < 10; ++i) body += "\\u0001";
  const std::string line = Concat(R"({"body":")", body, R"("})");
  EXPECT_EQ(Parse(line).body, std::string(10, '\x01'));
  EXPECT_LT(line.size(), Limits().line_bytes_max());
}

}  // namespace
}  // namespace hourglass
