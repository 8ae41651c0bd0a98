// File: due_lane.h
//
// A stretch of time on its way to delivery: the entries of the keys between
// what was taken and `covered`, in memory and in order; everything beyond
// `covered` is on disk. Loading moves `covered` forward, taking removes from
// the front, live arrivals join where they belong.
//
//   lane.Arrive(entry);                          // from the writer
//   if (auto want = lane.NextHourToLoad(...))    // for a preloader
//     lane.StartLoad(hour, generation) ... lane.Finish(result);
//   lane.Take(now_ms, …);                        // for the hand
//
// The hand-over between loader and live arrivals is by record number: a load
// covers the records up to n that stood in the index when it began, and every
// later arrival (number > n) is offered to the lane, which keeps those that
// fall into the stretch being loaded until the load ends. So none is lost and
// none is taken twice.
//
// Worked example, entries as due second, `|` = covered:
//   empty lane, now 10             [ ] | 10
//   load of hour 0, at most 3      [12 15 15] | 15      16.. stay on disk
//   arrival due 13                 [12 13 15 15] | 15
//   arrival due 40                 unchanged: it will be read from disk
//   Take(now 13)                   [15 15] | 15
//   load the next 3                [15 15 16 40] | end of hour
//
// Memory: at most `entries_max` entries and as many again while a load runs;
// when live arrivals push beyond it, the farthest half is dropped and
// `covered` moves back in front of it: the disk has them.
//
// Threads: under the owner's state lock.
//
// Keeps promises 3 and 7: what is due next, in a bounded window.
#ifndef HOURGLASS_WHEEL_DUE_LANE_H_
#define HOURGLASS_WHEEL_DUE_LANE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "hourglass/types.h"
#include "wheel/due_entry.h"
#include "wheel/second_level_wheel.h"
#include "wheel/slot_loader.h"

namespace hourglass {

class DueLane {
 public:
  // Owns the keys of seconds [begin, end).
  // `serial` differs between any two lanes of a store, so that a load of one
  // is never taken for a load of another.
  DueLane(Second begin, Second end, size_t entries_max, uint32_t serial);

  Second begin() const { return begin_; }
  Second end() const { return end_; }
  bool Owns(int64_t due_ms) const {
    return begin_ <= SecondOf(due_ms) && SecondOf(due_ms) < end_;
  }

  // A message was applied. Precondition: Owns(entry.due_ms).
  void Arrive(const DueEntry& entry);

  // The next due time in memory, if any.
  std::optional<int64_t> NextDueMs() const;

  // The earliest entry if it is due, removed; nothing else.
  std::optional<DueEntry> Pop(int64_t now_ms);
  // The earliest entry that Pop would give.
  const DueEntry* Peek() const;

  // Moves `covered` over hours without files, as far as the horizon's hour:
  // nothing has to be read for that.
  void CoverEmptyHours(const SecondLevelWheel& hours, int64_t horizon_ms);
  // The hour to load next, if one should be loaded to be covered up to
  // `horizon_ms` and there is room. Covers empty hours on the way.
  std::optional<Hour> NextHourToLoad(const SecondLevelWheel& hours,
                                     int64_t horizon_ms);
  // Fills in what is the lane's to say in a request, and begins the load.
  void BeginLoad(LoadRequest* request);
  // Takes the answer of the load that is running; any other is ignored.
  void FinishLoad(LoadResult result);
  bool Expects(uint64_t generation) const {
    return loading_ && generation == generation_;
  }
  bool loading() const { return loading_; }
  // Gives up what stands on disk in `hour`, and the load of it that runs.
  void PassOver(Hour hour);
  // The first second that is not covered completely.
  Second Covered() const { return SecondOf(NextKey().due_ms); }

  // The last hour of which entries may be in memory or on their way.
  Hour LastHour() const;

  // Gives up everything from `from` on (another lane takes it over).
  void CutTo(Second from);

  // Every second before it is taken, as far as this lane knows: no entry in
  // memory nor uncovered on disk is due before it. At most `end()`.
  Second Position() const;
  bool Done() const { return Position() == end_; }

  size_t entries() const { return run_.size() + live_.size(); }

 private:
  void PushLive(const DueEntry& entry);
  void PruneIfFull();
  // The first key that may be on disk only.
  DueKey NextKey() const;
  Hour Horizon(int64_t horizon_ms) const;
  DueKey LastKey() const { return DueKey::Before(StartMs(end_)); }

  Second begin_;
  Second end_;
  size_t entries_max_;
  DueKey covered_;
  std::deque<DueEntry> run_;    // loaded, sorted
  std::vector<DueEntry> live_;  // min-heap by key
  bool loading_ = false;
  uint64_t generation_;
  DueKey loading_until_;
  std::vector<DueEntry> arrived_while_loading_;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_DUE_LANE_H_
