#include "wheel/hour_ledger.h"

#include <iterator>

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
  while (held > bytes_max && !hours_.empty()) {
    const auto last = std::prev(hours_.end());
    if (last->first < from) return;
    held -= last->second.claimed.bytes() + last->second.cancelled.bytes();
    hours_.erase(last);
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
