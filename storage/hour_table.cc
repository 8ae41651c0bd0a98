#include "storage/hour_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/hour_format.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

bool HasFiles(const HourFacts& facts) {
  return !facts.retired && facts.delay_log_bytes > 0;
}

absl::Status NoFiles(Hour hour, bool retired) {
  return absl::NotFoundError(
      absl::StrCat("hour ", DelayLogName(hour).substr(0, 13),
                   retired ? " is retired" : " has no files"));
}

}  // namespace

HourTable::HourTable(FileSystem* fs, Path dir, const StoreId& id,
                     const HourTableOptions& options, LoadHeads load_heads)
    : fs_(fs),
      dir_(std::move(dir)),
      id_(id),
      salt_(HashBytes(id.view())),
      options_(options),
      load_heads_(std::move(load_heads)) {}

// --- Recovery ---

absl::Status HourTable::Restore(const std::map<Hour, HourFacts>& facts) {
  // All is looked at before anything is changed: a store with damage stays
  // as it was found.
  std::vector<std::pair<Path, uint64_t>> to_cut;
  RETURN_IF_ERROR(CheckLengths(facts, &to_cut));
  for (const auto& [path, size] : to_cut) RETURN_IF_ERROR(Cut(path, size));
  RETURN_IF_ERROR(RemoveUnknown(facts));
  facts_ = facts;
  return absl::OkStatus();
}

absl::Status HourTable::CheckLengths(
    const std::map<Hour, HourFacts>& facts,
    std::vector<std::pair<Path, uint64_t>>* to_cut) {
  for (const auto& [hour, of_hour] : facts) {
    if (!HasFiles(of_hour)) continue;
    RETURN_IF_ERROR(CheckLength(dir_ / DelayLogName(hour),
                                of_hour.delay_log_bytes, to_cut));
    RETURN_IF_ERROR(CheckLength(dir_ / DelayIndexName(hour),
                                of_hour.index_bytes(), to_cut));
  }
  return absl::OkStatus();
}

absl::Status HourTable::CheckLength(
    const Path& path, uint64_t expected,
    std::vector<std::pair<Path, uint64_t>>* to_cut) {
  const auto size = fs_->FileSize(path);
  if (!size.ok() && !absl::IsNotFound(size.status())) return size.status();
  if (size.ok() && *size >= expected) {
    if (*size > expected) to_cut->emplace_back(path, expected);
    return absl::OkStatus();
  }
  const std::string found =
      size.ok() ? absl::StrCat("has ", *size, " bytes") : "is missing";
  return absl::DataLossError(absl::StrCat(path.string(), " ", found,
                                          ", the checkpoint expects ", expected,
                                          " bytes"));
}

absl::Status HourTable::Cut(const Path& path, uint64_t size) {
  ASSIGN_OR_RETURN(const auto file,
                   fs_->Open(path, {.mode = OpenMode::kReadWrite}));
  RETURN_IF_ERROR(file->Truncate(size));
  CrashPoint("hours.file_cut");
  return file->Sync();
}

absl::Status HourTable::RemoveUnknown(const std::map<Hour, HourFacts>& facts) {
  ASSIGN_OR_RETURN(const auto names, fs_->List(dir_));
  bool removed = false;
  for (const std::string& name : names) {
    const auto file = ParseHourFileName(name);
    if (!file.ok()) continue;  // somebody else's
    const auto it = facts.find(file->hour);
    if (it != facts.end() && HasFiles(it->second)) continue;
    RETURN_IF_ERROR(fs_->Remove(dir_ / name));
    CrashPoint("hours.unknown_removed");
    removed = true;
  }
  return removed ? fs_->SyncDir(dir_) : absl::OkStatus();
}

// --- Open segments ---

absl::StatusOr<std::shared_ptr<HourSegment>> HourTable::ForAppend(Hour hour) {
  if (const auto it = open_.find(hour); it != open_.end()) [[likely]] {
    it->second.last_used = ++tick_;
    return it->second.segment;
  }
  const auto it = facts_.find(hour);
  if (it != facts_.end()) {
    if (HasFiles(it->second)) return OpenSegment(hour);
    if (it->second.retired && TakeUpRetired(hour)) {
      it->second.retired = false;
      dirty_.insert(hour);
      return OpenSegment(hour);
    }
  }
  return CreateSegment(hour);
}

absl::StatusOr<std::shared_ptr<HourSegment>> HourTable::ForRead(Hour hour) {
  if (const auto it = open_.find(hour); it != open_.end()) {
    it->second.last_used = ++tick_;
    return it->second.segment;
  }
  const auto it = facts_.find(hour);
  if (it == facts_.end()) return NoFiles(hour, false);
  if (!HasFiles(it->second)) return NoFiles(hour, it->second.retired);
  return OpenSegment(hour);
}

