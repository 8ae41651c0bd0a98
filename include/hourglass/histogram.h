// File: histogram.h
//
// Counts of values in buckets that grow with the value: 32 a power of two, so
// a percentile is right to about 3 %. Fixed memory, no allocation per value.
//
//   Histogram lateness_us;
//   lateness_us.Add(850);
//   lateness_us.Percentile(99.9);
//
// Threads: none of its own; copy it under the owner's lock to look at it.
//
// Serves promise 3: lateness is measured with it.
#ifndef HOURGLASS_HISTOGRAM_H_
#define HOURGLASS_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hourglass {

class Histogram {
 public:
  // Negative values count as 0.
  void Add(int64_t value, uint64_t times = 1) {
    const auto v = static_cast<uint64_t>(std::max<int64_t>(value, 0));
    buckets_[BucketOf(v)] += times;
    count_ += times;
    sum_ += v * times;
    max_ = std::max(max_, v);
  }
  void Merge(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }
  // What was added since `before` was copied from this one. The maximum is
  // right to a bucket, like a percentile.
  Histogram Since(const Histogram& before) const {
    Histogram since;
    for (size_t i = 0; i < kBuckets; ++i) {
      since.buckets_[i] = buckets_[i] - before.buckets_[i];
      if (since.buckets_[i] > 0) since.max_ = std::min(UpperBound(i), max_);
    }
    since.count_ = count_ - before.count_;
    since.sum_ = sum_ - before.sum_;
    return since;
  }

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }
  // How many values are at most `bound`, right to a bucket: those in a bucket
  // that reaches beyond it do not count.
  uint64_t CountUpTo(uint64_t bound) const {
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets && UpperBound(i) <= bound; ++i) {
      seen += buckets_[i];
    }
    return seen;
  }

  // The smallest bucket bound that at least `percent` of the values are
  // under; 0 when empty.
  uint64_t Percentile(double percent) const {
    if (count_ == 0) return 0;
    const double wanted = static_cast<double>(count_) * percent / 100;
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (buckets_[i] > 0 && static_cast<double>(seen) >= wanted) {
        return std::min(UpperBound(i), max_);
      }
    }
    return max_;
  }

 private:
  static constexpr int kSubBits = 5;
  static constexpr size_t kSub = 1u << kSubBits;
  static constexpr size_t kBuckets = (64 - kSubBits + 1) * kSub;

  static size_t BucketOf(uint64_t v) {
    if (v < kSub) return v;
    const int shift = std::bit_width(v) - 1 - kSubBits;
    return (static_cast<size_t>(shift) + 1) * kSub + (v >> shift) - kSub;
  }
  static uint64_t UpperBound(size_t bucket) {
    if (bucket < kSub) return bucket;
    const size_t shift = bucket / kSub - 1;
    return ((bucket % kSub + kSub + 1) << shift) - 1;
  }

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_HISTOGRAM_H_
