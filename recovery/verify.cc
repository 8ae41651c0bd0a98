#include "recovery/verify.h"

#include <set>
#include <utility>

#include "recovery/store_state.h"
#include "recovery/verify_hour.h"
#include "recovery/verify_queue.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

uint64_t BytesBelow(FileSystem* fs, const Path& dir, int depth) {
  const auto names = fs->List(dir);
  if (!names.ok()) return 0;
  uint64_t bytes = 0;
  for (const std::string& name : *names) {
    const Path path = dir / name;
    if (fs->IsDirectory(path).value_or(false)) {
      if (depth > 0) bytes += BytesBelow(fs, path, depth - 1);
    } else {
      bytes += fs->FileSize(path).value_or(0);
    }
  }
  return bytes;
}

// Those that have files, and those that should have.
std::set<Hour> HoursOf(const StoreSurvey& survey) {
  std::set<Hour> hours(survey.hours.begin(), survey.hours.end());
  if (!survey.checkpoint) return hours;
  for (const auto& [hour, facts] : survey.checkpoint->hours) {
    if (!facts.retired && facts.delay_log_bytes > 0) hours.insert(hour);
  }
  return hours;
}

// Asks the disk for the next hour's files while this one's are compared:
// files of a few megabytes would each begin with a wait.
void PrefetchHour(const SalvageSource& source, Hour hour) {
  constexpr uint64_t kBytesMax = 32u << 20;
  for (const std::string& name : {DelayLogName(hour), DelayIndexName(hour)}) {
    const auto file = source.fs->Open(source.dir / kHoursDirName / name,
                                      {.mode = OpenMode::kRead});
    if (file.ok()) (*file)->Prefetch(0, kBytesMax);
  }
}

}  // namespace

uint64_t StoreBytes(FileSystem* fs, const Path& dir) {
  return BytesBelow(fs, dir / kLogDirName, 0) +
         BytesBelow(fs, dir / kHoursDirName, 0) +
         BytesBelow(fs, dir / kQueuesDirName, 1);
}

absl::StatusOr<VerifyReport> VerifyStore(const SalvageSource& source) {
  ASSIGN_OR_RETURN(const auto survey, StoreSurvey::Make(source));
  VerifyReport report;
  const std::set<Hour> hours = HoursOf(*survey);
  for (const Hour hour : hours) {
    if (const auto next = hours.upper_bound(hour); next != hours.end()) {
      PrefetchHour(source, *next);
    }
    HourVerifier verifier(survey.get(), hour);
    RETURN_IF_ERROR(verifier.Run());
    report.pending_messages += verifier.pending_messages();
  }
  RETURN_IF_ERROR(VerifyQueues(survey.get()));
  report.id = survey->id;
  report.files = std::move(survey->files);
  report.findings = std::move(survey->findings);
  for (const FileReport& file : report.files) report.bytes += file.bytes;
  return report;
}

}  // namespace hourglass
