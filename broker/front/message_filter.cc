#include "broker/front/message_filter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/filter/sql_filter.h"
#include "broker/front/message_form.h"
#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::string_view kAll = "*";
constexpr std::string_view kTagsName = "TAGS";
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

// TAGS is the tag. What the server keeps for itself is not seen.
std::optional<std::string_view> SqlProperty(const Message& message,
                                            std::string_view name) {
  if (name == kTagsName && !message.tag.empty()) return message.tag;
  for (const auto& [key, value] : message.properties) {
    if (key == name && !key.starts_with(kOwnPrefix)) return value;
  }
  return std::nullopt;
}

absl::StatusOr<MessageFilter> MakeSqlFilter(std::string_view text) {
  ASSIGN_OR_RETURN(SqlFilter filter, SqlFilter::Parse(text));
  return MessageFilter([filter = std::move(filter)](const Message& message) {
    return filter.Matches([&message](std::string_view name) {
      return SqlProperty(message, name);
    });
  });
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
  if (expression.type() == proto::SQL) return MakeSqlFilter(text);
  if (text.empty() || text == kAll) return MessageFilter();
  auto tags = ParseTags(text);
  if (!tags.ok()) return tags.status();
  return MessageFilter([tags = *std::move(tags)](const Message& message) {
    return std::find(tags.begin(), tags.end(), message.tag) != tags.end();
  });
}

}  // namespace hourglass
