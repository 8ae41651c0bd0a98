// A commit log of one file: any bytes behind a good file header, or any bytes
// at all. With the seals made right, every field of group and record headers
// and every payload reaches its parser.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "storage/applier.h"
#include "storage/checkpoint.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/log_file_reader.h"
#include "storage/log_format.h"
#include "storage/log_reader.h"
#include "storage/message_codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

constexpr uint64_t kSegmentBytes = 64 << 10;
constexpr size_t kContentBytesMax = kSegmentBytes - kLogFileHeaderBytes;
constexpr LogOffset kBase{0};

StoreId Id() {
  StoreId id;
  id.bytes.fill('f');
  return id;
}

// Makes the record's seal right; returns its size, 0 if there is no room for
// one.
size_t SealRecord(uint64_t salt, LogOffset at, std::string* file, size_t place,
                  size_t end) {
  if (place + kRecordHeaderBytes > end) return 0;
  char* in = file->data() + place;
  const auto size = GetFixed<uint32_t>(in);
  if (size < kRecordHeaderBytes || size > end - place) return 0;
  LogRecord record;
  record.offset = at;
  record.kind = static_cast<RecordKind>(in[4]);
  record.flags = static_cast<uint8_t>(in[5]);
  record.hour = Hour(GetFixed<int32_t>(in + 8));
  record.number = RecordNumber(GetFixed<uint32_t>(in + 12));
  record.payload = std::string_view(*file).substr(place + kRecordHeaderBytes,
                                                  size - kRecordHeaderBytes);
  char header[kRecordHeaderBytes];
  EncodeRecordHeader(salt, record, HashBytes(record.payload), header);
  std::copy(header, header + sizeof(header), in);
  return size;
}

// Takes each 512-byte block that begins with the magic number for a group.
void SealGroups(uint64_t salt, std::string* file) {
  for (size_t place = kLogFileHeaderBytes;
       place + kGroupHeaderBytes <= file->size();) {
    const char* in = file->data() + place;
    if (GetFixed<uint32_t>(in) != kGroupMagic) {
      place += kLogBlockBytes;
      continue;
    }
    GroupHeader header;
    header.records = GetFixed<uint32_t>(in + 4);
    header.bytes = GetFixed<uint32_t>(in + 8);
    header.offset = LogOffset(place);
    header.durable_before = LogOffset(GetFixed<uint64_t>(in + 24));
    header.written_ms = GetFixed<int64_t>(in + 32);
    EncodeGroupHeader(salt, header, file->data() + place);
    const size_t end = std::min<size_t>(place + header.bytes, file->size());
    size_t at = place + kGroupHeaderBytes;
    while (const size_t size = SealRecord(salt, LogOffset(at), file, at, end)) {
      at += size;
    }
    place = RoundUpToBlock(std::max(at, place + 1));
  }
}

std::string FileWith(std::string_view content) {
  std::string file(kLogFileHeaderBytes, '\0');
  EncodeLogFileHeader({Id(), kBase, kSegmentBytes, LogOffset()}, file.data());
  file.append(content.substr(0, kContentBytesMax));
  return file;
}

void ParsePayload(const LogRecord& record) {
  switch (record.kind) {
    case RecordKind::kCancel:
      (void)DecodeCancel(record.payload);
      return;
    case RecordKind::kAck:
      (void)DecodeAck(record.payload);
      if (const auto ack = DecodeMarks(record.payload); ack.ok()) {
        FUZZ_CHECK(EncodeMarks(ack->topic, ack->group, ack->marks) ==
                   record.payload);
      }
      return;
    case RecordKind::kCheckpoint:
      (void)DecodeCheckpointRecord(record.payload);
      return;
    default:
      (void)DecodeMessage(record.payload);
      (void)PeekMessage(record.payload);
  }
}

void ReadAll(FileSystem* fs, const Path& dir) {
  LogReader reader(fs, dir, Id());
  if (!reader.Seek(kBase).ok()) return;
  LogRecord record;
  LogOffset last;
  while (true) {
    const auto more = reader.Next(&record);
    if (!more.ok()) return;
    if (!*more) break;
    FUZZ_CHECK(record.offset >= last);  // forward, so it ends
    FUZZ_CHECK(record.end() <= LogOffset(kSegmentBytes));
    last = record.end();
    ParsePayload(record);
  }
  FUZZ_CHECK(reader.end() >= last);
}

FUZZ_TARGET(std::string_view data) {
  if (data.empty()) return;
  const int choice = data[0] % 3;
  data.remove_prefix(1);
  std::string file;
  if (choice == 0) {
    file = std::string(data.substr(0, kSegmentBytes));
  } else {
    file = FileWith(data);
    if (choice == 2) SealGroups(HashBytes(Id().view()), &file);
  }
  (void)DecodeLogFileHeader(file);
  MemoryFileSystem fs;
  const Path dir = "/log";
  FUZZ_CHECK(fs.CreateDir(dir).ok());
  fs.SetContent(dir / LogFileName(kBase), file);
  ReadAll(&fs, dir);
}

}  // namespace
}  // namespace hourglass
