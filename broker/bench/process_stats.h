// File: process_stats.h
//
// What this process costs: memory, processor time, bytes to the disk.
//
//   const ProcessStats before = ReadProcessStats();
//   ...
//   double cpu = ReadProcessStats().cpu_user_seconds - before.cpu_user_seconds;
//
// Threads: any.
//
// Limitations: Linux (/proc). What cannot be read counts as 0.
//
// Measures promise 7: memory, and CPU and bytes beside it.
#ifndef HOURGLASS_BROKER_BENCH_PROCESS_STATS_H_
#define HOURGLASS_BROKER_BENCH_PROCESS_STATS_H_

#include <cstdint>

namespace hourglass {

struct ProcessStats {
  uint64_t rss_bytes = 0;
  uint64_t rss_peak_bytes = 0;  // since the process began
  double cpu_user_seconds = 0;
  double cpu_system_seconds = 0;
  // Given to the disk, or to the page cache on its way there.
  uint64_t disk_write_bytes = 0;
};

ProcessStats ReadProcessStats();

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_PROCESS_STATS_H_
