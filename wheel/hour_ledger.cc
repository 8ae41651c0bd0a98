#include "wheel/hour_ledger.h"

namespace hourglass {

bool HourLedger::Claim(Hour hour, RecordNumber number) {
  Entry& entry = hours_[hour];
  if (entry.cancelled.Contains(number)) return false;
  return entry.claimed.Insert(number);
}

bool HourLedger::IsCancelled(Hour hour, RecordNumber number) const {
  const Entry* entry = Find(hour);
  return entry != nullptr && entry->cancelled.Contains(number);
}

bool HourLedger::IsClaimed(Hour hour, RecordNumber number) const {
  const Entry* entry = Find(hour);
  return entry != nullptr && entry->claimed.Contains(number);
}

void HourLedger::Shrink(Hour from, size_t bytes_max) {
  size_t held = bytes();
  for (auto at = hours_.end(); at != hours_.begin() && held > bytes_max;) {
    --at;
    if (at->first < from) return;
    Entry& entry = at->second;
    held -= entry.cancelled.bytes();
    entry.cancelled = NumberSet();
    entry.cancelled_complete = false;
    if (entry.claimed.empty()) at = hours_.erase(at);
  }
}

size_t HourLedger::bytes() const {
  size_t total = 0;
  for (const auto& [hour, entry] : hours_) {
    total += entry.claimed.bytes() + entry.cancelled.bytes();
  }
  return total;
}

}  // namespace hourglass
