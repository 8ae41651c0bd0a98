// topics, groups and top against an admin API of strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/fake_broker.h"
#include "tests/support/string_console.h"
#include "tests/support/top_pages.h"

namespace hourglass {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct World {
  StringConsole console;
  FakeAdmin admin;

  World() {
    console.connect_admin = admin.Connector();
    Show({});
    admin.pages["/v1/topics"] =
        R"({"topics":[{"topic":"t","first_ready":10,"end_of_ready":1210,)"
        R"("origin":"admin","kinds":["NORMAL","DELAY"]}]})";
    admin.pages["/v1/forecast?by_topic=10m"] =
        R"({"by_topic":{"new":7},"by_topic_complete":false})";
  }
  void Show(const TopNumbers& numbers) {
    const TopPages pages = MakeTopPages(numbers);
    admin.pages["/metrics"] = pages.metrics;
    admin.pages["/v1/forecast"] = pages.forecast;
    admin.pages["/v1/groups"] = pages.groups;
  }
};

TEST(TopicsCommand, HasWhatIsReadyAndWhatIsDue) {
  World world;
  EXPECT_EQ(world.console.Run({"topics"}), 0) << world.console.err.text();
  EXPECT_EQ(world.console.out.text(),
            "TOPIC  KINDS         BY     READY   NEXT  GROUPS     LAG  DUE "
            "10m\n"
            "new    -             -          0      0       0       0       "
            "7+\n"
            "t      NORMAL+DELAY  admin  1,200  1,210       2  12,345       "
            "0+\n");
  EXPECT_EQ(world.console.Run({"topics", "--json"}), 0);
  EXPECT_THAT(world.console.out.text(),
              StartsWith("{\"topic\":\"new\",\"ready\":0,"));
}

TEST(TopicsCommand, CreatesAndDeletes) {
  World world;
  world.admin.pages["PUT /v1/topics/eu%25b%7Cc?kinds=FIFO%2BDELAY"] =
      R"({"answer":"created","topic":"eu%b|c","kinds":["DELAY","FIFO"]})";
  EXPECT_EQ(world.console.Run(
                {"topics", "--create", "eu%b|c", "--kinds", "FIFO+DELAY"}),
            0)
      << world.console.err.text();
  EXPECT_EQ(world.console.out.text(), "eu%b|c: created, takes DELAY+FIFO\n");
  const std::string all = R"({"answer":"changed","topic":"b","kinds":)"
                          R"(["NORMAL","DELAY","FIFO","TRANSACTION"]})";
  world.admin.pages["PUT /v1/topics/b"] = all;
  EXPECT_EQ(world.console.Run({"topics", "--create", "b"}), 0);
  EXPECT_EQ(world.console.out.text(), "b: changed, takes all\n");
  EXPECT_EQ(world.console.Run({"topics", "--create", "b", "--json"}), 0);
  EXPECT_EQ(world.console.out.text(), all);
  const std::string gone = R"({"answer":"forgotten","topic":"b"})";
  world.admin.pages["DELETE /v1/topics/b"] = gone;
  world.admin.pages["DELETE /v1/topics/b?force=true"] = gone;
  EXPECT_EQ(world.console.Run({"topics", "--delete", "b"}), 0);
  EXPECT_EQ(world.console.out.text(), "b: forgotten\n");
  EXPECT_EQ(world.console.Run({"topics", "--delete", "b", "--force"}), 0);
  EXPECT_EQ(world.admin.changes.size(), 5u);
  world.admin.pages["DELETE /v1/topics/b"] = "<html>";
  EXPECT_EQ(world.console.Run({"topics", "--delete", "b"}), 2);
  EXPECT_THAT(world.console.err.text(), HasSubstr("has no \"answer\""));
}

TEST(TopicsCommand, FlagsThatDoNotGoTogether) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{
           {"topics", "--kinds", "FIFO"},
           {"topics", "--force"},
           {"topics", "--create", "b", "--delete", "b"},
           {"topics", "--create", "b", "--force"}}) {
    World world;
    EXPECT_EQ(world.console.Run(flags), 2);
    EXPECT_TRUE(world.admin.changes.empty());
  }
}

TEST(GroupsCommand, LargestLagFirst) {
  World world;
  EXPECT_EQ(world.console.Run({"groups"}), 0);
  EXPECT_EQ(world.console.out.text(),
            "TOPIC  GROUP     LAG  IN FLIGHT  RETRY  DEAD  NEXT\n"
            "t      far    12,345          2      3     4     2\n"
            "t      near        1          0      0     0     5\n");
  EXPECT_EQ(world.console.Run({"groups", "--json", "--topic", "other"}), 0);
  EXPECT_EQ(world.console.out.text(), "");
}

TEST(TopCommand, OnceShowsOneInterval) {
  World world;
  int gets = 0;
  world.admin.on_get = [&] {
    if (++gets != 4) return;
    world.Show({.put = 500});
    world.console.clock.AdvanceMs(1000);
  };
  // The clock stands still from the second sample's first page on.
  EXPECT_EQ(world.console.Run({"top", "--once", "--interval", "1ms"}), 0);
  EXPECT_EQ(gets, 6);
  EXPECT_THAT(world.console.out.text(), HasSubstr("due in the next 60"));
  EXPECT_THAT(world.console.out.text(), Not(HasSubstr("\033")));
}

TEST(TopCommand, JsonGoesOnUntilStopped) {
  World world;
  int gets = 0;
  world.admin.on_get = [&] {
    ++gets;
    world.console.clock.AdvanceMs(1000);
    if (gets == 9) world.console.stop.Request();
  };
  EXPECT_EQ(world.console.Run({"top", "--json", "--interval", "1ms"}), 0);
  const std::string out = world.console.out.text();
  const json line = json::parse(out.substr(0, out.find('\n')));
  EXPECT_EQ(line["put_per_s"], 0.0);
}

TEST(TopCommand, ATerminalIsRedrawnInPlaceAndOutlivesARestart) {
  World world;
  world.console.out.terminal = true;
  int gets = 0;
  world.admin.on_get = [&] {
    ++gets;
    if (gets == 4) world.admin.pages.erase("/metrics");
    if (gets == 5) world.Show({});
    if (gets == 8) world.console.stop.Request();
  };
  EXPECT_EQ(world.console.Run({"top", "--interval", "1ms"}), 0);
  EXPECT_THAT(world.console.out.text(), StartsWith("\033[2J\033[H"));
  EXPECT_THAT(world.console.out.text(), HasSubstr("trying again"));
}

TEST(AdminCommands, AServerThatIsNotThereIsSaid) {
  for (const char* command : {"topics", "groups", "top"}) {
    World world;
    world.admin.pages.clear();
    EXPECT_EQ(world.console.Run({command}), 2) << command;
    EXPECT_THAT(world.console.err.text(), HasSubstr("no admin API answers"));
  }
}

TEST(AdminCommands, FlagsReachTheConnection) {
  World world;
  EXPECT_EQ(
      world.console.Run({"groups", "--admin", "10.0.0.1:99", "--access-key",
                         "k", "--secret", "s", "--timeout", "1500ms"}),
      0);
  EXPECT_EQ(world.admin.options.url, "10.0.0.1:99");
  EXPECT_EQ(world.admin.options.access_key, "k");
  EXPECT_EQ(world.admin.options.timeout_ms, 1500);
  EXPECT_EQ(world.console.Run({"groups", "--secret", "s"}), 2);
}

}  // namespace
}  // namespace hourglass
