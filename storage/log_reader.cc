#include "storage/log_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/log_file_reader.h"
#include "storage/status_macros.h"

namespace hourglass {

class LogReader::Impl {
 public:
  Impl(FileSystem* fs, Path dir, const StoreId& id, LogOffset known_durable)
      : fs_(fs), dir_(std::move(dir)), id_(id), known_durable_(known_durable) {}

  absl::Status Seek(LogOffset from) {
    failure_ = DoSeek(from, /*exact=*/true);
    return failure_;
  }
  absl::Status SeekGroup(LogOffset near) {
    failure_ = DoSeek(near, /*exact=*/false);
    return failure_;
  }
  void StopAt(LogOffset end) { stop_at_ = end; }
  absl::StatusOr<bool> Next(LogRecord* record);

  LogOffset end() const { return position_; }
  bool torn() const { return torn_; }
  const GroupHeader& group() const { return last_group_; }

 private:
  // A file, and the header of the one after it, if there is one.
  absl::Status EnterFile(size_t index);
  bool IsLastFile() const { return index_ + 1 == bases_.size(); }
  bool IsAtEndOfFile() const {
    return next_header_ && position_ == next_header_->previous_end;
  }
  absl::Status CheckChain() const;

  // Reads the group at position_ and moves behind it; false at the end of
  // the log.
  absl::StatusOr<bool> NextGroup();
  absl::Status CheckNotPastPreviousEnd(bool whole);
  // Passes the judgement that log_reader.h states: false if the log ends at
  // position_, DATA_LOSS if it once went on.
  absl::StatusOr<bool> JudgeUnreadable();
  absl::Status Damage(const std::string& why,
                      const std::string& evidence) const;
  absl::Status Beyond(LogOffset from) const;
  absl::Status CheckNotBeyondFiles(LogOffset from) const;

  absl::Status DoSeek(LogOffset from, bool exact);
  absl::Status SeekInFile(LogOffset from);
  absl::StatusOr<LogOffset> GroupAtOrBefore(LogOffset from);
  absl::Status SkipRecordsBefore(LogOffset from);

  FileSystem* const fs_;
  const Path dir_;
  const StoreId id_;
  const LogOffset known_durable_;
  LogOffset stop_at_ = LogOffset(std::numeric_limits<uint64_t>::max());

  std::vector<LogOffset> bases_;
  size_t index_ = 0;  // of file_ in bases_
  std::unique_ptr<LogFileReader> file_;
  std::unique_ptr<LogFileReader> next_file_;
  std::optional<LogFileHeader> next_header_;

