// `hourglass top`: a running server's numbers, again and again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/top_view.h"
#include "broker/text/text.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Rates, lateness and fsync are of the last interval. The rows of columns are
how much is due in each of the next 60 seconds, and minutes. Where stdout is no
terminal, frames come one after the other.

Examples:
  hourglass top
  hourglass top --once
  hourglass top --json --interval 10s | jq .lateness_p99_ms

Exit codes: 0 stopped; 2 could not run, or not to the end.)";

// Home, and what is behind the frame's lines is cleared (ECMA-48).
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearScreen = "\033[2J";
constexpr std::string_view kClearRestOfLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";
// How long a stop may go unnoticed.
constexpr int64_t kSliceMs = 50;

std::string InPlace(std::string_view frame) {
  std::string out(kHome);
  for (const char c : frame) {
    if (c == '\n') out += kClearRestOfLine;
    out.push_back(c);
  }
  return out.append(kClearBelow);
}

class TopCommand final : public Command {
 public:
  std::string_view name() const override { return "top"; }

  void Declare(CLI::App* app) override {
    app->description("Shows what a running server does, live");
    app->footer(kFooter);
    server_.Declare(app);
    app->add_option("--interval", interval_, "between two looks")
        ->type_name("DURATION")
        ->capture_default_str();
    app->add_flag("--once", once_, "show one interval and end");
    app->add_flag("--json", json_, "print a JSON line each interval");
  }

  int Run(const Console& console) override {
    const absl::Status status = Watch(console);
    return status.ok() ? kExitOk : Fail(console, "", status);
  }

 private:
  absl::Status Watch(const Console& console) {
    ASSIGN_OR_RETURN(const int64_t interval_ms,
                     DurationFlag("--interval", interval_));
    ASSIGN_OR_RETURN(const auto admin, server_.Connect(console));
    live_ = console.out->IsTerminal() && !once_ && !json_;
    ASSIGN_OR_RETURN(TopSample previous,
                     GetTopSample(admin.get(), console.clock->MonotonicNs()));
    if (live_) {
      // A first frame at once; its rates come with the second.
      RETURN_IF_ERROR(console.out->Write(Concat(
          kClearScreen,
          InPlace(RenderTop(previous, nullptr, console.out->columns())))));
    }
    while (Sleep(console, interval_ms)) {
      auto sample = GetTopSample(admin.get(), console.clock->MonotonicNs());
      if (!sample.ok() && live_) {
        RETURN_IF_ERROR(console.out->Write(
            InPlace(Concat("hourglass top\n\n", MessageOf(sample.status()),
                           "\ntrying again; Ctrl-C ends\n"))));
        continue;
      }
      RETURN_IF_ERROR(sample.status());
      RETURN_IF_ERROR(Show(console, *sample, previous));
      if (once_) break;
      previous = *std::move(sample);
    }
    return absl::OkStatus();
  }

  absl::Status Show(const Console& console, const TopSample& sample,
                    const TopSample& previous) const {
    if (json_) return console.out->Write(TopJson(sample, &previous));
    const std::string frame =
        RenderTop(sample, &previous, console.out->columns());
    if (live_) return console.out->Write(InPlace(frame));
    return console.out->Write(once_ ? frame : Concat(frame, "\n"));
  }

  // False when asked to stop.
  static bool Sleep(const Console& console, int64_t ms) {
    Mutex mu;
    CondVar nobody_signals;
    MutexLock lock(&mu);
    for (; ms > 0 && !console.stop->requested(); ms -= kSliceMs) {
      nobody_signals.WaitForMs(&mu, std::min(ms, kSliceMs));
    }
    return !console.stop->requested();
  }

  AdminFlags server_;
  std::string interval_ = "1s";
  bool once_ = false, json_ = false, live_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() {
  return std::make_unique<TopCommand>();
}

}  // namespace hourglass
