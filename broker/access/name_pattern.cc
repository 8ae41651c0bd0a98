#include "broker/access/name_pattern.h"

#include <algorithm>

namespace hourglass {

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with("*")) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

bool MatchesAny(const std::vector<std::string>& patterns,
                std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](const std::string& pattern) {
                       return MatchesName(pattern, name);
                     });
}

}  // namespace hourglass
