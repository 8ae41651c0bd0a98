// File: hour_segment.h
//
// Everything due in one UTC hour: a DelayLog with the messages in arrival
// order and a DelayLogIndex with 32-byte records chained backward by preIndex,
// one chain a slot. Both are derived from the commit log and append-only.
//
//   auto n = segment->Append(payload, hash, due_ms, IdHash(id));
//   segment->AppendTombstone(target, target_record);
//   RETURN_IF_ERROR(segment->Flush());            // buffers -> files
//   segment->ScanIndex(first, last, [](RecordNumber n, const IndexRecord& r)…);
//
// Appends go to two buffers; Flush writes them. Nothing here is durable
// before Sync: the commit log is, and recovery cuts these files back to the
// checkpoint (DESIGN: "Recovery").
//
// Threads: Append*, Flush and heads() under one lock of the owner (call it
// the state lock). ScanIndex, ReadIndex and ReadFrame of records below
// flushed_count() touch only the files and need no lock. Sync needs none.
//
// Limitations: at most 2^32 - 1 records an hour (RESOURCE_EXHAUSTED).
//
// Keeps promises 5 and 6: damage is found where it is, the rest is read.
#ifndef HOURGLASS_STORAGE_HOUR_SEGMENT_H_
#define HOURGLASS_STORAGE_HOUR_SEGMENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "hourglass/types.h"
#include "storage/append_buffer.h"
#include "storage/hour_format.h"
#include "storage/slot_heads.h"

namespace hourglass {

// What the checkpoint knows of an hour. Plain numbers; kept in memory for
// every hour that has or had messages.
struct HourFacts {
  RecordNumber base;  // records before these files (see hour_format.h)
  RecordNumber last;  // number of the newest record; last - base stand here
  uint64_t delay_log_bytes = 0;  // length of the DelayLog, header included
  uint32_t tombstones = 0;       // cancels in these files
  uint64_t message_bytes = 0;    // sum of frame sizes of messages ever put
  uint64_t cancelled_bytes = 0;  // ... of those cancelled
  // Kept by the Applier: how many of the messages became ready.
  uint32_t delivered = 0;
  uint64_t delivered_bytes = 0;
  bool retired = false;  // files deleted: every message is done

  uint32_t records() const { return last - base; }
  uint32_t messages() const { return records() - tombstones; }
  uint32_t pending() const { return messages() - tombstones - delivered; }
  uint64_t pending_bytes() const {
    return message_bytes - cancelled_bytes - delivered_bytes;
  }
  uint64_t index_bytes() const {
    return kHourHeaderBytes + uint64_t{kIndexRecordBytes} * records();
  }
  bool operator==(const HourFacts&) const = default;
};

class HourSegment {
 public:
  // Makes both files, with headers (neither synced nor dir-synced).
  static absl::StatusOr<std::shared_ptr<HourSegment>> Create(FileSystem* fs,
                                                             const Path& dir,
                                                             const StoreId& id,
                                                             Hour hour,
                                                             RecordNumber base);

  // Opens files whose lengths are at least what `facts` says (longer: the
  // rest is ignored for reading and overwritten by appends only after
  // CutTo). Heads: from `stored_heads` (may be empty: none) plus a scan of
  // the index records added since; stored heads that are damaged, or do not
  // fit the facts, are rebuilt by a scan of all. DATA_LOSS names file and
  // record. On a read-only file system the segment opens for reading, and the
  // first Flush of an append fails.
  static absl::StatusOr<std::shared_ptr<HourSegment>> Open(
      FileSystem* fs, const Path& dir, const StoreId& id, Hour hour,
      const HourFacts& facts, std::string_view stored_heads);

  ~HourSegment();  // what is in the buffers is dropped

  Hour hour() const { return hour_; }
  const HourFacts& facts() const { return facts_; }
  SlotHeads* heads() { return &heads_; }

  // The new record's number. `payload` is copied into the buffer.
  // INVALID_ARGUMENT if `due_ms` is not in this hour. After a Flush that failed
  // for good each returns that error.
  absl::StatusOr<RecordNumber> Append(std::string_view payload,
                                      uint64_t payload_hash, int64_t due_ms,
                                      uint32_t id_hash);
  absl::StatusOr<RecordNumber> AppendTombstone(RecordNumber target,
                                               const IndexRecord& record);

