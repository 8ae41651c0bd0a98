#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "broker/text/text.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNowMs = StringConsole::kStartMs;

std::vector<json> Lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

std::vector<std::string> Ids(const std::string& text) {
  std::vector<std::string> ids;
  for (const json& line : Lines(text)) ids.push_back(line["id"]);
  return ids;
}

const std::vector<std::string> kPipe = {"pipe", "--data", "/d",
                                        "--until-empty"};
std::vector<std::string> With(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

uint64_t Progress(StringConsole& console, const std::string& topic) {
  return console.state->progress[{topic, "pipe"}].next.value();
}

TEST(PipeCommandTest, WritesAtTheDueTime) {
  StringConsole console;
  console.Input(
      "{\"id\":\"late\",\"deliver_at\":1795230005000,\"tag\":\"t\"}\n"
      "{\"id\":\"soon\",\"deliver_at\":1795230001000,\"topic\":\"b\"}\n"
      "{\"id\":\"now\",\"body\":\"x\"}\n");
  EXPECT_EQ(console.Run(kPipe), 0) << console.err.text();
  const auto lines = Lines(console.out.text());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(Ids(console.out.text()),
            (std::vector<std::string>{"now", "soon", "late"}));
  for (const json& line : lines) {
    EXPECT_GE(line["delivered_ms"], line["due_ms"]) << line;
  }
  EXPECT_EQ(lines[2]["due_ms"], 1795230005000);
  EXPECT_EQ(lines[2]["tag"], "t");
  EXPECT_EQ(Progress(console, "default"), 2u);
  EXPECT_EQ(Progress(console, "b"), 1u);
  EXPECT_EQ(console.state->closed, 1);
  EXPECT_TRUE(console.created);
  EXPECT_THAT(console.err.text(), IsEmpty());
}

TEST(PipeCommandTest, NothingIsWrittenBeforeItsTime) {
  StringConsole console;
  console.out.on_write = [&](std::string_view text) {
    for (const json& line : Lines(std::string(text))) {
      EXPECT_GE(console.clock.NowMs(), line["due_ms"]) << line;
    }
    return absl::OkStatus();
  };
  std::string input;
  for (int i = 0; i < 500; ++i) {
    input += Concat("{\"delay_ms\":", i * 37 % 5000, "}\n");
  }
  console.Input(input);
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_EQ(Lines(console.out.text()).size(), 500u);
}

TEST(PipeCommandTest, TopicsAreWrittenInTheOrderTheyBecameReady) {
  StringConsole console;
  std::string input;
  std::vector<std::string> ids;
  for (int i = 0; i < 2000; ++i) {
    input += Concat("{\"id\":\"", i, "\",\"topic\":\"t", i % 7, "\"}\n");
    ids.push_back(Concat(i));
  }
  console.Input(input);
  ASSERT_EQ(console.Run({"put", "--data", "/d"}), 0);
  console.Input("");
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_EQ(Ids(console.out.text()), ids);
}

TEST(PipeCommandTest, OneTopicOnly) {
  StringConsole console;
  console.Input(
      "{\"id\":\"1\",\"topic\":\"a\"}\n{\"id\":\"2\",\"topic\":\"b\"}\n");
  EXPECT_EQ(console.Run(With(kPipe, {"--topic", "b"})), 0);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("2"));
  EXPECT_EQ(Progress(console, "a"), 0u);
  console.Input("");
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("1"));
}

TEST(PipeCommandTest, GoesOnWhereItEnded) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n");
  EXPECT_EQ(console.Run(kPipe), 0);
  console.Input("{\"id\":\"2\"}\n");
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("2"));
}

TEST(PipeCommandTest, RefusedLinesAreAnsweredAndTheRestGoesOn) {
  StringConsole console;
  console.Input(
      "{\"id\":\"1\"}\n"
      "\n"
      "{\"delay\":\"-5s\"}\n"
      "nonsense\n"
      "{\"id\":\"2\"}\n");
  EXPECT_EQ(console.Run(kPipe), 1);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("1", "2"));
  EXPECT_EQ(console.err.text(),
            "line 3: delay: \"-5s\" is negative; expected a duration such as "
            "\"250ms\", \"30s\", \"1h30m\"\n"
            "line 4: is not JSON at byte 2; expected one JSON object a line, "
            "such as {\"body\":\"hello\",\"delay\":\"30s\"}\n");
}

