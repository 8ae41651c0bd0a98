// File: bucket_set.h
//
// Which buckets of a wheel are not empty: one bit each, and above them one
// bit for each word of 64, and so on up to a single word. So the next
// non-empty bucket of a million is found in a few steps, and a hand jumps
// over an empty hour instead of ticking through it.
//
//   BucketSet set(512);
//   set.Insert(7);
//   set.NextFrom(3);   // 7
//   set.NextFrom(8);   // nullopt: it does not wrap; NextAround does
//
// Threads: none.
//
// Serves promise 7: empty time costs nothing.
#ifndef HOURGLASS_TIMERS_BUCKET_SET_H_
#define HOURGLASS_TIMERS_BUCKET_SET_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hourglass {

class BucketSet {
 public:
  explicit BucketSet(size_t buckets) : buckets_(buckets) {
    size_t words = buckets;
    do {
      words = (words + 63) / 64;
      levels_.emplace_back(words);
    } while (words > 1);
  }

  void Insert(size_t bucket) {
    for (Words& level : levels_) {
      uint64_t& word = level[bucket / 64];
      const bool above_knows = word != 0;
      word |= Bit(bucket);
      if (above_knows) return;
      bucket /= 64;
    }
  }

  void Remove(size_t bucket) {
    for (Words& level : levels_) {
      uint64_t& word = level[bucket / 64];
      word &= ~Bit(bucket);
      if (word != 0) return;
      bucket /= 64;
    }
  }

  bool Contains(size_t bucket) const {
    return (levels_[0][bucket / 64] & Bit(bucket)) != 0;
  }

  // The first one >= `from`.
  std::optional<size_t> NextFrom(size_t from) const {
    if (from >= buckets_) return std::nullopt;
    // Up, until a word has one at or behind our place; then down to it.
    for (size_t level = 0; level < levels_.size(); ++level) {
      const size_t word = from / 64;
      if (word >= levels_[level].size()) return std::nullopt;
      const uint64_t rest = levels_[level][word] & (~uint64_t{0} << from % 64);
      if (rest != 0) return Down(level, word * 64 + Lowest(rest));
      from = word + 1;
    }
    return std::nullopt;
  }

  // The first one >= `from`, or else the first of all.
  std::optional<size_t> NextAround(size_t from) const {
    const std::optional<size_t> next = NextFrom(from);
    return next ? next : NextFrom(0);
  }

 private:
  using Words = std::vector<uint64_t>;
  static uint64_t Bit(size_t bucket) { return uint64_t{1} << bucket % 64; }
  static size_t Lowest(uint64_t word) {
    return static_cast<size_t>(std::countr_zero(word));
  }

  size_t Down(size_t level, size_t at) const {
    while (level-- > 0) at = at * 64 + Lowest(levels_[level][at]);
    return at;
  }

  size_t buckets_;
  std::vector<Words> levels_;  // the finest first
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_BUCKET_SET_H_
