// File: receipt.h
//
// What a client shows to say which of its leases it means: 40 hexadecimal
// digits, of no meaning to it.
//
//   std::string text = EncodeReceipt({index, lease});
//   ASSIGN_OR_RETURN(const Receipt receipt, DecodeReceipt(text));
//
//   index u64 | lease u64 | check u32, each as big-endian digits
//
// A lease has a number of its own, never used again: a receipt of before a
// redelivery, a change of the lease or a restart names a number that nobody
// has. The check tells a receipt from a text that is none; it is no secret.
//
// Threads: functions only.
//
// Serves promise 2: an old receipt acknowledges nothing.
#ifndef HOURGLASS_BROKER_GROUPS_RECEIPT_H_
#define HOURGLASS_BROKER_GROUPS_RECEIPT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hourglass/types.h"

namespace hourglass {

struct Receipt {
  QueueIndex index;
  uint64_t lease = 0;
  bool operator==(const Receipt&) const = default;
};

std::string EncodeReceipt(const Receipt& receipt);
// INVALID_ARGUMENT if the text is not what EncodeReceipt makes.
absl::StatusOr<Receipt> DecodeReceipt(std::string_view text);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_RECEIPT_H_
