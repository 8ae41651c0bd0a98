#include "broker/bench/disk_rate.h"

#include <memory>
#include <string_view>

#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kSectorBytes = 512;

struct alignas(4096) Sector {
  char bytes[kSectorBytes];
};

}  // namespace

absl::Status DiskRate::MeasureFor(double seconds) {
  FileSystem* const fs = options_.file_system;
  ASSIGN_OR_RETURN(auto file, fs->Open(path_, {.mode = OpenMode::kCreate,
                                               .direct = options_.direct_io}));
  absl::Status status = file->Allocate(0, options_.log_segment_bytes);
  if (status.ok()) status = file->Sync();
  const int64_t begin_ns = options_.clock->MonotonicNs();
  if (status.ok()) {
    status = Append(file.get(), begin_ns + static_cast<int64_t>(seconds * 1e9));
  }
  measured_ns_ += options_.clock->MonotonicNs() - begin_ns;
  file.reset();
  const absl::Status removed = fs->Remove(path_);
  return status.ok() ? removed : status;
}

absl::Status DiskRate::Append(File* file, int64_t until_ns) {
  const auto sector = std::make_unique<Sector>();
  for (uint64_t at = 0;; at += kSectorBytes) {
    const int64_t begin_ns = options_.clock->MonotonicNs();
    // One segment is enough for any disk and any measurement that is meant.
    if (begin_ns >= until_ns || at >= options_.log_segment_bytes) break;
    sector->bytes[0] = static_cast<char>(at / kSectorBytes);
    RETURN_IF_ERROR(file->WriteAt(at, {sector->bytes, kSectorBytes}));
    RETURN_IF_ERROR(file->Sync());
    sync_us_.Add((options_.clock->MonotonicNs() - begin_ns) / 1000);
  }
  return absl::OkStatus();
}

double DiskRate::syncs_per_s() const {
  if (measured_ns_ == 0) return 0;
  return static_cast<double>(sync_us_.count()) /
         (static_cast<double>(measured_ns_) / 1e9);
}

}  // namespace hourglass
