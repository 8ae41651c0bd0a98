#include "broker/topics/topic_kinds.h"

#include <algorithm>
#include <array>

#include "broker/text.h"

namespace hourglass {
namespace {

struct Named {
  TopicKind kind;
  std::string_view name;
};
constexpr std::array kNames = {
    Named{TopicKind::kNormal, "NORMAL"},
    Named{TopicKind::kDelay, "DELAY"},
    Named{TopicKind::kFifo, "FIFO"},
    Named{TopicKind::kTransaction, "TRANSACTION"},
};
constexpr std::string_view kSeparators = "+, ";

}  // namespace

std::string_view TopicKindName(TopicKind kind) {
  for (const Named& one : kNames) {
    if (one.kind == kind) return one.name;
  }
  return "";
}

absl::StatusOr<TopicKinds> TopicKinds::Parse(std::string_view text) {
  uint8_t bits = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kSeparators), text.size());
    const std::string_view name = text.substr(0, end);
    const auto* const found =
        std::find_if(kNames.begin(), kNames.end(),
                     [name](const Named& one) { return one.name == name; });
    if (found == kNames.end()) {
      return absl::InvalidArgumentError(
          Concat("kind \"", name,
                 "\"; expected NORMAL, DELAY, FIFO or TRANSACTION, with + "
                 "between them"));
    }
    bits |= static_cast<uint8_t>(found->kind);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  TopicKinds kinds;
  if (bits != 0) kinds.bits_ = bits;
  return kinds;
}

std::vector<TopicKind> TopicKinds::List() const {
  std::vector<TopicKind> kinds;
  for (const Named& one : kNames) {
    if (Has(one.kind)) kinds.push_back(one.kind);
  }
  return kinds;
}

std::string TopicKinds::ToString(std::string_view separator) const {
  std::string text;
  for (const TopicKind kind : List()) {
    Append(&text, text.empty() ? "" : separator, TopicKindName(kind));
  }
  return text;
}

}  // namespace hourglass
