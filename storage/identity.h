// File: identity.h
//
// The file HOURGLASS at the root of a store: says that the directory is one,
// in which format, and which one.
//
//   offset size
//        0    8  magic "HGLASSID"
//        8    4  format version
//       12    4  zero
//       16   16  store id
//       32    8  created_ms
//       40   16  zeros
//       56    8  XXH3-64 of the 56 bytes before
//
//   StoreIdentity identity{id, clock->NowMs()};
//   RETURN_IF_ERROR(WriteIdentity(fs, dir, identity));
//   ASSIGN_OR_RETURN(StoreIdentity again, ReadIdentity(fs, dir));
//
// Threads: none needed; the store holds its lock while it is opened.
//
// Keeps promise 5: files of another store are told apart.
#ifndef HOURGLASS_STORAGE_IDENTITY_H_
#define HOURGLASS_STORAGE_IDENTITY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "storage/store_id.h"

namespace hourglass {

inline constexpr char kIdentityFileName[] = "HOURGLASS";
inline constexpr uint32_t kStoreFormatVersion = 1;
inline constexpr size_t kIdentityBytes = 64;

struct StoreIdentity {
  StoreId store_id;
  int64_t created_ms = 0;
  bool operator==(const StoreIdentity&) const = default;
};

// NOT_FOUND            `dir` is not a store
// FAILED_PRECONDITION  a store in another format version
// DATA_LOSS            the file is damaged
absl::StatusOr<StoreIdentity> ReadIdentity(FileSystem* fs, const Path& dir);

// Replaces what is there, or nothing at all: after a crash the old or the new
// identity is read, and once this returned OK only the new one.
absl::Status WriteIdentity(FileSystem* fs, const Path& dir,
                           const StoreIdentity& identity);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_IDENTITY_H_
