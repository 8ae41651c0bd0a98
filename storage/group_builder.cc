#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>

#include "storage/commit_log.h"

namespace hourglass {
namespace {

constexpr size_t kAlignment = 4096;
constexpr size_t kFirstCapacity = 64u << 10;

}  // namespace

GroupBuilder::GroupBuilder(uint64_t salt) : salt_(salt) {}
GroupBuilder::~GroupBuilder() { std::free(data_); }

// Keeps the buffer once it has grown: a writer's groups are alike in size.
void GroupBuilder::Grow(size_t bytes) {
  const size_t wanted = std::max({bytes, capacity_ * 2, kFirstCapacity});
  const size_t capacity = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  auto* data = static_cast<char*>(std::aligned_alloc(kAlignment, capacity));
  if (data == nullptr) throw std::bad_alloc();
  if (size_ != 0) std::memcpy(data, data_, size_);
  std::free(data_);
  data_ = data;
  capacity_ = capacity;
}

void GroupBuilder::Start(LogOffset start, LogOffset durable_before,
                         int64_t written_ms) {
  assert(start.value() % kLogBlockBytes == 0);
  assert(durable_before <= start);
  start_ = start;
  durable_before_ = durable_before;
  written_ms_ = written_ms;
  records_ = 0;
  size_ = 0;
  if (capacity_ == 0) Grow(kFirstCapacity);
  size_ = kGroupHeaderBytes;
}

LogOffset GroupBuilder::Add(RecordKind kind, uint8_t flags, Hour hour,
                            RecordNumber number, std::string_view payload,
                            uint64_t payload_hash) {
  assert(HasRoomFor(payload.size()));
  const size_t end = size_ + kRecordHeaderBytes + payload.size();
  if (end > capacity_) [[unlikely]] {
    Grow(end);
  }
  LogRecord record;
  record.offset = start_ + size_;
  record.kind = kind;
  record.flags = flags;
  record.hour = hour;
  record.number = number;
  record.payload = payload;
  char* const out = data_ + size_;
  EncodeRecordHeader(salt_, record, payload_hash, out);
  if (!payload.empty()) {
    std::memcpy(out + kRecordHeaderBytes, payload.data(), payload.size());
  }
  size_ = end;
  ++records_;
  return record.offset;
}

void GroupBuilder::Finish(LogOffset durable_before) {
  assert(durable_before >= durable_before_ && durable_before <= start_);
  durable_before_ = durable_before;
  Finish();
}

void GroupBuilder::Finish() {
  GroupHeader header;
  header.records = records_;
  header.bytes = static_cast<uint32_t>(size_);
  header.offset = start_;
  header.durable_before = durable_before_;
  header.written_ms = written_ms_;
  const size_t padded = RoundUpToBlock(size_);
  if (padded > capacity_) Grow(padded);
  EncodeGroupHeader(salt_, header, data_);
  std::memset(data_ + size_, 0, padded - size_);
  size_ = padded;
}

bool GroupBuilder::HasRoomFor(size_t payload_bytes) const {
  return size_ + kRecordHeaderBytes + payload_bytes <= kGroupBytesMax;
}

}  // namespace hourglass
