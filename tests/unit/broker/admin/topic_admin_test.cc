// Topics through the admin API's routes.
#include "broker/admin/topic_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broker/access/access_control.h"
#include "broker/admin/admin_api.h"
#include "tests/support/fake_delay_store.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int64_t kNowMs = StartMs(Hour{498'675});

class TopicAdminTest : public testing::Test {
 protected:
  TopicAdminTest() {
    EXPECT_TRUE(disk_.CreateDir("/d").ok());
    Open({});
  }

  void Open(const TopicCatalogOptions& options) {
    auto catalog = TopicCatalog::Open(&disk_, "/d", options);
    EXPECT_TRUE(catalog.ok()) << catalog.status();
    catalog_ = *std::move(catalog);
    AdminOptions admin;
    admin.scan_max = 5;
    api_ = std::make_unique<AdminApi>(
        &store_, [this] { return groups_; }, &clock_, StoreOptions(), admin);
    api_->UseTopics(catalog_.get());
  }

  HttpAnswer Ask(const std::string& method, const std::string& path,
                 const std::map<std::string, std::string>& query = {}) {
    return api_->Handle({method, path, query, "", ""});
  }
  json Topic(const std::string& name) {
    const HttpAnswer answer = Ask("GET", "/v1/topics");
    EXPECT_EQ(answer.status, 200);
    const json all = json::parse(answer.body);
    for (const json& one : all["topics"]) {
      if (one["topic"] == name) return one;
    }
    return {};
  }
  void Put(const std::string& topic, int64_t in_ms) {
    MessageView view;
    view.topic = topic;
    view.body = "b";
    view.due_ms = clock_.NowMs() + in_ms;
    EXPECT_TRUE(store_.Put(view).ok());
  }
  void ExpectRefused(const HttpAnswer& answer, int status,
                     const std::string& why) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(why));
  }

  MemoryFileSystem disk_;
  VirtualClock clock_{kNowMs};
  FakeDelayStore store_{std::make_shared<FakeStoreState>(&clock_)};
  std::vector<GroupState> groups_;
  std::unique_ptr<TopicCatalog> catalog_;
  std::unique_ptr<AdminApi> api_;
};

TEST_F(TopicAdminTest, CreatedChangedShownForgotten) {
  const std::string path = "/v1/topics/eu%bills";
  HttpAnswer answer = Ask("PUT", path, {{"kinds", "DELAY NORMAL"}});
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["answer"], "created");
  EXPECT_EQ(json::parse(answer.body)["kinds"], json({"NORMAL", "DELAY"}));
  EXPECT_EQ(catalog_->Find("eu%bills")->kinds.ToString(), "NORMAL+DELAY");
  json shown = Topic("eu%bills");
  EXPECT_EQ(shown["origin"], "admin");
  EXPECT_EQ(shown["kinds"], json({"NORMAL", "DELAY"}));
  EXPECT_EQ(shown["end_of_ready"], 0);
  answer = Ask("PUT", path);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body)["answer"], "changed");
  EXPECT_EQ(Topic("eu%bills")["kinds"].size(), 4u);
  answer = Ask("PUT", path);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body)["answer"], "unchanged");
  // A restart.
  Open({});
  EXPECT_EQ(Topic("eu%bills")["origin"], "admin");
  answer = Ask("DELETE", path);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["answer"], "forgotten");
  EXPECT_TRUE(catalog_->List()->empty());
  EXPECT_EQ(Ask("DELETE", path).status, 404);
}

TEST_F(TopicAdminTest, WhereTopicsComeFrom) {
  TopicCatalogOptions options;
  options.named = {"flag:FIFO"};
  Open(options);
  Put("used", 0);
  EXPECT_EQ(Topic("used")["origin"], "first_use");
  EXPECT_EQ(Topic("used")["kinds"].size(), 4u);
  EXPECT_EQ(Topic("used")["end_of_ready"], 1);
  EXPECT_EQ(Topic("flag")["origin"], "flag");
  EXPECT_EQ(Topic("flag")["kinds"], json({"FIFO"}));
  // To clients it is not there.
  options.auto_create = false;
  Open(options);
  EXPECT_EQ(Topic("used")["kinds"], json::array());
  ExpectRefused(Ask("PUT", "/v1/topics/flag"), 409, "--topic");
  ExpectRefused(Ask("DELETE", "/v1/topics/flag"), 409, "--topic");
  ExpectRefused(Ask("DELETE", "/v1/topics/used"), 404, "not made by");
}

