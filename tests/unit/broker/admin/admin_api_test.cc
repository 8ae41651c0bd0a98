#include "broker/admin/admin_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/fake_delay_store.h"

namespace hourglass {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int64_t kNowMs = StartMs(Hour{498'675});

class AdminApiTest : public testing::Test {
 protected:
  AdminApiTest()
      : api_(
            &store_, [this] { return groups_; }, &clock_, StoreOptions(),
            Options()) {}

  static AdminOptions Options() {
    AdminOptions options;
    options.page_max = 10;
    options.scan_max = 50;
    options.bulk_max = 100;
    options.metric_labels_max = 2;
    return options;
  }

  HttpAnswer Ask(const std::string& method, const std::string& path,
                 const std::map<std::string, std::string>& query = {},
                 const std::string& body = "") {
    return api_.Handle({method, path, query, body, ""});
  }
  json Get(const std::string& path,
           const std::map<std::string, std::string>& query = {}) {
    const HttpAnswer answer = Ask("GET", path, query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body);
  }
  Handle Put(const std::string& topic, const std::string& id, int64_t in_ms) {
    MessageView view;
    view.topic = topic;
    view.id = id;
    view.body = "body of " + id;
    const std::string body = "body of " + id;
    view.body = body;
    view.due_ms = clock_.NowMs() + in_ms;
    const auto put = store_.Put(view);
    EXPECT_TRUE(put.ok()) << put.status();
    return put->handle;
  }
  size_t PendingCount(const std::string& topic = "") {
    PendingQuery query;
    query.topic = topic;
    return store_.Pending(query)->messages.size();
  }

  VirtualClock clock_{kNowMs};
  FakeDelayStore store_{std::make_shared<FakeStoreState>(&clock_)};
  std::vector<GroupState> groups_;
  AdminApi api_;
};

TEST_F(AdminApiTest, EveryRouteIsDescribed) {
  const json paths = Get("/openapi.json")["paths"];
  for (const AdminRoute& route : AdminApi::Routes()) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    ASSERT_TRUE(paths.contains(route.path)) << route.path;
    EXPECT_EQ(paths[route.path][method]["summary"], route.summary);
    EXPECT_EQ(paths[route.path][method]["parameters"].size(),
              route.query.size() +
                  (std::string(route.path).find('{') != std::string::npos));
  }
  EXPECT_EQ(Get("/").size(), AdminApi::Routes().size());
}

TEST_F(AdminApiTest, AnUnknownPathMethodOrParameterIsNamed) {
  HttpAnswer answer = Ask("GET", "/v1/mesages");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("/v1/mesages"));
  answer = Ask("DELETE", "/v1/stats");
  EXPECT_EQ(answer.status, 405);
  EXPECT_THAT(answer.body, HasSubstr("expected GET"));
  answer = Ask("GET", "/v1/messages", {{"topik", "a"}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("topik"));
  EXPECT_THAT(answer.body, HasSubstr("topic"));
  answer = Ask("GET", "/v1/messages", {{"from", "yesterdayish"}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("from"));
  answer = Ask("GET", "/v1/messages", {{"limit", "11"}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("0 to 10"));
}

TEST_F(AdminApiTest, PutsListsAndFindsMessages) {
  const HttpAnswer put = Ask("POST", "/v1/messages", {},
                             R"({"topic":"t","id":"A","body":"b",)"
                             R"("delay":"30s"})");
  ASSERT_EQ(put.status, 200) << put.body;
  const std::string handle = json::parse(put.body)["handle"];
  Put("u", "B", 60'000);
  const json all = Get("/v1/messages");
  ASSERT_EQ(all["messages"].size(), 2u);
  EXPECT_EQ(all["messages"][0]["id"], "A");
  EXPECT_EQ(all["messages"][0]["due_ms"], kNowMs + 30'000);
  EXPECT_EQ(Get("/v1/messages", {{"topic", "u"}})["messages"][0]["id"], "B");
  EXPECT_EQ(Get("/v1/messages", {{"to", "45s"}})["messages"].size(), 1u);
  EXPECT_EQ(Get("/v1/messages/A")["handle"], handle);
  EXPECT_EQ(Get("/v1/messages/" + handle)["id"], "A");
  EXPECT_EQ(Ask("GET", "/v1/messages/C").status, 404);
  const HttpAnswer bad = Ask("POST", "/v1/messages", {}, R"({"boddy":"x"})");
  EXPECT_EQ(bad.status, 400);
  EXPECT_THAT(bad.body, HasSubstr("boddy"));
}

TEST_F(AdminApiTest, PagesThroughWhatIsPending) {
  for (int i = 0; i < 25; ++i) Put("t", "m" + std::to_string(i), 1000 + i);
  std::string after;
  std::vector<std::string> ids;
  do {
    const json page = Get("/v1/messages", {{"limit", "10"}, {"after", after}});
    for (const json& one : page["messages"]) ids.push_back(one["id"]);
    after = page["next"];
  } while (!after.empty());
  ASSERT_EQ(ids.size(), 25u);
  EXPECT_EQ(ids.back(), "m24");
}

TEST_F(AdminApiTest, AnIdIsLookedForAmongSoManyOnly) {
  for (int i = 0; i < 60; ++i) Put("t", "m" + std::to_string(i), 1000 + i);
  EXPECT_EQ(Get("/v1/messages/m49")["id"], "m49");
  const HttpAnswer answer = Ask("GET", "/v1/messages/m59");
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.body, HasSubstr("scan_max"));
  EXPECT_EQ(Get("/v1/messages/m59", {{"from", "1050ms"}})["id"], "m59");
}

TEST_F(AdminApiTest, CancelTellsTheTruth) {
  const std::string handle = Put("t", "A", 1000).ToString();
  Put("t", "B", 1000);
  EXPECT_EQ(Ask("DELETE", "/v1/messages/" + handle).status, 200);
  clock_.AdvanceMs(2000);
  EXPECT_EQ(Ask("DELETE", "/v1/messages/B").status, 404) << "not pending";
  Handle unknown = Put("t", "C", 1000);
  unknown.number = RecordNumber(77);
  EXPECT_EQ(Ask("DELETE", "/v1/messages/" + unknown.ToString()).status, 404);
  const Handle late = Put("t", "D", 1000);
  clock_.AdvanceMs(2000);
  const HttpAnswer answer = Ask("DELETE", "/v1/messages/" + late.ToString());
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body, HasSubstr("already delivered"));
}

TEST_F(AdminApiTest, MovesAndDelivers) {
  const std::string handle = Put("t", "A", 60'000).ToString();
  const HttpAnswer moved =
      Ask("POST", "/v1/messages/" + handle + "/reschedule", {{"due", "90s"}});
  ASSERT_EQ(moved.status, 200) << moved.body;
  EXPECT_EQ(json::parse(moved.body)["due_ms"], kNowMs + 90'000);
  EXPECT_EQ(Ask("POST", "/v1/messages/" + handle + "/reschedule").status, 400);
  EXPECT_EQ(Ask("POST", "/v1/messages/A/deliver").status, 200);
  EXPECT_EQ(PendingCount(), 0u);
  EXPECT_EQ(Get("/v1/topics/t/ready")["messages"][0]["id"], "A");
}

TEST_F(AdminApiTest, CancelsAWindowOfATopic) {
  for (int i = 0; i < 20; ++i) Put("t", "m" + std::to_string(i), 1000 * i + 1);
  Put("u", "other", 5000);
  const std::map<std::string, std::string> window = {
      {"topic", "t"}, {"from", "5s"}, {"to", "15s"}};
  auto dry = window;
  dry["dry_run"] = "true";
  json said = json::parse(Ask("POST", "/v1/cancel", dry).body);
  EXPECT_EQ(said["matched"], 10);
  EXPECT_EQ(said["changed"], 0);
  EXPECT_EQ(PendingCount(), 21u);
  auto some = window;
  some["limit"] = "4";
  said = json::parse(Ask("POST", "/v1/cancel", some).body);
  EXPECT_EQ(said["changed"], 4);
  EXPECT_EQ(said["more"], true);
  said = json::parse(Ask("POST", "/v1/cancel", window).body);
  EXPECT_EQ(said["changed"], 6);
  EXPECT_EQ(said["more"], false);
  EXPECT_EQ(PendingCount("t"), 10u);
  EXPECT_EQ(PendingCount("u"), 1u);
}

TEST_F(AdminApiTest, ShiftsEachMessageOfAWindowOnce) {
  for (int i = 0; i < 10; ++i) {
    Put("t", "m" + std::to_string(i), 1000 * (i + 1));
  }
  // Into the window's own future.
  const json said = json::parse(
      Ask("POST", "/v1/shift", {{"topic", "t"}, {"by", "3s"}}).body);
  EXPECT_EQ(said["changed"], 10);
  const auto pending = store_.Pending({});
  ASSERT_EQ(pending->messages.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    const PendingMessage& one = pending->messages[static_cast<size_t>(i)];
    EXPECT_EQ(one.message.id, "m" + std::to_string(i));
    EXPECT_EQ(one.handle.due_ms(), kNowMs + 1000 * (i + 4));
    EXPECT_EQ(one.message.body, "body of " + one.message.id);
  }
  Ask("POST", "/v1/shift", {{"by", "-1h"}, {"to", "5500ms"}});
  EXPECT_EQ(PendingCount(), 8u) << "two are due at once";
  EXPECT_EQ(Ask("POST", "/v1/shift").status, 400) << "by how much?";
}

TEST_F(AdminApiTest, ForecastsSecondsMinutesHoursAndTopics) {
  Put("a", "1", 5'500);
  Put("a", "2", 5'700);
  Put("b", "3", 130'000);
  Put("b", "4", 2 * kMsPerHour);
  Put("c", "5", 48 * kMsPerHour);
  const json said = Get("/v1/forecast", {{"by_topic", "10m"}});
  EXPECT_EQ(said["seconds"][5], 2);
  EXPECT_EQ(said["minutes"][2], 1);
  EXPECT_EQ(said["hours"][2], 1);
  EXPECT_EQ(said["later"], 1);
  EXPECT_EQ(said["by_topic"], (json{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(said["by_topic_complete"], true);
}

TEST_F(AdminApiTest, IsReadyUntilItDrains) {
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  api_.Drain();
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
}

TEST_F(AdminApiTest, MetricsHaveBoundedLabels) {
  for (int i = 0; i < 5; ++i) {
    groups_.push_back({"t", "g" + std::to_string(i), QueueIndex(0),
                       static_cast<uint64_t>(i), 0, 0, 0});
  }
  Put("t", "A", 60'000);
  const HttpAnswer answer = Ask("GET", "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("hourglass_pending_messages 1"));
  EXPECT_THAT(answer.body, HasSubstr("hourglass_lateness_seconds_bucket"));
  EXPECT_THAT(answer.body,
              HasSubstr(R"(lag_messages{topic="t",group="g4"} 4)"));
  EXPECT_THAT(answer.body,
              HasSubstr("lag_messages{topic=\"(other)\",group=\"(other)\"} 3"));
  EXPECT_THAT(answer.body, testing::Not(HasSubstr("\"g1\"")));
}

TEST_F(AdminApiTest, GroupsAreListed) {
  groups_.push_back({"t", "g", QueueIndex(7), 3, 2, 1, 0});
  const json said = Get("/v1/groups")["groups"][0];
  EXPECT_EQ(said["group"], "g");
  EXPECT_EQ(said["lag"], 3);
  EXPECT_EQ(said["leased"], 2);
}

}  // namespace
}  // namespace hourglass
