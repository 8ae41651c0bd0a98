// Keys and values of the checkpoint database, the Checkpoint record and slot
// heads. What decodes must encode to the same bytes again: there is one
// spelling of each.
#include <string>
#include <string_view>

#include "storage/checkpoint.h"
#include "storage/checkpoint_format.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/slot_heads.h"
#include "tests/fuzz/fuzz.h"

namespace hourglass {
namespace {

constexpr uint64_t kSalt = 7;
constexpr Hour kHour{498'675};

void CheckEntry(std::string_view key, std::string_view value) {
  CheckpointState state;
  if (!DecodeEntry(key, value, &state).ok()) return;
  for (const auto& [hour, facts] : state.hours) {
    FUZZ_CHECK(HourKey(hour) == key);
    FUZZ_CHECK(EncodeHourFacts(facts) == value);
  }
  for (const auto& [topic, facts] : state.queues) {
    FUZZ_CHECK(QueueKey(topic) == key);
    FUZZ_CHECK(EncodeQueueFacts(facts) == value);
  }
  for (const auto& [consumer, progress] : state.progress) {
    FUZZ_CHECK(ProgressKey(consumer) == key);
    FUZZ_CHECK(EncodeProgress(progress) == value);
  }
}

// The checksum at the end of encoded heads, made right.
std::string SealHeads(std::string_view data) {
  std::string bytes(data);
  if (bytes.size() < 16) return bytes;
  const size_t sealed = bytes.size() - 8;
  const std::string_view content = std::string_view(bytes).substr(0, sealed);
  const RecordNumber upto(GetFixed<uint32_t>(bytes.data()));
  PutFixed<uint64_t>(bytes.data() + sealed, Seal(kSalt, PlaceOf(kHour, upto),
                                                 sealed, HashBytes(content)));
  return bytes;
}

void CheckHeads(std::string_view bytes) {
  SlotHeads heads;
  RecordNumber upto;
  if (!heads.Decode(kSalt, kHour, bytes, &upto).ok()) return;
  // Sparse or full, whichever is shorter: again readable, and the same.
  SlotHeads again;
  RecordNumber upto_again;
  const std::string encoded = heads.Encode(kSalt, kHour, upto);
  FUZZ_CHECK(again.Decode(kSalt, kHour, encoded, &upto_again).ok());
  FUZZ_CHECK(upto == upto_again);
  for (uint32_t i = 0; i < kSlotsPerHour; ++i) {
    FUZZ_CHECK(heads.Get(Slot(i)) == again.Get(Slot(i)));
    FUZZ_CHECK(heads.Get(Slot(i)) <= upto);
  }
}

FUZZ_TARGET(std::string_view data) {
  if (data.size() < 2) return;
  const int choice = data[0] % 4;
  const auto key_bytes = static_cast<uint8_t>(data[1]);
  const std::string_view rest = data.substr(2);
  if (choice == 0) {
    CheckEntry(rest.substr(0, key_bytes),
               rest.size() > key_bytes ? rest.substr(key_bytes) : "");
  } else if (choice == 1) {
    const auto record = DecodeCheckpointRecord(rest);
    if (record.ok()) FUZZ_CHECK(EncodeCheckpointRecord(*record) == rest);
  } else if (choice == 2) {
    CheckHeads(rest);
  } else {
    CheckHeads(SealHeads(rest));
  }
}

}  // namespace
}  // namespace hourglass
