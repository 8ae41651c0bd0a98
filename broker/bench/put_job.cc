// `hourglass bench put`.
#include "broker/bench/disk_rate.h"
#include "broker/bench/jobs.h"
#include "storage/status_macros.h"

namespace hourglass {

absl::StatusOr<Report> RunPutJob(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  const BenchOptions& options = session->options();
  ASSIGN_OR_RETURN(const StoreOptions store_options, bench.MakeStoreOptions());
  DiskRate disk(session->dir(), store_options);
  const bool against_disk = options.producers == 1 && options.in_flight == 1;
  if (against_disk) {
    RETURN_IF_ERROR(disk.MeasureFor(options.disk_seconds / 2));
  }
  const PutPlan plan = {.size = options.size,
                        .from_ms = bench.clock->NowMs() + options.start_ms,
                        .spread_ms = options.spread_ms};
  ASSIGN_OR_RETURN(const PutTotals put, session->PutAll(plan, "putting"));

  Report report(options);
  report.SetRate("", put.messages, put.seconds);
  report.Set("ack_us", Percentiles(put.ack_us));
  if (against_disk) {
    RETURN_IF_ERROR(disk.MeasureFor(options.disk_seconds / 2));
    const double rate = static_cast<double>(put.messages) / put.seconds;
    report.Set("disk_fdatasync_per_s",
               static_cast<uint64_t>(disk.syncs_per_s()));
    report.Set("disk_fdatasync_us", Percentiles(disk.sync_us()));
    report.Set("ratio", Rounded(rate / disk.syncs_per_s()));
  }
  RETURN_IF_ERROR(session->Finish(put.messages * options.size, &report));
  return report;
}

}  // namespace hourglass
