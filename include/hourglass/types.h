// File: types.h
//
// The strong types of Hourglass: an hour, a slot, a record number and a log
// offset are all integers, and mixing them up would be a silent bug. Here it
// does not compile.
//
//   Hour hour = HourOf(due_ms);               // UTC hour since 1970
//   Slot slot = SlotOf(due_ms);               // second inside the hour
//   RecordNumber first{1};                    // numbers start at 1
//   LogOffset end = start + 512;              // offsets move by plain bytes
//
// Times are plain `int64_t` with their unit in the name (`due_ms`), always
// UTC milliseconds since 1970, never negative.
//
// Serves promises 2 and 3: a number of one kind is never taken for another.
#ifndef HOURGLASS_TYPES_H_
#define HOURGLASS_TYPES_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace hourglass {

// An integer with a name. Comparable with its own kind only; `+` and `-` take
// a plain count, and the difference of two is a plain count.
template <typename Tag, typename Rep>
class StrongInt {
 public:
  using rep = Rep;
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongInt&) const = default;

  constexpr StrongInt& operator++() {
    ++value_;
    return *this;
  }
  constexpr StrongInt& operator+=(Rep n) {
    value_ += n;
    return *this;
  }
  friend constexpr StrongInt operator+(StrongInt a, Rep n) {
    return StrongInt(static_cast<Rep>(a.value_ + n));
  }
  friend constexpr StrongInt operator-(StrongInt a, Rep n) {
    return StrongInt(static_cast<Rep>(a.value_ - n));
  }
  friend constexpr Rep operator-(StrongInt a, StrongInt b) {
    return static_cast<Rep>(a.value_ - b.value_);
  }
  static constexpr StrongInt Max() {
    return StrongInt(std::numeric_limits<Rep>::max());
  }
  template <typename H>
  friend H AbslHashValue(H h, StrongInt v) {
    return H::combine(std::move(h), v.value_);
  }

 private:
  Rep value_ = 0;
};

// Byte position in the commit log, counted over all its files.
using LogOffset = StrongInt<struct LogOffsetTag, uint64_t>;
// UTC hours since 1970-01-01T00Z.
using Hour = StrongInt<struct HourTag, int32_t>;
// Number of a record inside its hour: 1 is the first, 0 means none.
using RecordNumber = StrongInt<struct RecordNumberTag, uint32_t>;
// One second inside an hour: 0..3599.
using Slot = StrongInt<struct SlotTag, uint32_t>;
// UTC seconds since 1970: one slot on the line of all hours.
using Second = StrongInt<struct SecondTag, int64_t>;
// Position in a topic's consume queue: 0 is its first message ever.
using QueueIndex = StrongInt<struct QueueIndexTag, uint64_t>;

inline constexpr int64_t kMsPerSecond = 1000;
inline constexpr int64_t kMsPerHour = 3'600'000;
inline constexpr uint32_t kSlotsPerHour = 3600;

constexpr Hour HourOf(int64_t due_ms) {
  return Hour(static_cast<int32_t>(due_ms / kMsPerHour));
}
constexpr Slot SlotOf(int64_t due_ms) {
  return Slot(static_cast<uint32_t>(due_ms % kMsPerHour / kMsPerSecond));
}
constexpr uint32_t MsIntoHour(int64_t due_ms) {
  return static_cast<uint32_t>(due_ms % kMsPerHour);
}
constexpr int64_t StartMs(Hour hour) { return hour.value() * kMsPerHour; }
constexpr Second SecondOf(int64_t ms) { return Second(ms / kMsPerSecond); }
constexpr int64_t StartMs(Second second) {
  return second.value() * kMsPerSecond;
}
constexpr Hour HourOf(Second second) {
  return Hour(static_cast<int32_t>(second.value() / kSlotsPerHour));
}

}  // namespace hourglass

#endif  // HOURGLASS_TYPES_H_
