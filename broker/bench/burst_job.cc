// `hourglass bench burst`.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "broker/bench/jobs.h"
#include "broker/bench/progress.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// Asleep, not measuring, so close before the moment; the job itself must not
// take processor time from the store.
constexpr int64_t kAwakeMs = 20;
constexpr int64_t kPatienceMs = 120'000;

struct Burst {
  int64_t last_durable_ms = 0;  // when the last message was seen durable
  StoreStats stats;
};

absl::StatusOr<Burst> WatchBurst(Session* session, uint64_t messages,
                                 int64_t due_ms) {
  const Bench& bench = session->bench();
  RETURN_IF_ERROR(bench.SleepUntilMs(due_ms - kAwakeMs));
  Progress progress(bench.console, bench.clock, "delivering", "messages",
                    messages);
  while (true) {
    const uint64_t seen = session->store().ReadyVersion();
    Burst burst;
    burst.stats = session->store().Stats();
    burst.last_durable_ms = bench.clock->NowMs();
    const uint64_t durable = burst.stats.lateness_us.count();
    if (durable >= messages) return burst;
    RETURN_IF_ERROR(burst.stats.failure);
    RETURN_IF_ERROR(bench.CheckStopped());
    if (burst.last_durable_ms > due_ms + kPatienceMs) {
      return absl::DataLossError(
          absl::StrCat("only ", durable, " of ", messages,
                       " messages became ready in ", kPatienceMs, " ms"));
    }
    progress.Update(durable);
    session->store().WaitReady(seen, absl::Milliseconds(100));
  }
}

}  // namespace

absl::StatusOr<Report> RunBurstJob(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  const BenchOptions& options = session->options();
  // The next whole second, so that all are of one slot.
  const Second second = SecondOf(bench.clock->NowMs() + options.start_ms) + 1;
  const PutPlan plan = {.size = options.size,
                        .from_ms = StartMs(second),
                        .spread_ms = options.spread_ms};
  ASSIGN_OR_RETURN(const PutTotals put, session->PutAll(plan, "putting"));
  const int64_t early_ms = plan.from_ms - bench.clock->NowMs();
  if (early_ms <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--start: the puts took ", -early_ms, " ms longer than it gave them; ",
        "a burst must be put before it is due"));
  }
  ASSIGN_OR_RETURN(const Burst burst,
                   WatchBurst(session.get(), put.messages, put.due_ms_max));

  Report report(options);
  const int64_t late_ms = burst.last_durable_ms - put.due_ms_max;
  report.Set("messages", put.messages);
  report.Set("delivered_messages", burst.stats.delivered_messages);
  report.Set("last_durable_after_due_ms", late_ms);
  report.Set("lateness_ms", Percentiles(burst.stats.lateness_us, 1000));
  // The clock's millisecond is all that is known of a small burst.
  const int64_t took_ms =
      std::max<int64_t>(burst.last_durable_ms - plan.from_ms, 1);
  report.Set("delivered_messages_per_s",
             PerSecond(put.messages, static_cast<double>(took_ms) / 1000));
  report.SetRate("put_", put.messages, put.seconds);
  report.Set("put_before_due_ms", early_ms);
  RETURN_IF_ERROR(session->Finish(put.messages * options.size, &report));
  return report;
}

}  // namespace hourglass
