// put, cancel, list, forecast and stat, by their command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "broker/text/text.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Puts one message by flags; returns its handle.
std::string Put(StringConsole& console, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"put", "--data", "/d", "--json"});
  EXPECT_EQ(console.Run(flags), 0) << console.err.text();
  const json ack = json::parse(console.out.text());
  return ack["handle"].is_null() ? "-" : std::string(ack["handle"]);
}

TEST(PutCommandTest, OneMessageFromFlags) {
  StringConsole console;
  const std::string handle =
      Put(console,
          {"--topic", "t", "--body", "x", "--id", "A", "--tag", "g", "--key",
           "k1", "--key", "k2", "--property", "p=a=b", "--delay", "1h"});
  EXPECT_EQ(handle.size(), 32u);
  ASSERT_EQ(console.state->pending.size(), 1u);
  const Message& message = console.state->pending.begin()->second.message;
  EXPECT_EQ(message.topic, "t");
  EXPECT_EQ(message.body, "x");
  EXPECT_EQ(message.id, "A");
  EXPECT_EQ(message.tag, "g");
  EXPECT_EQ(message.keys, (std::vector<std::string>{"k1", "k2"}));
  ASSERT_EQ(message.properties.size(), 1u);
  EXPECT_EQ(message.properties[0].second, "a=b");
  EXPECT_EQ(message.due_ms, StringConsole::kStartMs + 3'600'000);
}

TEST(PutCommandTest, LinesFromStdin) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n{\"id\":\"2\",\"delay\":\"x\"}\n");
  EXPECT_EQ(console.Run({"put", "--data", "/d"}), 1);
  EXPECT_EQ(console.out.text(), "1 -\n");
  EXPECT_THAT(console.err.text(), StartsWith("line 2: delay: "));
  EXPECT_EQ(console.state->closed, 1);
}

TEST(PutCommandTest, RefusesBadFlags) {
  const struct {
    std::vector<std::string> flags;
    int exit_code;
    const char* said;
  } kCases[] = {
      {{"--body", "x", "--delay", "-5s"},
       1,
       "hourglass: delay: \"-5s\" is negative; expected a duration such as "
       "\"250ms\", \"30s\", \"1h30m\"\n"},
      {{"--body", "x", "--delay-ms=-5"},
       1,
       "hourglass: delay_ms: -5 is negative; expected a whole number of "
       "milliseconds, 0 or more\n"},
      {{"--body", "x", "--property", "p"},
       1,
       "hourglass: --property: \"p\" has no value; expected NAME=VALUE\n"},
      {{"--body-base64", "?"},
       1,
       "hourglass: --body-base64: \"?\" is not base64; expected base64, such "
       "as \"aGVsbG8=\"\n"},
      {{"--body", "x", "--topic", ""},
       1,
       "hourglass: topic: is empty; expected a name of 1 to 255 bytes\n"},
      {{"--topic", "t"},
       2,
       "hourglass: flags of a message without its body; expected --body or "
       "--body-base64, or none of them and lines on stdin\n"},
      {{"--body", "x", "--delay", "1s", "--delay-ms", "5"},
       2,
       "hourglass: --delay excludes --delay-ms; see hourglass put --help\n"},
  };
  for (const auto& [flags, exit_code, said] : kCases) {
    StringConsole console;
    std::vector<std::string> arguments = {"put", "--data", "/d"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(console.Run(arguments), exit_code);
    EXPECT_EQ(console.err.text(), said);
    EXPECT_THAT(console.out.text(), IsEmpty());
    EXPECT_TRUE(console.state->pending.empty());
  }
}

TEST(CancelCommandTest, ThreeAnswersAndNoHandle) {
  StringConsole console;
  const std::string pending = Put(console, {"--body", "x", "--delay", "1h"});
  const std::string gone = Put(console, {"--body", "x", "--delay", "1s"});
  console.clock.AdvanceMs(1000);
  Handle never = *Handle::Parse(pending);
  never.number = RecordNumber(99);
  EXPECT_EQ(console.Run({"cancel", "--data", "/d", pending, gone,
                         never.ToString(), "nonsense"}),
            1);
  EXPECT_EQ(
      console.out.text(),
      Concat(pending, " ", CancelAnswerName(CancelAnswer::kCancelled), "\n",
             gone, " ", CancelAnswerName(CancelAnswer::kAlreadyDelivered), "\n",
             never.ToString(), " ",
             CancelAnswerName(CancelAnswer::kNeverExisted), "\n"));
  EXPECT_THAT(console.err.text(), HasSubstr("\"nonsense\" is not a handle"));
  EXPECT_FALSE(console.created);
  EXPECT_TRUE(console.state->pending.empty());
}

TEST(CancelCommandTest, AllCancelledIsZero) {
  StringConsole console;
  const std::string handle = Put(console, {"--body", "x", "--delay", "1h"});
  EXPECT_EQ(console.Run({"cancel", "--data", "/d", "--json", handle}), 0);
  EXPECT_EQ(json::parse(console.out.text())["handle"], handle);
}

TEST(ListCommandTest, WindowTopicAndLimit) {
  StringConsole console;
  for (int minutes : {1, 2, 3, 4}) {
    Put(console,
        {"--body", Concat("b", minutes), "--id", Concat(minutes), "--topic",
         minutes % 2 == 0 ? "even" : "odd", "--delay", Concat(minutes, "m")});
  }
  const auto ids = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"list", "--data", "/d", "--json"});
    EXPECT_EQ(console.Run(flags), 0) << console.err.text();
    std::string ids;
    std::istringstream in(console.out.text());
    for (std::string line; std::getline(in, line);) {
      Append(&ids, std::string(json::parse(line)["id"]));
    }
    return ids;
  };
  EXPECT_EQ(ids({}), "1234");
  EXPECT_EQ(ids({"--topic", "even"}), "24");
  EXPECT_EQ(ids({"--from", "2m", "--to", "4m"}), "23");
  EXPECT_EQ(ids({"--from", "2026-11-21T03:03:00Z"}), "34");
  EXPECT_EQ(ids({"--limit", "0"}), "1234");
  EXPECT_EQ(ids({"--limit", "3"}), "123");
  EXPECT_EQ(console.err.text(),
            "hourglass: there are more than 3; --limit 0 lists all\n");
  EXPECT_EQ(ids({"--limit", "4"}), "1234");
  EXPECT_THAT(console.err.text(), IsEmpty());
}

