// File: put_work.h
//
// A producer of messages for the jobs. Cheap, since it shares two cores with
// the store: one view and one body are used again for every message, ids are
// made by the store, and only one answer in sixteen is timed.
//
//   PutWork work(store, clock, {.size = 256, .from_ms = t, .spread_ms = 1000},
//                seed);
//
// Threads: none of its own; one PutWork a producer.
//
// Measures promise 1: what is put, and when it is durable.
#ifndef HOURGLASS_BROKER_BENCH_PUT_WORK_H_
#define HOURGLASS_BROKER_BENCH_PUT_WORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/bench/crew.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/random.h"

namespace hourglass {

inline constexpr char kBenchTopic[] = "bench";

struct PutPlan {
  uint64_t size = 256;
  // Due at from_ms + a random part of spread_ms; `from_now`: counted from the
  // moment of the put.
  int64_t from_ms = 0;
  int64_t spread_ms = 0;
  bool from_now = false;
  bool keep_handles = false;
};

class PutWork final : public Work {
 public:
  PutWork(DelayStore* store, Clock* clock, const PutPlan& plan, uint64_t seed);

  void Issue(uint64_t index, Window* window) override;

  // When the crew has finished: the latest due time, and the handles.
  int64_t due_ms_max() const { return due_ms_max_; }
  const std::vector<Handle>& handles() const { return handles_; }
  // Before the crew starts: how many handles there will be.
  void ReserveHandles(uint64_t count) { handles_.resize(count); }

 private:
  int64_t NextDueMs();
  void PutAndWait(Window* window);
  void PutForHandle(Handle* handle, Window* window);

  DelayStore* const store_;
  Clock* const clock_;
  const PutPlan plan_;
  Random random_;
  std::string body_;
  MessageView message_;
  int64_t due_ms_max_ = 0;
  std::vector<Handle> handles_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_PUT_WORK_H_