  LogOffset position_;  // of the next group
  LogGroup group_;
  size_t next_record_ = 0;
  GroupHeader last_group_;
  bool at_end_ = false;
  bool torn_ = false;
  // Reading on after an error would be reading around damage.
  absl::Status failure_ =
      absl::FailedPreconditionError("LogReader: Seek before Next");
};

absl::Status LogReader::Impl::Damage(const std::string& why,
                                     const std::string& evidence) const {
  return absl::DataLossError(
      absl::StrCat("commit log damaged: ", file_->path().string(), " at byte ",
                   position_ - file_->header().base, " (log offset ",
                   position_.value(), "): ", why, "; ", evidence));
}

absl::Status LogReader::Impl::Beyond(LogOffset from) const {
  return absl::OutOfRangeError(
      absl::StrCat("commit log ", dir_.string(), ": offset ", from.value(),
                   " is not on disk; the log ends at ", position_.value()));
}

absl::Status LogReader::Impl::CheckChain() const {
  const LogFileHeader& here = file_->header();
  const LogFileHeader& next = *next_header_;
  if (next.base != here.segment_end()) {
    return absl::DataLossError(
        absl::StrCat("commit log damaged: ",
                     (dir_ / LogFileName(here.segment_end())).string(),
                     " is missing: it should stand between ",
                     LogFileName(here.base), " and ", LogFileName(next.base)));
  }
  if (next.previous_end < here.first_group() ||
      next.previous_end > here.segment_end() ||
      (next.previous_end - here.base) % kLogBlockBytes != 0) {
    return absl::DataLossError(
        absl::StrCat("commit log damaged: ", next_file_->path().string(),
                     " says that the file before it ends at log offset ",
                     next.previous_end.value(), ", which is not inside ",
                     LogFileName(here.base)));
  }
  return absl::OkStatus();
}

absl::Status LogReader::Impl::EnterFile(size_t index) {
  if (next_file_ != nullptr && index == index_ + 1) {
    file_ = std::move(next_file_);
  } else {
    ASSIGN_OR_RETURN(file_, LogFileReader::Open(fs_, dir_, bases_[index], id_));
  }
  index_ = index;
  position_ = file_->header().first_group();
  next_file_ = nullptr;
  next_header_ = std::nullopt;
  if (IsLastFile()) return absl::OkStatus();
  ASSIGN_OR_RETURN(next_file_,
                   LogFileReader::Open(fs_, dir_, bases_[index + 1], id_));
  next_header_ = next_file_->header();
  return CheckChain();
}

absl::StatusOr<bool> LogReader::Impl::JudgeUnreadable() {
  const std::string why(file_->why());
  if (next_header_) {
    return Damage(why, absl::StrCat("the file was synced up to log offset ",
                                    next_header_->previous_end.value(),
                                    " before the next one was begun"));
  }
  if (known_durable_ > position_) {
    return Damage(why, absl::StrCat("the checkpoint knows that the log was "
                                    "synced up to log offset ",
                                    known_durable_.value()));
  }
  ASSIGN_OR_RETURN(const LogFileReader::Rest rest, file_->ScanRest(position_));
  if (rest.witness) {
    return Damage(why, absl::StrCat("the group at log offset ",
                                    rest.witness->offset.value(),
                                    " knows that the log was synced up to ",
                                    rest.witness->durable_before.value()));
  }
  torn_ = !rest.all_zero || !file_->HasFullSize();
  at_end_ = true;
  return false;
}

// A group that the next file's header does not know of must not be skipped.
absl::Status LogReader::Impl::CheckNotPastPreviousEnd(bool whole) {
  if (!whole || !next_header_ ||
      group_.header.end() <= next_header_->previous_end) {
    return absl::OkStatus();
  }
  group_.records.clear();
  return Damage(
      "a group stands here",
      absl::StrCat("the next file says that this one ends at log offset ",
                   next_header_->previous_end.value()));
}

absl::StatusOr<bool> LogReader::Impl::NextGroup() {
  if (at_end_ || position_ >= stop_at_) return false;
  group_.records.clear();
  next_record_ = 0;
  ASSIGN_OR_RETURN(bool whole, file_->ReadGroup(position_, &group_));
  RETURN_IF_ERROR(CheckNotPastPreviousEnd(whole));
  while (IsAtEndOfFile()) {
    RETURN_IF_ERROR(EnterFile(index_ + 1));
    ASSIGN_OR_RETURN(whole, file_->ReadGroup(position_, &group_));
    RETURN_IF_ERROR(CheckNotPastPreviousEnd(whole));
  }
  if (!whole) return JudgeUnreadable();
  position_ = group_.header.end();
  return true;
}

absl::StatusOr<bool> LogReader::Impl::Next(LogRecord* record) {
  RETURN_IF_ERROR(failure_);
  while (next_record_ == group_.records.size()) {
    absl::StatusOr<bool> more = NextGroup();
    failure_ = more.status();
    if (!more.ok() || !*more) return more;
  }
  last_group_ = group_.header;
  *record = group_.records[next_record_++];
  return true;
}

absl::StatusOr<LogOffset> LogReader::Impl::GroupAtOrBefore(LogOffset from) {
  // Where a group begins exactly at `from`, nothing before it matters.
  if (from.value() % kLogBlockBytes == 0) {
    ASSIGN_OR_RETURN(const bool whole, file_->ReadGroup(from, &group_));
    if (whole) return from;
  }
  ASSIGN_OR_RETURN(const auto before, file_->FindHeaderBefore(from));
  return before ? before->offset : file_->header().first_group();
}

absl::Status LogReader::Impl::SkipRecordsBefore(LogOffset from) {
  const auto& records = group_.records;
  const auto found =
      std::find_if(records.begin(), records.end(),
                   [&](const LogRecord& r) { return r.offset >= from; });
  next_record_ = found - records.begin();
  if (from == group_.header.offset || from >= group_.header.records_end() ||
      (found != records.end() && found->offset == from)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("commit log ",
                                                 file_->path().string(),
                                                 ": no record begins "
                                                 "at log offset ",
                                                 from.value()));
}

absl::Status LogReader::Impl::SeekInFile(LogOffset from) {
  ASSIGN_OR_RETURN(position_, GroupAtOrBefore(from));
  while (position_ < from) {
    ASSIGN_OR_RETURN(const bool more, NextGroup());
    if (!more) return Beyond(from);
    if (position_ > from) return SkipRecordsBefore(from);
    next_record_ = group_.records.size();
  }
  group_.records.clear();
  next_record_ = 0;
  return absl::OkStatus();
}

absl::Status LogReader::Impl::CheckNotBeyondFiles(LogOffset from) const {
  if (next_header_ || from <= file_->header().segment_end()) {
    return absl::OkStatus();
  }
  const std::string text = absl::StrCat(
      "commit log ", dir_.string(), ": offset ", from.value(),
      " is not on disk; the last file is ", LogFileName(file_->header().base));
  return known_durable_ > file_->header().segment_end()
             ? absl::DataLossError(text)
             : absl::OutOfRangeError(text);
}

absl::Status LogReader::Impl::DoSeek(LogOffset from, bool exact) {
  at_end_ = torn_ = false;
  group_.records.clear();
  next_record_ = 0;
  last_group_ = GroupHeader();
  file_ = nullptr;
  next_file_ = nullptr;
  ASSIGN_OR_RETURN(bases_, ListLogFiles(fs_, dir_));
  if (bases_.empty()) {
    return absl::DataLossError(
        absl::StrCat("commit log ", dir_.string(), ": there is no log file"));
  }
  const auto after = std::upper_bound(bases_.begin(), bases_.end(), from);
  RETURN_IF_ERROR(
      EnterFile(after == bases_.begin() ? 0 : after - bases_.begin() - 1));
  if (from <= position_) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNotBeyondFiles(from));
  // In the unused rest of a file: what follows it is the next file.
  if (next_header_ && from >= next_header_->previous_end) {
    return EnterFile(index_ + 1);
  }
  if (exact) return SeekInFile(from);
  ASSIGN_OR_RETURN(position_, GroupAtOrBefore(from));
  group_.records.clear();
  return absl::OkStatus();
}

LogReader::LogReader(FileSystem* fs, Path dir, const StoreId& id,
                     LogOffset known_durable)
    : impl_(std::make_unique<Impl>(fs, std::move(dir), id, known_durable)) {}
LogReader::~LogReader() = default;

absl::Status LogReader::Seek(LogOffset from) { return impl_->Seek(from); }
absl::Status LogReader::SeekGroup(LogOffset near) {
  return impl_->SeekGroup(near);
}
void LogReader::StopAt(LogOffset end) { impl_->StopAt(end); }
absl::StatusOr<bool> LogReader::Next(LogRecord* record) {
  return impl_->Next(record);
}
LogOffset LogReader::end() const { return impl_->end(); }
bool LogReader::torn() const { return impl_->torn(); }
LogOffset LogReader::group_start() const { return impl_->group().offset; }
LogOffset LogReader::durable_before() const {
  return impl_->group().durable_before;
}
int64_t LogReader::written_ms() const { return impl_->group().written_ms; }

}  // namespace hourglass
