// File: hour_files.h
//
// What the tests of hour segments share: a store's name, an hour, and short
// ways to append to it and to read all of it.
//
//   HourFiles files;
//   auto segment = files.Create();
//   files.Put(segment.get(), "hello", /*ms_into_hour=*/1500);
//   EXPECT_EQ(files.Payload(*segment, 1), "hello");
#ifndef HOURGLASS_TESTS_SUPPORT_HOUR_FILES_H_
#define HOURGLASS_TESTS_SUPPORT_HOUR_FILES_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/types.h"
#include "storage/checksum.h"
#include "storage/hour_format.h"
#include "storage/hour_segment.h"
#include "storage/store_id.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {

inline StoreId TestStoreId() {
  StoreId id;
  for (size_t i = 0; i < kStoreIdBytes; ++i) {
    id.bytes[i] = static_cast<char>(i + 1);
  }
  return id;
}

// 2026-11-21T03:00Z.
inline constexpr Hour kTestHour{498'675};

inline std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

// Appends a message, and returns its number (0, and a failed test, if that
// did not work).
inline RecordNumber PutMessage(HourSegment* segment, std::string_view payload,
                               uint32_t ms_into_hour) {
  const auto number =
      segment->Append(payload, HashBytes(payload),
                      StartMs(segment->hour()) + ms_into_hour, IdHash(payload));
  EXPECT_TRUE(number.ok()) << number.status();
  return number.ok() ? *number : RecordNumber{};
}

// The records first..last, in order; `damaged` gets the numbers of others.
inline std::map<RecordNumber, IndexRecord> ScanAll(
    const HourSegment& segment, RecordNumber last,
    std::map<RecordNumber, std::string>* damaged = nullptr) {
  std::map<RecordNumber, IndexRecord> records;
  HourSegment::Damaged report;
  if (damaged != nullptr) {
    report = [&](RecordNumber number, const absl::Status& status) {
      (*damaged)[number] = MessageOf(status);
    };
  }
  const absl::Status status = segment.ScanIndex(
      RecordNumber{1}, last,
      [&](RecordNumber number, const IndexRecord& record) {
        EXPECT_TRUE(records.emplace(number, record).second);
        return true;
      },
      report);
  EXPECT_TRUE(status.ok()) << status;
  return records;
}

// The numbers of a slot's chain, newest first, walked record by record.
inline std::vector<RecordNumber> WalkChain(HourSegment* segment, Slot slot) {
  std::vector<RecordNumber> chain;
  RecordNumber number = segment->heads()->Get(slot);
  while (number != RecordNumber{}) {
    chain.push_back(number);
    const auto record = segment->ReadIndex(number);
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) break;
    EXPECT_EQ(record->slot(), slot);
    number = record->prev;
  }
  return chain;
}

// One directory on a disk in memory, for one hour.
class HourFiles {
 public:
  HourFiles() { EXPECT_TRUE(fs.CreateDir(dir).ok()); }

  std::shared_ptr<HourSegment> Create(RecordNumber base = RecordNumber{}) {
    auto segment = HourSegment::Create(&fs, dir, id, kTestHour, base);
    EXPECT_TRUE(segment.ok()) << segment.status();
    return *std::move(segment);
  }
  absl::StatusOr<std::shared_ptr<HourSegment>> Open(
      const HourFacts& facts, std::string_view heads = "") {
    return HourSegment::Open(&fs, dir, id, kTestHour, facts, heads);
  }
  Path log_path() const { return dir / DelayLogName(kTestHour); }
  Path index_path() const { return dir / DelayIndexName(kTestHour); }

  MemoryFileSystem fs;
  const Path dir = "/hours";
  const StoreId id = TestStoreId();
  const uint64_t salt = HashBytes(id.view());
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_HOUR_FILES_H_
