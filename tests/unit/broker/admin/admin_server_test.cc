#include "broker/admin/admin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "tests/support/fake_delay_store.h"
#include "tests/support/memory_file_system.h"

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

constexpr char kUsers[] = R"(
[users.ops]
secret = "secret:of it"
admin = "all"
[users.scraper]
secret = "secret:of it"
admin = "read"
[users.shop]
secret = "secret:of it"
publish = ["*"]
)";

TEST(AdminServerTest, AsksWhoItIs) {
  VirtualClock clock(StartMs(Hour{498'675}));
  FakeDelayStore store(std::make_shared<FakeStoreState>(&clock));
  MemoryFileSystem files;
  files.SetContent("/access", kUsers);
  const auto access = AccessControl::Open(&files, "/access");
  ASSERT_TRUE(access.ok()) << access.status();
  AdminOptions options;
  options.port = 0;
  AdminApi api(&store, nullptr, &clock, StoreOptions(), options);
  api.RequireAccess(access->get());
  auto server = AdminServer::Start(&api, options, 1000);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto get = [&](const char* key, const char* secret, const char* path) {
    httplib::Client client("127.0.0.1", (*server)->port());
    if (*key != '\0') client.set_basic_auth(key, secret);
    const auto answer = client.Get(path);
    EXPECT_TRUE(answer);
    return answer->status;
  };
  const auto put = [&](const char* key) {
    httplib::Client client("127.0.0.1", (*server)->port());
    client.set_basic_auth(key, "secret:of it");
    return client.Post("/v1/messages", R"({"body":"x"})", "text/json")->status;
  };
  EXPECT_EQ(get("", "", "/healthz"), 200);
  EXPECT_EQ(get("", "", "/readyz"), 200);
  for (const AdminRoute& route : AdminApi::Routes()) {
    const std::string path = route.path;
    if (path == "/healthz" || path == "/readyz") continue;
    HttpRequest request{route.method, path, {}, "", ""};
    EXPECT_EQ(api.Handle(request).status, 401) << path;
    request.authorization = "Basic not base64!";
    EXPECT_EQ(api.Handle(request).status, 401) << path;
    request.authorization = "Bearer b3BzOnNlY3JldDpvZiBpdA==";
    EXPECT_EQ(api.Handle(request).status, 401) << path;
    // "ops", without a secret.
    request.authorization = "Basic b3Bz";
    EXPECT_EQ(api.Handle(request).status, 401) << path;
    request.authorization = "basic b3BzOnNlY3JldDpvZiBpdA==";
    EXPECT_NE(api.Handle(request).status, 401) << path;
  }
  EXPECT_EQ(get("ops", "secret:of it", "/v1/stats"), 200);
  EXPECT_EQ(get("ops", "secret:of", "/v1/stats"), 401);
  EXPECT_EQ(get("ops", "", "/v1/stats"), 401);
  EXPECT_EQ(get("nobody", "secret:of it", "/v1/stats"), 401);
  EXPECT_EQ(get("shop", "secret:of it", "/v1/stats"), 403);
  EXPECT_EQ(get("scraper", "secret:of it", "/metrics"), 200);
  EXPECT_EQ(put("scraper"), 403);
  EXPECT_EQ(put("shop"), 403);
  EXPECT_EQ(put("ops"), 200);
  httplib::Client client("127.0.0.1", (*server)->port());
  EXPECT_EQ(client.Get("/")->get_header_value("WWW-Authenticate"),
            "Basic realm=\"hourglass\"");
}

TEST(AdminServerTest, ACertificateThatIsNoneIsRefused) {
  VirtualClock clock(StartMs(Hour{498'675}));
  FakeDelayStore store(std::make_shared<FakeStoreState>(&clock));
  AdminOptions options;
  options.port = 0;
  options.certificate_pem = options.key_pem = "no PEM";
  AdminApi api(&store, nullptr, &clock, StoreOptions(), options);
  const auto server = AdminServer::Start(&api, options, 1000);
  EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << server.status();
}

}  // namespace
}  // namespace hourglass
