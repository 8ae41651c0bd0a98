#include "broker/front/recall_handle.h"

#include "absl/strings/str_cat.h"
#include "broker/text.h"
#include "storage/checksum.h"

namespace hourglass {
namespace {

constexpr std::string_view kPrefix = "hg1-";
constexpr size_t kHandleAt = kPrefix.size();
constexpr size_t kHandleBytes = 32;
constexpr size_t kCheckAt = kHandleAt + kHandleBytes + 1;
constexpr size_t kCheckBytes = 8;
constexpr size_t kIdAt = kCheckAt + kCheckBytes + 1;

std::string CheckText(std::string_view topic, std::string_view handle,
                      std::string_view id) {
  const std::string all = Concat(topic, "\n", handle, "\n", id);
  const auto low = static_cast<uint32_t>(HashBytes(all));
  return absl::StrCat(absl::Hex(low, absl::kZeroPad8));
}

bool HasShape(std::string_view text) {
  return text.size() >= kIdAt && text.starts_with(kPrefix) &&
         text[kCheckAt - 1] == '-' && text[kIdAt - 1] == '-';
}

absl::Status NoRecallHandle() {
  return absl::InvalidArgumentError(
      "recall handle: expected one that a send of a delayed message returned");
}

}  // namespace

std::string RecallHandle::ToString(std::string_view topic) const {
  const std::string text = handle.ToString();
  return Concat(kPrefix, text, "-", CheckText(topic, text, message_id), "-",
                message_id);
}

absl::StatusOr<RecallHandle> RecallHandle::Parse(std::string_view text,
                                                 std::string_view topic) {
  if (!HasShape(text)) return NoRecallHandle();
  const std::string_view handle_text = text.substr(kHandleAt, kHandleBytes);
  auto handle = Handle::Parse(handle_text);
  if (!handle.ok()) return NoRecallHandle();
  RecallHandle parsed{*handle, std::string(text.substr(kIdAt))};
  if (text.substr(kCheckAt, kCheckBytes) !=
      CheckText(topic, handle_text, parsed.message_id)) {
    return absl::NotFoundError(
        Concat("recall handle: not of a message of topic ", topic));
  }
  return parsed;
}

}  // namespace hourglass
