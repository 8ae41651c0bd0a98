// The two files of an hour, with facts that fit their lengths: opened, swept,
// walked, and every frame read. With the seals made right, every field of the
// index reaches those who use it, and so does every frame that makes up for a
// damaged record of it.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/hour_format.h"
#include "storage/hour_segment.h"
#include "storage/message_codec.h"
#include "storage/slot_heads.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory_file_system.h"
#include "wheel/slot_loader.h"

namespace hourglass {
namespace {

constexpr Hour kHour{498'675};
constexpr size_t kIndexBytesMax = 4096;

StoreId Id() {
  StoreId id;
  id.bytes.fill('f');
  return id;
}

struct Input {
  bool sealed = false;   // the index
  bool framed = false;   // the frames
  bool headers = false;  // good ones in front
  std::string_view log, index, heads;
};

// choice u8 | index bytes u16 | heads bytes u16 | index | heads | log
bool Split(std::string_view data, Input* input) {
  if (data.size() < 5) return false;
  input->headers = data[0] & 1;
  input->sealed = data[0] & 2;
  input->framed = data[0] & 4;
  const size_t index = GetFixed<uint16_t>(data.data() + 1) % kIndexBytesMax;
  const size_t heads = GetFixed<uint16_t>(data.data() + 3) % kIndexBytesMax;
  data.remove_prefix(5);
  input->index = data.substr(0, index);
  data.remove_prefix(input->index.size());
  input->heads = data.substr(0, heads);
  data.remove_prefix(input->heads.size());
  input->log = data;
  return true;
}

std::string WithHeader(bool wanted, bool is_index, std::string_view content) {
  std::string file;
  if (wanted) {
    file.resize(kHourHeaderBytes);
    EncodeHourHeader({kHour, Id(), RecordNumber()}, is_index, file.data());
  }
  file.append(content);
  return file;
}

void SealIndex(uint64_t salt, std::string* file) {
  uint32_t number = 1;
  for (size_t at = kHourHeaderBytes; at + kIndexRecordBytes <= file->size();
       at += kIndexRecordBytes, ++number) {
    char* in = file->data() + at;
    const uint64_t content = HashBytes({in, kIndexSealedBytes});
    PutFixed<uint32_t>(
        in + kIndexSealedBytes,
        static_cast<uint32_t>(
            Seal(salt, PlaceOf(kHour, RecordNumber(number)), 0, content)));
  }
}

void SealFrames(uint64_t salt, std::string* file) {
  size_t at = kHourHeaderBytes;
  while (at + kFrameHeaderBytes <= file->size()) {
    char* in = file->data() + at;
    const FrameHead head = PeekFrame(in);
    if (head.bytes < kFrameHeaderBytes || head.bytes > file->size() - at) break;
    const uint64_t content =
        HashBytes({in + kFrameHeaderBytes, head.bytes - kFrameHeaderBytes});
    PutFixed<uint64_t>(in + 8, Seal(salt, PlaceOf(kHour, head.number),
                                    GetFixed<uint32_t>(in), content));
    at += head.bytes;
  }
}

void ReadMessages(const HourSegment& segment, const LoadResult& loaded) {
  DueKey last;
  for (const DueEntry& entry : loaded.entries) {
    FUZZ_CHECK(last < entry.key());
    FUZZ_CHECK(entry.key() <= loaded.end);
    last = entry.key();
    std::string buffer;
    const auto payload =
        segment.ReadFrame(entry.number, entry.location, entry.size, &buffer);
    if (payload.ok()) (void)DecodeMessage(*payload);
  }
}

void Use(const std::shared_ptr<HourSegment>& segment) {
  LoadRequest request;
  request.segment = segment;
  request.after = DueKey::Before(StartMs(kHour));
  request.upto = segment->flushed();
  request.until = DueKey::EndOf(kHour);
  request.entries_max = 16;
  request.heads = std::make_shared<SlotHeads>(*segment->heads());
  ReadMessages(*segment, ForwardSweep(request));
  ReadMessages(*segment, ChainWalk(request));
}

FUZZ_TARGET(std::string_view data) {
  Input input;
  if (!Split(data, &input)) return;
  std::string index = WithHeader(input.headers, true, input.index);
  std::string log = WithHeader(input.headers, false, input.log);
  if (input.sealed) SealIndex(HashBytes(Id().view()), &index);
  if (input.framed) SealFrames(HashBytes(Id().view()), &log);
  MemoryFileSystem fs;
  const Path dir = "/hours";
  FUZZ_CHECK(fs.CreateDir(dir).ok());
  fs.SetContent(dir / DelayLogName(kHour), log);
  fs.SetContent(dir / DelayIndexName(kHour), index);
  HourFacts facts;
  const size_t records =
      index.size() < kHourHeaderBytes
          ? 0
          : (index.size() - kHourHeaderBytes) / kIndexRecordBytes;
  facts.last = RecordNumber(static_cast<uint32_t>(records));
  facts.delay_log_bytes = log.size();
  const auto segment =
      HourSegment::Open(&fs, dir, Id(), kHour, facts, input.heads);
  if (segment.ok()) Use(*segment);
}

}  // namespace
}  // namespace hourglass
