// File: text.h
//
// Strings put together, over Abseil's string_view (storage/text.h).
//
//   std::string text = Concat("topic ", name, ": ", count, " messages");
//   Append(&out, text, "\n");
//   std::string_view why = MessageOf(status);   // lives as long as `status`
//
// Serves promise 5: errors that can name what was wrong.
#ifndef HOURGLASS_BROKER_TEXT_H_
#define HOURGLASS_BROKER_TEXT_H_

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/text.h"

namespace hourglass {

// Text as Abseil's string_view, anything else (numbers) as it is.
template <typename T>
decltype(auto) Piece(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return ToAbsl(value);
  } else {
    return (value);
  }
}

template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  return absl::StrCat(Piece(pieces)...);
}
template <typename... Pieces>
void Append(std::string* out, const Pieces&... pieces) {
  absl::StrAppend(out, Piece(pieces)...);
}

inline std::string_view MessageOf(const absl::Status& status) {
  return FromAbsl(status.message());
}
// A dangling view does not compile.
std::string_view MessageOf(absl::Status&& status) = delete;

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TEXT_H_
