// `hourglass bench cancel`: in random order, which is the hardest: no two
// cancels in a row are of the same hour.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "broker/bench/jobs.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr uint64_t kTimedOneIn = 16;
constexpr std::array kAnswers = {CancelAnswer::kCancelled,
                                 CancelAnswer::kAlreadyDelivered,
                                 CancelAnswer::kNeverExisted};

// How often each answer came. Only the store's answering thread counts.
struct Answers {
  std::array<std::atomic<uint64_t>, kAnswers.size()> counts{};

  void Count(CancelAnswer answer) {
    counts[static_cast<size_t>(answer)].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t Of(CancelAnswer answer) const {
    return counts[static_cast<size_t>(answer)];
  }
};

class CancelWork final : public Work {
 public:
  // Cancels handles[first], handles[first + stride], ...
  CancelWork(DelayStore* store, Clock* clock,
             const std::vector<Handle>* handles, size_t first, size_t stride)
      : store_(store),
        clock_(clock),
        handles_(handles),
        first_(first),
        stride_(stride) {}

  void Issue(uint64_t index, Window* window) override {
    const Handle& handle = (*handles_)[first_ + index * stride_];
    if (index % kTimedOneIn == 0 || window->limit() == 1) {
      return IssueTimed(handle, window);
    }
    // Two pointers fit into the callback itself: no allocation.
    store_->CancelAsync(handle,
                        [this, window](absl::StatusOr<CancelAnswer> answer) {
                          if (answer.ok()) answers_.Count(*answer);
                          window->Done(answer.status());
                        });
  }
  uint64_t Of(CancelAnswer answer) const { return answers_.Of(answer); }

 private:
  void IssueTimed(const Handle& handle, Window* window) {
    const int64_t begin_ns = clock_->MonotonicNs();
    store_->CancelAsync(
        handle, [this, window, begin_ns](absl::StatusOr<CancelAnswer> answer) {
          if (answer.ok()) answers_.Count(*answer);
          window->DoneSince(begin_ns, answer.status());
        });
  }

  DelayStore* const store_;
  Clock* const clock_;
  const std::vector<Handle>* const handles_;
  const size_t first_;
  const size_t stride_;
  Answers answers_;
};

// The handles of what was put, shuffled, as many as are to be cancelled.
std::vector<Handle> PickHandles(
    const std::vector<std::unique_ptr<PutWork>>& works, uint64_t count) {
  std::vector<Handle> handles;
  for (const auto& work : works) {
    for (const Handle& handle : work->handles()) {
      if (!handle.IsNone()) handles.push_back(handle);
    }
  }
  Random random(1);
  for (size_t i = handles.size(); i > 1; --i) {
    std::swap(handles[i - 1], handles[random.Uniform(i)]);
  }
  if (count > 0 && count < handles.size()) handles.resize(count);
  return handles;
}

std::vector<std::unique_ptr<CancelWork>> MakeCancelWorks(
    Session* session, const std::vector<Handle>& handles) {
  std::vector<std::unique_ptr<CancelWork>> works;
  const uint32_t producers = session->options().producers;
  for (uint32_t i = 0; i < producers; ++i) {
    works.push_back(std::make_unique<CancelWork>(
        &session->store(), session->bench().clock, &handles, i, producers));
  }
  return works;
}

absl::Status CheckCounts(const PutTotals& put, uint64_t cancelled,
                         uint64_t asked, const StoreStats& stats) {
  if (cancelled == asked &&
      stats.pending_messages == put.messages - cancelled) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      put.messages, " messages were put, ", asked, " cancels asked for, ",
      cancelled, " answered as cancelled, ", stats.pending_messages,
      " messages wait"));
}

}  // namespace

absl::StatusOr<Report> RunCancelJob(const Bench& bench) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(bench));
  const BenchOptions& options = session->options();
  const auto puts =
      session->MakePutWorks({.size = options.size,
                             .from_ms = bench.clock->NowMs() + options.start_ms,
                             .spread_ms = options.spread_ms,
                             .keep_handles = true});
  ASSIGN_OR_RETURN(const PutTotals put, session->PutAll(puts, "putting"));
  const std::vector<Handle> handles = PickHandles(puts, options.cancels);

  const auto works = MakeCancelWorks(session.get(), handles);
  const auto crew =
      session->MakeCrew(session->PlanFor(handles.size()), PointersTo(works));
  ASSIGN_OR_RETURN(
      const CrewResult cancel,
      session->Drive(crew.get(), "cancelling", "cancels", handles.size()));

  Report report(options);
  Json answers;
  for (const CancelAnswer answer : kAnswers) {
    uint64_t count = 0;
    for (const auto& work : works) count += work->Of(answer);
    std::string name(CancelAnswerName(answer));
    std::replace(name.begin(), name.end(), ' ', '_');
    answers[name] = count;
  }
  report.Set("messages", put.messages);
  report.Set("cancels", cancel.issued);
  report.Set("seconds", Rounded(cancel.seconds));
  report.Set("cancels_per_s", PerSecond(cancel.issued, cancel.seconds));
  report.Set("answers", answers);
  report.Set("ack_us", Percentiles(cancel.ack_us));
  report.SetRate("put_", put.messages, put.seconds);
  const uint64_t cancelled = answers["cancelled"];
  RETURN_IF_ERROR(
      CheckCounts(put, cancelled, handles.size(), session->store().Stats()));
  RETURN_IF_ERROR(session->Finish(put.messages * options.size, &report));
  return report;
}

}  // namespace hourglass
