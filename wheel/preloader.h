// File: preloader.h
//
// Loads the slots ahead of the hand: asks it which hour a lane wants, reads
// that hour's index without the state lock, and gives the entries back.
//
//   while (preloader.RunOnce(now_ms)) {}
//
// An hour whose files cannot be read does not stop the rest: it is reported
// (`lost`) and passed over; so is a single damaged index record.
//
// Threads: RunOnce from any number of workers; takes the state lock itself.
#ifndef HOURGLASS_WHEEL_PRELOADER_H_
#define HOURGLASS_WHEEL_PRELOADER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "storage/hour_table.h"
#include "storage/mutex.h"
#include "wheel/first_level_wheel.h"
#include "wheel/hand.h"
#include "wheel/slot_loader.h"

namespace hourglass {

class Preloader {
 public:
  // `lost(count, why)`: so many messages cannot be read. Called without lock.
  using Lost = std::function<void(uint64_t count, const std::string& why)>;

  Preloader(Mutex* mu, Hand* hand, HourTable* hours, FirstLevelWheel* wheel,
            int64_t preload_ahead_ms, Lost lost);

  // One load, if a lane wants one. True if it did.
  bool RunOnce(int64_t now_ms);

  uint64_t sweeps() const { return sweeps_.load(); }
  uint64_t walks() const { return walks_.load(); }

 private:
  // Under the state lock.
  absl::Status Prepare(const Hand::Want& want, LoadRequest* request);
  void PassOver(const Hand::Want& want, const absl::Status& why);

  Mutex* const mu_;
  Hand* const hand_;
  HourTable* const hours_;
  FirstLevelWheel* const wheel_;
  const int64_t preload_ahead_ms_;
  const Lost lost_;
  std::atomic<uint64_t> sweeps_{0};
  std::atomic<uint64_t> walks_{0};
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_PRELOADER_H_
