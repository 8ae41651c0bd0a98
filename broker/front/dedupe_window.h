// File: dedupe_window.h
//
// Sends that are tried again: the same message id in the same topic within a
// time gets the answer of the first, and nothing is put twice.
//
//   PutResult known;
//   switch (window.Begin(topic, id, now_ms, &known, waiter)) {
//     case DedupeWindow::kFirst:  Put(..., then window.End(topic, id, ...));
//     case DedupeWindow::kKnown:  answer with `known`;
//     case DedupeWindow::kWaits:  the first is under way; `waiter` will run
//   }
//
// A first that failed is forgotten: the next try is a first again.
//
//   window.Restore(topic, id, written_ms, put);  // at the start, in log order
//
// Limitations: it lies in memory. After a restart it knows what Restore was
// told: the newest puts of the commit log. At more than entries_max sends in
// window_ms the oldest are forgotten early.
//
// Threads: any. `waiter` runs in the thread that calls End.
//
// Serves promise 2: what a client sends once is not put twice.
#ifndef HOURGLASS_BROKER_FRONT_DEDUPE_WINDOW_H_
#define HOURGLASS_BROKER_FRONT_DEDUPE_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "hourglass/delay_store.h"
#include "storage/mutex.h"

namespace hourglass {

class DedupeWindow {
 public:
  enum Place { kFirst, kKnown, kWaits };
  using Waiter = absl::AnyInvocable<void(const absl::StatusOr<PutResult>&)>;

  // window_ms 0: every send is a first.
  DedupeWindow(int64_t window_ms, size_t entries_max);

  // `*waiter` is taken only with kWaits.
  Place Begin(std::string_view topic, std::string_view id, int64_t now_ms,
              PutResult* known, Waiter* waiter);
  // Exactly once for each kFirst.
  void End(std::string_view topic, std::string_view id, int64_t now_ms,
           const absl::StatusOr<PutResult>& result);

  // What was put before the window was there. Before the first Begin; later
  // ones of an id win.
  void Restore(std::string_view topic, std::string_view id, int64_t ended_ms,
               const PutResult& put);

  size_t size() const;

 private:
  struct Entry {
    bool ended = false;
    int64_t ended_ms = 0;
    Handle handle;
    LogOffset offset;
    std::vector<Waiter> waiters;
  };
  // Each has its own lock, so that senders seldom meet.
  struct Shard {
    mutable Mutex mu;
    std::unordered_map<std::string, Entry> entries ABSL_GUARDED_BY(mu);
    // Those that ended, by time; the keys are the map's.
    std::deque<const std::string*> ended ABSL_GUARDED_BY(mu);
  };

  Shard& ShardOf(const std::string& key);
  void Forget(Shard* shard, int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mu);

  static constexpr size_t kShards = 16;
  const int64_t window_ms_;
  const size_t entries_max_;  // of a shard
  std::array<Shard, kShards> shards_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_DEDUPE_WINDOW_H_
