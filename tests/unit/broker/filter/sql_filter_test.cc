#include "broker/filter/sql_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using Properties = std::map<std::string, std::string, std::less<>>;

const Properties& Some() {
  static const Properties* const some =
      new Properties{{"colour", "red"}, {"price", "42"},
                     {"weight", "1.5"}, {"negative", "-7"},
                     {"yes", "true"},   {"no", "FALSE"},
                     {"empty", ""},     {"quote", "it's"},
                     {"word", "forty"}, {"big", "9223372036854775807"}};
  return *some;
}

Truth Ask(const SqlFilter& filter, const Properties& properties) {
  return filter.Evaluate(
      [&properties](std::string_view name) -> std::optional<std::string_view> {
        const auto found = properties.find(name);
        if (found == properties.end()) return std::nullopt;
        return found->second;
      });
}

TEST(SqlFilter, MeansWhatTheStandardSays) {
  constexpr Truth kYes = Truth::kTrue, kNo = Truth::kFalse,
                  kWho = Truth::kUnknown;
  const std::vector<std::pair<std::string, Truth>> cases = {
      // texts
      {"colour = 'red'", kYes},
      {"colour = 'Red'", kNo},
      {"colour <> 'blue'", kYes},
      {"'red' = colour", kYes},
      {"quote = 'it''s'", kYes},
      {"empty = ''", kYes},
      {"colour = colour", kYes},
      {"colour = word", kNo},
      {"Colour = 'red'", kWho},
      // numbers
      {"price = 42", kYes},
      {"price = 42.0", kYes},
      {"price > 41.5", kYes},
      {"price >= 42 AND price <= 42", kYes},
      {"price < 42", kNo},
      {"price <> 42", kNo},
      {"42 > price", kNo},
      {"weight = 15e-1", kYes},
      {"weight < price", kYes},
      {"negative = -7", kYes},
      {"negative < -6.5", kYes},
      {"negative > - 8", kYes},
      {"price > +1", kYes},
      {"price > .5", kYes},
      {"big = 9223372036854775807", kYes},
      {"big = 9223372036854775806", kNo},
      {"big > 9223372036854775806", kYes},
      {"1 = 1.0", kYes},
      {"price = '42'", kYes},
      {"price = '42.0'", kNo},
      // a text that is no number, beside one
      {"word = 40", kWho},
      {"word <> 40", kWho},
      {"word < 40", kWho},
      {"NOT word < 40", kWho},
      {"empty = 0", kWho},
      {"word > price", kWho},
      // truths
      {"yes = TRUE", kYes},
      {"yes = true", kYes},
      {"no = FALSE", kYes},
      {"no <> true", kYes},
      {"yes", kYes},
      {"NOT no", kYes},
      {"word", kWho},
      {"word = TRUE", kWho},
      {"TRUE", kYes},
      {"FALSE", kNo},
      {"TRUE = TRUE", kYes},
      {"1 = TRUE", kWho},
      {"price = TRUE", kWho},
      // what is missing
      {"none = 'x'", kWho},
      {"none <> 'x'", kWho},
      {"NOT none = 'x'", kWho},
      {"none", kWho},
      {"none = none", kWho},
      {"none = NULL", kWho},
      {"NULL", kWho},
      {"NULL = NULL", kWho},
      {"none IS NULL", kYes},
      {"none IS NOT NULL", kNo},
      {"colour IS NULL", kNo},
      {"colour is not null", kYes},
      {"empty IS NULL", kNo},
      {"NULL IS NULL", kYes},
      {"1 IS NULL", kNo},
      // three-valued tables
      {"none = 1 AND FALSE", kNo},
      {"none = 1 AND TRUE", kWho},
      {"FALSE AND none = 1", kNo},
      {"none = 1 OR TRUE", kYes},
      {"none = 1 OR FALSE", kWho},
      {"TRUE OR none = 1", kYes},
      {"NOT (none = 1 OR FALSE)", kWho},
      // between
      {"price BETWEEN 42 AND 43", kYes},
      {"price BETWEEN 41 AND 42", kYes},
      {"price BETWEEN 43 AND 41", kNo},
      {"price NOT BETWEEN 1 AND 41", kYes},
      {"price NOT BETWEEN 1 AND 42", kNo},
      {"none BETWEEN 1 AND 2", kWho},
      {"none NOT BETWEEN 1 AND 2", kWho},
      {"price BETWEEN weight AND 50 AND colour = 'red'", kYes},
      {"price BETWEEN none AND 41", kNo},
      // in
      {"colour IN ('red')", kYes},
      {"colour IN ('blue', 'red')", kYes},
      {"colour IN ('blue', 'green')", kNo},
      {"colour NOT IN ('blue', 'green')", kYes},
      {"colour NOT IN ('blue', 'red')", kNo},
      {"price IN (1, 42)", kYes},
      {"none IN ('red')", kWho},
      {"none NOT IN ('red')", kWho},
      {"colour IN ('red', NULL)", kYes},
      {"colour IN ('blue', NULL)", kWho},
      {"colour NOT IN ('blue', NULL)", kWho},
      // which binds closer
      {"TRUE OR FALSE AND FALSE", kYes},
      {"(TRUE OR FALSE) AND FALSE", kNo},
      {"FALSE AND FALSE OR TRUE", kYes},
      {"NOT FALSE AND FALSE", kNo},
      {"NOT (FALSE AND FALSE)", kYes},
      {"NOT NOT TRUE", kYes},
      {"NOT colour = 'red'", kNo},
      // spaces and letters
      {"  price\t>\n41  ", kYes},
      {"price>41 and(colour='red')", kYes},
      {"not(price<1)Or FALSE", kYes},
      {"$a.b_1 IS NULL", kYes},
      {"notable IS NULL", kYes},
      {"INside IS NULL", kYes},
  };
  for (const auto& [text, expected] : cases) {
    const auto filter = SqlFilter::Parse(text);
    ASSERT_TRUE(filter.ok()) << text << ": " << filter.status();
    EXPECT_EQ(Ask(*filter, Some()), expected) << text;
  }
}

