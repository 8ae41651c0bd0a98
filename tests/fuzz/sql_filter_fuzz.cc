// Conditions that consumers send: any text is parsed or refused, and what was
// parsed means the same when it is written out and parsed again.
#include <optional>
#include <string>
#include <string_view>

#include "broker/filter/sql_filter.h"
#include "tests/fuzz/fuzz.h"

namespace hourglass {
namespace {

// Some properties there, some not, some numbers, some truths.
std::optional<std::string_view> Lookup(std::string_view name) {
  switch (name.size() % 5) {
    case 0:
      return std::nullopt;
    case 1:
      return "1";
    case 2:
      return "true";
    case 3:
      return name;
    default:
      return "-2.5e0";
  }
}

FUZZ_TARGET(std::string_view data) {
  const auto filter = SqlFilter::Parse(data);
  if (!filter.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(filter.status()));
    return;
  }
  const Truth truth = filter->Evaluate(Lookup);
  const std::string text = filter->ToString();
  const auto again = SqlFilter::Parse(text);
  if (!again.ok()) {
    // Written out it may be too long or too deep, and nothing else.
    FUZZ_CHECK(again.status().message().find("at most") !=
               again.status().message().npos);
    return;
  }
  FUZZ_CHECK(again->ToString() == text);
  FUZZ_CHECK(again->Evaluate(Lookup) == truth);
}

}  // namespace
}  // namespace hourglass
