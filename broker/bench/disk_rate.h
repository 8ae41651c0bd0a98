// File: disk_rate.h
//
// What the disk itself can do: appends of one sector, each made durable, to a
// file that is opened and preallocated as the commit log's are. No store that
// acknowledges one put at a time can be faster.
//
//   DiskRate rate(fs, dir, options);
//   RETURN_IF_ERROR(rate.MeasureFor(1.0));
//   ... the job ...
//   RETURN_IF_ERROR(rate.MeasureFor(1.0));    // a disk has moods
//   rate.syncs_per_s();
//
// Threads: none of its own.
//
// Measures promise 1 against the disk's own rate.
#ifndef HOURGLASS_BROKER_BENCH_DISK_RATE_H_
#define HOURGLASS_BROKER_BENCH_DISK_RATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "hourglass/histogram.h"
#include "hourglass/options.h"

namespace hourglass {

class DiskRate {
 public:
  // `options`: of the store that is compared; must outlive this.
  DiskRate(const Path& dir, const StoreOptions& options)
      : path_(dir / "bench-disk-rate"), options_(options) {}

  // Adds `seconds` of measuring; leaves no file behind.
  absl::Status MeasureFor(double seconds);

  double syncs_per_s() const;
  const Histogram& sync_us() const { return sync_us_; }

 private:
  absl::Status Append(File* file, int64_t until_ns);

  const Path path_;
  const StoreOptions& options_;
  int64_t measured_ns_ = 0;
  Histogram sync_us_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_DISK_RATE_H_
