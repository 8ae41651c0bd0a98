#ifdef HOURGLASS_FRONT  // builds for sanitizers go without gRPC
#include "broker/program/serve_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hourglass {
namespace {

using testing::HasSubstr;

std::string TextOf(const absl::Status& status) {
  return std::string(status.message());
}

// What comes of a command line.
struct Parsed {
  explicit Parsed(std::vector<std::string> arguments) {
    flags.Declare(&app);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  }
  absl::Status Refused() const {
    const auto config = flags.Config(StoreOptions());
    if (!config.ok()) return config.status();
    return flags.Admin().status();
  }
  CLI::App app;
  ServeFlags flags;
};

TEST(ServeFlagsTest, ReadsAddresses) {
  const auto plain = ParseAddress("--listen", "localhost:0");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->first, "localhost");
  EXPECT_EQ(plain->second, 0);
  const auto six = ParseAddress("--listen", "[::1]:8081");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->first, "::1");
  EXPECT_EQ(six->second, 8081);
  for (const char* bad :
       {"", "8081", ":8081", "host:", "host:x", "host:65536", "host:-1"}) {
    const absl::Status status = ParseAddress("--admin", bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_THAT(TextOf(status), HasSubstr("--admin"));
    EXPECT_THAT(TextOf(status), HasSubstr("HOST:PORT"));
  }
}

TEST(ServeFlagsTest, ListensOnLoopbackUnlessTold) {
  EXPECT_TRUE(Parsed({}).Refused().ok());
  for (const char* flag : {"--listen", "--admin"}) {
    const absl::Status status = Parsed({flag, "0.0.0.0:1"}).Refused();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << flag;
    EXPECT_THAT(TextOf(status), HasSubstr("--allow-public"));
    EXPECT_TRUE(Parsed({flag, "0.0.0.0:1", "--allow-public"}).Refused().ok());
  }
}

// What strangers reach asks who they are, and nobody listens in.
TEST(ServeFlagsTest, APublicAddressNeedsUsersAndTls) {
  using Flags = std::vector<std::string>;
  const std::vector<std::pair<Flags, std::string>> cases = {
      {{}, "--access-file FILE and --no-plaintext,"},
      {{"--no-plaintext"}, "expected --access-file FILE,"},
      {{"--access-file", "f"}, "expected --no-plaintext,"},
      {{"--access-file", "f", "--no-tls"}, "expected --tls --no-plaintext,"},
      {{"--access-file", "f", "--no-plaintext"}, ""},
  };
  for (const auto& [flags, expected] : cases) {
    Flags all = {"--listen", "0.0.0.0:1"};
    all.insert(all.end(), flags.begin(), flags.end());
    const absl::Status status = Parsed(all).Refused();
    EXPECT_EQ(status.ok(), expected.empty()) << status;
    EXPECT_THAT(TextOf(status), HasSubstr(expected));
  }
  const std::vector<std::pair<Flags, std::string>> admin_cases = {
      {{}, "--access-file FILE and --admin-tls,"},
      {{"--access-file", "f"}, "expected --admin-tls,"},
      {{"--admin-tls"}, "expected --access-file FILE,"},
      {{"--admin-tls", "--access-file", "f"}, ""},
  };
  for (const auto& [flags, expected] : admin_cases) {
    Flags all = {"--admin", "0.0.0.0:1"};
    all.insert(all.end(), flags.begin(), flags.end());
    const absl::Status status = Parsed(all).Refused();
    EXPECT_EQ(status.ok(), expected.empty()) << status;
    EXPECT_THAT(TextOf(status), HasSubstr(expected));
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(Parsed({"--admin-tls", "--no-tls"}).Refused()));
}

TEST(ServeFlagsTest, TheAdminApiCanBeLeftOut) {
  const auto none = Parsed({"--admin", "none"}).flags.Admin();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const auto some = Parsed({"--admin", "[::1]:9"}).flags.Admin();
  ASSERT_TRUE(some.ok() && some->has_value());
  EXPECT_EQ((*some)->host, "::1");
  EXPECT_EQ((*some)->port, 9);
  EXPECT_TRUE(
      absl::IsInvalidArgument(Parsed({"--admin-page-max", "0"}).Refused()));
}

TEST(ServeFlagsTest, RefusesWhatNobodyCouldConnectTo) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Parsed({"--no-tls", "--no-plaintext"}).Refused()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Parsed({"--tls-certificate", "x.pem"}).Refused()));
}

}  // namespace
}  // namespace hourglass
#endif  // HOURGLASS_FRONT
