#include "storage/consume_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "storage/crash_point.h"
#include "storage/mutex.h"
#include "storage/queue_files.h"
#include "storage/queue_format.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// A file given up at one checkpoint is unlinked when this many more were
// taken: the one that says so, and one that makes it the fallback.
constexpr uint64_t kCheckpointsBeforeUnlink = 3;

struct Topic {
  Topic(std::string topic, const Path& root, const StoreId& id)
      : name(std::move(topic)),
        dir(root / QueueDirName(name)),
        seal(id, name) {}

  size_t buffered() const { return facts.next - flushed; }
  Path FilePath(QueueIndex start) const { return dir / QueueFileName(start); }
  // One past the last entry in file number `file` of `starts`.
  QueueIndex FileEnd(size_t file) const {
    return file + 1 < starts.size() ? starts[file + 1] : flushed;
  }

  const std::string name;
  const Path dir;
  const QueueSeal seal;
  QueueFacts facts;
  QueueIndex flushed;              // entries before it are in files
  std::string buffer;              // entries [flushed, next)
  std::vector<QueueIndex> starts;  // first index of each file, ascending
  bool dirty = false;              // changed since the last checkpoint
  bool dir_made = false;
  std::optional<LogOffset> newest_offset;  // of entry next - 1
  // Of the last entry in starts[0], once there is a file after it.
  std::optional<LogOffset> oldest_file_end;
};

// Entries [from, from + count) as they stand in one file.
struct Piece {
  std::shared_ptr<File> file;
  Path path;
  QueueIndex start;  // of the file
  QueueIndex from;
  size_t count;
};

uint64_t FileOffset(QueueIndex start, QueueIndex index) {
  return kQueueHeaderBytes + kQueueEntryBytes * (index - start);
}

absl::Status DamagedEntry(const Path& path, QueueIndex index,
                          const std::string& what) {
  return absl::DataLossError(
      absl::StrCat(path.string(), ": entry ", index.value(), " ", what));
}

absl::Status ReadPiece(const Piece& piece, std::string* out) {
  const size_t at = out->size();
  const size_t size = piece.count * kQueueEntryBytes;
  out->resize(at + size);
  ASSIGN_OR_RETURN(const size_t got,
                   piece.file->ReadAt(FileOffset(piece.start, piece.from), size,
                                      out->data() + at));
  if (got == size) return absl::OkStatus();
  return DamagedEntry(piece.path, piece.from + got / kQueueEntryBytes,
                      "is missing: the file ends before it");
}

absl::Status CheckTopicName(std::string_view topic) {
  if (!topic.empty() && topic.size() <= kQueueTopicBytesMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("topic name of ", topic.size(),
                                                 " bytes; must be 1 to ",
                                                 kQueueTopicBytesMax));
}

}  // namespace

class QueueTable::Impl {
 public:
  Impl(FileSystem* fs, Path dir, const StoreId& id, const QueueOptions& options)
      : fs_(fs),
        dir_(std::move(dir)),
        id_(id),
        options_(options),
        files_(fs, options.open_topics_max) {}

  absl::Status Restore(const std::map<std::string, QueueFacts>& facts);
  absl::StatusOr<QueueIndex> Append(std::string_view name,
                                    const QueueEntry& entry);
  absl::Status HasRoom();
  absl::StatusOr<std::vector<QueueEntry>> Read(std::string_view name,
                                               QueueIndex from,
                                               size_t count_max);
  QueueFacts Facts(std::string_view name) const;
  std::map<std::string, QueueFacts> AllFacts() const;
  absl::StatusOr<Changes> TakeChanges();
  absl::Status SyncFiles(const Changes& changes);
  absl::Status RemoveBefore(std::string_view name, LogOffset keep_from);

 private:
  struct GivenUp {
    Path path;
    Path dir;
    uint64_t taken;  // value of taken_ when it was given up
  };
  // Raw entries from one topic: those in files, then those still buffered.
  struct ReadPlan {
    const Topic* topic = nullptr;
    std::vector<Piece> pieces;
    std::string buffered;
  };

  // All of these with mutex_ held.
  absl::Status EnsureRoot();
  absl::Status RestoreTopic(const std::string& name, const QueueFacts& facts);
  Topic* Find(std::string_view name) const;
  absl::StatusOr<Topic*> FindOrMake(std::string_view name);
  void MarkDirty(Topic* topic);

