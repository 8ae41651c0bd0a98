#include "broker/access/access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWhole[] = R"(
[users.shop]
secret = "correct horse"
publish = ["orders", "bills-*"]
subscribe = ["answers"]
groups = ["shop-*"]
admin = "read"

[users."ops@example.com"]   # quoted where TOML wants it
secret = "battery staple"
admin = "all"
)";

TEST(AccessFile, IsReadWhole) {
  const auto users = ParseAccessFile(kWhole, "f");
  ASSERT_TRUE(users.ok()) << users.status();
  ASSERT_EQ(users->size(), 2u);
  const User& shop = *users->at("shop");
  EXPECT_EQ(shop.key, "shop");
  EXPECT_EQ(shop.secret, "correct horse");
  EXPECT_THAT(shop.publish, ElementsAre("orders", "bills-*"));
  EXPECT_THAT(shop.subscribe, ElementsAre("answers"));
  EXPECT_THAT(shop.groups, ElementsAre("shop-*"));
  EXPECT_EQ(shop.admin, AdminRight::kRead);
  const User& ops = *users->at("ops@example.com");
  EXPECT_EQ(ops.admin, AdminRight::kAll);
  EXPECT_TRUE(ops.publish.empty());
}

TEST(AccessFile, WhatIsWrongIsNamedWithItsLine) {
  const std::string good = "[users.a]\nsecret = \"12345678\"\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "nobody is named"},
      {"[users]\n", "nobody is named"},
      {"users = 3\n", "nobody is named"},
      {"[user.a]\nsecret = \"12345678\"\n", "f:1: \"user\""},
      {"[users]\na = 3\n", "f:2: users.a; expected a table"},
      {"[users.a]\npublish = []\n", "f:1: users.a has no secret"},
      {"[users.a]\nsecret = \"1234567\"\n", "at least 8 bytes"},
      {"[users.a]\nsecret = 12345678\n", "f:2: secret of users.a"},
      {"[users.\"a/b\"]\nsecret = \"12345678\"\n", "key \"a/b\""},
      {"[users.\"a:b\"]\nsecret = \"12345678\"\n", "key \"a:b\""},
      {"[users.\"\"]\nsecret = \"12345678\"\n", "key \"\""},
      {good + "publsh = [\"t\"]\n", "f:3: \"publsh\" of users.a"},
      {good + "publish = \"t\"\n", "f:3: publish; expected a list"},
      {good + "publish = [\"t\", 3]\n", "f:3: publish; expected names"},
      {good + "publish = [\"a*b\"]\n", "'*' at its end"},
      {good + "groups = [\"\"]\n", "f:3: groups"},
      {good + "admin = true\n", "\"none\", \"read\" or \"all\""},
      {good + "admin = \"yes\"\n", "f:3: admin"},
      {good + "[users.a]\nsecret = \"12345678\"\n", "f:3:"},
      {good + "[x]\n", "f:3: \"x\""},
  };
  for (const auto& [text, expected] : cases) {
    const absl::Status status = ParseAccessFile(text, "f").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(TextOf(status), HasSubstr(expected)) << text;
  }
}

TEST(AccessFile, NoErrorTellsASecret) {
  for (const char* text :
       {"[users.a]\nsecret = \"hidden\"\n", "[users.a]\nsecret = hidden-thing",
        "[users.a]\nsecret = \"hidden\n", "[users.a]\nsecret = \"hidden\" x"}) {
    const absl::Status status = ParseAccessFile(text, "f").status();
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_THAT(TextOf(status), Not(HasSubstr("hidden"))) << text;
  }
}

TEST(AccessFile, TooLargeIsRefused) {
  const std::string large(kAccessFileBytesMax + 1, '#');
  EXPECT_THAT(TextOf(ParseAccessFile(large, "f").status()),
              HasSubstr("at most"));
}

// Cut anywhere, the file is refused or grants no more than the whole one.
TEST(AccessFile, HalfAFileGrantsNothingNew) {
  const std::string whole = kWhole;
  const auto all = ParseAccessFile(whole, "f");
  ASSERT_TRUE(all.ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto users = ParseAccessFile(whole.substr(0, size), "f");
    if (!users.ok()) continue;
    for (const auto& [key, user] : *users) {
      ASSERT_TRUE(all->contains(key)) << size;
      EXPECT_EQ(user->secret, all->at(key)->secret) << size;
      EXPECT_LE(user->admin, all->at(key)->admin) << size;
    }
  }
}

}  // namespace
}  // namespace hourglass
