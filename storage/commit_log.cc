#include "storage/commit_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/crash_point.h"
#include "storage/log_file_reader.h"
#include "storage/planted_bug.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kSpareName[] = "next.tmp";
constexpr size_t kOpenReadersMax = 16;
constexpr size_t kRewriteBytes = 1u << 20;
constexpr uint64_t kSegmentAlignment = 4096;

absl::Status CheckOptions(const CommitLogOptions& options) {
  if (options.segment_bytes >= kSegmentAlignment &&
      options.segment_bytes % kSegmentAlignment == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "log segment_bytes is ", options.segment_bytes,
      "; it must be a multiple of ", kSegmentAlignment, " above 0"));
}

absl::Status RemoveIfThere(FileSystem* fs, const Path& path) {
  const absl::Status status = fs->Remove(path);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// Memory that a direct write accepts.
struct alignas(kSegmentAlignment) Page {
  char bytes[kSegmentAlignment];
};

}  // namespace

CommitLog::CommitLog(FileSystem* fs, Path dir, const StoreId& id,
                     const CommitLogOptions& options)
    : fs_(fs),
      dir_(std::move(dir)),
      id_(id),
      salt_(HashBytes(id.view())),
      options_(options) {}

CommitLog::~CommitLog() = default;

absl::StatusOr<std::unique_ptr<CommitLog>> CommitLog::Create(
    FileSystem* fs, const Path& dir, const StoreId& id,
    const CommitLogOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(const auto bases, ListLogFiles(fs, dir));
  if (!bases.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "commit log ", dir.string(), ": there is already ",
        LogFileName(bases.front()), "; a new log needs an empty directory"));
  }
  std::unique_ptr<CommitLog> log(new CommitLog(fs, dir, id, options));
  const LogOffset limit(options.segment_bytes);
  log->first_ = {LogOffset(), limit, limit};
  RETURN_IF_ERROR(log->NameSpare(LogOffset(), LogOffset()));
  log->start_ = log->end_ = log->durable_ = kLogFileHeaderBytes;
  return log;
}

absl::StatusOr<std::unique_ptr<CommitLog>> CommitLog::Open(
    FileSystem* fs, const Path& dir, const StoreId& id,
    const CommitLogOptions& options, LogOffset end, LogOffset synced) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<CommitLog> log(new CommitLog(fs, dir, id, options));
  ASSIGN_OR_RETURN(auto bases, ListLogFiles(fs, dir));
  const auto after = std::lower_bound(bases.begin(), bases.end(), end);
  if (after == bases.begin()) {
    return absl::OutOfRangeError(absl::StrCat(
        "commit log ", dir.string(), ": no file holds offset ", end.value()));
  }
  const LogOffset last = *(after - 1);
  RETURN_IF_ERROR(log->RemoveEmptyAfter(bases, last));
  RETURN_IF_ERROR(RemoveIfThere(fs, dir / kSpareName));
  bases.erase(after, bases.end());
  RETURN_IF_ERROR(log->OpenLast(bases, end, synced));
  log->start_ = (bases.front() + kLogFileHeaderBytes).value();
  log->end_ = log->durable_ = end.value();
  return log;
}

absl::Status CommitLog::RemoveEmptyAfter(const std::vector<LogOffset>& bases,
                                         LogOffset last) {
  // All are looked at before any is removed.
  for (const LogOffset base : bases) {
    if (base <= last) continue;
    ASSIGN_OR_RETURN(auto reader, LogFileReader::Open(fs_, dir_, base, id_));
    LogGroup group;
    ASSIGN_OR_RETURN(const bool whole,
                     reader->ReadGroup(base + kLogFileHeaderBytes, &group));
    if (!whole) continue;
    return absl::DataLossError(absl::StrCat(
        "commit log ", reader->path().string(), " holds intact groups beyond ",
        "the place where the log is to be cut"));
  }
  // Newest first and one by one durable: an interruption leaves no gap.
  for (auto base = bases.rbegin(); base != bases.rend() && *base > last;
       ++base) {
    RETURN_IF_ERROR(fs_->Remove(dir_ / LogFileName(*base)));
    RETURN_IF_ERROR(fs_->SyncDir(dir_));
  }
  return absl::OkStatus();
}

