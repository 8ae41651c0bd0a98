// File: signature.h
//
// The `authorization` header of the protocol:
//
//   MQv2-HMAC-SHA1 Credential=KEY/.., SignedHeaders=x-mq-date-time,
//   Signature=0A1B..
//
//   ASSIGN_OR_RETURN(Signature signature, Signature::Parse(header));
//
// Some clients write the signature's hex in upper case, some in lower; here it
// is lower. Some send the header without credentials, too: the key is empty
// then.
//
// Limitations: parsed, not verified: that is for gate.h.
//
// Serves promise 4: who is told what is known.
#ifndef HOURGLASS_BROKER_FRONT_SIGNATURE_H_
#define HOURGLASS_BROKER_FRONT_SIGNATURE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hourglass {

struct Signature {
  std::string access_key;
  std::string hmac_hex;  // of the value of x-mq-date-time
  std::string date_time;

  // UNAUTHENTICATED if `header` is something else. `date_time` is the value of
  // the header that was signed.
  static absl::StatusOr<Signature> Parse(std::string_view header,
                                         std::string_view date_time);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_SIGNATURE_H_
