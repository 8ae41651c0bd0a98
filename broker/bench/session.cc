#include "broker/bench/session.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "broker/bench/progress.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
// What a message waiting for its acknowledgement counts for in
// unsynced_bytes_max beyond its body; more than it really is.
constexpr uint64_t kWaitingBytes = 512;

}  // namespace

absl::Status Bench::CheckStopped() const {
  if (!console->stopped()) return absl::OkStatus();
  return absl::CancelledError("stopped; nothing is reported");
}

absl::Status Bench::SleepUntilMs(int64_t when_ms) const {
  while (true) {
    RETURN_IF_ERROR(CheckStopped());
    const absl::Duration left = absl::Milliseconds(when_ms - clock->NowMs());
    if (left <= absl::ZeroDuration()) return absl::OkStatus();
    absl::SleepFor(std::min(left, kLook));
  }
}

absl::StatusOr<StoreOptions> Bench::MakeStoreOptions() const {
  StoreOptions store;
  ASSIGN_OR_RETURN(store.sync, ParseSyncPolicy(options.sync));
  store.retention_bytes = options.retention_bytes;
  store.clock = clock;
  store.file_system = file_system;
  return store;
}

Session::Session(const Bench& bench, DataDir dir, WindowList windows,
                 std::unique_ptr<DelayStore> store, const ProcessStats& begin)
    : bench_(bench),
      dir_(std::move(dir)),
      windows_(std::move(windows)),
      store_(std::move(store)),
      begin_(begin) {
  bench_.options.data = dir_.path().string();
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Bench& bench) {
  ASSIGN_OR_RETURN(
      DataDir dir,
      DataDir::Make(bench.file_system, bench.options.data, bench.options.keep));
  return OpenIn(bench, std::move(dir));
}

absl::StatusOr<std::unique_ptr<Session>> Session::OpenIn(const Bench& bench,
                                                         DataDir dir) {
  ASSIGN_OR_RETURN(const StoreOptions options, bench.MakeStoreOptions());
  const ProcessStats begin = ReadProcessStats();
  ASSIGN_OR_RETURN(auto store, DelayStore::Open(dir.path(), options));
  // With more on its way the store would refuse, and rightly so.
  Bench bounded = bench;
  bounded.options.in_flight = std::min(
      bench.options.in_flight,
      options.unsynced_bytes_max / (bench.options.size + kWaitingBytes));
  return std::unique_ptr<Session>(
      new Session(bounded, std::move(dir), {}, std::move(store), begin));
}

std::vector<std::unique_ptr<PutWork>> Session::MakePutWorks(
    const PutPlan& plan) {
  std::vector<std::unique_ptr<PutWork>> works;
  const uint32_t producers = options().producers;
  for (uint32_t i = 0; i < producers; ++i) {
    works.push_back(
        std::make_unique<PutWork>(store_.get(), bench_.clock, plan, i));
    // The crew's shares differ by one at most.
    if (plan.keep_handles) {
      works.back()->ReserveHandles(options().messages / producers + 1);
    }
  }
  return works;
}

CrewPlan Session::PlanFor(uint64_t operations) const {
  return {.operations = operations, .in_flight = options().in_flight};
}

std::unique_ptr<Crew> Session::MakeCrew(const CrewPlan& plan,
                                        std::vector<Work*> works) {
  return std::make_unique<Crew>(bench_.clock, &windows_, plan,
                                std::move(works));
}

absl::StatusOr<CrewResult> Session::Drive(Crew* crew, const std::string& what,
                                          const std::string& unit,
                                          uint64_t total) {
  {
    Progress progress(bench_.console, bench_.clock, what, unit, total);
    crew->Start();
    while (!crew->WaitFinished(kLook)) {
      progress.Update(crew->done());
      if (bench_.console->stopped()) crew->Stop();
    }
  }
  CrewResult result = crew->Join();
  RETURN_IF_ERROR(result.status);
  RETURN_IF_ERROR(bench_.CheckStopped());
  return result;
}

absl::StatusOr<PutTotals> Session::PutAll(const PutPlan& plan,
                                          const std::string& what) {
  return PutAll(MakePutWorks(plan), what);
}

absl::StatusOr<PutTotals> Session::PutAll(
    const std::vector<std::unique_ptr<PutWork>>& works,
    const std::string& what) {
  const uint64_t messages = options().messages;
  const auto crew = MakeCrew(PlanFor(messages), PointersTo(works));
  ASSIGN_OR_RETURN(const CrewResult result,
                   Drive(crew.get(), what, "messages", messages));
  PutTotals totals = {result.issued, result.seconds, result.ack_us, 0};
  for (const auto& work : works) {
    totals.due_ms_max = std::max(totals.due_ms_max, work->due_ms_max());
  }
  return totals;
}

absl::Status Session::Finish(uint64_t body_bytes, Report* report) {
  const ProcessStats open = ReadProcessStats();
  RETURN_IF_ERROR(store_->Close());
  const StoreStats stats = store_->Stats();
  RETURN_IF_ERROR(stats.failure);
  report->Set("log_bytes_written", stats.log_bytes_written);
  report->Set("hour_bytes_written", stats.hour_bytes_written);
  const uint64_t written = stats.log_bytes_written + stats.hour_bytes_written;
  report->Set("write_amplification",
              body_bytes == 0 ? 0.0
                              : Rounded(static_cast<double>(written) /
                                        static_cast<double>(body_bytes)));
  report->Set("groups", stats.groups);
  report->Set("syncs", stats.syncs);
  report->Set("checkpoints", stats.checkpoints);
  ProcessStats now = ReadProcessStats();
  // Closing gives memory back; the peak must not be below what was seen.
  now.rss_bytes = open.rss_bytes;
  now.rss_peak_bytes = std::max(now.rss_peak_bytes, open.rss_peak_bytes);
  report->SetProcess(begin_, now);
  return absl::OkStatus();
}

}  // namespace hourglass