absl::StatusOr<std::shared_ptr<HourSegment>> HourTable::OpenSegment(Hour hour) {
  RETURN_IF_ERROR(MakeRoom());
  // Heads that cannot be loaded are like heads never stored: the index has
  // them too, at the price of reading it.
  const auto heads = load_heads_(hour);
  HourFacts* facts = &facts_[hour];
  ASSIGN_OR_RETURN(auto segment,
                   HourSegment::Open(fs_, dir_, id_, hour, *facts,
                                     heads.ok() ? *heads : std::string()));
  return Keep(std::move(segment), facts);
}

absl::StatusOr<std::shared_ptr<HourSegment>> HourTable::CreateSegment(
    Hour hour) {
  RETURN_IF_ERROR(MakeRoom());
  const HourFacts before = Facts(hour);
  auto segment = HourSegment::Create(fs_, dir_, id_, hour, before.last);
  dir_changed_ = true;
  if (!segment.ok()) {
    // Half a pair would be in the way of the next attempt.
    if (!absl::IsAlreadyExists(segment.status())) (void)RemoveFiles(hour);
    return segment.status();
  }
  (*segment)->facts_.message_bytes = before.message_bytes;
  (*segment)->facts_.cancelled_bytes = before.cancelled_bytes;
  HourFacts* facts = &facts_[hour];
  *facts = (*segment)->facts();
  return Keep(*std::move(segment), facts);
}

std::shared_ptr<HourSegment> HourTable::Keep(
    std::shared_ptr<HourSegment> segment, HourFacts* facts) {
  open_[segment->hour()] = {segment, facts, ++tick_};
  return segment;
}

absl::Status HourTable::MakeRoom() {
  // More than one may have to go: while somebody held them they could not.
  while (open_.size() >= options_.open_segments_max) {
    const size_t before = open_.size();
    const absl::Status evicted = EvictOldest();
    // On a full disk rather one more open than one that cannot be read.
    if (!absl::IsResourceExhausted(evicted)) RETURN_IF_ERROR(evicted);
    if (open_.size() == before) break;
  }
  return absl::OkStatus();
}

// One comparison for each open segment, and only when one is opened: cheaper
// than a list that every append would have to keep in order.
absl::Status HourTable::EvictOldest() {
  auto oldest = open_.end();
  for (auto it = open_.begin(); it != open_.end(); ++it) {
    if (oldest != open_.end() &&
        it->second.last_used > oldest->second.last_used) {
      continue;
    }
    if (it->second.segment.use_count() == 1) oldest = it;
  }
  return oldest == open_.end() ? absl::OkStatus() : Evict(oldest);
}

absl::Status HourTable::Evict(OpenMap::iterator it) {
  RETURN_IF_ERROR(FlushSegment(it->second.segment.get()));
  *it->second.facts = it->second.segment->facts();
  open_.erase(it);
  return absl::OkStatus();
}

// --- Buffers ---

absl::Status HourTable::Appended(HourSegment* segment) {
  HourSegment::TableNotes& notes = segment->notes_;
  if (!notes.dirty) {
    notes.dirty = true;
    dirty_.insert(segment->hour());
  }
  const size_t buffered = segment->buffered_bytes();
  // The owner may have flushed it in between: then all of it is new.
  const size_t grown = buffered < notes.counted_bytes
                           ? buffered
                           : buffered - notes.counted_bytes;
  buffered_bytes_ = buffered_bytes_ - notes.counted_bytes + buffered;
  notes.counted_bytes = buffered;
  // Flushed when one more of the same size would not fit: so the buffer
  // stays inside the memory it may keep.
  absl::Status flushed;
  if (buffered + grown > options_.segment_buffer_bytes) {
    flushed = FlushSegment(segment);
  } else if (buffered_bytes_ > options_.buffer_bytes_max) {
    flushed = FlushLargest();
  }
  return absl::IsResourceExhausted(flushed) ? absl::OkStatus() : flushed;
}

absl::Status HourTable::FlushSegment(HourSegment* segment) {
  RETURN_IF_ERROR(segment->Flush());
  segment->TrimBuffers(options_.segment_buffer_bytes);
  buffered_bytes_ -= segment->notes_.counted_bytes;
  segment->notes_.counted_bytes = 0;
  return absl::OkStatus();
}

// Those under half the mean hold less than half of all together, so each call
// frees at least half, and looking at every segment is paid for by many
// appends.
absl::Status HourTable::FlushLargest() {
  const size_t half_mean =
      buffered_bytes_ / std::max<size_t>(open_.size(), 1) / 2;
  for (HourSegment* segment : OpenByHour()) {
    if (segment->notes_.counted_bytes >= std::max<size_t>(half_mean, 1)) {
      RETURN_IF_ERROR(FlushSegment(segment));
    }
  }
  return absl::OkStatus();
}

absl::Status HourTable::FlushAll() {
  for (HourSegment* segment : OpenByHour()) {
    RETURN_IF_ERROR(FlushSegment(segment));
  }
  return absl::OkStatus();
}

// Files are written in the same order in every run: a hash table's order
// depends on where the machine put it, and no run could be replayed.
std::vector<HourSegment*> HourTable::OpenByHour() {
  std::vector<HourSegment*> segments;
  segments.reserve(open_.size());
  for (auto& [hour, open] : open_) segments.push_back(open.segment.get());
  std::sort(segments.begin(), segments.end(),
            [](const HourSegment* a, const HourSegment* b) {
              return a->hour() < b->hour();
            });
  return segments;
}

