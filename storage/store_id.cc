#include "storage/store_id.h"

#include "absl/strings/cord.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr char kAnotherStore[] = "hourglass/another-store";

}  // namespace

std::string StoreId::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

absl::Status OfAnotherStore(std::string_view what) {
  absl::Status status = absl::FailedPreconditionError(ToAbsl(what));
  status.SetPayload(kAnotherStore, absl::Cord());
  return status;
}

bool IsOfAnotherStore(const absl::Status& status) {
  return status.GetPayload(kAnotherStore).has_value();
}

}  // namespace hourglass
