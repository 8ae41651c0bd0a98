#include "broker/filter/sql_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "broker/text.h"

namespace hourglass {
namespace {

constexpr std::array<std::string_view, 9> kWords = {
    "AND", "BETWEEN", "FALSE", "IN", "IS", "NOT", "NULL", "OR", "TRUE"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool BeginsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$';
}
bool IsNamePart(char c) { return BeginsName(c) || IsDigit(c) || c == '.'; }

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

}  // namespace

absl::Status SqlError(size_t place, std::string_view what,
                      std::string_view expected) {
  return absl::InvalidArgumentError(
      Concat("filter: at ", place, ": ", what, "; expected ", expected));
}

absl::Status SqlLexer::Next() {
  while (At(at_) == ' ' || At(at_) == '\t' || At(at_) == '\n' ||
         At(at_) == '\r') {
    ++at_;
  }
  token_ = SqlToken();
  token_.place = at_ + 1;
  if (at_ >= text_.size()) return absl::OkStatus();
  const char c = text_[at_];
  if (BeginsName(c)) {
    TakeName();
    return absl::OkStatus();
  }
  if (c == '\'') return TakeText();
  if (IsDigit(c) || (c == '.' && IsDigit(At(at_ + 1)))) return TakeNumber();
  return TakeSign();
}

void SqlLexer::TakeName() {
  const size_t from = at_;
  while (IsNamePart(At(at_))) ++at_;
  token_.text = std::string(text_.substr(from, at_ - from));
  std::string upper = Upper(token_.text);
  const bool word =
      std::find(kWords.begin(), kWords.end(), upper) != kWords.end();
  token_.kind = word ? SqlToken::kWord : SqlToken::kName;
  if (word) token_.text = std::move(upper);
}

absl::Status SqlLexer::TakeText() {
  token_.kind = SqlToken::kText;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\'' && At(at_ + 1) != '\'') {
      ++at_;
      return absl::OkStatus();
    }
    if (text_[at_] == '\'') ++at_;
    token_.text += text_[at_];
  }
  return SqlError(token_.place, "a text without end", "a quote after it");
}

absl::Status SqlLexer::TakeNumber() {
  token_.kind = SqlToken::kNumber;
  const size_t from = at_;
  while (IsDigit(At(at_))) ++at_;
  if (At(at_) == '.') {
    do {
      ++at_;
    } while (IsDigit(At(at_)));
  }
  if (At(at_) == 'e' || At(at_) == 'E') {
    ++at_;
    if (At(at_) == '+' || At(at_) == '-') ++at_;
    if (!IsDigit(At(at_))) {
      return SqlError(at_ + 1, "an exponent without digits", "digits");
    }
    while (IsDigit(At(at_))) ++at_;
  }
  token_.text = std::string(text_.substr(from, at_ - from));
  if (!IsNamePart(At(at_))) return absl::OkStatus();
  return SqlError(at_ + 1, "a number that goes on as a name",
                  "a space, or quotes around it");
}

absl::Status SqlLexer::TakeSign() {
  token_.kind = SqlToken::kSign;
  for (const std::string_view sign :
       {"<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "-", "+"}) {
    if (!text_.substr(at_).starts_with(sign)) continue;
    at_ += sign.size();
    token_.text = std::string(sign);
    return absl::OkStatus();
  }
  return SqlError(token_.place,
                  std::isprint(static_cast<unsigned char>(text_[at_]))
                      ? Concat("\"", text_.substr(at_, 1), "\"")
                      : std::string("a byte that is no letter"),
                  "a name, a value, or one of = <> < <= > >= ( ) ,");
}

}  // namespace hourglass
