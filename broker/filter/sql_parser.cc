// From a filter's text to its nodes; the grammar is in sql_filter.h.
#include <utility>

#include "broker/filter/sql_filter.h"
#include "broker/filter/sql_lexer.h"
#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {

// Every method returns the place of its node in the list.
class SqlParser {
 public:
  explicit SqlParser(std::string_view text) : lexer_(text) {}

  absl::StatusOr<SqlFilter> Parse() {
    RETURN_IF_ERROR(lexer_.Next());
    ASSIGN_OR_RETURN(const size_t root, Condition());
    if (token().kind != SqlToken::kEnd) return Wrong("AND, OR or the end");
    // The root is made last, and so is the last.
    (void)root;
    return std::move(filter_);
  }

 private:
  const SqlToken& token() const { return lexer_.token(); }

  absl::Status Wrong(std::string_view expected) const {
    const std::string what = token().kind == SqlToken::kEnd
                                 ? std::string("the end")
                                 : Concat("\"", token().text, "\"");
    return SqlError(token().place, what, expected);
  }

  // True if the token was this one; it is passed then.
  absl::StatusOr<bool> Take(std::string_view word_or_sign) {
    if (!token().Is(word_or_sign)) return false;
    RETURN_IF_ERROR(lexer_.Next());
    return true;
  }
  absl::Status Need(std::string_view word_or_sign) {
    ASSIGN_OR_RETURN(const bool taken, Take(word_or_sign));
    return taken ? absl::OkStatus() : Wrong(word_or_sign);
  }

  size_t Add(SqlNode node) {
    filter_.nodes_.push_back(std::move(node));
    return filter_.nodes_.size() - 1;
  }
  // One child stands for itself.
  size_t AddList(SqlNode::Kind kind, std::vector<size_t> children) {
    if (children.size() == 1) return children[0];
    SqlNode node;
    node.kind = kind;
    node.children = std::move(children);
    return Add(std::move(node));
  }
  size_t AddNot(size_t child) {
    SqlNode node;
    node.kind = SqlNode::kNot;
    node.children = {child};
    return Add(std::move(node));
  }
  absl::StatusOr<size_t> AddCompare(SqlNode::Order order, SqlValue left,
                                    SqlValue right, size_t place) {
    const bool text =
        left.kind == SqlValue::kText || right.kind == SqlValue::kText;
    const bool truth =
        left.kind == SqlValue::kBool || right.kind == SqlValue::kBool;
    const bool equality =
        order == SqlNode::kEqual || order == SqlNode::kUnequal;
    if ((text || truth) && !equality) {
      return SqlError(place, text ? "a text by size" : "TRUE or FALSE by size",
                      "numbers, or = or <>");
    }
    SqlNode node;
    node.kind = SqlNode::kCompare;
    node.order = order;
    node.left = std::move(left);
    node.right = std::move(right);
    return Add(std::move(node));
  }

  absl::StatusOr<size_t> Condition() {
    std::vector<size_t> children;
    bool more = true;
    while (more) {
      ASSIGN_OR_RETURN(const size_t child, Conjunction());
      children.push_back(child);
      ASSIGN_OR_RETURN(more, Take("OR"));
    }
    return AddList(SqlNode::kOr, std::move(children));
  }

  absl::StatusOr<size_t> Conjunction() {
    std::vector<size_t> children;
    bool more = true;
    while (more) {
      ASSIGN_OR_RETURN(const size_t child, Negation());
      children.push_back(child);
      ASSIGN_OR_RETURN(more, Take("AND"));
    }
    return AddList(SqlNode::kAnd, std::move(children));
  }

  absl::StatusOr<size_t> Negation() {
    if (depth_ == kSqlDepthMax) {
      return SqlError(token().place, "too deep",
                      Concat("at most ", kSqlDepthMax,
                             " parentheses and NOTs in each other"));
    }
    ASSIGN_OR_RETURN(const bool negated, Take("NOT"));
    if (negated) {
      ++depth_;
      ASSIGN_OR_RETURN(const size_t child, Negation());
      --depth_;
      return AddNot(child);
    }
    ASSIGN_OR_RETURN(const bool open, Take("("));
    if (!open) return Predicate();
    ++depth_;
    ASSIGN_OR_RETURN(const size_t child, Condition());
    --depth_;
    RETURN_IF_ERROR(Need(")"));
    return child;
  }

  absl::StatusOr<size_t> Predicate() {
    const size_t place = token().place;
    ASSIGN_OR_RETURN(SqlValue left, Value());
    for (const auto& [sign, order] : kOrders) {
      ASSIGN_OR_RETURN(const bool taken, Take(sign));
      if (!taken) continue;
      ASSIGN_OR_RETURN(SqlValue right, Value());
      return AddCompare(order, std::move(left), std::move(right), place);
    }
    ASSIGN_OR_RETURN(const bool is, Take("IS"));
    if (is) return IsNull(std::move(left));
    ASSIGN_OR_RETURN(const bool negated, Take("NOT"));
    size_t node = 0;
    if (token().Is("BETWEEN")) {
      ASSIGN_OR_RETURN(node, Between(std::move(left), place));
    } else if (token().Is("IN")) {
      ASSIGN_OR_RETURN(node, In(std::move(left), place));
    } else if (negated) {
      return Wrong("BETWEEN or IN");
    } else {
      return IsTruth(std::move(left), place);
    }
    return negated ? AddNot(node) : node;
  }

