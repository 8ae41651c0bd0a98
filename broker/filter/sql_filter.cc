#include "broker/filter/sql_filter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "broker/text.h"

namespace hourglass {
namespace {

Truth TruthOf(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

Truth Not(Truth truth) {
  if (truth == Truth::kUnknown) return truth;
  return TruthOf(truth == Truth::kFalse);
}

template <typename T>
Truth Ordered(SqlNode::Order order, const T& a, const T& b) {
  switch (order) {
    case SqlNode::kEqual:
      return TruthOf(a == b);
    case SqlNode::kUnequal:
      return TruthOf(a != b);
    case SqlNode::kLess:
      return TruthOf(a < b);
    case SqlNode::kLessEqual:
      return TruthOf(a <= b);
    case SqlNode::kGreater:
      return TruthOf(a > b);
    case SqlNode::kGreaterEqual:
      return TruthOf(a >= b);
  }
  return Truth::kUnknown;
}

bool IsEquality(SqlNode::Order order) {
  return order == SqlNode::kEqual || order == SqlNode::kUnequal;
}

// A value with the property looked up. It is NULL, or it is something.
struct Known {
  const SqlValue* value = nullptr;
  std::optional<std::string_view> text;  // of a property or a text

  static Known Of(const SqlValue& value, SqlFilter::Lookup lookup) {
    Known known{&value, std::nullopt};
    if (value.kind == SqlValue::kText) known.text = value.text;
    if (value.kind == SqlValue::kProperty) known.text = lookup(value.text);
    return known;
  }
  bool IsNull() const {
    return value->kind == SqlValue::kNull ||
           (value->kind == SqlValue::kProperty && !text.has_value());
  }
  std::optional<long double> Number() const {
    if (value->kind == SqlValue::kNumber) return value->number;
    return text.has_value() ? SqlNumberOf(*text) : std::nullopt;
  }
  std::optional<bool> Bool() const {
    if (value->kind == SqlValue::kBool) return value->truth;
    if (!text.has_value()) return std::nullopt;
    if (absl::EqualsIgnoreCase(ToAbsl(*text), "true")) return true;
    if (absl::EqualsIgnoreCase(ToAbsl(*text), "false")) return false;
    return std::nullopt;
  }
  bool Is(SqlValue::Kind kind) const { return value->kind == kind; }
};

Truth Compare(SqlNode::Order order, const Known& a, const Known& b) {
  if (a.IsNull() || b.IsNull()) return Truth::kUnknown;
  if (a.Is(SqlValue::kBool) || b.Is(SqlValue::kBool)) {
    const auto left = a.Bool(), right = b.Bool();
    if (!left || !right) return Truth::kUnknown;
    return Ordered(order, *left, *right);
  }
  const bool texts = a.text.has_value() && b.text.has_value();
  if (texts && IsEquality(order)) return Ordered(order, *a.text, *b.text);
  const auto left = a.Number(), right = b.Number();
  if (!left || !right) return Truth::kUnknown;
  return Ordered(order, *left, *right);
}

Truth AsTruth(const Known& known) {
  const std::optional<bool> value = known.Bool();
  return value.has_value() ? TruthOf(*value) : Truth::kUnknown;
}

std::string_view SignOf(SqlNode::Order order) {
  constexpr std::string_view kSigns[] = {"=", "<>", "<", "<=", ">", ">="};
  return kSigns[order];
}

void AppendValue(const SqlValue& value, std::string* out) {
  switch (value.kind) {
    case SqlValue::kProperty:
    case SqlValue::kNumber:
      *out += value.text;
      return;
    case SqlValue::kText:
      *out += '\'';
      for (const char c : value.text) out->append(c == '\'' ? 2 : 1, c);
      *out += '\'';
      return;
    case SqlValue::kBool:
      *out += value.truth ? "TRUE" : "FALSE";
      return;
    case SqlValue::kNull:
      *out += "NULL";
      return;
  }
}

}  // namespace

std::optional<long double> SqlNumberOf(std::string_view text) {
  // Else "inf", "nan", " 1" and "0x1" would be numbers, too.
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789+-.eE") == text.npos;
  if (!plain) return std::nullopt;
  int64_t whole = 0;
  if (absl::SimpleAtoi(ToAbsl(text), &whole)) return whole;
  double number = 0;
  if (!absl::SimpleAtod(ToAbsl(text), &number) || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

Truth SqlFilter::Evaluate(Lookup lookup) const {
  return Evaluate(nodes_.back(), lookup);
}

Truth SqlFilter::Evaluate(const SqlNode& node, Lookup lookup) const {
  switch (node.kind) {
    case SqlNode::kAnd:
    case SqlNode::kOr: {
      const bool conjunction = node.kind == SqlNode::kAnd;
      const Truth decided = conjunction ? Truth::kFalse : Truth::kTrue;
      Truth all = conjunction ? Truth::kTrue : Truth::kFalse;
      for (const size_t child : node.children) {
        const Truth one = Evaluate(nodes_[child], lookup);
        all = conjunction ? std::min(all, one) : std::max(all, one);
        if (all == decided) return all;
      }
      return all;
    }
    case SqlNode::kNot:
      return Not(Evaluate(nodes_[node.children[0]], lookup));
    case SqlNode::kTruth:
      return AsTruth(Known::Of(node.left, lookup));
    case SqlNode::kIsNull:
      return TruthOf(Known::Of(node.left, lookup).IsNull());
    case SqlNode::kCompare:
      return Compare(node.order, Known::Of(node.left, lookup),
                     Known::Of(node.right, lookup));
  }
  return Truth::kUnknown;
}

std::string SqlFilter::ToString() const {
  std::string text;
  Append(nodes_.back(), &text);
  return text;
}

void SqlFilter::Append(const SqlNode& node, std::string* out) const {
  switch (node.kind) {
    case SqlNode::kAnd:
    case SqlNode::kOr:
      *out += '(';
      for (size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0) *out += node.kind == SqlNode::kAnd ? " AND " : " OR ";
        Append(nodes_[node.children[i]], out);
      }
      *out += ')';
      return;
    case SqlNode::kNot:
      *out += "NOT ";
      Append(nodes_[node.children[0]], out);
      return;
    case SqlNode::kTruth:
      AppendValue(node.left, out);
      return;
    case SqlNode::kIsNull:
      AppendValue(node.left, out);
      *out += " IS NULL";
      return;
    case SqlNode::kCompare:
      AppendValue(node.left, out);
      hourglass::Append(out, " ", SignOf(node.order), " ");
      AppendValue(node.right, out);
      return;
  }
}

}  // namespace hourglass
