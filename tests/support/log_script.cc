#include "tests/support/log_script.h"

#include <algorithm>
#include <string_view>

#include "storage/checksum.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr int64_t kFirstWrittenMs = 1'700'000'000'000;

CommitLogOptions SmallFiles() {
  CommitLogOptions options;
  options.segment_bytes = 16u << 10;
  options.direct_io = true;
  return options;
}

// The n-th record of a script: every field takes every kind of value.
LogEntry MakeEntry(size_t n, const std::string& payload) {
  LogEntry entry;
  entry.kind = static_cast<RecordKind>(1 + n % 6);
  entry.flags = static_cast<uint8_t>(n % 3 == 2 ? kFlagMarkOnly : 0);
  entry.hour = Hour(static_cast<int32_t>(n % 2 == 0 ? 0 : 480'000 + n));
  entry.number = RecordNumber(static_cast<uint32_t>(n));
  entry.payload = payload;
  return entry;
}

}  // namespace

LogEntry EntryOf(const LogRecord& record) {
  LogEntry entry;
  entry.offset = record.offset;
  entry.kind = record.kind;
  entry.flags = record.flags;
  entry.hour = record.hour;
  entry.number = record.number;
  entry.payload = std::string(record.payload);
  return entry;
}

std::ostream& operator<<(std::ostream& out, const LogEntry& entry) {
  return out << RecordKindName(entry.kind) << "@" << entry.offset.value()
             << " #" << entry.number.value() << " " << entry.payload.size()
             << " bytes";
}

StoreId TestStoreId() {
  StoreId id;
  constexpr std::string_view kText = "store-0123456789";
  std::copy(kText.begin(), kText.end(), id.bytes.begin());
  return id;
}

LogContent ReadLog(FileSystem* fs, LogOffset from, LogOffset known_durable) {
  LogContent content;
  LogReader reader(fs, kTestLogDir, TestStoreId(), known_durable);
  content.status = reader.Seek(from);
  LogRecord record;
  while (content.status.ok()) {
    const absl::StatusOr<bool> more = reader.Next(&record);
    content.status = more.status();
    if (!more.ok() || !*more) break;
    content.records.push_back(EntryOf(record));
  }
  content.end = reader.end();
  content.torn = reader.torn();
  return content;
}

LogScript::LogScript(FileSystem* fs) : LogScript(fs, SmallFiles()) {}
LogScript::LogScript(FileSystem* fs, const CommitLogOptions& options)
    : fs_(fs), options_(options), group_(HashBytes(TestStoreId().view())) {}

absl::Status LogScript::Create() {
  RETURN_IF_ERROR(fs_->CreateDir(kTestLogDir));
  RETURN_IF_ERROR(fs_->SyncDir("/"));
  ASSIGN_OR_RETURN(
      log_, CommitLog::Create(fs_, kTestLogDir, TestStoreId(), options_));
  return absl::OkStatus();
}

absl::Status LogScript::Reopen(const LogContent& content) {
  log_ = nullptr;
  ASSIGN_OR_RETURN(log_, CommitLog::Open(fs_, kTestLogDir, TestStoreId(),
                                         options_, content.end));
  records_ = content.records;
  durable_records_ = records_.size();
  groups_.clear();
  return absl::OkStatus();
}

absl::Status LogScript::Append(const std::vector<std::string>& payloads) {
  return Append(payloads, log_->durable());
}

absl::Status LogScript::Append(const std::vector<std::string>& payloads,
                               LogOffset durable_before) {
  uint64_t bytes = kGroupHeaderBytes;
  for (const auto& p : payloads) bytes += kRecordHeaderBytes + p.size();
  const LogOffset start = log_->NextStart(log_->end(), bytes);
  std::vector<LogEntry> entries;
  group_.Start(start, durable_before,
               kFirstWrittenMs + static_cast<int64_t>(groups_.size()));
  for (const auto& payload : payloads) {
    LogEntry entry = MakeEntry(records_.size() + entries.size(), payload);
    entry.offset = group_.Add(entry.kind, entry.flags, entry.hour, entry.number,
                              entry.payload, HashBytes(entry.payload));
    entries.push_back(std::move(entry));
  }
  group_.Finish();
  RETURN_IF_ERROR(log_->Append(group_));
  records_.insert(records_.end(), entries.begin(), entries.end());
  groups_.push_back(start);
  return absl::OkStatus();
}

absl::Status LogScript::Sync() {
  RETURN_IF_ERROR(log_->Sync());
  durable_records_ = records_.size();
  return absl::OkStatus();
}

Path LogScript::FilePath(LogOffset base) {
  return Path(kTestLogDir) / LogFileName(base);
}

}  // namespace hourglass
