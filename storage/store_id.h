// File: store_id.h
//
// The identity of one store: 16 random bytes drawn when it is created and
// mixed into the header of each of its files and every checksum, so that a
// file from another store, put here by mistake, is refused by name.
//
// Serves promise 5: salts every seal with the store it belongs to.
#ifndef HOURGLASS_STORAGE_STORE_ID_H_
#define HOURGLASS_STORAGE_STORE_ID_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hourglass {

inline constexpr size_t kStoreIdBytes = 16;

struct StoreId {
  std::array<char, kStoreIdBytes> bytes{};

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::string ToHex() const;
  bool operator==(const StoreId&) const = default;
};

// FAILED_PRECONDITION, told apart from others: a file that another store made,
// sound in itself. `what` names the file and both stores.
absl::Status OfAnotherStore(std::string_view what);
bool IsOfAnotherStore(const absl::Status& status);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_STORE_ID_H_
