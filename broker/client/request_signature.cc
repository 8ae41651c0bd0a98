#include "broker/client/request_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "broker/text/text.h"
#include "broker/text/timestamp.h"

namespace hourglass {
namespace {

// Of "2026-11-21T03:00:00.000Z" what the protocol keeps.
constexpr size_t kSecondsEnd = 19;

std::string HmacSha1Hex(std::string_view secret, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  // Null if the machine's OpenSSL forbids it: the broker then says no.
  if (HMAC(EVP_sha1(), secret.data(), static_cast<int>(secret.size()), data,
           text.size(), bytes, &size) == nullptr) {
    size = 0;
  }
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex.push_back(kDigits[bytes[i] >> 4]);
    hex.push_back(kDigits[bytes[i] & 15]);
  }
  return hex;
}

}  // namespace

std::string SignatureDate(int64_t now_ms) {
  std::string date;
  for (const char c : FormatTimestamp(now_ms).substr(0, kSecondsEnd)) {
    if (c != '-' && c != ':') date.push_back(c);
  }
  return date + "Z";
}

std::string SignRequest(std::string_view access_key, std::string_view secret,
                        std::string_view date) {
  return Concat(
      "MQv2-HMAC-SHA1 Credential=", access_key,
      ", SignedHeaders=x-mq-date-time, Signature=", HmacSha1Hex(secret, date));
}

}  // namespace hourglass