  absl::Status FlushAll();
  absl::Status FlushTopic(Topic* topic);
  absl::Status WriteEntries(Topic* topic, std::string_view entries);
  bool NeedsNewFile(const Topic& topic) const;
  absl::Status MakeDir(Topic* topic);

  absl::Status PlanRead(const Topic& topic, QueueIndex from, QueueIndex end,
                        ReadPlan* plan);
  absl::StatusOr<LogOffset> ReadOffset(const Topic& topic, size_t file,
                                       QueueIndex index);
  absl::StatusOr<LogOffset> OldestFileEnd(Topic* topic);
  void GiveUpOldest(Topic* topic);
  absl::Status UnlinkGivenUp();

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const QueueOptions options_;

  mutable Mutex mutex_;  // guards all below
  absl::Status status_;  // first failed write, but for want of space
  QueueFiles files_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>> topics_;
  Topic* last_ = nullptr;  // of the last Append
  std::vector<Topic*> dirty_;
  std::vector<Topic*> with_buffer_;
  size_t buffered_bytes_ = 0;
  absl::flat_hash_set<std::string> unsynced_dirs_;
  std::vector<GivenUp> given_up_;  // oldest first
  uint64_t taken_ = 0;             // calls of TakeChanges
  bool root_made_ = false;
};

// --- Topics ---------------------------------------------------------------

Topic* QueueTable::Impl::Find(std::string_view name) const {
  const auto it = topics_.find(absl::string_view(name.data(), name.size()));
  return it == topics_.end() ? nullptr : it->second.get();
}

absl::StatusOr<Topic*> QueueTable::Impl::FindOrMake(std::string_view name) {
  if (Topic* topic = Find(name)) return topic;
  RETURN_IF_ERROR(CheckTopicName(name));
  auto topic = std::make_unique<Topic>(std::string(name), dir_, id_);
  Topic* made = topic.get();
  topics_.emplace(made->name, std::move(topic));
  return made;
}

void QueueTable::Impl::MarkDirty(Topic* topic) {
  if (!std::exchange(topic->dirty, true)) dirty_.push_back(topic);
}

QueueFacts QueueTable::Impl::Facts(std::string_view name) const {
  MutexLock lock(&mutex_);
  const Topic* topic = Find(name);
  return topic == nullptr ? QueueFacts{} : topic->facts;
}

std::map<std::string, QueueFacts> QueueTable::Impl::AllFacts() const {
  MutexLock lock(&mutex_);
  std::map<std::string, QueueFacts> facts;
  for (const auto& [name, topic] : topics_) facts[name] = topic->facts;
  return facts;
}

// --- Append and flush -------------------------------------------------------

absl::StatusOr<QueueIndex> QueueTable::Impl::Append(std::string_view name,
                                                    const QueueEntry& entry) {
  MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  if (last_ == nullptr || last_->name != name) {
    ASSIGN_OR_RETURN(last_, FindOrMake(name));
  }
  Topic* topic = last_;
  char bytes[kQueueEntryBytes];
  const QueueIndex index = topic->facts.next;
  EncodeQueueEntry(topic->seal, index, entry, bytes);
  if (topic->buffer.empty()) with_buffer_.push_back(topic);
  topic->buffer.append(bytes, sizeof(bytes));
  topic->newest_offset = entry.offset;
  ++topic->facts.next;
  MarkDirty(topic);
  buffered_bytes_ += sizeof(bytes);
  if (buffered_bytes_ > options_.buffer_bytes_max) {
    const absl::Status flushed = FlushAll();
    if (!absl::IsResourceExhausted(flushed)) RETURN_IF_ERROR(flushed);
  }
  return index;
}

absl::Status QueueTable::Impl::HasRoom() {
  MutexLock lock(&mutex_);
  if (buffered_bytes_ <= options_.buffer_bytes_max) return status_;
  return FlushAll();
}

absl::Status QueueTable::Impl::FlushAll() {
  if (!status_.ok()) return status_;
  size_t flushed = 0;
  absl::Status status;
  for (Topic* topic : with_buffer_) {
    status = FlushTopic(topic);
    if (!status.ok()) break;
    ++flushed;
  }
  with_buffer_.erase(with_buffer_.begin(),
                     with_buffer_.begin() + static_cast<ptrdiff_t>(flushed));
  if (!absl::IsResourceExhausted(status)) status_ = status;
  return status;
}

