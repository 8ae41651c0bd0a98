// File: string_console.h
//
// A Console of strings: runs the program's commands in a test and keeps what
// they write.
//
//   StringConsole console;                      // a virtual clock, a fake
//   store console.Input("{\"delay\":\"1s\"}\n"); EXPECT_EQ(console.Run({"pipe",
//   "--data", "/d", "--until-empty"}), 0); EXPECT_EQ(console.out.text(),
//   "...");
#ifndef HOURGLASS_TESTS_SUPPORT_STRING_CONSOLE_H_
#define HOURGLASS_TESTS_SUPPORT_STRING_CONSOLE_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "broker/program/console.h"
#include "broker/program/program.h"
#include "storage/mutex.h"
#include "tests/support/fake_delay_store.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {

class FlagStop final : public StopSignal {
 public:
  bool requested() const override { return requested_; }
  void Request() override { requested_ = true; }
  void Reset() { requested_ = false; }

 private:
  std::atomic<bool> requested_{false};
};

class StringOutput final : public Output {
 public:
  absl::Status Write(std::string_view text) override {
    if (on_write) {
      absl::Status status = on_write(text);
      if (!status.ok()) return status;
    }
    MutexLock lock(&mu_);
    text_.append(text);
    return absl::OkStatus();
  }
  bool IsTerminal() const override { return terminal; }

  std::string text() const {
    MutexLock lock(&mu_);
    return text_;
  }
  void Clear() {
    MutexLock lock(&mu_);
    text_.clear();
  }

  bool terminal = false;
  std::function<absl::Status(std::string_view)> on_write;

 private:
  mutable Mutex mu_;
  std::string text_;
};

class StringLines final : public LineSource {
 public:
  absl::StatusOr<Got> Next(std::string* line, size_t bytes_max) override {
    if (at_ >= text.size()) {
      at_end();
      // An input that does not end: waits as a terminal would.
      while (stays_open && !stop->requested()) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      return stays_open ? Got::kStopped : Got::kEnd;
    }
    const size_t end = std::min(text.find('\n', at_), text.size());
    *line = text.substr(at_, end - at_);
    at_ = end + 1;
    return line->size() > bytes_max ? Got::kTooLong : Got::kLine;
  }

  std::string text;
  bool stays_open = false;
  const StopSignal* stop = nullptr;
  std::function<void()> at_end;

 private:
  size_t at_ = 0;
};

class StringConsole {
 public:
  static constexpr int64_t kStartMs = 1'795'230'000'000;  // 2026-11-21T03:00Z

  StringConsole() : state(std::make_shared<FakeStoreState>(&clock)) {}

  void Input(const std::string& text) { input_ = text; }
  void InputStaysOpen() { stays_open_ = true; }

  int Run(const std::vector<std::string>& arguments) {
    StringLines lines;
    lines.text = input_;
    lines.stays_open = stays_open_;
    lines.stop = &stop;
    // Time stands still until the input was read, whoever runs first.
    state->auto_advance = nullptr;
    lines.at_end = [this] { state->auto_advance = &clock; };
    stop.Reset();
    out.Clear();
    err.Clear();
    Console console;
    console.in = &lines;
    console.out = &out;
    console.err = &err;
    console.stop = &stop;
    console.clock = &clock;
    console.file_system = &file_system;
    console.open = [this](const Path& dir, const StoreOptions& options,
                          bool create) { return Open(dir, options, create); };
    console.connect = connect;
    console.connect_admin = connect_admin;
    return RunProgram(arguments, console);
  }

  VirtualClock clock{kStartMs};
  std::shared_ptr<FakeStoreState> state;
  MemoryFileSystem file_system;
  FlagStop stop;
  StringOutput out, err;
  // Servers that the commands speak to.
  BrokerConnector connect;
  AdminConnector connect_admin;
  // Of the last Open.
  StoreOptions options;
  bool created = false;

 private:
  absl::StatusOr<std::unique_ptr<DelayStore>> Open(const Path&,
                                                   const StoreOptions& given,
                                                   bool create) {
    options = given;
    created = create;
    if (!state->open_error.ok()) return state->open_error;
    return std::make_unique<FakeDelayStore>(state);
  }

  std::string input_;
  bool stays_open_ = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_STRING_CONSOLE_H_