  absl::StatusOr<size_t> IsNull(SqlValue left) {
    ASSIGN_OR_RETURN(const bool negated, Take("NOT"));
    RETURN_IF_ERROR(Need("NULL"));
    SqlNode node;
    node.kind = SqlNode::kIsNull;
    node.left = std::move(left);
    const size_t at = Add(std::move(node));
    return negated ? AddNot(at) : at;
  }

  absl::StatusOr<size_t> Between(SqlValue left, size_t place) {
    RETURN_IF_ERROR(lexer_.Next());
    ASSIGN_OR_RETURN(SqlValue low, Value());
    RETURN_IF_ERROR(Need("AND"));
    ASSIGN_OR_RETURN(SqlValue high, Value());
    ASSIGN_OR_RETURN(
        const size_t above,
        AddCompare(SqlNode::kGreaterEqual, left, std::move(low), place));
    ASSIGN_OR_RETURN(const size_t below,
                     AddCompare(SqlNode::kLessEqual, std::move(left),
                                std::move(high), place));
    return AddList(SqlNode::kAnd, {above, below});
  }

  absl::StatusOr<size_t> In(SqlValue left, size_t place) {
    // It is copied into every comparison: a name is short.
    if (left.kind != SqlValue::kProperty) {
      return SqlError(place, "IN of a value", "a name before IN");
    }
    RETURN_IF_ERROR(lexer_.Next());
    RETURN_IF_ERROR(Need("("));
    std::vector<size_t> children;
    bool more = true;
    while (more) {
      ASSIGN_OR_RETURN(SqlValue one, Value());
      ASSIGN_OR_RETURN(const size_t child, AddCompare(SqlNode::kEqual, left,
                                                      std::move(one), place));
      children.push_back(child);
      ASSIGN_OR_RETURN(more, Take(","));
    }
    RETURN_IF_ERROR(Need(")"));
    return AddList(SqlNode::kOr, std::move(children));
  }

  absl::StatusOr<size_t> IsTruth(SqlValue left, size_t place) {
    if (left.kind == SqlValue::kText || left.kind == SqlValue::kNumber) {
      return SqlError(place, "a text or a number alone",
                      "a comparison, as name = 'text'");
    }
    SqlNode node;
    node.kind = SqlNode::kTruth;
    node.left = std::move(left);
    return Add(std::move(node));
  }

  absl::StatusOr<SqlValue> Value() {
    ASSIGN_OR_RETURN(const bool minus, Take("-"));
    bool plus = false;
    if (!minus) {
      ASSIGN_OR_RETURN(plus, Take("+"));
    }
    SqlValue value;
    value.text = token().text;
    if (token().kind == SqlToken::kNumber) {
      if (minus) value.text = Concat("-", value.text);
      const auto number = SqlNumberOf(value.text);
      if (!number) return Wrong("a number of less than 309 digits");
      value.kind = SqlValue::kNumber;
      value.number = *number;
    } else if (minus || plus) {
      return Wrong("a number after the sign");
    } else if (token().kind == SqlToken::kName) {
      if (value.text.size() > kSqlNameBytesMax) {
        return SqlError(token().place,
                        Concat("a name of ", value.text.size(), " bytes"),
                        Concat("at most ", kSqlNameBytesMax));
      }
      value.kind = SqlValue::kProperty;
    } else if (token().kind == SqlToken::kText) {
      value.kind = SqlValue::kText;
    } else if (token().Is("TRUE") || token().Is("FALSE")) {
      value.kind = SqlValue::kBool;
      value.truth = token().Is("TRUE");
    } else if (!token().Is("NULL")) {
      return Wrong("a name, 'text', a number, TRUE, FALSE or NULL");
    }
    RETURN_IF_ERROR(lexer_.Next());
    return value;
  }

  static constexpr std::pair<std::string_view, SqlNode::Order> kOrders[] = {
      {"=", SqlNode::kEqual},   {"<>", SqlNode::kUnequal},
      {"<", SqlNode::kLess},    {"<=", SqlNode::kLessEqual},
      {">", SqlNode::kGreater}, {">=", SqlNode::kGreaterEqual},
  };

  SqlLexer lexer_;
  SqlFilter filter_;
  int depth_ = 0;
};

absl::StatusOr<SqlFilter> SqlFilter::Parse(std::string_view text) {
  if (text.size() > kSqlBytesMax) {
    return absl::InvalidArgumentError(Concat(
        "filter: ", text.size(), " bytes; expected at most ", kSqlBytesMax));
  }
  return SqlParser(text).Parse();
}

}  // namespace hourglass
