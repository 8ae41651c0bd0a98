#include "broker/program/intake.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_delay_store.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

// One line; the next comes when the first is durable, or never.
class PatientLines final : public LineSource {
 public:
  static constexpr int kPatienceMs = 10'000;

  absl::StatusOr<Got> Next(std::string* line, size_t) override {
    if (!given_) {
      given_ = true;
      *line = R"({"id":"a","body":"x"})";
      return Got::kLine;
    }
    for (int ms = 0; ms < kPatienceMs && intake->durable() == 0; ++ms) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    durable_while_waiting = intake->durable();
    return Got::kEnd;
  }

  const Intake* intake = nullptr;
  uint64_t durable_while_waiting = 0;

 private:
  bool given_ = false;
};

// A disk was full for a moment, and no line came after that for hours.
TEST(IntakeTest, TriesAgainThoughNoMoreInputComes) {
  VirtualClock clock(StringConsole::kStartMs);
  auto state = std::make_shared<FakeStoreState>(&clock);
  state->exhausted_puts = 3;
  FakeDelayStore store(state);
  PatientLines lines;
  FlagStop stop;
  StringOutput err;
  Diagnostics diagnostics(&err);
  Console console;
  console.in = &lines;
  console.err = &err;
  console.stop = &stop;
  console.clock = &clock;
  Intake intake(&store, console, &diagnostics,
                {.limits = InputLimits::From(StoreOptions())},
                [](const std::vector<PutResult>&) { return absl::OkStatus(); });
  lines.intake = &intake;
  EXPECT_TRUE(intake.Run(&lines).ok());
  EXPECT_TRUE(intake.Finish().ok());
  EXPECT_EQ(lines.durable_while_waiting, 1u);
  EXPECT_EQ(intake.refused(), 0u) << err.text();
}

}  // namespace
}  // namespace hourglass
