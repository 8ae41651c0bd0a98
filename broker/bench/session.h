// File: session.h
//
// What every job needs: a directory, an open store, producers, and the
// closing account of bytes, memory and processor time.
//
//   ASSIGN_OR_RETURN(auto session, Session::Open(bench));
//   ASSIGN_OR_RETURN(PutTotals put, session->PutAll(plan, "putting"));
//   Report report(session->options());
//   RETURN_IF_ERROR(session->Finish(put.messages * size, &report));
//
// Threads: none of its own.
//
// Measures the store as a host would use it, promises and all.
#ifndef HOURGLASS_BROKER_BENCH_SESSION_H_
#define HOURGLASS_BROKER_BENCH_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "broker/bench/bench_console.h"
#include "broker/bench/bench_options.h"
#include "broker/bench/crew.h"
#include "broker/bench/data_dir.h"
#include "broker/bench/process_stats.h"
#include "broker/bench/put_work.h"
#include "broker/bench/report.h"
#include "hourglass/delay_store.h"

namespace hourglass {

// One run of `hourglass bench`.
struct Bench {
  BenchOptions options;
  const BenchConsole* console = nullptr;
  Clock* clock = RealClock();
  FileSystem* file_system = RealFileSystem();

  // CANCELLED if somebody asked to stop.
  absl::Status CheckStopped() const;
  // Sleeps, but not on after somebody asked to stop.
  absl::Status SleepUntilMs(int64_t when_ms) const;
  absl::StatusOr<StoreOptions> MakeStoreOptions() const;
};

struct PutTotals {
  uint64_t messages = 0;
  double seconds = 0;
  Histogram ack_us;
  int64_t due_ms_max = 0;
};

class Session {
 public:
  // A store in a fresh directory (see DataDir).
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Bench& bench);

  const BenchOptions& options() const { return bench_.options; }
  const Bench& bench() const { return bench_; }
  DelayStore& store() { return *store_; }
  const Path& dir() const { return dir_.path(); }
  // The directory stays though the session ends; the caller removes it.
  DataDir TakeDir() { return std::move(dir_); }

  // One PutWork a producer.
  std::vector<std::unique_ptr<PutWork>> MakePutWorks(const PutPlan& plan);
  // What the options say about `operations`.
  CrewPlan PlanFor(uint64_t operations) const;
  std::unique_ptr<Crew> MakeCrew(const CrewPlan& plan,
                                 std::vector<Work*> works);
  // Starts the crew, shows progress and waits until all is answered.
  absl::StatusOr<CrewResult> Drive(Crew* crew, const std::string& what,
                                   const std::string& unit, uint64_t total);

  // options().messages by options().producers.
  absl::StatusOr<PutTotals> PutAll(const PutPlan& plan,
                                   const std::string& what);
  absl::StatusOr<PutTotals> PutAll(
      const std::vector<std::unique_ptr<PutWork>>& works,
      const std::string& what);

  // Closes the store and reports what it and this process have used.
  // `body_bytes`: put in all, for the write amplification.
  absl::Status Finish(uint64_t body_bytes, Report* report);

 private:
  Session(const Bench& bench, DataDir dir, WindowList windows,
          std::unique_ptr<DelayStore> store, const ProcessStats& begin);
  static absl::StatusOr<std::unique_ptr<Session>> OpenIn(const Bench& bench,
                                                         DataDir dir);

  Bench bench_;
  DataDir dir_;
  // Before the store: its threads may be inside a window to the last.
  WindowList windows_;
  std::unique_ptr<DelayStore> store_;
  const ProcessStats begin_;
};

template <typename T>
std::vector<Work*> PointersTo(const std::vector<std::unique_ptr<T>>& works) {
  std::vector<Work*> pointers;
  pointers.reserve(works.size());
  for (const auto& work : works) pointers.push_back(work.get());
  return pointers;
}

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_SESSION_H_
