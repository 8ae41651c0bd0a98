#include "storage/log_file_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// One read of the disk when reading on: large enough to run at its speed.
constexpr size_t kWindowBytes = 1u << 20;

absl::Status InFile(const Path& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("commit log ", path.string(),
                                                  ": ", status.message()));
}

absl::Status CheckHeader(const LogFileHeader& header, LogOffset base,
                         const StoreId& id) {
  if (header.id != id) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file belongs to store ", header.id.ToHex(),
                     ", this is store ", id.ToHex()));
  }
  if (header.base != base) {
    return absl::DataLossError(absl::StrCat("the header says base offset ",
                                            header.base.value(),
                                            ", the name says ", base.value()));
  }
  if (header.segment_bytes <= kLogFileHeaderBytes ||
      header.segment_bytes % kLogBlockBytes != 0 ||
      header.previous_end > base) {
    return absl::DataLossError("the file header contradicts itself");
  }
  return absl::OkStatus();
}

bool IsAllZero(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 &&
          std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

absl::StatusOr<std::vector<LogOffset>> ListLogFiles(FileSystem* fs,
                                                    const Path& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs->List(dir));
  std::vector<LogOffset> bases;
  for (const auto& name : names) {
    if (const auto base = ParseLogFileName(name)) bases.push_back(*base);
  }
  std::sort(bases.begin(), bases.end());
  return bases;
}

absl::StatusOr<LogFileHeader> ReadLogFileHeader(File* file, const Path& path,
                                                LogOffset base,
                                                const StoreId& id) {
  alignas(4096) char bytes[kLogFileHeaderBytes];
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, sizeof(bytes), bytes));
  auto header = DecodeLogFileHeader({bytes, got});
  if (!header.ok()) return InFile(path, header.status());
  if (absl::Status status = CheckHeader(*header, base, id); !status.ok()) {
    return InFile(path, status);
  }
  return header;
}

LogFileReader::LogFileReader(Path path, std::unique_ptr<File> file,
                             uint64_t size, const LogFileHeader& header)
    : path_(std::move(path)),
      file_(std::move(file)),
      size_(size),
      header_(header),
      salt_(HashBytes(header.id.view())),
      window_(kWindowBytes) {}

absl::StatusOr<std::unique_ptr<LogFileReader>> LogFileReader::Open(
    FileSystem* fs, const Path& dir, LogOffset base, const StoreId& id) {
  Path path = dir / LogFileName(base);
  ASSIGN_OR_RETURN(auto file, fs->Open(path, {.mode = OpenMode::kRead}));
  ASSIGN_OR_RETURN(const LogFileHeader header,
                   ReadLogFileHeader(file.get(), path, base, id));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  return std::unique_ptr<LogFileReader>(
      new LogFileReader(std::move(path), std::move(file), size, header));
}

absl::StatusOr<std::string_view> LogFileReader::View(uint64_t offset,
                                                     size_t bytes) {
  if (offset >= size_) return std::string_view();
  bytes = std::min<uint64_t>(bytes, size_ - offset);
  if (!window_.Has(offset, bytes)) {
    const ReadWindow::Gap gap = window_.MoveTo(offset, bytes);
    ASSIGN_OR_RETURN(const size_t got,
                     file_->ReadAt(gap.offset, gap.bytes, gap.out));
    window_.Got(got);
  }
  return window_.View(offset, bytes);
}

bool LogFileReader::Unreadable(absl::Status reason) {
  why_ = std::string(reason.message());
  return false;
}

bool LogFileReader::ParseRecords(std::string_view bytes, LogGroup* group) {
  LogOffset at = group->header.offset + kGroupHeaderBytes;
  bytes.remove_prefix(kGroupHeaderBytes);
  for (uint32_t i = 0; i < group->header.records; ++i) {
    absl::StatusOr<LogRecord> record = DecodeRecord(salt_, at, bytes);
    if (!record.ok()) {
      return Unreadable(absl::DataLossError(absl::StrCat(
          "at log offset ", at.value(), " ", record.status().message())));
    }
    group->records.push_back(*record);
    at = record->end();
    bytes.remove_prefix(record->size());
  }
  if (!bytes.empty()) {
    return Unreadable(absl::DataLossError(
        absl::StrCat(bytes.size(), " bytes of the group belong to no record")));
  }
  return true;
}

absl::StatusOr<bool> LogFileReader::ReadGroup(LogOffset at, LogGroup* group) {
  group->records.clear();
  ASSIGN_OR_RETURN(std::string_view bytes, View(Place(at), kGroupHeaderBytes));
  auto header = DecodeGroupHeader(salt_, at, bytes);
  if (!header.ok()) return Unreadable(header.status());
  group->header = *header;
  if (header->end() > header_.segment_end()) {
    return Unreadable(absl::DataLossError("the group leaves its file"));
  }
  ASSIGN_OR_RETURN(bytes, View(Place(at), header->bytes));
  if (bytes.size() < header->bytes) {
    return Unreadable(absl::DataLossError("the group is cut short"));
  }
  const bool whole = ParseRecords(bytes, group);
  if (!whole) group->records.clear();
  return whole;
}

absl::StatusOr<std::optional<GroupHeader>> LogFileReader::FindHeaderBefore(
    LogOffset at) {
  const uint64_t place = std::min(Place(at), size_);
  const uint64_t first = std::max<uint64_t>(
      kLogFileHeaderBytes, place > kGroupBytesMax + kLogBlockBytes
                               ? place - kGroupBytesMax - kLogBlockBytes
                               : 0);
  const uint64_t begin = first / kLogBlockBytes * kLogBlockBytes;
  if (place <= begin) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string_view bytes, View(begin, place - begin));
  for (size_t end = RoundUpToBlock(bytes.size()); end > 0;) {
    end -= kLogBlockBytes;
    const auto header =
        HeaderAt(header_.base + (begin + end), bytes.substr(end));
    if (header) return header;
  }
  return std::nullopt;
}

// Most blocks are told apart here without making an error text for them.
std::optional<GroupHeader> LogFileReader::HeaderAt(
    LogOffset at, std::string_view bytes) const {
  if (bytes.size() < kGroupHeaderBytes ||
      GetFixed<uint32_t>(bytes.data()) != kGroupMagic) {
    return std::nullopt;
  }
  auto header = DecodeGroupHeader(salt_, at, bytes);
  if (!header.ok()) return std::nullopt;
  return *header;
}

void LogFileReader::ScanBlocks(LogOffset from, LogOffset at,
                               std::string_view bytes, Rest* rest) const {
  for (size_t p = 0; p < bytes.size(); p += kLogBlockBytes) {
    const auto header = HeaderAt(at + p, bytes.substr(p));
    if (header && header->durable_before > from) {
      rest->witness = header;
      return;
    }
  }
}

absl::StatusOr<LogFileReader::Rest> LogFileReader::ScanRest(LogOffset from) {
  Rest rest;
  for (uint64_t place = Place(from); place < size_ && !rest.witness;
       place += kWindowBytes) {
    // The rest of a file that was allocated ahead is not worth reading.
    ASSIGN_OR_RETURN(const uint64_t data, file_->NextData(place));
    if (data >= size_) break;
    place = std::max(place, data / kLogBlockBytes * kLogBlockBytes);
    ASSIGN_OR_RETURN(const std::string_view bytes, View(place, kWindowBytes));
    if (IsAllZero(bytes)) continue;
    rest.all_zero = false;
    ScanBlocks(from, header_.base + place, bytes, &rest);
  }
  return rest;
}

}  // namespace hourglass