absl::Status QueueTable::Impl::FlushTopic(Topic* topic) {
  size_t written = 0;
  absl::Status status;
  while (status.ok() && written < topic->buffer.size()) {
    const size_t in_file =
        NeedsNewFile(*topic) ? 0 : topic->flushed - topic->starts.back();
    const size_t room = options_.entries_per_file - in_file;
    const auto piece = std::string_view(topic->buffer)
                           .substr(written, room * kQueueEntryBytes);
    status = WriteEntries(topic, piece);
    if (!status.ok()) break;
    topic->flushed += piece.size() / kQueueEntryBytes;
    written += piece.size();
  }
  buffered_bytes_ -= written;
  topic->buffer.erase(0, written);
  // Ten thousand topics must not each keep the largest buffer they ever had.
  if (topic->buffer.empty()) std::string().swap(topic->buffer);
  return status;
}

bool QueueTable::Impl::NeedsNewFile(const Topic& topic) const {
  return topic.starts.empty() ||
         topic.flushed - topic.starts.back() >= options_.entries_per_file;
}

absl::Status QueueTable::Impl::WriteEntries(Topic* topic,
                                            std::string_view entries) {
  if (NeedsNewFile(*topic)) {
    RETURN_IF_ERROR(MakeDir(topic));
    RETURN_IF_ERROR(files_.Create(topic->FilePath(topic->flushed),
                                  {id_, topic->name, topic->flushed}));
    topic->starts.push_back(topic->flushed);
    CrashPoint("queues.file_created");
    unsynced_dirs_.insert(topic->dir.string());
  }
  const QueueIndex start = topic->starts.back();
  ASSIGN_OR_RETURN(
      const std::shared_ptr<File> file,
      files_.ForWrite(topic->FilePath(start), {id_, topic->name, start}));
  RETURN_IF_ERROR(file->WriteAt(FileOffset(start, topic->flushed), entries));
  CrashPoint("queues.entries_written");
  return absl::OkStatus();
}

absl::Status QueueTable::Impl::MakeDir(Topic* topic) {
  if (topic->dir_made) return absl::OkStatus();
  RETURN_IF_ERROR(EnsureRoot());
  RETURN_IF_ERROR(fs_->CreateDir(topic->dir));
  CrashPoint("queues.directory_made");
  unsynced_dirs_.insert(dir_.string());
  topic->dir_made = true;
  return absl::OkStatus();
}

absl::Status QueueTable::Impl::EnsureRoot() {
  if (root_made_) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool exists, fs_->Exists(dir_));
  if (!exists) RETURN_IF_ERROR(fs_->CreateDir(dir_));
  // Also when it exists: the life that made it may have ended before this.
  const Path parent = dir_.parent_path();
  RETURN_IF_ERROR(fs_->SyncDir(parent.empty() ? Path(".") : parent));
  root_made_ = true;
  return absl::OkStatus();
}

// --- Read -----------------------------------------------------------------

absl::StatusOr<std::vector<QueueEntry>> QueueTable::Impl::Read(
    std::string_view name, QueueIndex from, size_t count_max) {
  ReadPlan plan;
  {
    MutexLock lock(&mutex_);
    const Topic* topic = Find(name);
    if (topic == nullptr) return std::vector<QueueEntry>();
    const QueueFacts& facts = topic->facts;
    if (from < facts.first) {
      return absl::OutOfRangeError(
          absl::StrCat("index ", from.value(), " of topic \"", topic->name,
                       "\" is gone; the oldest is ", facts.first.value()));
    }
    if (from >= facts.next) return std::vector<QueueEntry>();
    const size_t count = std::min<uint64_t>(count_max, facts.next - from);
    RETURN_IF_ERROR(PlanRead(*topic, from, from + count, &plan));
  }
  // From here on without the lock: what is in a file never changes, and
  // topics are never forgotten.
  std::string raw;
  for (const Piece& piece : plan.pieces) {
    RETURN_IF_ERROR(ReadPiece(piece, &raw));
  }
  raw.append(plan.buffered);
  std::vector<QueueEntry> entries(raw.size() / kQueueEntryBytes);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!DecodeQueueEntry(plan.topic->seal, from + i,
                          raw.data() + i * kQueueEntryBytes, &entries[i])) {
      return DamagedEntry(plan.topic->dir, from + i,
                          "does not match its checksum and place");
    }
  }
  return entries;
}

