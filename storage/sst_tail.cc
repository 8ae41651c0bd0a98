#include "storage/sst_tail.h"

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kFooterBytes = 53;
constexpr size_t kHandlesAt = 1;
constexpr size_t kVersionAt = 41;
constexpr size_t kMagicAt = 45;
constexpr uint64_t kMagic = 0x88e241b785f4cff7;  // of block-based tables

constexpr size_t kTrailerBytes = 5;          // compression type, checksum
constexpr size_t kBlockBytesMax = 1u << 20;  // of properties; it has some 1000
// How RocksDB takes the compression type into the checksum.
constexpr uint32_t kLastBytePrime = 0x6b9083d9;
constexpr std::string_view kPropertiesKey = "rocksdb.properties";

struct BlockHandle {
  uint32_t offset = 0;
  uint32_t size = 0;  // without the trailer
};

std::optional<BlockHandle> DecodeHandle(std::string_view bytes) {
  Decoder in(bytes);
  BlockHandle handle;
  if (!in.Varint32(&handle.offset) || !in.Varint32(&handle.size)) return {};
  return handle;
}

absl::Status Damaged(const std::string& path, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, ": ", absl::string_view(what.data(), what.size()),
                   " of the table is damaged"));
}

// The verified content of a block.
absl::StatusOr<std::string> ReadBlock(File* file, const std::string& path,
                                      std::string_view what,
                                      const std::optional<BlockHandle>& at) {
  if (!at || at->size > kBlockBytesMax) return Damaged(path, what);
  std::string block(at->size + kTrailerBytes, '\0');
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(at->offset, block.size(), block.data()));
  if (got < block.size()) return Damaged(path, what);
  const auto type = static_cast<uint8_t>(block[at->size]);
  const auto sum = GetFixed<uint32_t>(block.data() + at->size + 1);
  block.resize(at->size);
  const auto hash = static_cast<uint32_t>(HashBytes(block));
  if ((hash ^ (type * kLastBytePrime)) != sum) return Damaged(path, what);
  return block;
}

// Where the metaindex block says that the properties are. Its keys are
// whole: each is a restart point.
std::optional<BlockHandle> FindProperties(std::string_view metaindex) {
  Decoder in(metaindex);
  uint32_t shared = 0, key_bytes = 0, value_bytes = 0;
  std::string_view key, value;
  while (in.Varint32(&shared) && shared == 0 && in.Varint32(&key_bytes) &&
         in.Varint32(&value_bytes) && in.Bytes(key_bytes, &key) &&
         in.Bytes(value_bytes, &value)) {
    if (key == kPropertiesKey) return DecodeHandle(value);
  }
  return {};
}

}  // namespace

absl::Status CheckSstTail(File* file, const std::string& path) {
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  char footer[kFooterBytes];
  if (size < kFooterBytes) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", size, " bytes, too few for a table"));
  }
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(size - kFooterBytes, kFooterBytes, footer));
  if (got != kFooterBytes || footer[0] != kSstChecksum ||
      GetFixed<uint32_t>(footer + kVersionAt) != kSstFormatVersion ||
      GetFixed<uint64_t>(footer + kMagicAt) != kMagic) {
    return absl::DataLossError(
        absl::StrCat(path, " does not end as a table that this program wrote"));
  }
  const std::string_view handles(footer + kHandlesAt, kVersionAt - kHandlesAt);
  ASSIGN_OR_RETURN(
      const std::string metaindex,
      ReadBlock(file, path, "the metaindex block", DecodeHandle(handles)));
  return ReadBlock(file, path, "the properties block",
                   FindProperties(metaindex))
      .status();
}

}  // namespace hourglass
