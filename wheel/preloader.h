// File: preloader.h
//
// Loads the slots ahead of the hand: asks it which hour a lane wants, reads
// that hour's index without the state lock, and gives the entries back.
//
//   while (preloader.RunOnce(now_ms)) {}
//
// An hour whose files cannot be read does not stop the rest: it is reported
// (`lost`) and passed over; so is a single damaged index record, unless its
// frame in the DelayLog makes up for it, which is told too. Each is reported
// once. Only damage is: an error that may pass (no file handle free,
// say) leaves the hour where it is, and the next RunOnce tries again.
//
// Threads: RunOnce from any number of workers; takes the state lock itself.
//
// Keeps promises 6 and 7: reads ahead in bounds, around damage.
#ifndef HOURGLASS_WHEEL_PRELOADER_H_
#define HOURGLASS_WHEEL_PRELOADER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "storage/hour_table.h"
#include "storage/mutex.h"
#include "wheel/first_level_wheel.h"
#include "wheel/hand.h"
#include "wheel/slot_loader.h"

namespace hourglass {

class Preloader {
 public:
  // `lost(count, why)`: so many messages cannot be read; 0: damage that cost
  // none. Called without lock.
  using Lost = std::function<void(uint64_t count, const std::string& why)>;

  Preloader(Mutex* mu, Hand* hand, HourTable* hours, FirstLevelWheel* wheel,
            int64_t preload_ahead_ms, Lost lost);

  // One load, if a lane wants one. True if it did.
  bool RunOnce(int64_t now_ms);

  uint64_t sweeps() const { return sweeps_.load(); }
  uint64_t walks() const { return walks_.load(); }
  // Damaged index records that were made again from the DelayLog.
  uint64_t rescued() const { return rescued_.load(); }

 private:
  // Under the state lock.
  absl::Status Prepare(const Hand::Want& want, LoadRequest* request);
  void PrepareWalk(const Hand::Want& want, LoadRequest* request);
  // How many messages of the hour nobody was told of yet; remembers them.
  uint64_t LoseHour(Hour hour) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Without it.
  void Report(Hour hour, uint64_t lost, const absl::Status& why);
  void ReportDamaged(const LoadResult& result);
  using Reported = std::map<Hour, NumberSet>;
  bool IsNews(Reported* reported, Hour hour, RecordNumber number);

  Mutex* const mu_;
  Hand* const hand_;
  HourTable* const hours_;
  FirstLevelWheel* const wheel_;
  const int64_t preload_ahead_ms_;
  const Lost lost_;
  std::atomic<uint64_t> sweeps_{0};
  std::atomic<uint64_t> walks_{0};
  std::atomic<uint64_t> rescued_{0};

  // What was reported. An hour is read several times when it does not fit
  // into memory, and damage met again must not be counted again.
  // A record that was rescued may be past rescue when it is met again.
  Reported damaged_ ABSL_GUARDED_BY(mu_);
  Reported rescued_before_ ABSL_GUARDED_BY(mu_);
  std::set<Hour> unreadable_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_PRELOADER_H_
