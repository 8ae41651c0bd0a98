// File: writer.h
//
// The one thread that owns the tail of the commit log, and those beside it
// that wait for the disk and tell who waits. Keeps promise 1.
//
//   gather -> Sequencer::Fill (state lock) -> write + sync -> tell everybody
//
// A thread each, and a few groups that go round, so that one is filled and one
// is told while one is on its way to the disk. A small group is written and
// told by the thread that filled it: handing it over would cost a lone
// producer more than it gains.
//
// A failed write or sync stops the store: every waiter and every later op
// gets UNAVAILABLE with the reason, and nothing is written any more. A disk
// without room for the next log file is not a failure: ops are refused with
// RESOURCE_EXHAUSTED, deliveries wait, and both go on when there is room.
//
// Threads: Start makes four (the fourth makes log files ahead of need); with
// StoreOptions::threads == false, RunOnce does one group in the caller's.
#ifndef HOURGLASS_BROKER_WRITER_H_
#define HOURGLASS_BROKER_WRITER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "broker/commit_group.h"
#include "broker/delivered_batch.h"
#include "broker/sequencer.h"
#include "broker/staging.h"
#include "hourglass/histogram.h"
#include "recovery/store_state.h"
#include "storage/mutex.h"

namespace hourglass {

class Writer {
 public:
  // `on_arrival(due_ms)`: something due at that time was placed.
  // `on_durable(ready)`: the log is durable further on; `ready` messages
  // became readable. Both without any lock held.
  struct Listener {
    std::function<void(int64_t due_ms)> on_arrival;
    std::function<void(uint64_t ready)> on_durable;
    // Before on_durable, if messages became readable.
    std::function<void(const CommitGroup&)> on_ready = nullptr;
  };

  Writer(StoreState* state, Staging* staging, Listener listener);
  ~Writer();

  void Start();
  // Writes what is staged, then ends both threads.
  void Stop();

  void Submit(std::unique_ptr<DeliveredBatch> batch);

  // One group: fill, write, tell. True if there was one.
  bool RunOnce();
  // When RunOnce should be called again though nothing new came, because
  // what there is waits for room on the disk; INT64_MAX: it waits for nothing.
  int64_t NextWakeMs(int64_t now_ms) const;

  // What consumers may see: acknowledged, by the sync policy.
  LogOffset acknowledged() const { return LogOffset(acknowledged_.load()); }

  struct Counters {
    uint64_t groups = 0;
    uint64_t syncs = 0;
    uint64_t bytes = 0;
    Histogram lateness_us;
    Histogram sync_us;
  };
  Counters GetCounters();
  const Sequencer::Counters& sequenced() const { return sequencer_.counters(); }

 private:
  void FillLoop();
  void DiskLoop();
  void TellLoop();
  // Makes log files ahead of need, so that a full one is no pause.
  void PrepareLoop();
  bool Gather();
  absl::Status Fill(CommitGroup* group);
  // False if what waits does not fit into the log's current file, and there
  // is no room for another.
  bool LogHasRoom();
  void RefuseOps();
  // Write, sync, tell.
  void Commit(CommitGroup* group);
  absl::Status WriteAndSync(CommitGroup* group);
  bool SyncIsDue(const CommitGroup& group) const;
  void Tell(CommitGroup* group, const absl::Status& status);
  void RecordLateness(const CommitGroup& group);
  void FailWork(CommitGroup* group, const absl::Status& why);
  // An idle interval store syncs what it wrote last.
  void StageIntervalSync();
  void Fail(const absl::Status& status);
  absl::Status Failure();
  CommitGroup* TakeFree();
  void GiveBack(CommitGroup* group);
  void HandOver(CommitGroup* group);

  StoreState* const state_;
  Staging* const staging_;
  const Listener listener_;
  Sequencer sequencer_;
  std::vector<std::unique_ptr<CommitGroup>> groups_;
  std::atomic<uint64_t> acknowledged_;
  int64_t last_sync_ns_ = 0;

  Mutex submit_mu_;
  std::vector<std::unique_ptr<DeliveredBatch>> submitted_
      ABSL_GUARDED_BY(submit_mu_);

  Mutex hand_over_mu_;
  CondVar handed_over_;
  std::vector<CommitGroup*> free_ ABSL_GUARDED_BY(hand_over_mu_);
  CommitGroup* full_ ABSL_GUARDED_BY(hand_over_mu_) = nullptr;
  bool disk_busy_ ABSL_GUARDED_BY(hand_over_mu_) = false;
  bool disk_stop_ ABSL_GUARDED_BY(hand_over_mu_) = false;
  // On the disk, and to be told in this order.
  std::deque<CommitGroup*> written_ ABSL_GUARDED_BY(hand_over_mu_);
  bool tell_stop_ ABSL_GUARDED_BY(hand_over_mu_) = false;

  Mutex counters_mu_;
  Counters counters_ ABSL_GUARDED_BY(counters_mu_);

  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::thread fill_thread_;
  std::thread disk_thread_;
  std::thread tell_thread_;

  Mutex prepare_mu_;
  CondVar prepare_;
  bool prepare_stop_ ABSL_GUARDED_BY(prepare_mu_) = false;
  std::thread prepare_thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_WRITER_H_
