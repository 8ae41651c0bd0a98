#include "storage/slot_heads.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/hour_format.h"

namespace hourglass {
namespace {

// upto u32 | form u16 | count u16 | heads | checksum u64
// heads of form kSparse: (slot u16, number u32) * count, by slot;
// of form kFull: number u32 * 3600.
constexpr size_t kFormAt = 4;
constexpr size_t kCountAt = 6;
constexpr size_t kHeadsAt = 8;
constexpr size_t kSumBytes = 8;
constexpr size_t kSparseBytes = 6;
constexpr size_t kFullBytes = sizeof(uint32_t) * kSlotsPerHour;

enum Form : uint16_t { kSparse = 1, kFull = 2 };

uint64_t SumOf(uint64_t salt, Hour hour, RecordNumber upto,
               std::string_view bytes) {
  return Seal(salt, PlaceOf(hour, upto), bytes.size(), HashBytes(bytes));
}

absl::Status Damaged(const char* what) {
  return absl::DataLossError(absl::StrCat("stored slot heads: ", what));
}

}  // namespace

void SlotHeads::Set(Slot slot, RecordNumber number) {
  const uint32_t i = slot.value();
  heads_[i] = number.value();
  const uint64_t bit = uint64_t{1} << (i % 64);
  if (number.value() != 0) {
    occupied_[i / 64] |= bit;
  } else {
    occupied_[i / 64] &= ~bit;
  }
}

std::optional<Slot> SlotHeads::NextNonEmpty(Slot from) const {
  if (from.value() >= kSlotsPerHour) return std::nullopt;
  size_t word = from.value() / 64;
  uint64_t bits = occupied_[word] & (~uint64_t{0} << (from.value() % 64));
  while (bits == 0) {
    if (++word == occupied_.size()) return std::nullopt;
    bits = occupied_[word];
  }
  return Slot(static_cast<uint32_t>(word * 64 + std::countr_zero(bits)));
}

uint32_t SlotHeads::CountNonEmpty() const {
  int count = 0;
  for (const uint64_t bits : occupied_) count += std::popcount(bits);
  return static_cast<uint32_t>(count);
}

std::string SlotHeads::Encode(uint64_t salt, Hour hour,
                              RecordNumber upto) const {
  const uint32_t count = CountNonEmpty();
  const bool sparse = kSparseBytes * count < kFullBytes;
  std::string out;
  out.reserve(kHeadsAt + kSumBytes +
              (sparse ? kSparseBytes * count : kFullBytes));
  AppendFixed<uint32_t>(&out, upto.value());
  AppendFixed<uint16_t>(&out, sparse ? kSparse : kFull);
  AppendFixed<uint16_t>(&out, static_cast<uint16_t>(count));
  if (sparse) {
    AppendSparse(&out);
  } else {
    out.append(reinterpret_cast<const char*>(heads_.data()), kFullBytes);
  }
  AppendFixed<uint64_t>(&out, SumOf(salt, hour, upto, out));
  return out;
}

void SlotHeads::AppendSparse(std::string* out) const {
  for (auto slot = NextNonEmpty(Slot{0}); slot.has_value();
       slot = NextNonEmpty(*slot + 1)) {
    AppendFixed<uint16_t>(out, static_cast<uint16_t>(slot->value()));
    AppendFixed<uint32_t>(out, Get(*slot).value());
  }
}

absl::Status SlotHeads::Decode(uint64_t salt, Hour hour, std::string_view bytes,
                               RecordNumber* upto) {
  if (bytes.size() < kHeadsAt + kSumBytes) return Damaged("too short");
  const std::string_view sealed = bytes.substr(0, bytes.size() - kSumBytes);
  const RecordNumber covered(GetFixed<uint32_t>(bytes.data()));
  if (GetFixed<uint64_t>(bytes.data() + sealed.size()) !=
      SumOf(salt, hour, covered, sealed)) {
    return Damaged("the checksum is wrong");
  }
  SlotHeads read;
  const std::string_view heads = sealed.substr(kHeadsAt);
  const auto form = GetFixed<uint16_t>(bytes.data() + kFormAt);
  if (form == kSparse ? !read.ReadSparse(heads)
                      : form != kFull || !read.ReadFull(heads)) {
    return Damaged("not in a form that this program knows");
  }
  if (read.CountNonEmpty() != GetFixed<uint16_t>(bytes.data() + kCountAt)) {
    return Damaged("not as many heads as counted");
  }
  for (const uint32_t head : read.heads_) {
    if (head > covered.value()) return Damaged("a head beyond its records");
  }
  *this = read;
  *upto = covered;
  return absl::OkStatus();
}

bool SlotHeads::ReadSparse(std::string_view bytes) {
  for (; bytes.size() >= kSparseBytes; bytes.remove_prefix(kSparseBytes)) {
    const auto slot = GetFixed<uint16_t>(bytes.data());
    if (slot >= kSlotsPerHour) return false;
    Set(Slot{slot}, RecordNumber(GetFixed<uint32_t>(bytes.data() + 2)));
  }
  return bytes.empty();
}

bool SlotHeads::ReadFull(std::string_view bytes) {
  if (bytes.size() != kFullBytes) return false;
  for (uint32_t i = 0; i < kSlotsPerHour; ++i) {
    Set(Slot{i}, RecordNumber(GetFixed<uint32_t>(bytes.data() + 4 * i)));
  }
  return true;
}

}  // namespace hourglass