TEST(SqlFilter, AMistakeIsNamedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "at 1: the end; expected a name"},
      {"   ", "at 4: the end"},
      {"a =", "at 4: the end; expected a name"},
      {"a = 'x", "at 5: a text without end"},
      {"a = 'x''", "at 5: a text without end"},
      {"a == 1", "at 4: \"=\""},
      {"a != 1", "at 3: \"!\""},
      {"a = 1 b = 2", "at 7: \"b\"; expected AND, OR or the end"},
      {"a = 1 AND", "at 10: the end"},
      {"AND a = 1", "at 1: \"AND\""},
      {"(a = 1", "at 7: the end; expected )"},
      {"a = 1)", "at 6: \")\""},
      {"()", "at 2: \")\""},
      {"a IS 1", "at 6: \"1\"; expected NULL"},
      {"a IS NOT 1", "expected NULL"},
      {"a IN 'x'", "at 6: \"x\"; expected ("},
      {"a IN ()", "at 7: \")\""},
      {"a IN ('x',)", "at 11: \")\""},
      {"a IN ('x' 'y')", "expected )"},
      {"'x' IN ('x')", "at 1: IN of a value"},
      {"a BETWEEN 1", "expected AND"},
      {"a BETWEEN 1 OR 2", "expected AND"},
      {"a BETWEEN 'x' AND 'y'", "at 1: a text by size"},
      {"a NOT = 1", "at 7: \"=\"; expected BETWEEN or IN"},
      {"a < 'x'", "at 1: a text by size"},
      {"a >= TRUE", "at 1: TRUE or FALSE by size"},
      {"a = 1x", "at 6: a number that goes on as a name"},
      {"a = 1e", "at 7: an exponent without digits"},
      {"a = - 'x'", "expected a number after the sign"},
      {"a = 1e999", "at 5: \"1e999\""},
      {"42", "at 1: a text or a number alone"},
      {"'x'", "at 1: a text or a number alone"},
      {"a ~ 1", "at 3: \"~\""},
      {"a = \x01", "at 5: a byte that is no letter"},
      {std::string("a\0b", 3), "at 2: a byte"},
      {"a LIKE 'x'", "at 3: \"LIKE\""},
      {std::string(129, 'a') + " = 1", "a name of 129 bytes"},
      {std::string(4097, ' '), "4097 bytes; expected at most 4096"},
  };
  for (const auto& [text, expected] : cases) {
    const auto filter = SqlFilter::Parse(text);
    ASSERT_TRUE(absl::IsInvalidArgument(filter.status())) << text;
    EXPECT_THAT(std::string(filter.status().message()), HasSubstr(expected));
  }
}