absl::Status QueueTable::Impl::PlanRead(const Topic& topic, QueueIndex from,
                                        QueueIndex end, ReadPlan* plan) {
  plan->topic = &topic;
  // The file that holds `from`: the last one that starts at or before it.
  size_t file =
      std::upper_bound(topic.starts.begin(), topic.starts.end(), from) -
      topic.starts.begin();
  for (; from < std::min(end, topic.flushed); ++file) {
    const QueueIndex start = topic.starts[file - 1];
    const size_t count = std::min(end, topic.FileEnd(file - 1)) - from;
    Piece piece{nullptr, topic.FilePath(start), start, from, count};
    ASSIGN_OR_RETURN(piece.file,
                     files_.ForRead(piece.path, {id_, topic.name, start}));
    plan->pieces.push_back(std::move(piece));
    from += count;
  }
  if (from < end) {
    plan->buffered =
        topic.buffer.substr((from - topic.flushed) * kQueueEntryBytes,
                            (end - from) * kQueueEntryBytes);
  }
  return absl::OkStatus();
}

// --- Checkpoint -------------------------------------------------------------

absl::StatusOr<QueueTable::Changes> QueueTable::Impl::TakeChanges() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(FlushAll());
  ++taken_;
  const absl::Status unlinked = UnlinkGivenUp();
  if (!absl::IsResourceExhausted(unlinked)) status_ = unlinked;
  RETURN_IF_ERROR(unlinked);
  Changes changes;
  for (Topic* topic : dirty_) {
    changes.topics[topic->name] = topic->facts;
    topic->dirty = false;
  }
  dirty_.clear();
  files_.TakeUnsynced(&changes.files, &changes.closed);
  changes.dirs.assign(unsynced_dirs_.begin(), unsynced_dirs_.end());
  std::sort(changes.dirs.begin(), changes.dirs.end());
  unsynced_dirs_.clear();
  return changes;
}

absl::Status QueueTable::Impl::SyncFiles(const Changes& changes) {
  for (const auto& file : changes.files) RETURN_IF_ERROR(file->Sync());
  for (const Path& path : changes.closed) {
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                     fs_->Open(path, {.mode = OpenMode::kReadWrite}));
    RETURN_IF_ERROR(file->Sync());
  }
  CrashPoint("queues.files_synced");
  for (const Path& dir : changes.dirs) RETURN_IF_ERROR(fs_->SyncDir(dir));
  return absl::OkStatus();
}

// --- Removing ---------------------------------------------------------------

absl::Status QueueTable::Impl::RemoveBefore(std::string_view name,
                                            LogOffset keep_from) {
  MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  Topic* topic = Find(name);
  if (topic == nullptr) return absl::OkStatus();
  // A file that is about to get the buffered entries stays.
  const size_t keep = topic->buffered() > 0 ? 1 : 0;
  while (topic->starts.size() > keep) {
    ASSIGN_OR_RETURN(const LogOffset end, OldestFileEnd(topic));
    if (end >= keep_from) break;
    GiveUpOldest(topic);
  }
  return absl::OkStatus();
}

// The offset of the last entry of the oldest file, read at most once.
absl::StatusOr<LogOffset> QueueTable::Impl::OldestFileEnd(Topic* topic) {
  const bool only = topic->starts.size() == 1;
  std::optional<LogOffset>& known =
      only ? topic->newest_offset : topic->oldest_file_end;
  if (!known.has_value()) {
    ASSIGN_OR_RETURN(known, ReadOffset(*topic, 0, topic->FileEnd(0) - 1));
  }
  return *known;
}

absl::StatusOr<LogOffset> QueueTable::Impl::ReadOffset(const Topic& topic,
                                                       size_t file,
                                                       QueueIndex index) {
  const QueueIndex start = topic.starts[file];
  Piece piece{nullptr, topic.FilePath(start), start, index, 1};
  ASSIGN_OR_RETURN(piece.file,
                   files_.ForRead(piece.path, {id_, topic.name, start}));
  std::string raw;
  RETURN_IF_ERROR(ReadPiece(piece, &raw));
  QueueEntry entry;
  if (!DecodeQueueEntry(topic.seal, index, raw.data(), &entry)) {
    return DamagedEntry(piece.path, index,
                        "does not match its checksum and place");
  }
  return entry.offset;
}

