// File: slot_heads.h
//
// The heads of one hour's 3600 slot chains: for each second the number of its
// newest index record, 0 if none. 14 400 bytes, with a bitmap beside them so
// that the next non-empty slot is found without looking at each.
//
// Threads: none of its own.
//
// Keeps promise 5: stored heads are sealed, and rebuilt if they are wrong.
#ifndef HOURGLASS_STORAGE_SLOT_HEADS_H_
#define HOURGLASS_STORAGE_SLOT_HEADS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "hourglass/types.h"

namespace hourglass {

class SlotHeads {
 public:
  RecordNumber Get(Slot slot) const {
    return RecordNumber(heads_[slot.value()]);
  }
  void Set(Slot slot, RecordNumber number);
  // The first slot >= `from` that has a chain.
  std::optional<Slot> NextNonEmpty(Slot from) const;

  uint32_t CountNonEmpty() const;

  // For the checkpoint: the non-empty heads, or all when that is shorter;
  // `upto` = the newest record covered; and a checksum. Grammar:
  // docs/formats/hour_segment.md. Decode: DATA_LOSS when damaged or of
  // another hour, and then nothing has changed.
  std::string Encode(uint64_t salt, Hour hour, RecordNumber upto) const;
  absl::Status Decode(uint64_t salt, Hour hour, std::string_view bytes,
                      RecordNumber* upto);

 private:
  void AppendSparse(std::string* out) const;
  bool ReadSparse(std::string_view bytes);
  bool ReadFull(std::string_view bytes);

  std::array<uint32_t, kSlotsPerHour> heads_{};
  std::array<uint64_t, (kSlotsPerHour + 63) / 64> occupied_{};
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_SLOT_HEADS_H_
