// File: sql_lexer.h
//
// The words of a filter's SQL, one at a time, each with its place.
//
//   SqlLexer lexer("a > 3");
//   while (lexer.token().kind != SqlToken::kEnd) {
//     ... lexer.token() ...
//     RETURN_IF_ERROR(lexer.Next());
//   }
//
// Names are letters, digits, '_', '$' and '.', and begin with no digit. Words
// of the language are in either case. Texts are in single quotes; two of them
// stand for one. Numbers have no sign: that is the parser's.
//
// Serves promise 4: a mistake is named with its place.
#ifndef HOURGLASS_BROKER_FILTER_SQL_LEXER_H_
#define HOURGLASS_BROKER_FILTER_SQL_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hourglass {

struct SqlToken {
  enum Kind { kEnd, kName, kWord, kText, kNumber, kSign };
  Kind kind = kEnd;
  // As written; of a kText what it stands for; of a kWord in upper case.
  std::string text;
  size_t place = 0;  // from 1

  bool Is(std::string_view word_or_sign) const {
    return (kind == kWord || kind == kSign) && text == word_or_sign;
  }
};

class SqlLexer {
 public:
  // Begins at the first token; call Next once before the first look.
  explicit SqlLexer(std::string_view text) : text_(text) {}

  const SqlToken& token() const { return token_; }
  // INVALID_ARGUMENT naming the place.
  absl::Status Next();

 private:
  char At(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  void TakeName();
  absl::Status TakeText();
  absl::Status TakeNumber();
  absl::Status TakeSign();

  const std::string_view text_;
  size_t at_ = 0;
  SqlToken token_;
};

// "filter: at 7: what; expected expected".
absl::Status SqlError(size_t place, std::string_view what,
                      std::string_view expected);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FILTER_SQL_LEXER_H_
