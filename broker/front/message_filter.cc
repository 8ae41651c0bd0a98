#include "broker/front/message_filter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "broker/text.h"

namespace hourglass {
namespace {

constexpr std::string_view kAll = "*";
constexpr size_t kExpressionBytesMax = 4096;

std::string_view Trim(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

absl::StatusOr<std::vector<std::string>> ParseTags(std::string_view text) {
  std::vector<std::string> tags;
  while (true) {
    const size_t end = std::min(text.find("||"), text.size());
    const std::string_view tag = Trim(text.substr(0, end));
    if (tag.empty()) {
      return absl::InvalidArgumentError(
          "filter: an empty tag; expected \"*\" or \"tag || tag\"");
    }
    tags.emplace_back(tag);
    if (end == text.size()) return tags;
    text.remove_prefix(end + 2);
  }
}

}  // namespace

absl::StatusOr<MessageFilter> MakeFilter(
    const proto::FilterExpression& expression) {
  const std::string_view text = Trim(expression.expression());
  if (text.size() > kExpressionBytesMax) {
    return absl::InvalidArgumentError(Concat("filter: ", text.size(),
                                             " bytes; expected at most ",
                                             kExpressionBytesMax));
  }
  if (expression.type() == proto::SQL) {
    return absl::InvalidArgumentError(
        "filter: SQL is not served; expected tags");
  }
  if (text.empty() || text == kAll) return MessageFilter();
  auto tags = ParseTags(text);
  if (!tags.ok()) return tags.status();
  return MessageFilter([tags = *std::move(tags)](const Message& message) {
    return std::find(tags.begin(), tags.end(), message.tag) != tags.end();
  });
}

}  // namespace hourglass