// --- Facts ---

HourFacts HourTable::Facts(Hour hour) const {
  if (const auto it = open_.find(hour); it != open_.end()) {
    return it->second.segment->facts();
  }
  const auto it = facts_.find(hour);
  return it == facts_.end() ? HourFacts() : it->second;
}

const std::map<Hour, HourFacts>& HourTable::AllFacts() {
  for (auto& [hour, open] : open_) *open.facts = open.segment->facts();
  return facts_;
}

uint32_t HourTable::open_segments() const {
  return static_cast<uint32_t>(open_.size());
}

// --- Checkpoint ---

absl::StatusOr<HourTable::Changes> HourTable::TakeChanges() {
  RETURN_IF_ERROR(RemoveRetired());
  RETURN_IF_ERROR(FlushAll());
  for (auto& [hour, open] : open_) {
    if (!open.segment->notes_.dirty) open.segment->TrimBuffers(0);
  }
  Changes changes;
  changes.hours.reserve(dirty_.size());
  for (const Hour hour : dirty_) {
    ASSIGN_OR_RETURN(Changed change, TakeChange(hour));
    changes.hours.push_back(std::move(change));
  }
  dirty_.clear();
  MarkHandedOut();
  changes.dir_changed = std::exchange(dir_changed_, false);
  return changes;
}

absl::StatusOr<HourTable::Changed> HourTable::TakeChange(Hour hour) {
  const auto it = open_.find(hour);
  if (it == open_.end()) return Changed{hour, Facts(hour), "", nullptr};
  const std::shared_ptr<HourSegment>& segment = it->second.segment;
  segment->notes_.dirty = false;
  const HourFacts facts = segment->facts();
  return Changed{hour, facts, segment->heads()->Encode(salt_, hour, facts.last),
                 segment};
}

absl::Status HourTable::SyncFiles(const Changes& changes) {
  for (const Changed& change : changes.hours) {
    if (change.segment != nullptr) {
      RETURN_IF_ERROR(change.segment->Sync());
    } else if (HasFiles(change.facts)) {
      RETURN_IF_ERROR(SyncByName(change.hour));
    }
  }
  CrashPoint("hours.files_synced");
  if (PlantedBug("directory_not_synced")) return absl::OkStatus();
  return changes.dir_changed ? fs_->SyncDir(dir_) : absl::OkStatus();
}

absl::Status HourTable::SyncByName(Hour hour) {
  for (const std::string& name : {DelayLogName(hour), DelayIndexName(hour)}) {
    ASSIGN_OR_RETURN(const auto file,
                     fs_->Open(dir_ / name, {.mode = OpenMode::kReadWrite}));
    RETURN_IF_ERROR(file->Sync());
  }
  return absl::OkStatus();
}

// --- Retired hours ---

absl::Status HourTable::Retire(Hour hour) {
  if (const auto it = open_.find(hour); it != open_.end()) {
    RETURN_IF_ERROR(Evict(it));
  }
  const auto it = facts_.find(hour);
  if (it == facts_.end() || !HasFiles(it->second)) {
    return NoFiles(hour, it != facts_.end() && it->second.retired);
  }
  it->second.retired = true;
  dirty_.insert(hour);
  MutexLock lock(&retiring_mutex_);
  retiring_[hour] = false;
  return absl::OkStatus();
}

// True if the old files were still there and are to be used again.
bool HourTable::TakeUpRetired(Hour hour) {
  MutexLock lock(&retiring_mutex_);
  return retiring_.erase(hour) > 0;
}

void HourTable::MarkHandedOut() {
  MutexLock lock(&retiring_mutex_);
  for (auto& [hour, handed_out] : retiring_) handed_out = true;
  if (std::exchange(removed_some_, false)) dir_changed_ = true;
}

absl::Status HourTable::RemoveRetired() {
  MutexLock lock(&retiring_mutex_);
  for (auto it = retiring_.begin(); it != retiring_.end();) {
    if (!it->second) {
      ++it;
      continue;
    }
    RETURN_IF_ERROR(RemoveFiles(it->first));
    removed_some_ = true;
    it = retiring_.erase(it);
  }
  return absl::OkStatus();
}

absl::Status HourTable::RemoveFiles(Hour hour) {
  for (const std::string& name : {DelayLogName(hour), DelayIndexName(hour)}) {
    const absl::Status removed = fs_->Remove(dir_ / name);
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    CrashPoint("hours.file_removed");
  }
  return absl::OkStatus();
}

std::vector<Hour> HourTable::ForgetRetired(Hour before) {
  std::vector<Hour> forgotten;
  MutexLock lock(&retiring_mutex_);
  for (auto it = facts_.begin(); it != facts_.end() && it->first < before;) {
    if (it->second.retired && !retiring_.contains(it->first)) {
      forgotten.push_back(it->first);
      it = facts_.erase(it);
    } else {
      ++it;
    }
  }
  return forgotten;
}

}  // namespace hourglass
