#include "broker/program/console.h"

#include "broker/text/text.h"

namespace hourglass {
namespace {

// Back to the first column and clear to the end of the line (ECMA-48).
constexpr std::string_view kClearLine = "\r\033[K";

}  // namespace

void Diagnostics::Say(std::string_view text) {
  MutexLock lock(&mu_);
  const std::string_view clear = progress_length_ > 0 ? kClearLine : "";
  progress_length_ = 0;
  // If stderr is gone there is nobody left to tell.
  err_->Write(Concat(clear, text, "\n")).IgnoreError();
}

void Diagnostics::Progress(std::string_view text) {
  if (!err_->IsTerminal()) return;
  MutexLock lock(&mu_);
  if (text.empty() && progress_length_ == 0) return;
  progress_length_ = text.size();
  const size_t columns = static_cast<size_t>(err_->columns());
  err_->Write(Concat(kClearLine, text.substr(0, columns - 1))).IgnoreError();
}

}  // namespace hourglass
