#include "broker/client/admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

namespace hourglass {
namespace {

using ::testing::HasSubstr;

class AdminClientTest : public ::testing::Test {
 protected:
  AdminClientTest() {
    port_ = http_.bind_to_any_port("127.0.0.1");
    http_.Get("/ok", [](const auto&, auto& to) {
      to.set_content("fine", "text/plain");
    });
    http_.Get("/who", [](const auto& from, auto& to) {
      to.set_content(from.get_header_value("Authorization"), "text/plain");
    });
    http_.Get("/refused", [](const auto&, auto& to) {
      to.status = 429;
      to.set_content(R"({"error":{"code":"X","message":"too much"}})", "x/y");
    });
    http_.Get("/denied", [](const auto&, auto& to) { to.status = 401; });
    thread_ = std::thread([this] { http_.listen_after_bind(); });
    while (!http_.is_running()) std::this_thread::yield();
  }
  ~AdminClientTest() override { Stop(); }
  void Stop() {
    http_.stop();
    if (thread_.joinable()) thread_.join();
  }
  absl::StatusOr<std::string> Get(const std::string& path,
                                  AdminClientOptions options = {}) {
    options.url = "http://127.0.0.1:" + std::to_string(port_) + "/";
    auto client = ConnectAdmin(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return (*client)->Get(path);
  }

  httplib::Server http_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(AdminClientTest, GetsTheBody) { EXPECT_EQ(*Get("/ok"), "fine"); }

TEST_F(AdminClientTest, SendsCredentialsIfThereAreAny) {
  EXPECT_EQ(*Get("/who"), "");
  AdminClientOptions options;
  options.access_key = "Aladdin";
  options.secret = "open sesame";
  // RFC 7617's own example.
  EXPECT_EQ(*Get("/who", options), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_F(AdminClientTest, ErrorsAreTheServersOwn) {
  const auto refused = Get("/refused").status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("too much"));
  const auto denied = Get("/denied").status();
  EXPECT_TRUE(absl::IsPermissionDenied(denied));
  EXPECT_THAT(std::string(denied.message()), HasSubstr("--access-key"));
  EXPECT_THAT(std::string(Get("/none").status().message()), HasSubstr("404"));
}

TEST_F(AdminClientTest, NobodyThereIsSaidWithTheAddress) {
  Stop();
  const auto status = Get("/ok").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(port_)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("hourglass serve"));
}

TEST(AdminClientUrl, WrongOnesAreNamed) {
  for (const char* url : {"", "8082", "https://a:1", "http://a", "a:0",
                          "a:65536", "http://a:1/x", ":1"}) {
    AdminClientOptions options;
    options.url = url;
    EXPECT_TRUE(absl::IsInvalidArgument(ConnectAdmin(options).status())) << url;
  }
  AdminClientOptions options;
  options.url = "[::1]:8082";
  EXPECT_TRUE(ConnectAdmin(options).ok());
}

}  // namespace
}  // namespace hourglass
