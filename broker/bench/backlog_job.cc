// `hourglass bench backlog`.
#include "absl/strings/str_cat.h"
#include "broker/bench/backlog.h"
#include "broker/bench/jobs.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// The directory of the hour segments (docs/formats.md).
constexpr char kHoursDir[] = "hours";
// What a pending message may take beyond its body, and what the store may
// hold besides: enough to refuse a fill that cannot end well.
constexpr uint64_t kOverheadBytes = 128;
constexpr uint64_t kBesideBytes = 2ull << 30;

absl::Status CheckRoom(const Session& session) {
  const BenchOptions& options = session.options();
  const uint64_t copies = options.retention_bytes == 0 ? 2 : 1;
  const uint64_t wanted =
      options.messages * (options.size + kOverheadBytes) * copies +
      options.retention_bytes + kBesideBytes;
  ASSIGN_OR_RETURN(const uint64_t free,
                   session.bench().file_system->FreeSpace(session.dir()));
  if (free >= wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(session.dir().string(), ": ", options.messages,
                   " messages of ", options.size, " bytes need about ",
                   wanted >> 30, " GiB; ", free >> 30, " GiB are free"));
}

}  // namespace

absl::StatusOr<PutTotals> FillBacklog(Session* session) {
  RETURN_IF_ERROR(CheckRoom(*session));
  const BenchOptions& options = session->options();
  return session->PutAll(
      {.size = options.size,
       .from_ms = session->bench().clock->NowMs() + options.start_ms,
       .spread_ms = options.spread_ms},
      "filling");
}

absl::StatusOr<Report> RunBacklogJob(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  const BenchOptions& options = session->options();
  ASSIGN_OR_RETURN(const PutTotals put, FillBacklog(session.get()));
  const StoreStats stats = session->store().Stats();
  if (stats.pending_messages != put.messages) {
    return absl::DataLossError(absl::StrCat(put.messages,
                                            " messages were put, but ",
                                            stats.pending_messages, " wait"));
  }
  Report report(options);
  report.SetRate("", put.messages, put.seconds);
  report.Set("ack_us", Percentiles(put.ack_us));
  report.Set("pending_messages", stats.pending_messages);
  report.Set("hour_files", stats.hour_files);
  const uint64_t body_bytes = put.messages * options.size;
  RETURN_IF_ERROR(session->Finish(body_bytes, &report));
  // After closing: nothing is in a buffer any more.
  ASSIGN_OR_RETURN(const uint64_t hour_bytes,
                   FileBytes(bench.file_system, session->dir() / kHoursDir));
  report.Set("hour_file_bytes", hour_bytes);
  const double beyond =
      static_cast<double>(hour_bytes) - static_cast<double>(body_bytes);
  report.Set("hour_bytes_per_message_beyond_body",
             Rounded(beyond / static_cast<double>(put.messages)));
  return report;
}

}  // namespace hourglass
