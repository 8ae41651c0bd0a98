// File: sst_tail.h
//
// What RocksDB 7 believes at the end of a table file without a checksum: a
// flipped bit there can choose another format, or no checksum at all, and
// RocksDB's assertions then end the process. So it is looked at first.
//
//   ... properties block, metaindex block, footer 53
//   footer = checksum type 1 | handles of metaindex and index block 40 |
//            format version u32 | magic u64
//   block  = content, compression type 1, checksum u32
//
// - Footer: we write one format only; what says which one is compared. The
//   rest of it are the places of two blocks, which have checksums.
// - Properties block: RocksDB parses it first and verifies it afterwards. Its
//   place stands in the metaindex block; both are verified.
//
//   RETURN_IF_ERROR(CheckSstTail(file, path));
//
// Limitations: tables of our options only (storage/checkpoint.cc): XXH3, no
// compression, less than 4 GiB.
//
// Serves promise 5: damage in the checkpoint is refused, not stumbled over.
#ifndef HOURGLASS_STORAGE_SST_TAIL_H_
#define HOURGLASS_STORAGE_SST_TAIL_H_

#include <rocksdb/table.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "hourglass/file_system.h"

namespace hourglass {

inline constexpr uint32_t kSstFormatVersion = 5;
inline constexpr rocksdb::ChecksumType kSstChecksum = rocksdb::kXXH3;

// DATA_LOSS names the file and what is wrong with it.
absl::Status CheckSstTail(File* file, const std::string& path);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_SST_TAIL_H_
