// File: hour_ledger.h
//
// Who won: for each hour that is being delivered or cancelled from, one bit a
// message for "claimed" (taken for delivery) and one for "cancelled". A
// message leaves the pending state through exactly one of the two, and both
// are decided under the state lock, so a cancel that was answered and a
// delivery never both happen (promises 2 and 4).
//
// Memory: n/8 bytes for an hour of n messages, only for hours touched; the
// cancelled bits of hours far ahead can be dropped (Forget) and read back
// from the hour's tombstones.
//
// Threads: under the owner's state lock.
#ifndef HOURGLASS_WHEEL_HOUR_LEDGER_H_
#define HOURGLASS_WHEEL_HOUR_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "hourglass/types.h"

namespace hourglass {

// A set of record numbers, one bit each.
class NumberSet {
 public:
  bool Contains(RecordNumber number) const {
    const size_t word = number.value() / 64;
    return word < words_.size() && (words_[word] >> number.value() % 64 & 1);
  }
  // False if it was in already.
  bool Insert(RecordNumber number) {
    const size_t word = number.value() / 64;
    // Doubling beyond the number that asked keeps growth cheap.
    if (word >= words_.size()) words_.resize(word + word / 2 + 1);
    const uint64_t bit = uint64_t{1} << number.value() % 64;
    if (words_[word] & bit) return false;
    words_[word] |= bit;
    return true;
  }
  bool empty() const { return words_.empty(); }
  size_t bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  std::vector<uint64_t> words_;
};

class HourLedger {
 public:
  struct Entry {
    NumberSet claimed;
    NumberSet cancelled;
    // The cancelled set holds every tombstone of the hour's files, not only
    // those since the store was opened.
    bool cancelled_complete = false;
  };

  Entry& At(Hour hour) { return hours_[hour]; }
  const Entry* Find(Hour hour) const {
    const auto at = hours_.find(hour);
    return at == hours_.end() ? nullptr : &at->second;
  }

  // True if the message was still pending; it is claimed then.
  bool Claim(Hour hour, RecordNumber number);
  bool IsCancelled(Hour hour, RecordNumber number) const;
  bool IsClaimed(Hour hour, RecordNumber number) const;

  void Erase(Hour hour) { hours_.erase(hour); }
  // Drops the cancelled bits of hours from `from` on, farthest first, until
  // all bits together take at most `bytes_max`. Claims are never dropped:
  // nothing else knows of them.
  void Shrink(Hour from, size_t bytes_max);

  size_t bytes() const;

 private:
  std::map<Hour, Entry> hours_;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_HOUR_LEDGER_H_
