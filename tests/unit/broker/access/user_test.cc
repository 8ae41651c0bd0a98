#include "broker/access/user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "broker/access/name_pattern.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

User Shop() {
  User user;
  user.key = "shop";
  user.secret = "correct horse";
  user.publish = {"orders", "bills-*"};
  user.subscribe = {"answers"};
  user.groups = {"shop-*"};
  return user;
}

TEST(NamePattern, StarIsForAnyRest) {
  EXPECT_TRUE(MatchesName("*", ""));
  EXPECT_TRUE(MatchesName("*", "orders"));
  EXPECT_TRUE(MatchesName("orders-*", "orders-"));
  EXPECT_TRUE(MatchesName("orders", "orders"));
  EXPECT_FALSE(MatchesName("orders", "orders-eu"));
  EXPECT_FALSE(MatchesName("orders-*", "orders"));
  EXPECT_FALSE(MatchesName("", "orders"));
  EXPECT_FALSE(MatchesAny({}, "orders"));
  EXPECT_TRUE(MatchesAny({"a", "o*"}, "orders"));
}

TEST(User, MayDoWhatIsGranted) {
  const User shop = Shop();
  EXPECT_TRUE(shop.CheckPublish("orders").ok());
  EXPECT_TRUE(shop.CheckPublish("bills-eu").ok());
  EXPECT_TRUE(shop.CheckSubscribe("answers").ok());
  EXPECT_TRUE(shop.CheckGroup("shop-1").ok());
  EXPECT_TRUE(shop.CheckEither("orders").ok());
  EXPECT_TRUE(shop.CheckEither("answers").ok());
}

TEST(User, OneRightIsNotAnother) {
  const User shop = Shop();
  for (const absl::Status& status :
       {shop.CheckPublish("answers"), shop.CheckSubscribe("orders"),
        shop.CheckGroup("orders"), shop.CheckEither("shop-1"),
        shop.CheckPublish(""), shop.CheckPublish("Orders")}) {
    EXPECT_TRUE(absl::IsPermissionDenied(status));
    EXPECT_THAT(TextOf(status), HasSubstr("user \"shop\""));
    EXPECT_THAT(TextOf(status), HasSubstr("[users.shop]"));
  }
}

TEST(User, AdminRightsAreInSteps) {
  User user = Shop();
  EXPECT_FALSE(user.CheckAdmin(false).ok());
  user.admin = AdminRight::kRead;
  EXPECT_TRUE(user.CheckAdmin(false).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(user.CheckAdmin(true)));
  user.admin = AdminRight::kAll;
  EXPECT_TRUE(user.CheckAdmin(false).ok());
  EXPECT_TRUE(user.CheckAdmin(true).ok());
}

TEST(User, SecretsAreTheSameOrNot) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "bbc", "abcd", "aXc", "ABC"}) {
    EXPECT_FALSE(SameSecret("abc", other)) << other;
    EXPECT_FALSE(SameSecret(other, "abc")) << other;
  }
}

}  // namespace
}  // namespace hourglass
