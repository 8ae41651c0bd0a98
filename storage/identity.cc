#include "storage/identity.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/crash_point.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::string_view kMagic = "HGLASSID";
constexpr size_t kVersionAt = 8;
constexpr size_t kStoreIdAt = 16;
constexpr size_t kCreatedAt = 32;
constexpr size_t kChecksumAt = 56;
static_assert(kMagic.size() == kVersionAt);
static_assert(kStoreIdAt + kStoreIdBytes == kCreatedAt);
static_assert(kChecksumAt + sizeof(uint64_t) == kIdentityBytes);

using IdentityBytes = std::array<char, kIdentityBytes>;

uint64_t ChecksumOf(const IdentityBytes& bytes) {
  return HashBytes({bytes.data(), kChecksumAt});
}

IdentityBytes Encode(const StoreIdentity& identity) {
  IdentityBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  PutFixed<uint32_t>(&bytes[kVersionAt], kStoreFormatVersion);
  std::copy(identity.store_id.bytes.begin(), identity.store_id.bytes.end(),
            bytes.begin() + kStoreIdAt);
  PutFixed<int64_t>(&bytes[kCreatedAt], identity.created_ms);
  PutFixed<uint64_t>(&bytes[kChecksumAt], ChecksumOf(bytes));
  return bytes;
}

absl::StatusOr<StoreIdentity> Decode(const IdentityBytes& bytes,
                                     const Path& path) {
  // The checksum is looked at first: a flipped bit of the version must be
  // called damage, not another version.
  const auto stored = GetFixed<uint64_t>(&bytes[kChecksumAt]);
  if (stored != ChecksumOf(bytes)) {
    return absl::DataLossError(absl::StrCat(
        path.native(), " is damaged: its checksum is ",
        absl::Hex(stored, absl::kZeroPad16), ", its content makes ",
        absl::Hex(ChecksumOf(bytes), absl::kZeroPad16)));
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return absl::DataLossError(absl::StrCat(
        path.native(), " is damaged: it does not begin with HGLASSID"));
  }
  const auto version = GetFixed<uint32_t>(&bytes[kVersionAt]);
  if (version != kStoreFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.native(), ": the store has format version ", version,
                     ", this program reads version ", kStoreFormatVersion));
  }
  StoreIdentity identity;
  std::copy_n(bytes.begin() + kStoreIdAt, kStoreIdBytes,
              identity.store_id.bytes.begin());
  identity.created_ms = GetFixed<int64_t>(&bytes[kCreatedAt]);
  return identity;
}

// A temporary file of an earlier attempt may be there.
absl::Status RemoveIfThere(FileSystem* fs, const Path& path) {
  const absl::Status removed = fs->Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status WriteSynced(FileSystem* fs, const Path& path,
                         std::string_view content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   fs->Open(path, {OpenMode::kCreate}));
  RETURN_IF_ERROR(file->WriteAt(0, content));
  return file->Sync();
}

}  // namespace

absl::StatusOr<StoreIdentity> ReadIdentity(FileSystem* fs, const Path& dir) {
  const Path path = dir / kIdentityFileName;
  const auto file = fs->Open(path, {OpenMode::kRead});
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(
        absl::StrCat(dir.native(), " is not a Hourglass store: it has no file ",
                     kIdentityFileName));
  }
  if (!file.ok()) return file.status();
  ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
  IdentityBytes bytes{};
  ASSIGN_OR_RETURN(const size_t read,
                   (*file)->ReadAt(0, bytes.size(), bytes.data()));
  if (size != kIdentityBytes || read != kIdentityBytes) {
    return absl::DataLossError(
        absl::StrCat(path.native(), " is damaged: it has ", size,
                     " bytes instead of ", kIdentityBytes));
  }
  return Decode(bytes, path);
}

absl::Status WriteIdentity(FileSystem* fs, const Path& dir,
                           const StoreIdentity& identity) {
  const Path path = dir / kIdentityFileName;
  const Path temporary = dir / (std::string(kIdentityFileName) + ".tmp");
  const IdentityBytes bytes = Encode(identity);
  RETURN_IF_ERROR(RemoveIfThere(fs, temporary));
  RETURN_IF_ERROR(WriteSynced(fs, temporary, {bytes.data(), bytes.size()}));
  CrashPoint("create.identity_written");
  RETURN_IF_ERROR(fs->Rename(temporary, path));
  CrashPoint("create.identity_renamed");
  return fs->SyncDir(dir);
}

}  // namespace hourglass
