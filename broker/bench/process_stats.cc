#include "broker/bench/process_stats.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace hourglass {
namespace {

// The number behind `name` in a file of lines such as "VmRSS:  1234 kB".
uint64_t NumberIn(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    uint64_t value = 0;
    if (word == name && file >> value) return value;
  }
  return 0;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessStats ReadProcessStats() {
  constexpr uint64_t kKib = 1024;
  ProcessStats stats;
  stats.rss_bytes = NumberIn("/proc/self/status", "VmRSS:") * kKib;
  // The kernel counts the peak less often than the present.
  stats.rss_peak_bytes =
      std::max(NumberIn("/proc/self/status", "VmHWM:") * kKib, stats.rss_bytes);
  stats.disk_write_bytes = NumberIn("/proc/self/io", "write_bytes:");
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    stats.cpu_user_seconds = Seconds(usage.ru_utime);
    stats.cpu_system_seconds = Seconds(usage.ru_stime);
  }
  return stats;
}

}  // namespace hourglass
