// `hourglass bench restart`: kill -9 and start again, several rounds, with a
// small backlog and with the large one.
//
// Both times are counted from just before the new process is started, so the
// program's own start is in them.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "broker/bench/backlog.h"
#include "broker/bench/child_process.h"
#include "broker/bench/jobs.h"
#include "broker/bench/progress.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(100);

// What the restarted process said.
struct Restarted {
  int64_t accepting_ns = 0;
  int64_t delivering_ns = 0;
  int64_t pending = 0;
  int64_t rss_bytes = 0;

  // False: not a line of the child's.
  bool Take(const std::string& line) {
    const size_t space = line.find(' ');
    int64_t value = 0;
    if (space == std::string::npos ||
        !absl::SimpleAtoi(line.substr(space + 1), &value)) {
      return false;
    }
    const std::string what = line.substr(0, space);
    if (what == "accepting") accepting_ns = value;
    if (what == "delivering") delivering_ns = value;
    if (what == "pending") pending = value;
    if (what == "rss") rss_bytes = value;
    return true;
  }
  bool complete() const {
    return accepting_ns > 0 && delivering_ns > 0 && pending > 0 &&
           rss_bytes > 0;
  }
};

// All rounds with one backlog.
struct Rounds {
  uint64_t messages = 0;  // waiting, at the last restart
  uint64_t rss_bytes_max = 0;
  Histogram accepting_us, delivering_us;

  void Add(const Restarted& restarted, int64_t begin_ns) {
    accepting_us.Add((restarted.accepting_ns - begin_ns) / 1000);
    delivering_us.Add((restarted.delivering_ns - begin_ns) / 1000);
    messages = static_cast<uint64_t>(restarted.pending);
    rss_bytes_max =
        std::max(rss_bytes_max, static_cast<uint64_t>(restarted.rss_bytes));
  }
  // The later of the two, of the middle round.
  double ReadyMs() const {
    return static_cast<double>(std::max(accepting_us.Percentile(50),
                                        delivering_us.Percentile(50))) /
           1000;
  }
};

std::vector<std::string> ChildArguments(const Bench& bench,
                                        const std::string& dir,
                                        int64_t killed_ms) {
  return {"bench",
          "restart",
          "--child",
          "--data",
          dir,
          "--killed-ms",
          absl::StrCat(killed_ms),
          "--size",
          absl::StrCat(bench.options.size),
          "--sync",
          bench.options.sync,
          "--retention-bytes",
          absl::StrCat(bench.options.retention_bytes)};
}

absl::StatusOr<Restarted> ReadAll(const Bench& bench, ChildProcess* child) {
  Restarted restarted;
  while (!restarted.complete()) {
    ASSIGN_OR_RETURN(const std::string line,
                     child->ReadLine(kPatience, bench.console->stopped));
    if (!restarted.Take(line)) {
      return absl::InternalError(
          absl::StrCat("the restarted process said \"", line, "\""));
    }
  }
  return restarted;
}

absl::StatusOr<Rounds> KillAndRestart(const Bench& bench,
                                      const std::string& dir) {
  Rounds rounds;
  int64_t killed_ms = 0;
  Progress progress(bench.console, bench.clock, "killing and restarting",
                    "rounds", bench.options.rounds);
  // The first start is after a clean close: it makes the work that is there
  // at the first kill, and is not measured.
  for (uint32_t round = 0; round <= bench.options.rounds; ++round) {
    progress.Update(round);
    const int64_t begin_ns = bench.clock->MonotonicNs();
    ASSIGN_OR_RETURN(
        const auto child,
        ChildProcess::Start(bench.console->program,
                            ChildArguments(bench, dir, killed_ms)));
    ASSIGN_OR_RETURN(const Restarted restarted, ReadAll(bench, child.get()));
    if (round > 0) rounds.Add(restarted, begin_ns);
    RETURN_IF_ERROR(bench.SleepUntilMs(bench.clock->NowMs() +
                                       bench.options.seconds * 1000));
    child->Kill();
    killed_ms = bench.clock->NowMs();
  }
  return rounds;
}

struct Filled {
  std::optional<DataDir> dir;
  PutTotals put;
  Report closing;  // of the filling
};

absl::StatusOr<Filled> Fill(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  Filled filled = {std::nullopt, {}, Report(session->options())};
  ASSIGN_OR_RETURN(filled.put, FillBacklog(session.get()));
  RETURN_IF_ERROR(session->Finish(filled.put.messages * bench.options.size,
                                  &filled.closing));
  filled.dir.emplace(session->TakeDir());
  return filled;
}

// A small backlog in a directory of its own, beside the large one.
absl::StatusOr<std::optional<Rounds>> Compare(const Bench& bench) {
  std::optional<Rounds> rounds;
  if (bench.options.compare_messages == 0) return rounds;
  Bench small = bench;
  small.options.messages = bench.options.compare_messages;
  small.options.keep = false;
  if (!bench.options.data.empty()) small.options.data += "-compare";
  ASSIGN_OR_RETURN(const Filled filled, Fill(small));
  ASSIGN_OR_RETURN(rounds, KillAndRestart(small, filled.dir->path().string()));
  return rounds;
}

Json RoundsJson(const Rounds& rounds) {
  return {{"messages", rounds.messages},
          {"accepting_ms", Percentiles(rounds.accepting_us, 1000)},
          {"delivering_ms", Percentiles(rounds.delivering_us, 1000)},
          {"rss_bytes", rounds.rss_bytes_max}};
}

}  // namespace

absl::StatusOr<Report> RunRestartJob(const Bench& bench) {
  const ProcessStats begin = ReadProcessStats();
  ASSIGN_OR_RETURN(const auto small, Compare(bench));
  ASSIGN_OR_RETURN(const bool exists,
                   HasContent(bench.file_system, bench.options.data));
  std::optional<Filled> filled;
  Bench large = bench;
  if (!exists) {
    ASSIGN_OR_RETURN(Filled done, Fill(bench));
    filled.emplace(std::move(done));
    large.options.data = filled->dir->path().string();
  }
  ASSIGN_OR_RETURN(const Rounds rounds,
                   KillAndRestart(large, large.options.data));

  Report report(large.options);
  report.Set("rounds", bench.options.rounds);
  report.Set("messages", rounds.messages);
  report.Set("accepting_ms", Percentiles(rounds.accepting_us, 1000));
  report.Set("delivering_ms", Percentiles(rounds.delivering_us, 1000));
  report.Set("restarted_rss_bytes", rounds.rss_bytes_max);
  report.Set("compared_with", small ? RoundsJson(*small) : Json());
  report.Set("ratio", small ? Json(Rounded(rounds.ReadyMs() / small->ReadyMs()))
                            : Json());
  if (filled) {
    report.SetRate("fill_", filled->put.messages, filled->put.seconds);
  }
  report.SetProcess(begin, ReadProcessStats());
  return report;
}

}  // namespace hourglass
