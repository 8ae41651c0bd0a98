// File: hand.h
//
// The hand of the clock: knows what is due next, gives it out in order, and
// knows how far everything is delivered (the cursor). It never ticks through
// empty slots: NextWakeMs says when there is something to do, and an arrival
// that is due earlier moves that forward.
//
// Three sources, so that nothing waits behind something else for long:
//   fresh    what becomes due from now on, preloaded ahead of time
//   overdue  what was due while the store was down or too slow: a lane of its
//            own from the cursor to where `fresh` begins, read at full speed
//   late     messages of seconds the cursor has already passed (a clock that
//            was stepped back makes them)
// A batch takes late and fresh ones first, but leaves at least half of itself
// to overdue ones when there are any.
//
//   hand.Start(cursor, now_ms);
//   hand.Arrive(entry, offset);
//   auto batch = hand.Take(now_ms, 4096, 1 << 20);      // claims them
//   hand.marks().Sequenced(batch.token, from, to);
//   hand.Durable(log->durable(), now_ms);
//
// The clock: a step back never takes anything back; the cursor and the lanes
// stay where they are, and nothing is given out before the clock (again) shows
// its due time. A step forward makes things due.
//
// Invariants:
//   cursor() never falls.
//   Every second before cursor() has no pending message, but late ones.
//   A message is given out at most once (HourLedger::Claim), and never with
//   due_ms > now_ms.
//
// Threads: under the owner's state lock.
//
// Keeps promise 3: nothing is taken before its millisecond.
#ifndef HOURGLASS_WHEEL_HAND_H_
#define HOURGLASS_WHEEL_HAND_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hourglass/types.h"
#include "wheel/delivery_marks.h"
#include "wheel/due_entry.h"
#include "wheel/due_lane.h"
#include "wheel/hour_ledger.h"
#include "wheel/second_level_wheel.h"

namespace hourglass {

struct HandOptions {
  size_t entries_max = 1u << 20;      // in memory, all lanes together
  int64_t preload_ahead_ms = 60'000;  // lanes are loaded this far ahead
  // The fresh lane is split when it is this far behind: the old part goes on
  // as overdue, and what becomes due now no longer waits behind it.
  int64_t split_after_ms = 3'000;
};

class Hand {
 public:
  Hand(const HandOptions& options, const SecondLevelWheel* hours,
       HourLedger* ledger);

  // Every second before `cursor` is delivered.
  void Start(Second cursor, int64_t now_ms);

  // A Delayed record at `offset` was applied.
  void Arrive(const DueEntry& entry, LogOffset offset);

  struct Batch {
    std::vector<DueEntry> entries;  // in delivery order, claimed
    DeliveryMarks::Token token = 0;
    // Entries that were delivered before were passed over: there is room in
    // the window, and what is due now may not have been loaded yet.
    bool passed_over = false;
  };
  // Up to `count_max` messages and about `bytes_max` bytes that are due.
  Batch Take(int64_t now_ms, size_t count_max, size_t bytes_max);
  // `later`, some entries of the open batch `of`, as a batch of their own:
  // they stay in flight when that one is done.
  Batch Split(DeliveryMarks::Token of, std::vector<DueEntry> later);

  // The log is durable up to here: batches may be complete.
  void Durable(LogOffset durable, int64_t now_ms);
  DeliveryMarks& marks() { return marks_; }

  // Which lane wants which hour loaded now. The caller makes a request with
  // the hour's segment, calls BeginLoad, loads without the lock, and gives
  // the result to FinishLoad.
  enum class LaneId { kFresh, kOverdue };
  struct Want {
    LaneId lane;
    Hour hour;
  };
  std::optional<Want> NextLoad(int64_t now_ms);
  void BeginLoad(LaneId lane, LoadRequest* request);
  // Finds the lane by the result's generation.
  void FinishLoad(LoadResult result);
  // The hour cannot be read: the lane goes on behind it.
  void PassOver(LaneId lane, Hour hour);
  // The same for a load that had begun: finds the lane by the generation,
  // because the lane may have become the overdue one meanwhile. False if
  // nobody waits for that load any more.
  bool PassOver(uint64_t generation, Hour hour);
  // The first second that the lane may still have to load.
  Second Covered(LaneId lane);

  // The last hour of which entries may be in memory or on their way.
  Hour LastHour() const;

  Second cursor() const { return cursor_; }
  // Where recovery must start to read, if the log is applied up to `applied`.
  LogOffset ReplayFrom(LogOffset applied);

  // When Take or NextLoad may have something to do: a due time, or now.
  // INT64_MAX if nothing is known.
  int64_t NextWakeMs(int64_t now_ms) const;
  // Due time of the earliest message in memory; 0 = none.
  int64_t NextDueMs() const;

  size_t entries() const;
  size_t late() const { return late_.size(); }
  // Pending, though the cursor is past its second.
  bool IsLate(DueKey key) const { return late_.contains(key); }
  bool HasLateIn(Hour hour) const;
  // The message was cancelled: if it is late, nothing waits for it any more.
  void Cancelled(DueKey key) { late_.erase(key); }

 private:
  struct Late {
    DueEntry entry;
    LogOffset offset;  // of its Delayed record: recovery must read it
  };
  struct LateInFlight {
    DeliveryMarks::Token token;
    Late late;
  };

  std::optional<DueEntry> PopFrom(DueLane* lane, int64_t now_ms, Batch* batch);
  // Both return about how many bytes they took.
  size_t TakeLate(int64_t now_ms, size_t count_max, size_t bytes_max,
                  Batch* batch);
  size_t TakeLane(DueLane* lane, int64_t now_ms, size_t count_max,
                  size_t bytes_max, Batch* batch);
  DeliveryMarks::Token Mark(const std::vector<DueEntry>& entries);
  DueLane MakeLane(Second begin);
  void SplitIfBehind(int64_t now_ms);
  void MoveCursor(int64_t now_ms);
  DueLane* lane(LaneId id);

  const HandOptions options_;
  const SecondLevelWheel* const hours_;
  HourLedger* const ledger_;
  Second cursor_;
  uint32_t lanes_made_ = 0;
  std::optional<DueLane> fresh_;
  std::optional<DueLane> overdue_;
  // By due time, then arrival.
  std::map<DueKey, Late> late_;
  std::vector<LateInFlight> late_in_flight_;
  DeliveryMarks marks_;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_HAND_H_