TEST_F(TopicAdminTest, WrongCallsAreNamed) {
  ExpectRefused(Ask("PUT", "/v1/topics/a b"), 400, "only letters");
  ExpectRefused(Ask("PUT", "/v1/topics/" + std::string(128, 'a')), 400, "127");
  ExpectRefused(Ask("PUT", "/v1/topics/%HALF%"), 400, "server's own");
  ExpectRefused(Ask("PUT", "/v1/topics/a", {{"kinds", "LITE"}}), 400,
                "kinds: kind \\\"LITE\\\"");
  ExpectRefused(Ask("PUT", "/v1/topics/a", {{"kind", "FIFO"}}), 400, "kind");
  ExpectRefused(Ask("DELETE", "/v1/topics/a", {{"forse", "true"}}), 400,
                "forse");
  ExpectRefused(Ask("GET", "/v1/topics/a"), 405, "expected PUT, DELETE");
  ExpectRefused(Ask("PUT", "/v1/topics/a/ready"), 405, "expected GET");
  ExpectRefused(Ask("PUT", "/v1/topics/"), 404, "lists what there is");
  EXPECT_TRUE(catalog_->List()->empty());
  EXPECT_FALSE(*disk_.Exists("/d/topics"));
}

TEST_F(TopicAdminTest, SoManyAndNoMore) {
  TopicCatalogOptions options;
  options.topics_max = 1;
  Open(options);
  EXPECT_EQ(Ask("PUT", "/v1/topics/a").status, 201);
  ExpectRefused(Ask("PUT", "/v1/topics/b"), 429, "topics_max");
}

TEST_F(TopicAdminTest, OneWithMessagesIsKept) {
  Ask("PUT", "/v1/topics/a");
  Put("other", 1000);
  Put("a", 2000);
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 409, "pending");
  clock_.AdvanceMs(3000);
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 409, "1 ready messages");
  GroupState group;
  group.topic = "a";
  group.group = "g";
  group.lag = 1;
  groups_.push_back(group);
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 409, "group g has 1");
  groups_[0].lag = 0;
  EXPECT_EQ(Ask("DELETE", "/v1/topics/a").status, 200);
  // Nothing of it is gone.
  EXPECT_EQ(store_.EndOfReady("a").value(), 1u);
}

TEST_F(TopicAdminTest, TooMuchToLookThroughIsSaid) {
  Ask("PUT", "/v1/topics/a");
  for (int i = 0; i < 5; ++i) Put("other", 1000 + i);
  EXPECT_EQ(Ask("DELETE", "/v1/topics/a").status, 200);
  Ask("PUT", "/v1/topics/a");
  Put("other", 2000);
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 429, "scan_max");
  Put("a", 3000);
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 429, "scan_max");
  EXPECT_EQ(Ask("DELETE", "/v1/topics/a", {{"force", "true"}}).status, 200);
  EXPECT_EQ(catalog_->Find("a")->origin, TopicOrigin::kFirstUse);
  PendingQuery query;
  query.topic = "a";
  EXPECT_EQ(store_.Pending(query)->messages.size(), 1u);
}

TEST_F(TopicAdminTest, AFullDiskIsSaid) {
  disk_.FailAfter(MemoryOp::kWrite, 1, absl::ResourceExhaustedError("full"),
                  false);
  ExpectRefused(Ask("PUT", "/v1/topics/a"), 429, "full");
  EXPECT_EQ(catalog_->Find("a")->origin, TopicOrigin::kFirstUse);
  EXPECT_EQ(Ask("PUT", "/v1/topics/a").status, 201);
}

TEST_F(TopicAdminTest, WithoutACatalogueNothingIsMade) {
  api_->UseTopics(nullptr);
  Put("t", 0);
  EXPECT_FALSE(Topic("t").contains("kinds"));
  ExpectRefused(Ask("PUT", "/v1/topics/a"), 409, "no catalogue");
  ExpectRefused(Ask("DELETE", "/v1/topics/a"), 409, "no catalogue");
}

TEST_F(TopicAdminTest, WhoMayOnlyReadMayNotMakeTopics) {
  disk_.SetContent("/access",
                   "[users.looker]\nsecret = \"12345678\"\nadmin = \"read\"\n"
                   "[users.boss]\nsecret = \"12345678\"\nadmin = \"all\"\n");
  const auto access = AccessControl::Open(&disk_, "/access");
  ASSERT_TRUE(access.ok()) << access.status();
  api_->RequireAccess(access->get());
  const auto ask = [this](const char* method, const char* credentials) {
    return api_->Handle({method, "/v1/topics/a", {}, "", credentials}).status;
  };
  constexpr char kLooker[] = "Basic bG9va2VyOjEyMzQ1Njc4";
  constexpr char kBoss[] = "Basic Ym9zczoxMjM0NTY3OA==";
  EXPECT_EQ(ask("PUT", ""), 401);
  EXPECT_EQ(ask("PUT", kLooker), 403);
  EXPECT_EQ(ask("PUT", kBoss), 201);
  EXPECT_EQ(ask("DELETE", kLooker), 403);
  EXPECT_EQ(ask("DELETE", kBoss), 200);
}

}  // namespace
}  // namespace hourglass
