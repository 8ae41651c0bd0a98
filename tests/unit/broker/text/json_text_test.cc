#include "broker/text/json_text.h"

#include <gtest/gtest.h>

namespace hourglass {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(&out, text);
  return out;
}

TEST(JsonTextTest, Escapes) {
  EXPECT_EQ(Json(""), R"("")");
  EXPECT_EQ(Json("plain"), R"("plain")");
  EXPECT_EQ(Json("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(Json(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(Json("grüße, 世界 🌍"), "\"grüße, 世界 🌍\"");
}

TEST(JsonTextTest, BadBytesAreReplaced) {
  EXPECT_EQ(Json("a\xFF\xC3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonTextTest, KnowsUtf8) {
  for (const char* good : {"", "a", "ü", "世", "🌍", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsValidUtf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
        "\xE4\xB8", "\xE4\x41\x41"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << Json(bad);
  }
  EXPECT_EQ(FirstInvalidUtf8("ab\xFFz"), 2u);
}

TEST(JsonTextTest, QuotedIsCutAtACharacter) {
  EXPECT_EQ(Quoted("a\nb"), R"("a\nb")");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "世";  // 90 bytes; the cut is inside
  std::string kept;
  for (int i = 0; i < 20; ++i) kept += "世";
  EXPECT_EQ(Quoted(many), "\"" + kept + "...\"");
}

TEST(JsonTextTest, Objects) {
  std::string out;
  JsonObject(&out)
      .Text("a", "x")
      .Int("b", -1)
      .Uint("c", UINT64_MAX)
      .Bool("d", true)
      .Null("e")
      .Texts("f", {"y", "z"})
      .End();
  EXPECT_EQ(out,
            R"({"a":"x","b":-1,"c":18446744073709551615,"d":true,"e":null,)"
            R"("f":["y","z"]})");
}

}  // namespace
}  // namespace hourglass