absl::Status CommitLog::OpenLast(const std::vector<LogOffset>& bases,
                                 LogOffset end, LogOffset synced) {
  base_ = bases.back();
  const Path path = dir_ / LogFileName(base_);
  ASSIGN_OR_RETURN(file_, fs_->Open(path, {.mode = OpenMode::kReadWrite,
                                           .direct = options_.direct_io}));
  ASSIGN_OR_RETURN(const LogFileHeader header,
                   ReadLogFileHeader(file_.get(), path, base_, id_));
  first_ = {base_, header.segment_end(), header.segment_end()};
  if (end < header.first_group() || end > header.segment_end() ||
      end.value() % kLogBlockBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("commit log ", path.string(), ": the log cannot end at ",
                     end.value(), ", where no group can begin"));
  }
  RETURN_IF_ERROR(Rewrite(std::max(synced, header.first_group()), end));
  CrashPoint("log.tail_rewritten");
  RETURN_IF_ERROR(CutAndAllocate(end, first_));
  MutexLock lock(&mu_);
  for (size_t i = 0; i < bases.size(); ++i) {
    const LogOffset next =
        i + 1 < bases.size() ? bases[i + 1] : first_.next_base;
    files_.push_back({bases[i], next - bases[i], 0});
  }
  return absl::OkStatus();
}

absl::Status CommitLog::Rewrite(LogOffset from, LogOffset end) {
  if (from >= end || PlantedBug("tail_trusted")) return absl::OkStatus();
  from = LogOffset(from.value() / kLogBlockBytes * kLogBlockBytes);
  const auto pages = std::make_unique<Page[]>(kRewriteBytes / sizeof(Page));
  char* const buffer = reinterpret_cast<char*>(pages.get());
  while (from < end) {
    const size_t bytes = std::min<uint64_t>(end - from, kRewriteBytes);
    ASSIGN_OR_RETURN(const size_t got,
                     file_->ReadAt(from - base_, bytes, buffer));
    if (got < bytes) {
      return absl::DataLossError(
          absl::StrCat("commit log ", (dir_ / LogFileName(base_)).string(),
                       " ends before log offset ", end.value()));
    }
    RETURN_IF_ERROR(file_->WriteAt(from - base_, {buffer, bytes}));
    from += bytes;
  }
  return absl::OkStatus();
}

absl::Status CommitLog::CutAndAllocate(LogOffset end, const Extent& first) {
  const uint64_t used = end - base_;
  RETURN_IF_ERROR(file_->Truncate(used));
  CrashPoint("log.tail_cut");
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(fs_->SyncDir(dir_));
  const uint64_t size = first.next_base - base_;
  if (used == size) return absl::OkStatus();
  const absl::Status status = file_->Allocate(used, size - used);
  if (absl::IsResourceExhausted(status)) {
    // A write into space that is not there would stop the log for good. So
    // the file counts as full, and the next one waits for space.
    first_.limit = end;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  return file_->Sync();
}

CommitLog::Extent CommitLog::ExtentOf(LogOffset end) const {
  if (end <= first_.next_base) return first_;
  const uint64_t size = options_.segment_bytes;
  const uint64_t past = end - first_.next_base - 1;
  const LogOffset base = first_.next_base + past / size * size;
  return {base, base + size, base + size};
}

LogOffset CommitLog::NextStart(LogOffset end, uint64_t bytes) const {
  const Extent extent = ExtentOf(end);
  if (end + RoundUpToBlock(bytes) <= extent.limit) return end;
  return extent.next_base + kLogFileHeaderBytes;
}

// What the reader will ask of the group is asked before it is written.
absl::Status CommitLog::CheckGroup(const GroupBuilder& group) const {
  const auto header = DecodeGroupHeader(salt_, group.start(), group.bytes());
  if (!header.ok() || header->end() != group.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a group of ", group.bytes().size(),
        " bytes cannot be appended: it is not finished, or has more than ",
        kGroupBytesMax, " bytes, or another store's salt"));
  }
  const Extent extent = ExtentOf(group.end());
  if (group.start() < extent.base + kLogFileHeaderBytes ||
      group.end() > extent.limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a group of ", group.bytes().size(), " bytes at log offset ",
        group.start().value(), " does not fit into one file"));
  }
  const Extent current = ExtentOf(end());
  if (group.start() == end() ||
      group.start() == current.next_base + kLogFileHeaderBytes) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a group that starts at log offset ", group.start().value(),
                   " cannot follow one that ends at ", end().value()));
}

