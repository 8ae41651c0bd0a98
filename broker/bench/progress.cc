#include "broker/bench/progress.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "broker/bench/report.h"

namespace hourglass {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kRedrawNs = kSecondNs / 5;
constexpr int64_t kLineNs = 10 * kSecondNs;

// Back to the first column and clear to the end of the line (ECMA-48).
constexpr char kClearLine[] = "\r\033[K";

}  // namespace

Progress::Progress(const BenchConsole* console, Clock* clock, std::string what,
                   std::string unit, uint64_t total)
    : console_(console),
      clock_(clock),
      what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      begin_ns_(clock->MonotonicNs()),
      next_ns_(begin_ns_ + kSecondNs) {}

Progress::~Progress() {
  if (shown_ && console_->err_is_terminal) console_->err(kClearLine);
}

void Progress::Update(uint64_t done) {
  const int64_t now_ns = clock_->MonotonicNs();
  if (now_ns < next_ns_) return;
  const bool redraw = console_->err_is_terminal;
  next_ns_ = now_ns + (redraw ? kRedrawNs : kLineNs);
  shown_ = true;
  const double seconds = static_cast<double>(now_ns - begin_ns_) / kSecondNs;
  const std::string line = Line(done, seconds);
  console_->err(redraw ? absl::StrCat(kClearLine, line)
                       : absl::StrCat(line, "\n"));
}

std::string Progress::Line(uint64_t done, double seconds) const {
  const double rate = static_cast<double>(done) / seconds;
  std::string line = absl::StrCat(what_, ": ", Grouped(done));
  if (total_ > 0) absl::StrAppend(&line, " of ", Grouped(total_));
  absl::StrAppend(&line, " ", unit_);
  if (done == 0) return line;
  absl::StrAppend(&line, ", ", Grouped(static_cast<uint64_t>(rate)), "/s");
  if (total_ > done) {
    const double left = static_cast<double>(total_ - done) / rate;
    absl::StrAppendFormat(&line, ", %.0f s left", left);
  }
  return line;
}

}  // namespace hourglass