TEST(SqlFilter, DepthIsBounded) {
  const auto nested = [](int depth) {
    return std::string(depth, '(') + "a = 1" + std::string(depth, ')');
  };
  EXPECT_TRUE(SqlFilter::Parse(nested(kSqlDepthMax - 1)).ok());
  EXPECT_FALSE(SqlFilter::Parse(nested(kSqlDepthMax)).ok());
  std::string nots = "a = 1";
  for (int i = 0; i < 900; ++i) nots.insert(0, "NOT ");
  EXPECT_THAT(std::string(SqlFilter::Parse(nots).status().message()),
              HasSubstr("too deep"));
  // Many beside each other are not deep.
  std::string wide = "a = 1";
  for (int i = 0; i < 300; ++i) wide += " OR (a = 1)";
  EXPECT_TRUE(SqlFilter::Parse(wide).ok());
}

TEST(SqlFilter, NumbersAreStrict) {
  EXPECT_EQ(SqlNumberOf("-12.5e1"), -125);
  EXPECT_EQ(SqlNumberOf("007"), 7);
  for (const char* text : {"", " 1", "1 ", "inf", "nan", "0x1", "1e", "--1",
                           "1,5", "1e999", "-", "."}) {
    EXPECT_FALSE(SqlNumberOf(text).has_value()) << text;
  }
}

// --- against a slow, obvious evaluator ---

struct Tree {
  enum Kind { kAnd, kOr, kNot, kCompare, kBetween, kIn, kIsNull };
  Kind kind = kCompare;
  bool negated = false;  // of BETWEEN, IN, IS NULL
  std::string name, sign;
  std::vector<std::string> values;  // numbers and quoted texts
  std::vector<Tree> children;
};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Tree Make(int depth) {
    Tree tree;
    tree.kind =
        static_cast<Tree::Kind>(Below(depth > 0 ? 7 : 4) + (depth > 0 ? 0 : 3));
    tree.negated = Below(2) == 0;
    tree.name = Pick({"a", "b", "c", "none"});
    if (tree.kind <= Tree::kNot) {
      const int count = tree.kind == Tree::kNot ? 1 : 2 + Below(2);
      for (int i = 0; i < count; ++i) tree.children.push_back(Make(depth - 1));
    } else if (tree.kind == Tree::kCompare) {
      tree.sign = Pick({"=", "<>", "<", "<=", ">", ">="});
      const bool text = tree.sign == "=" || tree.sign == "<>";
      tree.values = {text ? Value() : Number()};
    } else if (tree.kind == Tree::kBetween) {
      tree.values = {Number(), Number()};
    } else if (tree.kind == Tree::kIn) {
      for (int i = Below(3); i >= 0; --i) tree.values.push_back(Value());
    }
    return tree;
  }
  // As SQL, with or without parentheses that are not needed.
  std::string Write(const Tree& tree) {
    const std::string no = tree.negated ? " NOT" : "";
    std::string text;
    switch (tree.kind) {
      case Tree::kAnd:
      case Tree::kOr:
        for (const Tree& child : tree.children) {
          if (!text.empty()) text += tree.kind == Tree::kAnd ? " AND " : " or ";
          text += "(" + Write(child) + ")";
        }
        return text;
      case Tree::kNot:
        return "NOT (" + Write(tree.children[0]) + ")";
      case Tree::kCompare:
        text = tree.name + Pick({"", " "}) + tree.sign + tree.values[0];
        break;
      case Tree::kBetween:
        text = tree.name + no + " BETWEEN " + tree.values[0] + " AND " +
               tree.values[1];
        break;
      case Tree::kIn:
        for (const std::string& value : tree.values) {
          text += (text.empty() ? "" : ",") + value;
        }
        text = tree.name + no + " IN (" + text + ")";
        break;
      case Tree::kIsNull:
        text = tree.name + " IS" + no + " NULL";
    }
    return Below(3) == 0 ? "(" + text + ")" : text;
  }
  int Below(int n) { return static_cast<int>(random_() % n); }
  std::string Pick(const std::vector<std::string>& from) {
    return from[Below(static_cast<int>(from.size()))];
  }
  std::string Number() { return Pick({"0", "1", "2", "-1", "1.5"}); }
  std::string Value() {
    return Below(2) == 0 ? Number() : Pick({"'x'", "'1'"});
  }

 private:
  std::mt19937 random_;
};

