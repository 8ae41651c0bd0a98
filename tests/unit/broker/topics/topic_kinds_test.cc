#include "broker/topics/topic_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "broker/text.h"
#include "broker/topics/topic_name.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

TEST(TopicKinds, EverySetIsReadAsWritten) {
  const TopicKinds all;
  for (int set = 1; set < 16; ++set) {
    std::string text;
    for (const TopicKind kind : all.List()) {
      if ((set & static_cast<int>(kind)) == 0) continue;
      Append(&text, text.empty() ? "" : "+", TopicKindName(kind));
    }
    const auto kinds = TopicKinds::Parse(text);
    ASSERT_TRUE(kinds.ok()) << kinds.status();
    EXPECT_EQ(kinds->ToString(), text);
    for (const TopicKind kind : all.List()) {
      EXPECT_EQ(kinds->Has(kind), (set & static_cast<int>(kind)) != 0) << text;
    }
    EXPECT_EQ(*kinds == all, set == 15);
  }
}

TEST(TopicKinds, AnyOrderAndSeveralSeparators) {
  for (const char* text :
       {"FIFO+NORMAL", "NORMAL FIFO", "FIFO,NORMAL+", "NORMAL+FIFO+NORMAL"}) {
    const auto kinds = TopicKinds::Parse(text);
    ASSERT_TRUE(kinds.ok()) << kinds.status();
    EXPECT_EQ(kinds->ToString(), "NORMAL+FIFO") << text;
    EXPECT_EQ(kinds->ToString(", "), "NORMAL, FIFO") << text;
  }
  EXPECT_EQ(*TopicKinds::Parse(""), TopicKinds());
}

TEST(TopicKinds, AWrongKindIsNamed) {
  for (const char* text : {"LITE", "normal", "NORMAL+LITE", "+NORMAL", "+"}) {
    const auto kinds = TopicKinds::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(kinds.status())) << text;
  }
  EXPECT_THAT(std::string(TopicKinds::Parse("DELAY+LITE").status().message()),
              HasSubstr("\"LITE\""));
}

TEST(TopicName, WhatItMayBe) {
  EXPECT_EQ(TopicNameFault("Orders-2_%|", 127), "");
  EXPECT_EQ(TopicNameFault(std::string(127, 'a'), 127), "");
  EXPECT_THAT(TopicNameFault(std::string(128, 'a'), 127), HasSubstr("127"));
  EXPECT_EQ(TopicNameFault("", 127), "topic: empty");
  for (const char* name : {"a b", "a/b", "a\n", "\xc3\xa4", "a."}) {
    EXPECT_THAT(TopicNameFault(name, 127), HasSubstr("only letters")) << name;
  }
  EXPECT_THAT(TopicNameFault("%HALF%", 127), HasSubstr("server's own"));
  EXPECT_EQ(NameFault("consumer group", "%HALF%", 127), "");
}

}  // namespace
}  // namespace hourglass