TEST(PipeCommandTest, LimitsAreFlags) {
  StringConsole console;
  console.Input("{\"body\":\"12345\"}\n{\"body\":\"1234\"}\n");
  EXPECT_EQ(console.Run(With(kPipe, {"--body-bytes-max", "4"})), 1);
  EXPECT_EQ(console.err.text(),
            "line 1: body: is 5 bytes; expected at most 4 bytes "
            "(--body-bytes-max)\n");
  EXPECT_EQ(console.options.body_bytes_max, 4u);
  EXPECT_EQ(Lines(console.out.text()).size(), 1u);
}

TEST(PipeCommandTest, ALineLongerThanAnyMessageIsSkipped) {
  StringConsole console;
  console.Input(Concat("{\"body\":\"", std::string(500'000, 'x'),
                       "\"}\n{\"id\":\"2\"}\n"));
  EXPECT_EQ(console.Run(With(kPipe, {"--body-bytes-max", "4"})), 1);
  EXPECT_THAT(console.err.text(), HasSubstr("line 1: is too long; expected"));
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("2"));
}

TEST(PipeCommandTest, AFullStoreDelaysButDropsNothing) {
  StringConsole console;
  console.state->exhausted_puts = 5;
  std::string input;
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    input += Concat("{\"id\":\"", i, "\"}\n");
    ids.push_back(Concat(i));
  }
  console.Input(input);
  EXPECT_EQ(console.Run(kPipe), 0) << console.err.text();
  // In order, too: the one that was turned away goes before the others.
  EXPECT_EQ(Ids(console.out.text()), ids);
  EXPECT_EQ(console.state->put_calls, 105);
}

TEST(PipeCommandTest, AStoreThatStaysFullIsSaidAndStoppable) {
  StringConsole console;
  console.state->exhausted_puts = 1 << 30;
  console.Input("{\"id\":\"1\"}\n");
  std::thread stopper([&] {
    while (console.err.text().empty()) absl::SleepFor(absl::Milliseconds(1));
    console.stop.Request();
  });
  EXPECT_EQ(console.Run(kPipe), 1);
  stopper.join();
  EXPECT_EQ(console.err.text(),
            "hourglass: input waits: unsynced_bytes_max: the fake is full\n"
            "line 1: was not stored: unsynced_bytes_max: the fake is full\n");
}

TEST(PipeCommandTest, AStopIsClean) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n");
  console.InputStaysOpen();
  std::thread stopper([&] {
    while (console.out.text().empty()) absl::SleepFor(absl::Milliseconds(1));
    console.stop.Request();
  });
  EXPECT_EQ(console.Run({"pipe", "--data", "/d"}), 0);
  stopper.join();
  EXPECT_EQ(Progress(console, "default"), 1u);
  EXPECT_EQ(console.state->closed, 1);
}

TEST(PipeCommandTest, ABrokenStdoutConsumesNothing) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n");
  console.InputStaysOpen();  // it must not wait for more input, either
  console.out.on_write = [](std::string_view text) {
    return text.empty() ? absl::OkStatus()
                        : absl::AbortedError("stdout: Broken pipe");
  };
  EXPECT_EQ(console.Run({"pipe", "--data", "/d"}), 2);
  EXPECT_EQ(console.err.text(), "hourglass: stdout: Broken pipe\n");
  EXPECT_EQ(Progress(console, "default"), 0u);
  EXPECT_EQ(console.state->closed, 1);
}

