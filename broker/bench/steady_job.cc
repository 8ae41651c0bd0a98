// `hourglass bench steady`: warm-up until as much is delivered as is put, then
// the measured window, then the rest, to see that nothing was lost.
#include <atomic>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "broker/bench/jobs.h"
#include "broker/bench/progress.h"
#include "broker/bench/ready_reader.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kPatienceMs = 30'000;

// Due time to the moment that a consumer has the message.
class ConsumedLateness {
 public:
  void Add(const ReadyMessage& message) {
    const int64_t late_ms = message.delivered_ms - message.message.due_ms;
    MutexLock lock(&mu_);
    us_.Add(late_ms * 1000);
  }
  Histogram us() const {
    MutexLock lock(&mu_);
    return us_;
  }

 private:
  mutable Mutex mu_;
  Histogram us_ ABSL_GUARDED_BY(mu_);
};

// All that counts, at one moment.
struct Snapshot {
  int64_t at_ns = 0;
  uint64_t put = 0;
  uint64_t consumed = 0;
  Histogram lateness_us, ack_us, consumed_us;
};

struct Steady {
  Session* session;
  Crew* crew;
  ReadyReader* reader;  // may be null
  ConsumedLateness consumed;

  Snapshot Take() const {
    Snapshot now;
    now.at_ns = session->bench().clock->MonotonicNs();
    now.put = crew->done();
    now.lateness_us = session->store().Stats().lateness_us;
    now.ack_us = crew->ack_us();
    now.consumed_us = consumed.us();
    now.consumed = now.consumed_us.count();
    return now;
  }
};

absl::Status RunUntil(const Bench& bench, Crew* crew, int64_t until_ms,
                      Progress* progress) {
  constexpr int64_t kStepMs = 100;
  while (bench.clock->NowMs() < until_ms) {
    const int64_t now_ms = bench.clock->NowMs();
    RETURN_IF_ERROR(bench.SleepUntilMs(std::min(now_ms + kStepMs, until_ms)));
    if (crew->WaitFinished(absl::ZeroDuration())) {
      return absl::UnavailableError("the producers ended early");
    }
    progress->Update(crew->done());
  }
  return absl::OkStatus();
}

// Everything put becomes ready and, if somebody reads, is read.
absl::Status DrainAll(Steady* steady, uint64_t put) {
  const Bench& bench = steady->session->bench();
  const int64_t until_ms = bench.clock->NowMs() + bench.options.start_ms +
                           bench.options.spread_ms + kPatienceMs;
  while (bench.clock->NowMs() < until_ms) {
    RETURN_IF_ERROR(bench.CheckStopped());
    if (!steady->session->store().WaitEmpty(absl::Milliseconds(100))) continue;
    if (steady->reader == nullptr || steady->reader->read() >= put) break;
    RETURN_IF_ERROR(bench.SleepUntilMs(bench.clock->NowMs() + 10));
  }
  // The store counts as delivered what was delayed. On a busy machine some
  // messages are due before they are put, and are ready without that.
  const uint64_t delivered =
      steady->session->store().Stats().delivered_messages +
      steady->crew->due_at_once();
  const uint64_t read =
      steady->reader == nullptr ? put : steady->reader->read();
  if (delivered == put && read == put) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      put, " messages were put, ", delivered, " delivered, ", read, " read"));
}

void ReportWindow(const Snapshot& begin, const Snapshot& end, bool consumer,
                  Report* report) {
  const double seconds = static_cast<double>(end.at_ns - begin.at_ns) / 1e9;
  const Histogram lateness_us = end.lateness_us.Since(begin.lateness_us);
  report->SetRate("", end.put - begin.put, seconds);
  report->Set("delivered_messages", lateness_us.count());
  report->Set("delivered_messages_per_s",
              PerSecond(lateness_us.count(), seconds));
  report->Set("lateness_ms", Percentiles(lateness_us, 1000));
  report->Set("ack_us", Percentiles(end.ack_us.Since(begin.ack_us)));
  if (!consumer) return;
  report->Set("consumed_messages_per_s",
              PerSecond(end.consumed - begin.consumed, seconds));
  report->Set("consumed_lateness_ms",
              Percentiles(end.consumed_us.Since(begin.consumed_us), 1000));
}

}  // namespace

absl::StatusOr<Report> RunSteadyJob(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  const BenchOptions& options = session->options();
  const auto works = session->MakePutWorks({.size = options.size,
                                            .from_ms = options.start_ms,
                                            .spread_ms = options.spread_ms,
                                            .from_now = true});
  CrewPlan plan = session->PlanFor(std::numeric_limits<uint64_t>::max());
  plan.rate = options.rate;
  const auto crew = session->MakeCrew(plan, PointersTo(works));
  Steady steady = {session.get(), crew.get(), nullptr, {}};
  std::unique_ptr<ReadyReader> reader;
  if (options.consumer) {
    reader = std::make_unique<ReadyReader>(
        &session->store(), bench.clock,
        [&](const ReadyMessage& message) { steady.consumed.Add(message); });
    steady.reader = reader.get();
  }

  Snapshot begin, end;
  {
    const int64_t warm_ms =
        bench.clock->NowMs() + options.start_ms + options.spread_ms;
    const int64_t measured_ms = options.seconds * 1000;
    Progress progress(bench.console, bench.clock, "putting and delivering",
                      "messages", 0);
    crew->Start();
    absl::Status ran = RunUntil(bench, crew.get(), warm_ms, &progress);
    begin = steady.Take();
    if (ran.ok()) {
      ran = RunUntil(bench, crew.get(), warm_ms + measured_ms, &progress);
    }
    end = steady.Take();
    crew->Stop();
    const CrewResult result = crew->Join();
    RETURN_IF_ERROR(result.status);
    RETURN_IF_ERROR(ran);
    RETURN_IF_ERROR(DrainAll(&steady, result.issued));
    if (reader != nullptr) RETURN_IF_ERROR(reader->Stop());
  }
  Report report(options);
  ReportWindow(begin, end, options.consumer, &report);
  report.Set("put_messages_in_all", crew->done());
  RETURN_IF_ERROR(session->Finish(crew->done() * options.size, &report));
  return report;
}

}  // namespace hourglass
