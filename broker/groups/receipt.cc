#include "broker/groups/receipt.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/checksum.h"

namespace hourglass {
namespace {

constexpr size_t kDigits = 40;
constexpr uint64_t kMark = 0x72656365697074;

uint32_t Check(const Receipt& receipt) {
  return static_cast<uint32_t>(
      Seal(0, receipt.index.value(), kMark, receipt.lease));
}

}  // namespace

std::string EncodeReceipt(const Receipt& receipt) {
  return absl::StrFormat("%016x%016x%08x", receipt.index.value(), receipt.lease,
                         Check(receipt));
}

absl::StatusOr<Receipt> DecodeReceipt(std::string_view text) {
  Receipt receipt;
  if (text.size() == kDigits) {
    uint64_t index = 0;
    const char* const at = text.data();
    std::from_chars(at, at + 16, index, 16);
    std::from_chars(at + 16, at + 32, receipt.lease, 16);
    receipt.index = QueueIndex(index);
    // One spelling: also finds what is no digit, and capital ones.
    if (EncodeReceipt(receipt) == text) return receipt;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a receipt of ", text.size(), " bytes that is none"));
}

}  // namespace hourglass