TEST(ListCommandTest, ManyPages) {
  StringConsole console;
  std::string input;
  for (int i = 0; i < 2500; ++i) input += "{\"delay\":\"1h\"}\n";
  console.Input(input);
  ASSERT_EQ(console.Run({"put", "--data", "/d"}), 0);
  EXPECT_EQ(console.Run({"list", "--data", "/d", "--limit", "0", "--json"}), 0);
  const std::string text = console.out.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2500);
}

TEST(ListCommandTest, ForPeople) {
  StringConsole console;
  EXPECT_EQ(console.Run({"list", "--data", "/d"}), 0);
  EXPECT_EQ(console.out.text(), "nothing is pending\n");
  const std::string handle =
      Put(console, {"--body", "a\033b", "--id", "A", "--delay", "90m"});
  EXPECT_EQ(console.Run({"list", "--data", "/d"}), 0);
  EXPECT_THAT(console.out.text(),
              HasSubstr(Concat("2026-11-21T04:30:00.000Z  1h30m  default  A   ",
                               handle, "      3  a.b\n")));
}

TEST(ListCommandTest, BadWindow) {
  StringConsole console;
  EXPECT_EQ(console.Run({"list", "--data", "/d", "--from", "then"}), 2);
  EXPECT_THAT(
      console.err.text(),
      StartsWith("hourglass: --from: \"then\" is not a moment; expected "));
  EXPECT_EQ(console.state->opened, 0);
}

TEST(ForecastCommandTest, ChartsHoursAndSeconds) {
  StringConsole console;
  Put(console, {"--body", "1234", "--delay", "1h"});
  Put(console, {"--body", "1234", "--delay", "1h1s"});
  Put(console, {"--body", "1234", "--delay", "2h"});
  EXPECT_EQ(console.Run({"forecast", "--data", "/d"}), 0);
  EXPECT_EQ(console.out.text(),
            Concat("HOUR (UTC)     MESSAGES  BYTES  \n",
                   "2026-11-21T04         2    8 B  ", std::string(),
                   "██████████", "██████████████", "██████████\n",
                   "2026-11-21T05         1    4 B  ", "█████████████████\n",
                   "all                   3   12 B  \n"));
  EXPECT_EQ(
      console.Run({"forecast", "--data", "/d", "--hour", "2026-11-21T04"}), 0);
  EXPECT_THAT(console.out.text(), HasSubstr("2026-11-21T04:00:01         1"));
  EXPECT_THAT(console.out.text(), Not(HasSubstr("T05")));
}

TEST(ForecastCommandTest, Json) {
  StringConsole console;
  Put(console, {"--body", "1234", "--delay", "1h"});
  EXPECT_EQ(console.Run({"forecast", "--data", "/d", "--json", "--hour",
                         "2026-11-21T04"}),
            0);
  const json forecast = json::parse(console.out.text());
  EXPECT_EQ(forecast["hours"][0]["start"], "2026-11-21T04:00:00.000Z");
  EXPECT_EQ(forecast["hours"][0]["messages"], 1);
  EXPECT_EQ(forecast["seconds"][0]["bytes"], 4);
}

TEST(ForecastCommandTest, NothingAndNonsense) {
  StringConsole console;
  EXPECT_EQ(console.Run({"forecast", "--data", "/d"}), 0);
  EXPECT_EQ(console.out.text(), "nothing is pending\n");
  EXPECT_EQ(console.Run({"forecast", "--data", "/d", "--hour", "4"}), 0);
  EXPECT_EQ(console.Run({"forecast", "--data", "/d", "--hour", "x"}), 2);
  EXPECT_EQ(console.err.text(),
            "hourglass: --hour: \"x\" is not a moment; expected an hour such "
            "as \"2026-11-21T03\"\n");
}

TEST(StatCommandTest, HumanJsonAndFailure) {
  StringConsole console;
  Put(console, {"--body", "x", "--delay", "1h"});
  EXPECT_EQ(console.Run({"stat", "--data", "/d"}), 0);
  EXPECT_THAT(console.out.text(), HasSubstr("pending messages    1\n"));
  EXPECT_EQ(console.Run({"stat", "--data", "/d", "--json"}), 0);
  EXPECT_EQ(json::parse(console.out.text())["pending_messages"], 1);
  EXPECT_TRUE(json::parse(console.out.text())["failure"].is_null());
  console.state->failure = absl::UnavailableError("stopped");
  EXPECT_EQ(console.Run({"stat", "--data", "/d", "--json"}), 1);
  EXPECT_EQ(json::parse(console.out.text())["failure"], "stopped");
}

}  // namespace
}  // namespace hourglass
