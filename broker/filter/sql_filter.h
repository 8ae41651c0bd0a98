// File: sql_filter.h
//
// A condition on a message's properties, in the part of SQL that the protocol
// knows:
//
//   colour = 'red' AND price BETWEEN 10 AND 99.5
//   TAGS IN ('a', 'b') OR (urgent = TRUE AND region IS NOT NULL)
//
//   ASSIGN_OR_RETURN(SqlFilter filter, SqlFilter::Parse(text));
//   if (filter.Matches([&](std::string_view name) { return Get(name); })) ...
//
//   condition := condition OR condition | condition AND condition
//              | NOT condition | ( condition ) | value
//              | value (= | <> | < | <= | > | >=) value
//              | value IS [NOT] NULL
//              | value [NOT] BETWEEN value AND value
//              | name [NOT] IN ( value , ... )
//   value     := name | 'text' | [-|+] number | TRUE | FALSE | NULL
//
// NOT binds closest, then AND, then OR.
//
// A property is text. Beside a number it is read as one, beside TRUE or FALSE
// as "true" or "false" (in either case); if it is neither, the comparison is
// unknown, as it is if a property is missing. Two properties are compared as
// texts by = and <>, as numbers by the rest. Unknown is neither true nor
// false: NOT of it is unknown, and what is unknown does not match.
// Texts are only the same or not: 'a' < 'b' is refused.
//
// Threads: any; it does not change.
//
// Keeps promise 7: bytes and depth of a condition are bounded.
#ifndef HOURGLASS_BROKER_FILTER_SQL_FILTER_H_
#define HOURGLASS_BROKER_FILTER_SQL_FILTER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace hourglass {

inline constexpr size_t kSqlBytesMax = 4096;
inline constexpr size_t kSqlNameBytesMax = 128;
inline constexpr int kSqlDepthMax = 64;  // of parentheses and NOTs

// In this order AND is the smaller and OR the larger.
enum class Truth { kFalse, kUnknown, kTrue };

struct SqlValue {
  enum Kind { kProperty, kText, kNumber, kBool, kNull };
  Kind kind = kNull;
  std::string text;        // name, text, or the number as written
  long double number = 0;  // exact for what an int64 can hold
  bool truth = false;
};

// A node of the condition; children are places in the filter's list.
struct SqlNode {
  enum Kind { kAnd, kOr, kNot, kTruth, kIsNull, kCompare };
  enum Order { kEqual, kUnequal, kLess, kLessEqual, kGreater, kGreaterEqual };
  Kind kind = kTruth;
  Order order = kEqual;          // kCompare
  SqlValue left, right;          // right: kCompare only
  std::vector<size_t> children;  // kAnd, kOr, kNot
};

class SqlFilter {
 public:
  // None: the message has no such property.
  using Lookup =
      absl::FunctionRef<std::optional<std::string_view>(std::string_view)>;

  // INVALID_ARGUMENT naming the place, from 1.
  static absl::StatusOr<SqlFilter> Parse(std::string_view text);

  bool Matches(Lookup lookup) const { return Evaluate(lookup) == Truth::kTrue; }
  Truth Evaluate(Lookup lookup) const;

  // The same condition with all parentheses; BETWEEN and IN spelled out.
  std::string ToString() const;

 private:
  friend class SqlParser;

  Truth Evaluate(const SqlNode& node, Lookup lookup) const;
  void Append(const SqlNode& node, std::string* out) const;

  std::vector<SqlNode> nodes_;  // the last one is the root
};

// The number that a property's text is, if it is one: digits with a sign, a
// point, an exponent; not "inf", not " 1".
std::optional<long double> SqlNumberOf(std::string_view text);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FILTER_SQL_FILTER_H_