// -1: unknown.
int Slow(const Tree& tree, const Properties& properties);

int SlowCompare(const std::string& name, const std::string& sign,
                const std::string& value, const Properties& properties) {
  const auto found = properties.find(name);
  if (found == properties.end()) return -1;
  int order = 0;
  if (value[0] == '\'') {
    order = found->second.compare(value.substr(1, value.size() - 2));
  } else {
    char* end = nullptr;
    const double left = std::strtod(found->second.c_str(), &end);
    if (*end != '\0' || found->second.empty()) return -1;
    const double right = std::stod(value);
    order = left < right ? -1 : left > right ? 1 : 0;
  }
  if (sign == "=") return order == 0;
  if (sign == "<>") return order != 0;
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  return order >= 0;
}

int SlowNot(int truth) { return truth == -1 ? -1 : 1 - truth; }

int SlowJoin(const std::vector<int>& truths, int decides) {
  for (const int truth : truths) {
    if (truth == decides) return decides;
  }
  for (const int truth : truths) {
    if (truth == -1) return -1;
  }
  return 1 - decides;
}

int Slow(const Tree& tree, const Properties& properties) {
  std::vector<int> truths;
  for (const Tree& child : tree.children) {
    truths.push_back(Slow(child, properties));
  }
  switch (tree.kind) {
    case Tree::kAnd:
      return SlowJoin(truths, 0);
    case Tree::kOr:
      return SlowJoin(truths, 1);
    case Tree::kNot:
      return SlowNot(truths[0]);
    case Tree::kCompare:
      return SlowCompare(tree.name, tree.sign, tree.values[0], properties);
    case Tree::kBetween: {
      const int inside =
          SlowJoin({SlowCompare(tree.name, ">=", tree.values[0], properties),
                    SlowCompare(tree.name, "<=", tree.values[1], properties)},
                   0);
      return tree.negated ? SlowNot(inside) : inside;
    }
    case Tree::kIn: {
      for (const std::string& value : tree.values) {
        truths.push_back(SlowCompare(tree.name, "=", value, properties));
      }
      const int among = SlowJoin(truths, 1);
      return tree.negated ? SlowNot(among) : among;
    }
    case Tree::kIsNull:
      return properties.contains(tree.name) == tree.negated;
  }
  return -1;
}

TEST(SqlFilter, AgreesWithTheSlowOne) {
  int truths[3] = {};
  for (uint32_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE(seed);
    Maker maker(seed);
    const Tree tree = maker.Make(4);
    const std::string text = maker.Write(tree);
    if (text.size() > kSqlBytesMax) continue;
    Properties properties;
    for (const char* name : {"a", "b", "c"}) {
      if (maker.Below(4) == 0) continue;
      properties[name] = maker.Pick({"0", "1", "1.5", "x", "", "-1"});
    }
    const auto filter = SqlFilter::Parse(text);
    ASSERT_TRUE(filter.ok()) << text << ": " << filter.status();
    const int expected = Slow(tree, properties);
    ++truths[expected + 1];
    ASSERT_EQ(Ask(*filter, properties), expected == -1  ? Truth::kUnknown
                                        : expected == 0 ? Truth::kFalse
                                                        : Truth::kTrue)
        << text;
    // Written out it is the same.
    const auto again = SqlFilter::Parse(filter->ToString());
    ASSERT_TRUE(again.ok()) << filter->ToString() << ": " << again.status();
    ASSERT_EQ(again->ToString(), filter->ToString());
    ASSERT_EQ(Ask(*again, properties), Ask(*filter, properties));
  }
  for (const int count : truths) EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace hourglass
