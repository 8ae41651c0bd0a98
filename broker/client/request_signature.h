// File: request_signature.h
//
// The `authorization` header that a client signs its calls with:
//
//   MQv2-HMAC-SHA1 Credential=KEY, SignedHeaders=x-mq-date-time,
//   Signature=0A1B..
//
//   const std::string date = SignatureDate(clock->NowMs());  // x-mq-date-time
//   const std::string header = SignRequest("key", "secret", date);
//
// Serves promise 4: a broker knows whom it answers.
#ifndef HOURGLASS_BROKER_CLIENT_REQUEST_SIGNATURE_H_
#define HOURGLASS_BROKER_CLIENT_REQUEST_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hourglass {

// "20261121T030000Z"
std::string SignatureDate(int64_t now_ms);

std::string SignRequest(std::string_view access_key, std::string_view secret,
                        std::string_view date);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_CLIENT_REQUEST_SIGNATURE_H_
