// File: hour_world.h
//
// Several hours on a disk in memory, and beside them a plain map of what is
// pending: the slow, obvious model that the wheels are compared with.
//
//   HourWorld world;
//   DueEntry entry = world.Put(due_ms);
//   world.Cancel(entry);
//   LoadRequest request = world.RequestFor(entry.hour());
//   EXPECT_EQ(ForwardSweep(request).entries, world.Expected(request));
//
// Threads: none.
#ifndef HOURGLASS_TESTS_SUPPORT_HOUR_WORLD_H_
#define HOURGLASS_TESTS_SUPPORT_HOUR_WORLD_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "storage/checksum.h"
#include "storage/hour_table.h"
#include "tests/support/hour_files.h"
#include "tests/support/memory_file_system.h"
#include "wheel/due_entry.h"
#include "wheel/hour_ledger.h"
#include "wheel/second_level_wheel.h"
#include "wheel/slot_loader.h"

namespace hourglass {

inline bool operator==(const DueEntry& a, const DueEntry& b) {
  return a.key() == b.key() && a.location == b.location && a.size == b.size;
}

inline std::ostream& operator<<(std::ostream& out, const DueEntry& entry) {
  return out << entry.due_ms << "#" << entry.number.value();
}

class HourWorld {
 public:
  HourWorld()
      : table(&fs, "/hours", TestStoreId(), HourTableOptions(),
              [](Hour) { return absl::StatusOr<std::string>(""); }) {
    EXPECT_TRUE(fs.CreateDir("/hours").ok());
  }

  DueEntry Put(int64_t due_ms, size_t bytes = 8) {
    const auto segment = *table.ForAppend(HourOf(due_ms));
    DueEntry entry;
    entry.due_ms = due_ms;
    entry.location = segment->facts().delay_log_bytes;
    entry.size = static_cast<uint32_t>(kFrameHeaderBytes + bytes);
    const std::string payload(bytes, 'x');
    const auto number = segment->Append(payload, HashBytes(payload), due_ms, 7);
    EXPECT_TRUE(number.ok()) << number.status();
    entry.number = *number;
    EXPECT_TRUE(table.Appended(segment.get()).ok());
    hours.Add(entry.hour());
    pending[entry.key()] = entry;
    return entry;
  }

  // As the writer does it: a tombstone in the index, a bit in the ledger.
  void Cancel(const DueEntry& entry) {
    const auto segment = *table.ForAppend(entry.hour());
    EXPECT_TRUE(segment->Flush().ok());
    const auto record = segment->ReadIndex(entry.number);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(segment->AppendTombstone(entry.number, *record).ok());
    EXPECT_TRUE(table.Appended(segment.get()).ok());
    ledger.At(entry.hour()).cancelled.Insert(entry.number);
    pending.erase(entry.key());
  }

  LoadRequest RequestFor(Hour hour) {
    LoadRequest request;
    request.segment = *table.ForRead(hour);
    EXPECT_TRUE(request.segment->Flush().ok());
    request.after = DueKey::Before(StartMs(hour));
    request.upto = request.segment->facts().last;
    request.until = DueKey::EndOf(hour);
    request.entries_max = 1u << 20;
    request.heads = std::make_shared<SlotHeads>(*request.segment->heads());
    return request;
  }

  // What is pending with after < key <= until, the first entries_max of them.
  std::vector<DueEntry> Expected(const LoadRequest& request) const {
    std::vector<DueEntry> entries;
    for (auto at = pending.upper_bound(request.after);
         at != pending.end() && at->first <= request.until &&
         entries.size() < request.entries_max;
         ++at) {
      if (at->second.hour() == request.segment->hour()) {
        entries.push_back(at->second);
      }
    }
    return entries;
  }

  MemoryFileSystem fs;
  HourTable table;
  SecondLevelWheel hours;
  HourLedger ledger;
  std::map<DueKey, DueEntry> pending;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_HOUR_WORLD_H_
