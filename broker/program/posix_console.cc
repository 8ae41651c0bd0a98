#include "broker/program/posix_console.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "broker/text/text.h"

namespace hourglass {
namespace {

// POSIX: a write of up to this to a pipe that polls writable never blocks.
constexpr size_t kPipeBytes = 4096;
constexpr size_t kReadBytes = 256 << 10;
// How long a reader of stdout may keep us when we were asked to stop.
constexpr int kStopPatienceMs = 2000;

// What the signal handler may touch.
std::atomic<bool> stop_requested{false};
int stop_pipe[2] = {-1, -1};

void WakeWaiters() {
  const char byte = 0;
  // A full pipe has woken them already.
  [[maybe_unused]] const ssize_t n = write(stop_pipe[1], &byte, 1);
}

void OnSignal(int) {
  const int saved = errno;
  stop_requested = true;
  WakeWaiters();
  errno = saved;
}

void SetAction(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal_number, &action, nullptr);
}

absl::Status ErrnoStatus(std::string_view what) {
  const int error = errno;
  return absl::AbortedError(Concat(what, ": ", strerror(error)));
}

}  // namespace

class PosixConsole::Stop final : public StopSignal {
 public:
  Stop() {
    stop_requested = false;
    if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) stop_pipe[0] = -1;
    SetAction(SIGINT, OnSignal, SA_RESETHAND);
    SetAction(SIGTERM, OnSignal, SA_RESETHAND);
    SetAction(SIGPIPE, SIG_IGN, 0);
  }
  ~Stop() override {
    SetAction(SIGINT, SIG_DFL, 0);
    SetAction(SIGTERM, SIG_DFL, 0);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
  }
  bool requested() const override { return stop_requested; }
  void Request() override {
    stop_requested = true;
    WakeWaiters();
  }
};

class PosixConsole::Lines final : public LineSource {
 public:
  explicit Lines(int fd) : fd_(fd) {}

  absl::StatusOr<Got> Next(std::string* line, size_t bytes_max) override {
    line->clear();
    bool too_long = false;
    while (true) {
      if (stop_requested) return Got::kStopped;
      const bool complete = TakeUpToNewline(line, bytes_max, &too_long);
      if (complete) return too_long ? Got::kTooLong : Got::kLine;
      const absl::StatusOr<Got> filled = Fill();
      if (!filled.ok()) return filled;
      if (*filled == Got::kStopped) return filled;
      if (*filled == Got::kEnd) {
        if (too_long) return Got::kTooLong;
        return line->empty() ? Got::kEnd : Got::kLine;
      }
    }
  }

 private:
  // Moves buffered bytes to `line`; true when its end was met.
  bool TakeUpToNewline(std::string* line, size_t bytes_max, bool* too_long) {
    const size_t end = buffer_.find('\n', at_);
    const size_t stop = end == std::string::npos ? buffer_.size() : end;
    if (line->size() + (stop - at_) > bytes_max) *too_long = true;
    if (*too_long) {
      line->clear();
    } else {
      line->append(buffer_, at_, stop - at_);
    }
    at_ = end == std::string::npos ? stop : stop + 1;
    return end != std::string::npos;
  }

  // Reads more into the empty buffer; kLine = there is more.
  absl::StatusOr<Got> Fill() {
    struct pollfd waits[2] = {{fd_, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) {
      if (errno == EINTR) return Got::kLine;
      return ErrnoStatus("stdin");
    }
    if (stop_requested) return Got::kStopped;
    buffer_.resize(kReadBytes);
    at_ = 0;
    const ssize_t n = read(fd_, buffer_.data(), buffer_.size());
    const int error = errno;
    buffer_.resize(n > 0 ? static_cast<size_t>(n) : 0);
    errno = error;
    if (n > 0) return Got::kLine;
    if (n == 0) return Got::kEnd;
    if (errno == EINTR || errno == EAGAIN) return Got::kLine;
    return ErrnoStatus("stdin");
  }

  const int fd_;
  std::string buffer_;
  size_t at_ = 0;
};

class PosixConsole::Descriptor final : public Output {
 public:
  Descriptor(int fd, std::string_view name)
      : fd_(fd), name_(name), terminal_(isatty(fd) == 1) {
    struct stat info;
    regular_ = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  }

  absl::Status Write(std::string_view text) override {
    while (!text.empty()) {
      if (!regular_) {
        absl::Status ready = WaitWritable();
        if (!ready.ok()) return ready;
      }
      const size_t size =
          regular_ ? text.size() : std::min(text.size(), kPipeBytes);
      const ssize_t n = write(fd_, text.data(), size);
      if (n >= 0) {
        text.remove_prefix(static_cast<size_t>(n));
      } else if (errno != EINTR && errno != EAGAIN) {
        return ErrnoStatus(name_);
      }
    }
    return absl::OkStatus();
  }

  bool IsTerminal() const override { return terminal_; }
  int columns() const override {
    struct winsize size;
    if (ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
    return size.ws_col;
  }

 private:
  // A reader may be slow for ever, but not once we are asked to stop.
  absl::Status WaitWritable() {
    struct pollfd waits[2] = {{fd_, POLLOUT, 0}, {stop_pipe[0], POLLIN, 0}};
    const bool stopping = stop_requested;
    const int n =
        poll(waits, stopping ? 1 : 2, stopping ? kStopPatienceMs : -1);
    if (n == 0) {
      return absl::AbortedError(
          Concat(name_, ": nobody reads it, and we were asked to stop"));
    }
    if (n < 0 && errno != EINTR) return ErrnoStatus(name_);
    if (waits[0].revents != 0) return absl::OkStatus();  // or write() tells
    return stopping ? absl::OkStatus() : WaitWritable();
  }

  const int fd_;
  const std::string name_;
  const bool terminal_;
  bool regular_ = false;
};

PosixConsole::PosixConsole()
    : stop_(std::make_unique<Stop>()),
      in_(std::make_unique<Lines>(STDIN_FILENO)),
      out_(std::make_unique<Descriptor>(STDOUT_FILENO, "stdout")),
      err_(std::make_unique<Descriptor>(STDERR_FILENO, "stderr")) {}

PosixConsole::~PosixConsole() = default;

Console PosixConsole::console() const {
  Console console;
  console.in = in_.get();
  console.out = out_.get();
  console.err = err_.get();
  console.stop = stop_.get();
  console.clock = RealClock();
  console.file_system = RealFileSystem();
  console.open = [](const Path& dir, const StoreOptions& options, bool create) {
    return create ? DelayStore::Open(dir, options)
                  : DelayStore::OpenExisting(dir, options);
  };
#ifdef HOURGLASS_FRONT
  console.connect = ConnectBroker;
#else
  console.connect = [](const BrokerClientOptions&) {
    return absl::UnimplementedError("built without gRPC (HOURGLASS_FRONT)");
  };
#endif
  console.connect_admin = ConnectAdmin;
  return console;
}

}  // namespace hourglass
