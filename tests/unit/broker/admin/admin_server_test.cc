#include "broker/admin/admin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "tests/support/fake_delay_store.h"

namespace hourglass {
namespace {

TEST(AdminServerTest, AnswersOverHttpAndStops) {
  VirtualClock clock(StartMs(Hour{498'675}));
  FakeDelayStore store(std::make_shared<FakeStoreState>(&clock));
  AdminOptions options;
  options.port = 0;
  AdminApi api(&store, nullptr, &clock, StoreOptions(), options);
  auto server = AdminServer::Start(&api, options, 1000);
  ASSERT_TRUE(server.ok()) << server.status();
  httplib::Client client("127.0.0.1", (*server)->port());
  auto health = client.Get("/healthz");
  ASSERT_TRUE(health);
  EXPECT_EQ(health->status, 200);
  EXPECT_EQ(health->get_header_value("Content-Type"), "application/json");
  auto put = client.Post("/v1/messages", R"({"body":"x","delay":"1m"})",
                         "application/json");
  ASSERT_TRUE(put);
  EXPECT_EQ(put->status, 200) << put->body;
  // As `curl -d` sends it.
  put = client.Post("/v1/messages", R"({"body":"y","delay":"1m"})",
                    "application/x-www-form-urlencoded");
  ASSERT_TRUE(put);
  EXPECT_EQ(put->status, 200) << put->body;
  auto list = client.Get("/v1/messages?topic=default&to=2m");
  ASSERT_TRUE(list);
  EXPECT_THAT(list->body, testing::HasSubstr("\"body\":\"x\""));
  auto large = client.Post("/v1/messages", std::string(2000, ' '), "text/json");
  ASSERT_TRUE(large);
  EXPECT_EQ(large->status, 413);
  // The port is taken.
  AdminOptions same = options;
  same.port = (*server)->port();
  const auto second = AdminServer::Start(&api, same, 1000);
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  (*server)->Stop();
  EXPECT_FALSE(client.Get("/healthz"));
}

}  // namespace
}  // namespace hourglass
