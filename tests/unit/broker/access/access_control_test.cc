#include "broker/access/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/memory_file_system.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string FileOf(const std::string& key) {
  return "[users." + key + "]\nsecret = \"12345678\"\n";
}

class AccessControlTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { fs_.SetContent("/access", text); }
  void SetUp() override {
    Write(FileOf("a"));
    auto opened = AccessControl::Open(&fs_, "/access");
    ASSERT_TRUE(opened.ok()) << opened.status();
    access_ = *std::move(opened);
  }
  bool Knows(const std::string& key) { return access_->Find(key) != nullptr; }

  MemoryFileSystem fs_;
  std::unique_ptr<AccessControl> access_;
};

TEST_F(AccessControlTest, KnowsWhoIsInTheFile) {
  EXPECT_TRUE(Knows("a"));
  EXPECT_FALSE(Knows("b"));
  EXPECT_FALSE(Knows(""));
  EXPECT_THAT(access_->Look(), IsEmpty());
}

TEST_F(AccessControlTest, AWrongLoginDoesNotTellWhatIsWrong) {
  EXPECT_TRUE(access_->Login("a", "12345678").ok());
  const absl::Status secret = access_->Login("a", "12345679").status();
  const absl::Status key = access_->Login("b", "12345678").status();
  EXPECT_TRUE(absl::IsUnauthenticated(secret));
  EXPECT_TRUE(absl::IsUnauthenticated(key));
  std::string other = TextOf(secret);
  other.replace(other.find("\"a\""), 3, "\"b\"");
  EXPECT_EQ(other, TextOf(key));
  EXPECT_THAT(TextOf(secret), Not(HasSubstr("1234")));
  EXPECT_FALSE(access_->Login("a", "").ok());
}

TEST_F(AccessControlTest, AChangeIsTakenWhenItHasSettled) {
  Write(FileOf("b"));
  EXPECT_THAT(access_->Look(), IsEmpty());
  EXPECT_TRUE(Knows("a"));
  EXPECT_THAT(access_->Look(), ElementsAre(HasSubstr("read again; 1 users")));
  EXPECT_TRUE(Knows("b"));
  EXPECT_FALSE(Knows("a"));
  EXPECT_THAT(access_->Look(), IsEmpty());
}

TEST_F(AccessControlTest, AFileThatIsBeingWrittenIsNotTaken) {
  Write(FileOf("b"));
  EXPECT_THAT(access_->Look(), IsEmpty());
  Write(FileOf("b") + FileOf("c"));
  EXPECT_THAT(access_->Look(), IsEmpty());
  EXPECT_FALSE(Knows("b"));
  EXPECT_THAT(access_->Look(), ElementsAre(HasSubstr("2 users")));
}

TEST_F(AccessControlTest, AWrongFileChangesNothingAndIsSaidOnce) {
  Write("[users.b]\n");
  EXPECT_THAT(access_->Look(), IsEmpty());
  EXPECT_THAT(access_->Look(),
              ElementsAre(HasSubstr("no secret; expected secret = \"..\"; "
                                    "the users from before stay")));
  EXPECT_TRUE(Knows("a"));
  EXPECT_THAT(access_->Look(), IsEmpty());
  // Another fault is said, too; and then all is well.
  Write("[users.c]\n\n");
  access_->Look();
  EXPECT_THAT(access_->Look(), ElementsAre(HasSubstr("users.c")));
  Write(FileOf("c"));
  access_->Look();
  access_->Look();
  EXPECT_TRUE(Knows("c"));
}

TEST_F(AccessControlTest, AFileThatIsGoneChangesNothing) {
  ASSERT_TRUE(fs_.Remove("/access").ok());
  EXPECT_THAT(access_->Look(), ElementsAre(HasSubstr("/access")));
  EXPECT_THAT(access_->Look(), IsEmpty());
  EXPECT_TRUE(Knows("a"));
  Write(FileOf("b"));
  access_->Look();
  access_->Look();
  EXPECT_TRUE(Knows("b"));
  ASSERT_TRUE(fs_.Remove("/access").ok());
  EXPECT_EQ(access_->Look().size(), 1u);
}

TEST_F(AccessControlTest, WithoutAGoodFileItDoesNotOpen) {
  EXPECT_TRUE(absl::IsNotFound(AccessControl::Open(&fs_, "/other").status()));
  Write("[users]");
  EXPECT_TRUE(
      absl::IsInvalidArgument(AccessControl::Open(&fs_, "/access").status()));
}

// A call keeps its user while the file changes under it.
TEST_F(AccessControlTest, AUserOutlivesTheFile) {
  const auto user = access_->Find("a");
  Write(FileOf("b"));
  access_->Look();
  access_->Look();
  EXPECT_EQ(user->secret, "12345678");
}

}  // namespace
}  // namespace hourglass