TEST(PipeCommandTest, AStoppedStoreEndsTheProgram) {
  StringConsole console;
  console.state->put_error = absl::UnavailableError("stopped: disk on fire");
  console.Input("{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
  console.InputStaysOpen();
  EXPECT_EQ(console.Run({"pipe", "--data", "/d"}), 2);
  EXPECT_EQ(console.err.text(), "hourglass: /d: stopped: disk on fire\n");
}

TEST(PipeCommandTest, AStoreThatCannotBeReadEndsTheProgram) {
  StringConsole console;
  console.state->read_error = absl::UnavailableError("stopped");
  console.Input("{\"id\":\"1\"}\n");
  EXPECT_EQ(console.Run(kPipe), 2);
  EXPECT_EQ(console.err.text(), "hourglass: /d: stopped\n");
}

TEST(PipeCommandTest, AStoreThatStopsByItselfEndsTheProgram) {
  StringConsole console;
  console.state->failure = absl::UnavailableError("stopped: disk on fire");
  console.InputStaysOpen();
  EXPECT_EQ(console.Run({"pipe", "--data", "/d"}), 2);
  EXPECT_EQ(console.err.text(), "hourglass: /d: stopped: disk on fire\n");
}

TEST(PipeCommandTest, DamageIsSaidAndPassedBy) {
  StringConsole console;
  console.Input("{\"id\":\"0\"}\n{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
  console.state->damaged = {{"default", 1}};
  EXPECT_EQ(console.Run(kPipe), 1);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("0", "2"));
  EXPECT_EQ(console.err.text(),
            "hourglass: topic \"default\": message 1 is passed by: a flipped "
            "bit\n");
  EXPECT_EQ(Progress(console, "default"), 3u);
}

TEST(PipeCommandTest, RetentionIsSaidAndPassedBy) {
  StringConsole console;
  console.Input("{\"id\":\"0\"}\n{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
  console.state->removed_before["default"] = 2;
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_THAT(Ids(console.out.text()), ElementsAre("2"));
  EXPECT_EQ(console.err.text(),
            "hourglass: topic \"default\": 2 messages were removed by "
            "retention before they were read\n");
}

TEST(PipeCommandTest, AcksAreWritten) {
  StringConsole console;
  console.file_system.SetContent("/acks", "{\"id\":\"cut sho");
  console.Input(
      "{\"id\":\"1\",\"delay\":\"1s\"}\n{\"id\":\"2\"}\n{\"delay\":\"x\"}\n"
      "{\"body\":\"no id\"}\n");
  EXPECT_EQ(console.Run(With(kPipe, {"--acks", "/acks"})), 1);
  const std::string text = console.file_system.Content("/acks");
  const std::string kCut = "{\"id\":\"cut sho\n";
  ASSERT_TRUE(text.starts_with(kCut)) << text;
  const auto acks = Lines(text.substr(kCut.size()));
  ASSERT_EQ(acks.size(), 3u);
  EXPECT_EQ(acks[0]["id"], "1");
  EXPECT_TRUE(Handle::Parse(std::string(acks[0]["handle"])).ok());
  EXPECT_EQ(acks[1]["id"], "2");
  EXPECT_TRUE(acks[1]["handle"].is_null());
  EXPECT_EQ(acks[2]["id"], "fake-2");
}

TEST(PipeCommandTest, AcksThatCannotBeWrittenEndTheProgram) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n");
  EXPECT_EQ(console.Run(With(kPipe, {"--acks", "/no/such/dir/acks"})), 2);
  EXPECT_THAT(console.err.text(), HasSubstr("/no/such/dir/acks"));
  EXPECT_EQ(console.state->opened, 0);
}

TEST(PipeCommandTest, CountsAtTheEnd) {
  StringConsole console;
  console.Input("{\"id\":\"1\"}\n{\"id\":\"2\",\"delay\":\"1s\"}\nx\n");
  EXPECT_EQ(console.Run(With(kPipe, {"--verbose"})), 1);
  EXPECT_THAT(console.err.text(),
              HasSubstr("hourglass: 3 lines read, 2 stored, 1 refused, 2 "
                        "written\n"));
}

TEST(PipeCommandTest, ProgressOnATerminalOnly) {
  StringConsole console;
  console.err.terminal = true;
  console.Input("{\"id\":\"1\",\"delay\":\"1s\"}\n");
  EXPECT_EQ(console.Run(kPipe), 0);
  EXPECT_THAT(console.err.text(), HasSubstr("\r\033[K"));
  EXPECT_THAT(console.err.text(), HasSubstr(" pending"));
  EXPECT_EQ(console.clock.NowMs(), kNowMs + 1000);
}

TEST(PipeCommandTest, AStoreThatCannotCloseIsSaid) {
  StringConsole console;
  console.state->close_error = absl::UnavailableError("disk on fire");
  EXPECT_EQ(console.Run(kPipe), 2);
  EXPECT_EQ(console.err.text(), "hourglass: /d: disk on fire\n");
}

}  // namespace
}  // namespace hourglass