  // Bytes waiting in the buffers.
  size_t buffered_bytes() const {
    return log_buffer_.size() + index_buffer_.size();
  }
  // Memory that the buffers hold, used or not.
  size_t buffer_capacity() const {
    return log_buffer_.capacity() + index_buffer_.capacity();
  }
  // Writes both buffers to the files, bodies first. RESOURCE_EXHAUSTED: the
  // disk is full, the buffers are kept, and a later Flush writes them. After
  // any other error nothing more may be appended (the store stops):
  // UNAVAILABLE, then and ever after.
  absl::Status Flush();
  // Gives back empty buffers that have grown beyond `keep_bytes` each.
  void TrimBuffers(size_t keep_bytes);
  // Records with number <= this are in the files.
  RecordNumber flushed() const { return RecordNumber(flushed_.load()); }
  // Their frames stand before this offset of the DelayLog.
  uint64_t flushed_log_bytes() const { return flushed_log_bytes_.load(); }

  // fdatasync of both files: what was flushed is durable on return OK.
  absl::Status Sync();

  // One record / one frame's payload, verified. NOT_FOUND if `number` is not
  // in these files; DATA_LOSS if it is there and damaged.
  absl::StatusOr<IndexRecord> ReadIndex(RecordNumber number) const;
  absl::StatusOr<std::string_view> ReadFrame(RecordNumber number,
                                             uint64_t location, uint32_t size,
                                             std::string* buffer) const;
  // Verifies the frame bytes (of exactly one frame) and returns its payload;
  // `hash` (may be null) gets HashBytes(payload).
  absl::StatusOr<std::string_view> VerifyFrame(RecordNumber number,
                                               std::string_view frame,
                                               uint64_t* hash) const;
  // The same for the frame of a cancel: its index record, but for `prev`.
  absl::StatusOr<IndexRecord> VerifyCancel(RecordNumber number,
                                           std::string_view frame) const;
  // Raw bytes of the DelayLog, for reading many frames at once.
  absl::StatusOr<size_t> ReadDelayLog(uint64_t offset, size_t size,
                                      char* out) const;
  void PrefetchDelayLog(uint64_t offset, uint64_t size) const;

  // Calls `visit` for first..last in order, reading large blocks. Records
  // before these files (<= facts().base) are done and left out; NOT_FOUND if
  // `last` is not flushed. A damaged
  // record goes to `damaged` (if set) and the scan goes on; without it the
  // scan ends with DATA_LOSS. `visit` returns false to stop early.
  using Visit = std::function<bool(RecordNumber, const IndexRecord&)>;
  using Damaged = std::function<void(RecordNumber, const absl::Status&)>;
  absl::Status ScanIndex(RecordNumber first, RecordNumber last,
                         const Visit& visit,
                         const Damaged& damaged = nullptr) const;

 private:
  friend class HourTable;

  HourSegment(const Path& dir, const StoreId& id, Hour hour);

  absl::Status CreateFiles(FileSystem* fs, const StoreId& id);
  absl::Status OpenFiles(FileSystem* fs, const StoreId& id);
  absl::Status CheckFile(File* file, bool is_index, const StoreId& id);
  absl::Status RestoreHeads(std::string_view stored);
  bool TakeStoredHeads(std::string_view stored, RecordNumber* upto);

  void AppendIndex(IndexRecord* record);
  absl::Status WhyNotAppend(size_t payload_bytes, uint64_t ms) const;
  bool IsFull() const { return facts_.last == RecordNumber::Max(); }
  absl::Status Broken(const absl::Status& status);

  absl::Status CheckNumber(RecordNumber number) const;
  uint64_t IndexOffset(RecordNumber number) const;
  // `status` with the file, the record and what to do.
  absl::Status AtRecord(const absl::Status& status, bool is_index,
                        RecordNumber number, uint64_t offset) const;
  absl::Status BadFrame(RecordNumber number, const absl::Status& why) const;
  Path FilePath(bool is_index) const;

  struct Scan;
  absl::StatusOr<bool> ScanBlock(Scan* scan, RecordNumber first,
                                 uint32_t count) const;
  absl::StatusOr<bool> ScanSingly(Scan* scan, RecordNumber first,
                                  uint32_t count) const;

  const Path dir_;
  const Hour hour_;
  const uint64_t salt_;
  std::unique_ptr<File> delay_log_;
  std::unique_ptr<File> index_;
  HourFacts facts_;
  AppendBuffer log_buffer_;
  AppendBuffer index_buffer_;
  std::atomic<uint32_t> flushed_{0};
  std::atomic<uint64_t> flushed_log_bytes_{0};
  absl::Status broken_;

  // HourTable's notes about an open segment, kept here so that an append
  // touches no other memory.
  struct TableNotes {
    size_t counted_bytes = 0;  // in the table's sum of buffered bytes
    bool dirty = false;        // appended to since the last checkpoint
  };
  TableNotes notes_;

  SlotHeads heads_;  // last: 14 KB that would push the rest apart
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_HOUR_SEGMENT_H_