void QueueTable::Impl::GiveUpOldest(Topic* topic) {
  given_up_.push_back(
      {topic->FilePath(topic->starts.front()), topic->dir, taken_});
  topic->facts.first = topic->FileEnd(0);
  topic->starts.erase(topic->starts.begin());
  topic->oldest_file_end.reset();
  MarkDirty(topic);
}

absl::Status QueueTable::Impl::UnlinkGivenUp() {
  absl::Status removed;
  auto it = given_up_.begin();
  for (; it != given_up_.end(); ++it) {
    if (it->taken + kCheckpointsBeforeUnlink > taken_) break;
    files_.Forget(it->path);
    removed = fs_->Remove(it->path);
    if (!removed.ok()) break;
    CrashPoint("queues.file_removed");
    unsynced_dirs_.insert(it->dir.string());
  }
  given_up_.erase(given_up_.begin(), it);
  return removed;
}

// --- Restore ----------------------------------------------------------------

absl::Status QueueTable::Impl::Restore(
    const std::map<std::string, QueueFacts>& facts) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(EnsureRoot());
  absl::flat_hash_set<std::string> known;
  for (const auto& [name, topic_facts] : facts) {
    RETURN_IF_ERROR(CheckTopicName(name));
    RETURN_IF_ERROR(RestoreTopic(name, topic_facts));
    known.insert(QueueDirName(name));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_->List(dir_));
  bool removed = false;
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    ASSIGN_OR_RETURN(const bool gone, RemoveQueueDir(fs_, dir_ / name));
    removed |= gone;
  }
  return removed ? fs_->SyncDir(dir_) : absl::OkStatus();
}

absl::Status QueueTable::Impl::RestoreTopic(const std::string& name,
                                            const QueueFacts& facts) {
  const Path dir = dir_ / QueueDirName(name);
  ASSIGN_OR_RETURN(const bool dir_made, fs_->Exists(dir));
  ASSIGN_OR_RETURN(std::vector<QueueIndex> starts,
                   CutQueueDir(fs_, dir, facts));
  // Only now, so that a table that could not be restored has no topic whose
  // facts and files disagree.
  ASSIGN_OR_RETURN(Topic * topic, FindOrMake(name));
  topic->facts = facts;
  topic->flushed = facts.next;
  topic->starts = std::move(starts);
  topic->dir_made = dir_made;
  return absl::OkStatus();
}

// --- QueueTable -------------------------------------------------------------

QueueTable::QueueTable(FileSystem* fs, Path dir, const StoreId& id,
                       const QueueOptions& options)
    : impl_(std::make_unique<Impl>(fs, std::move(dir), id, options)) {}
QueueTable::~QueueTable() = default;

absl::Status QueueTable::Restore(
    const std::map<std::string, QueueFacts>& facts) {
  return impl_->Restore(facts);
}
absl::StatusOr<QueueIndex> QueueTable::Append(std::string_view topic,
                                              const QueueEntry& entry) {
  return impl_->Append(topic, entry);
}
absl::Status QueueTable::HasRoom() { return impl_->HasRoom(); }
absl::StatusOr<std::vector<QueueEntry>> QueueTable::Read(std::string_view topic,
                                                         QueueIndex from,
                                                         size_t count_max) {
  return impl_->Read(topic, from, count_max);
}
QueueFacts QueueTable::Facts(std::string_view topic) const {
  return impl_->Facts(topic);
}
std::map<std::string, QueueFacts> QueueTable::AllFacts() const {
  return impl_->AllFacts();
}
absl::StatusOr<QueueTable::Changes> QueueTable::TakeChanges() {
  return impl_->TakeChanges();
}
absl::Status QueueTable::SyncFiles(const Changes& changes) {
  return impl_->SyncFiles(changes);
}
absl::Status QueueTable::RemoveBefore(std::string_view topic,
                                      LogOffset keep_from) {
  return impl_->RemoveBefore(topic, keep_from);
}

}  // namespace hourglass
