// Chain walk against forward sweep, with a cold page cache: where the
// constants of wheel/slot_loader.cc come from. See docs/preload.md.
//
//   ninja -C build preload_bench
//   build/tests/preload_bench <directory on the disk to be measured>
//
// Builds one hour segment for each size, and for each way of spreading it
// over the hour, drops its index from the page cache before every run (it has
// been synced, so POSIX_FADV_DONTNEED does drop it), and prints the median.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/file_system.h"
#include "storage/checksum.h"
#include "storage/hour_segment.h"
#include "storage/random.h"
#include "wheel/slot_loader.h"

namespace hourglass {
namespace {

constexpr Hour kHour{498'675};
constexpr int64_t kStartMs = StartMs(kHour);
constexpr int kRuns = 5;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// 0: over the whole hour; otherwise all in this second.
struct Spread {
  const char* name;
  int64_t one_second;
};

std::shared_ptr<HourSegment> Build(const Path& dir, uint64_t records,
                                   const Spread& spread) {
  FileSystem* fs = RealFileSystem();
  for (const auto& name : {DelayLogName(kHour), DelayIndexName(kHour)}) {
    fs->Remove(dir / name).IgnoreError();
  }
  auto segment = HourSegment::Create(fs, dir, StoreId(), kHour, RecordNumber());
  Check(segment.status());
  Random random(records);
  for (uint64_t i = 0; i < records; ++i) {
    const int64_t ms = spread.one_second == 0
                           ? static_cast<int64_t>(random.Uniform(kMsPerHour))
                           : spread.one_second * 1000 +
                                 static_cast<int64_t>(random.Uniform(1000));
    // The bodies are not read here, so they need not be large.
    Check((*segment)->Append("x", HashBytes("x"), kStartMs + ms, 1).status());
    if ((*segment)->buffered_bytes() > (1u << 20)) Check((*segment)->Flush());
  }
  Check((*segment)->Flush());
  Check((*segment)->Sync());
  return *std::move(segment);
}

void DropCache(const Path& dir) {
  const Path path = dir / DelayIndexName(kHour);
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd >= 0) {
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

double MedianMs(const Path& dir, const std::function<void()>& run) {
  std::vector<double> ms;
  for (int i = 0; i < kRuns; ++i) {
    DropCache(dir);
    const int64_t begin_ns = RealClock()->MonotonicNs();
    run();
    ms.push_back(static_cast<double>(RealClock()->MonotonicNs() - begin_ns) /
                 1e6);
  }
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2];
}

void Measure(const Path& dir, uint64_t records, const Spread& spread) {
  const auto segment = Build(dir, records, spread);
  LoadRequest request;
  request.segment = segment;
  request.after = DueKey::Before(kStartMs);
  request.upto = segment->facts().last;
  request.entries_max = 1u << 20;
  request.heads = std::make_shared<SlotHeads>(*segment->heads());
  const int64_t from = spread.one_second;
  const auto timed = [&](int64_t seconds,
                         LoadResult (*load)(const LoadRequest&)) {
    request.after = DueKey::Before(kStartMs + from * 1000);
    request.until = DueKey::Before(kStartMs + (from + seconds) * 1000);
    return MedianMs(dir, [&] { Check(load(request).status); });
  };
  std::printf("| %9llu | %-10s | %10.1f | %10.1f | %9.1f | %9.1f | %9.1f |\n",
              static_cast<unsigned long long>(records), spread.name,
              timed(spread.one_second == 0 ? 3600 : 1, ForwardSweep),
              timed(60, ForwardSweep), timed(1, ChainWalk),
              timed(10, ChainWalk), timed(60, ChainWalk));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: preload_bench <directory>\n");
    return 2;
  }
  const Path dir(argv[1]);
  Check(RealFileSystem()->CreateDir(dir));
  std::printf(
      "|   records | due        | sweep hour | sweep 60 s | walk 1 s  | walk "
      "10 s | walk 60 s |\n|---|---|---|---|---|---|---|\n");
  for (const uint64_t records : {10'000, 100'000, 1'000'000, 10'000'000}) {
    Measure(dir, records, {"whole hour", 0});
    // A walk of ten million records takes as long as ten of one million.
    if (records <= 1'000'000) Measure(dir, records, {"one second", 1800});
  }
  return 0;
}

}  // namespace
}  // namespace hourglass

int main(int argc, char** argv) { return hourglass::Main(argc, argv); }
