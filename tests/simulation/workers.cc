#include "tests/simulation/workers.h"

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/text.h"

namespace hourglass {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What workers and their parent share.
struct Shared {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
};

// What a worker found, as it stands in its pipe.
struct WorkerFacts {
  SimTotals totals;
  uint64_t checked_twice = 0;
};

void WriteAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, at, size);
    if (n <= 0) return;
    at += n;
    size -= static_cast<size_t>(n);
  }
}

// Large blocks are taken and given back all the time: keep them.
void TuneMemory() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

class Worker {
 public:
  Worker(const WorkOptions& options, Shared* shared, uint64_t* at)
      : options_(options), shared_(shared), at_(at) {}

  void Run(int fd) {
    const auto until =
        SteadyClock::now() + std::chrono::seconds(options_.seconds);
    while (!shared_->stop) {
      const uint64_t i = shared_->next.fetch_add(1);
      if (options_.seeds > 0 && i >= options_.seeds) break;
      if (options_.seconds > 0 && SteadyClock::now() >= until) break;
      *at_ = options_.first_seed + i;
      One(*at_);
      if (failures_.size() >= options_.failures_max) shared_->stop = true;
    }
    WriteAll(fd, &facts_, sizeof(facts_));
    for (const std::string& failure : failures_) {
      WriteAll(fd, failure.c_str(), failure.size() + 1);
    }
  }

 private:
  void One(uint64_t seed) {
    const SimResult result = SimRun(seed).Run();
    facts_.totals.Add(result.totals);
    if (!result.failure.empty()) failures_.push_back(result.failure);
    if (options_.twice_every == 0 || seed % options_.twice_every != 0) return;
    ++facts_.checked_twice;
    if (SimRun(seed).Run().trace_hash == result.trace_hash) return;
    failures_.push_back(
        absl::StrCat("seed ", seed, ": two runs differ in their traces"));
  }

  const WorkOptions& options_;
  Shared* const shared_;
  uint64_t* const at_;
  WorkerFacts facts_;
  std::vector<std::string> failures_;
};

void Collect(const std::string& from, WorkReport* report) {
  if (from.size() < sizeof(WorkerFacts)) return;
  WorkerFacts facts;
  std::memcpy(static_cast<void*>(&facts), from.data(), sizeof(facts));
  report->totals.Add(facts.totals);
  report->checked_twice += facts.checked_twice;
  for (size_t at = sizeof(facts); at < from.size();) {
    report->failures.emplace_back(from.c_str() + at);
    at += report->failures.back().size() + 1;
  }
}

struct Child {
  pid_t pid;
  int fd;  // -1: it has ended
  std::string said;
};

// The number of one that said something, or has ended.
size_t AwaitOne(std::vector<Child>* children) {
  std::vector<pollfd> fds;
  for (const Child& child : *children) fds.push_back({child.fd, POLLIN, 0});
  while (true) {
    ::poll(fds.data(), fds.size(), -1);
    for (size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].revents != 0) return i;
    }
  }
}

// True: that was all.
bool ReadMore(Child* child) {
  char buffer[65536];
  const ssize_t n = ::read(child->fd, buffer, sizeof(buffer));
  if (n > 0) {
    child->said.append(buffer, static_cast<size_t>(n));
    return false;
  }
  ::close(child->fd);
  child->fd = -1;
  return true;
}

}  // namespace

WorkReport RunSeeds(const WorkOptions& options) {
  const unsigned jobs = options.jobs > 0
                            ? options.jobs
                            : std::max(1u, std::thread::hardware_concurrency());
  const auto begin = SteadyClock::now();
  const size_t shared_bytes = sizeof(Shared) + jobs * sizeof(uint64_t);
  void* const memory = ::mmap(nullptr, shared_bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Shared* const shared = new (memory) Shared;
  auto* const at = reinterpret_cast<uint64_t*>(shared + 1);
  std::vector<Child> children;
  for (unsigned i = 0; i < jobs; ++i) {
    int fds[2];
    if (::pipe(fds) != 0) break;
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(fds[0]);
      TuneMemory();
      Worker(options, shared, at + i).Run(fds[1]);
      ::_exit(0);
    }
    ::close(fds[1]);
    children.push_back({pid, fds[0], {}});
  }
  WorkReport report;
  for (size_t left = children.size(); left > 0;) {
    const size_t i = AwaitOne(&children);
    if (!ReadMore(&children[i])) continue;
    --left;
    Collect(children[i].said, &report);
    int status = 0;
    ::waitpid(children[i].pid, &status, 0);
    if (WIFSIGNALED(status)) {
      shared->stop = true;
      report.failures.push_back(
          absl::StrCat("seed ", at[i],
                       ": the program crashed: ", strsignal(WTERMSIG(status))));
    }
  }
  ::munmap(memory, shared_bytes);
  report.seconds =
      std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return report;
}

std::vector<FaultKind> NeverFired(const SimTotals& totals) {
  std::vector<FaultKind> never;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (totals.faults[i] == 0) never.push_back(static_cast<FaultKind>(i));
  }
  return never;
}

std::string Summary(const WorkReport& report) {
  const SimTotals& t = report.totals;
  std::string text = absl::StrFormat(
      "%d seeds in %.1f s (%.0f/s): %d lives, %d operations, %d calls to the "
      "disk, %d puts, %d delivered, %d in doubt and settled, %d ranges "
      "acknowledged behind a gap\n"
      "%d disks filled (%d without reserve); damaged stores: %d refused to "
      "open, %d reported it, %d lost nothing\n"
      "%d seeds run twice with the same trace\n",
      t.runs, report.seconds, static_cast<double>(t.runs) / report.seconds,
      t.lives, t.operations, t.calls, t.puts, t.delivered, t.settled, t.ranges,
      t.full_disks, t.full_disks_without_reserve, t.refused, t.reported,
      t.harmless, report.checked_twice);
  for (size_t i = 0; i < kFaultKinds; ++i) {
    absl::StrAppendFormat(&text, "  %-22s %d\n",
                          std::string(FaultKindName(static_cast<FaultKind>(i))),
                          t.faults[i]);
  }
  return text;
}

}  // namespace hourglass
