#include "broker/bench/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/status_macros.h"

extern char** environ;

namespace hourglass {
namespace {

constexpr int kPollMs = 50;

absl::Status SpawnInto(int out, const std::string& program,
                       std::vector<std::string> arguments, pid_t* pid) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int error = posix_spawn(pid, program.c_str(), &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("start ", program));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe");
  }
  pid_t pid = -1;
  const absl::Status status = SpawnInto(pipe_ends[1], program, arguments, &pid);
  close(pipe_ends[1]);
  if (!status.ok()) {
    close(pipe_ends[0]);
    return status;
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, pipe_ends[0]));
}

ChildProcess::~ChildProcess() {
  Kill();
  close(out_);
}

void ChildProcess::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

absl::StatusOr<bool> ChildProcess::Fill() {
  pollfd waits = {out_, POLLIN, 0};
  if (poll(&waits, 1, kPollMs) <= 0) return false;
  std::array<char, 512> bytes;
  const ssize_t n = read(out_, bytes.data(), bytes.size());
  if (n > 0) {
    buffer_.append(bytes.data(), static_cast<size_t>(n));
    return true;
  }
  if (n < 0 && errno == EINTR) return false;
  return absl::UnavailableError("the process that was to be killed has ended");
}

absl::StatusOr<std::string> ChildProcess::ReadLine(
    absl::Duration timeout, const std::function<bool()>& stopped) {
  const absl::Time until = absl::Now() + timeout;
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (stopped()) return absl::CancelledError("stopped; nothing is reported");
    if (absl::Now() > until) {
      return absl::DeadlineExceededError(
          absl::StrCat("the restarted process said nothing for ",
                       absl::ToInt64Seconds(timeout), " s"));
    }
    RETURN_IF_ERROR(Fill().status());
  }
}

}  // namespace hourglass
