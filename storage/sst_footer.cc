#include "storage/sst_footer.h"

#include "absl/strings/str_cat.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kFooterBytes = 53;
constexpr size_t kVersionAt = 41;
constexpr size_t kMagicAt = 45;
constexpr uint64_t kMagic = 0x88e241b785f4cff7;  // of block-based tables

}  // namespace

absl::Status CheckSstFooter(File* file, const std::string& path) {
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  char footer[kFooterBytes];
  if (size < kFooterBytes) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", size, " bytes, too few for a table"));
  }
  ASSIGN_OR_RETURN(const size_t got,
                   file->ReadAt(size - kFooterBytes, kFooterBytes, footer));
  if (got == kFooterBytes && footer[0] == kSstChecksum &&
      GetFixed<uint32_t>(footer + kVersionAt) == kSstFormatVersion &&
      GetFixed<uint64_t>(footer + kMagicAt) == kMagic) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(path, " does not end as a table that this program wrote"));
}

}  // namespace hourglass
