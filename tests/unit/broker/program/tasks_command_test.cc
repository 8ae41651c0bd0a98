// `hourglass tasks` against a redis-server of the test's own.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/support/string_console.h"
#include "tests/unit/wheel/redis/redis_server.h"

namespace hourglass {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TasksCommandTest : public testing::Test {
 protected:
  static RedisServer* Server() {
    static RedisServer server;
    return &server;
  }

  void SetUp() override {
    static int tests = 0;
    prefix_ = "test" + std::to_string(++tests);
  }

  int Run(const std::vector<std::string>& flags) {
    std::vector<std::string> all = {
        "tasks", "--redis", Server()->url().ToString(), "--prefix", prefix_};
    all.insert(all.end(), flags.begin(), flags.end());
    return console_.Run(all);
  }

  // In two runs: a driver that comes first completes the current second, and
  // what is pushed then waits for the next, which this clock never shows.
  int PushAndDrive(const std::string& lines) {
    console_.Input(lines);
    const int pushed = Run({"--no-drive"});
    const std::string said = console_.err.text();
    console_.Input("");
    const int driven = Run({"--until-empty"});
    said_ = said + console_.err.text();
    return std::max(pushed, driven);
  }

  std::string prefix_;
  std::string said_;
  StringConsole console_;
};

TEST_F(TasksCommandTest, WritesWhatIsDueAndEndsWhenAllIs) {
  EXPECT_EQ(PushAndDrive(R"({"id":"a","body":"x","tag":"t","keys":["k"]})"
                         "\n\n"
                         R"({"id":"b","topic":"q","body_base64":"/w=="})"
                         "\n"),
            0);
  EXPECT_EQ(console_.out.text(),
            R"({"id":"a","topic":"default","body":"x","due_ms":1795230000000,)"
            R"("delivered_ms":1795230000000,"tag":"t","keys":["k"]})"
            "\n"
            R"({"id":"b","topic":"q","body_base64":"/w==",)"
            R"("due_ms":1795230000000,"delivered_ms":1795230000000})"
            "\n");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(TasksCommandTest, OneProcessPushesAnotherDrives) {
  console_.Input(R"({"id":"a","body":"x","delay":"1500ms"})"
                 "\n");
  EXPECT_EQ(Run({"--no-drive", "--verbose"}), 0);
  EXPECT_THAT(console_.out.text(), IsEmpty());
  EXPECT_THAT(console_.err.text(), HasSubstr("1 lines read, 1 pushed"));
  console_.Input("");
  console_.clock.AdvanceMs(2000);
  EXPECT_EQ(Run({"--until-empty"}), 0);
  EXPECT_THAT(console_.out.text(), HasSubstr(R"("due_ms":1795230001500)"));
}

TEST_F(TasksCommandTest, AnswersLinesThatItRefuses) {
  EXPECT_EQ(PushAndDrive("{\"delay\":\"-1s\"}\n{\"body\":\"x\"}\n"), 1);
  EXPECT_THAT(said_, StartsWith("line 1: delay: "));
  EXPECT_THAT(console_.out.text(), HasSubstr(R"("body":"x")"));
}

TEST_F(TasksCommandTest, PassesByATaskOfSomebodyElse) {
  RedisConnection redis(Server()->url());
  ASSERT_TRUE(redis
                  .Call({"RPUSH", "{" + prefix_ + "}:slot:1795230000",
                         "not one of ours"})
                  .ok());
  EXPECT_EQ(PushAndDrive("{\"body\":\"x\"}\n"), 1);
  EXPECT_THAT(said_,
              HasSubstr(R"(not one of ours; passed by: "not one of ours")"));
  EXPECT_THAT(console_.out.text(), HasSubstr(R"("body":"x")"));
}

TEST_F(TasksCommandTest, ATaskThatCannotBeWrittenComesAgain) {
  console_.Input("{\"id\":\"a\"}\n");
  EXPECT_EQ(Run({"--no-drive"}), 0);
  console_.Input("");
  console_.out.on_write = [](std::string_view) {
    return absl::AbortedError("stdout: nobody reads it");
  };
  EXPECT_EQ(Run({}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("stdout: nobody reads it"));
  console_.out.on_write = nullptr;
  EXPECT_EQ(Run({"--until-empty"}), 0);
  EXPECT_THAT(console_.out.text(), HasSubstr(R"("id":"a")"));
}

// The server dies as the first task is written, and comes back: said once,
// nothing lost, nothing twice.
TEST_F(TasksCommandTest, GoesOnWhenTheServerIsBack) {
  console_.Input("{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  EXPECT_EQ(Run({"--no-drive"}), 0);
  console_.Input("");
  bool killed = false;
  console_.out.on_write = [&](std::string_view) {
    if (killed) return absl::OkStatus();
    killed = true;
    Server()->Kill();
    Server()->Start();
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"--until-empty"}), 0);
  EXPECT_THAT(console_.out.text(), testing::ContainsRegex("\"a\".*\n.*\"b\""));
  const std::string lines = console_.out.text();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("trying again"));
  EXPECT_THAT(console_.err.text(), HasSubstr("Redis answers again"));
}

TEST_F(TasksCommandTest, RefusesAWrongUrl) {
  EXPECT_EQ(console_.Run({"tasks", "--redis", "localhost"}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("is no Redis URL; expected"));
}

}  // namespace
}  // namespace hourglass
