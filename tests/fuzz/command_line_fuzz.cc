// What people and programs type: input lines, durations, moments, handles.
#include <string>
#include <string_view>

#include "broker/text/duration.h"
#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/timestamp.h"
#include "hourglass/message.h"
#include "tests/fuzz/fuzz.h"

namespace hourglass {
namespace {

constexpr int64_t kNowMs = 1'795'230'000'000;

// Whatever was taken is written as lines of JSON that are read again.
void CheckLine(std::string_view text) {
  const InputLimits limits = InputLimits::From(StoreOptions());
  Message message;
  const auto refused = ParseInputLine(text, kNowMs, limits, &message);
  if (refused) {
    FUZZ_CHECK(!refused->was.empty() && !refused->expected.empty());
    FUZZ_CHECK(IsValidUtf8(refused->ToString()));
    return;
  }
  ReadyMessage ready;
  ready.message = message;
  std::string line;
  AppendReadyLine(ready, &line);
  FUZZ_CHECK(IsValidUtf8(line));
  FUZZ_CHECK(line.find('\n') == line.size() - 1);
}

void CheckDuration(std::string_view text) {
  const auto ms = ParseDuration(text);
  if (!ms.ok()) return;
  FUZZ_CHECK(*ms >= 0);
  (void)FormatDuration(*ms);
}

void CheckMoment(std::string_view text) {
  const auto ms = ParseTimestamp(text);
  if (ms.ok()) {
    const auto again = ParseTimestamp(FormatTimestamp(*ms));
    FUZZ_CHECK(again.ok() && *again == *ms);
  }
  (void)ParseMoment(text, kNowMs);
  (void)ParseHour(text);
}

void CheckHandle(std::string_view text) {
  const auto handle = Handle::Parse(text);
  if (handle.ok()) FUZZ_CHECK(handle->ToString() == text);
}

FUZZ_TARGET(std::string_view data) {
  if (data.empty()) return;
  const int choice = data[0] % 4;
  data.remove_prefix(1);
  if (choice == 0) CheckLine(data);
  if (choice == 1) CheckDuration(data);
  if (choice == 2) CheckMoment(data);
  if (choice == 3) CheckHandle(data);
}

}  // namespace
}  // namespace hourglass