absl::Status CommitLog::Append(const GroupBuilder& group) {
  RETURN_IF_ERROR(failure_);
  RETURN_IF_ERROR(CheckGroup(group));
  const LogOffset base = ExtentOf(group.end()).base;
  if (base != base_) RETURN_IF_ERROR(Roll(base, end()));
  const absl::Status status =
      file_->WriteAt(group.start() - base_, group.bytes());
  if (!status.ok()) return Fail(status);
  end_.store(group.end().value());
  CrashPoint("log.group_written");
  return absl::OkStatus();
}

absl::Status CommitLog::Sync() {
  RETURN_IF_ERROR(failure_);
  const LogOffset end(end_.load());
  if (end == durable()) return absl::OkStatus();
  absl::Status status = file_->Sync();
  if (!status.ok() && PlantedBug("sync_retried")) status = file_->Sync();
  if (!status.ok()) return Fail(status);
  CrashPoint("log.group_synced");
  durable_.store(end.value());
  return absl::OkStatus();
}

absl::Status CommitLog::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  return failure_;
}

absl::Status CommitLog::Roll(LogOffset base, LogOffset previous_end) {
  // The spare first: if there is no space for it, nothing has happened yet.
  if (absl::Status status = PrepareNextFile(); !status.ok()) {
    return absl::IsResourceExhausted(status) ? status : Fail(status);
  }
  // Then the old file: the next one's name says that this one is durable.
  RETURN_IF_ERROR(Sync());
  absl::Status status = NameSpare(base, previous_end);
  return status.ok() ? status : Fail(status);
}

absl::Status CommitLog::NameSpare(LogOffset base, LogOffset previous_end) {
  // Held until the spare has its new name: whoever prepares a file meanwhile
  // would take this one for a left-over.
  MutexLock spare_lock(&spare_mu_);
  RETURN_IF_ERROR(PrepareSpare());
  Page page;
  EncodeLogFileHeader({id_, base, options_.segment_bytes, previous_end},
                      page.bytes);
  RETURN_IF_ERROR(spare_->WriteAt(0, {page.bytes, kLogFileHeaderBytes}));
  RETURN_IF_ERROR(spare_->Sync());
  CrashPoint("log.header_written");
  RETURN_IF_ERROR(fs_->Rename(dir_ / kSpareName, dir_ / LogFileName(base)));
  CrashPoint("log.file_named");
  RETURN_IF_ERROR(fs_->SyncDir(dir_));
  CrashPoint("log.file_rolled");
  file_ = std::move(spare_);
  base_ = base;
  MutexLock lock(&mu_);
  files_.push_back({base, options_.segment_bytes, 0});
  return absl::OkStatus();
}

absl::Status CommitLog::PrepareNextFile() {
  MutexLock lock(&spare_mu_);
  return PrepareSpare();
}

