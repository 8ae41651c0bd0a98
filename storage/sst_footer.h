// File: sst_footer.h
//
// The last 53 bytes of a RocksDB table file, which RocksDB 7 believes without
// a checksum: a flipped bit there can choose another format or no checksum at
// all, and RocksDB's assertions then end the process. We write one format
// only, so what says which one can be compared before RocksDB reads it. What
// else stands there are the places of two blocks, which have checksums.
//
//   checksum type 1 | two block handles 40 | format version u32 | magic u64
//
//   RETURN_IF_ERROR(CheckSstFooter(file, path));
//
// Limitations: tables of our options only (storage/checkpoint.cc).
//
// Serves promise 5: damage in the checkpoint is refused, not stumbled over.
#ifndef HOURGLASS_STORAGE_SST_FOOTER_H_
#define HOURGLASS_STORAGE_SST_FOOTER_H_

#include <rocksdb/table.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "hourglass/file_system.h"

namespace hourglass {

inline constexpr uint32_t kSstFormatVersion = 5;
inline constexpr rocksdb::ChecksumType kSstChecksum = rocksdb::kXXH3;

// DATA_LOSS names the file and what is wrong with it.
absl::Status CheckSstFooter(File* file, const std::string& path);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_SST_FOOTER_H_
