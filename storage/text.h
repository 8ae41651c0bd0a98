// File: text.h
//
// Debian's Abseil has a string_view of its own; these go from one to the
// other where absl::StrCat and its kind are called.
//
// Serves promise 5: errors that can name what was wrong.
#ifndef HOURGLASS_STORAGE_TEXT_H_
#define HOURGLASS_STORAGE_TEXT_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace hourglass {

inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view FromAbsl(absl::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_TEXT_H_