absl::Status CommitLog::PrepareSpare() {
  if (spare_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(spare_, MakeSpare());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<File>> CommitLog::MakeSpare() {
  const Path path = dir_ / kSpareName;
  RETURN_IF_ERROR(RemoveIfThere(fs_, path));
  auto file = AllocateSpare(path);
  if (!file.ok()) {
    // Half a spare would keep from others the space that was lacking. If it
    // cannot be removed either, the next attempt begins with that.
    fs_->Remove(path).IgnoreError();
  }
  return file;
}

absl::StatusOr<std::unique_ptr<File>> CommitLog::AllocateSpare(
    const Path& path) {
  ASSIGN_OR_RETURN(auto file, fs_->Open(path, {.mode = OpenMode::kCreate,
                                               .direct = options_.direct_io}));
  RETURN_IF_ERROR(file->Allocate(0, options_.segment_bytes));
  CrashPoint("log.spare_allocated");
  RETURN_IF_ERROR(file->Sync());
  return file;
}

absl::StatusOr<LogOffset> CommitLog::RemoveBefore(LogOffset keep_from) {
  while (true) {
    LogOffset base;
    {
      MutexLock lock(&mu_);
      if (files_.size() < 2 || files_[1].base > keep_from) return start();
      base = files_[0].base;
      // Readers are sent away before the file goes, not after.
      start_.store((files_[1].base + kLogFileHeaderBytes).value());
      files_.erase(files_.begin());
      std::erase_if(readers_, [&](const Reader& r) { return r.base == base; });
    }
    RETURN_IF_ERROR(RemoveIfThere(fs_, dir_ / LogFileName(base)));
    CrashPoint("log.file_retired");
    // Oldest first and one by one durable: a power loss leaves no gap.
    RETURN_IF_ERROR(fs_->SyncDir(dir_));
  }
}

absl::StatusOr<std::vector<CommitLog::FileInfo>> CommitLog::Files() const {
  std::vector<FileInfo> files;
  {
    MutexLock lock(&mu_);
    files = files_;
  }
  for (auto& file : files) {
    auto modified_ms = fs_->ModifiedMs(dir_ / LogFileName(file.base));
    if (absl::IsNotFound(modified_ms.status())) {
      file.bytes = 0;  // removed since: not reported
      continue;
    }
    RETURN_IF_ERROR(modified_ms.status());
    file.modified_ms = *modified_ms;
  }
  std::erase_if(files, [](const FileInfo& f) { return f.bytes == 0; });
  return files;
}

absl::StatusOr<LogOffset> CommitLog::BaseOf(LogOffset offset) const {
  MutexLock lock(&mu_);
  if (offset < start()) {
    return absl::OutOfRangeError(absl::StrCat("commit log ", dir_.string(),
                                              ": offset ", offset.value(),
                                              " was removed"));
  }
  // Newest first: that is where consumers read. The oldest begins before
  // start(), so one is found.
  const auto file =
      std::find_if(files_.rbegin(), files_.rend(),
                   [&](const FileInfo& f) { return f.base <= offset; });
  return file->base;
}

std::shared_ptr<File> CommitLog::CachedReader(LogOffset base) {
  MutexLock lock(&mu_);
  const auto found =
      std::find_if(readers_.begin(), readers_.end(),
                   [&](const Reader& r) { return r.base == base; });
  if (found == readers_.end()) return nullptr;
  std::rotate(readers_.begin(), found, found + 1);
  return readers_.front().file;
}

absl::StatusOr<std::shared_ptr<File>> CommitLog::OpenForRead(LogOffset base) {
  if (auto cached = CachedReader(base); cached != nullptr) return cached;
  const Path path = dir_ / LogFileName(base);
  auto opened = fs_->Open(path, {.mode = OpenMode::kRead});
  if (absl::IsNotFound(opened.status()) &&
      base + kLogFileHeaderBytes < start()) {
    return absl::OutOfRangeError(
        absl::StrCat("commit log ", path.string(), " was removed"));
  }
  if (absl::IsNotFound(opened.status())) {
    return absl::DataLossError(
        absl::StrCat("commit log damaged: ", path.string(), " is missing"));
  }
  if (!opened.ok()) return opened.status();
  std::shared_ptr<File> file = *std::move(opened);
  RETURN_IF_ERROR(ReadLogFileHeader(file.get(), path, base, id_).status());
  MutexLock lock(&mu_);
  readers_.insert(readers_.begin(), {base, file});
  if (readers_.size() > kOpenReadersMax) readers_.pop_back();
  return file;
}

absl::StatusOr<LogRecord> CommitLog::ReadRecord(LogOffset offset, uint32_t size,
                                                std::string* buffer) {
  if (size < kRecordHeaderBytes || size > kGroupBytesMax || offset > end() ||
      size > end() - offset) {
    return absl::OutOfRangeError(
        absl::StrCat("commit log ", dir_.string(), ": no record of ", size,
                     " bytes can stand at offset ", offset.value(),
                     "; the log ends at ", end().value()));
  }
  ASSIGN_OR_RETURN(const LogOffset base, BaseOf(offset));
  ASSIGN_OR_RETURN(const auto file, OpenForRead(base));
  buffer->resize(size);
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(offset - base, size, buffer->data()));
  auto record =
      DecodeRecord(salt_, offset, std::string_view(*buffer).substr(0, got));
  if (record.ok() && record->size() == size) return record;
  return absl::DataLossError(absl::StrCat(
      "commit log damaged: ", (dir_ / LogFileName(base)).string(), " at byte ",
      offset - base, " (log offset ", offset.value(), "): ",
      record.ok() ? absl::StrCat("the record has ", record->size(),
                                 " bytes, not ", size)
                  : std::string(record.status().message())));
}

}  // namespace hourglass
