#include "broker/front/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace hourglass {
namespace {

constexpr char kUpper[] = "0123456789ABCDEF";
constexpr char kLower[] = "0123456789abcdef";

std::string Hex(const unsigned char* bytes, size_t size,
                const char* digits = kUpper) {
  std::string text(2 * size, '0');
  for (size_t i = 0; i < size; ++i) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
  return text;
}

// Empty if the machine's OpenSSL forbids the digest: receivers then say so.
std::string DigestHex(const EVP_MD* digest, std::string_view body) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(body.data(), body.size(), bytes, &size, digest, nullptr) !=
      1) {
    return "";
  }
  return Hex(bytes, size);
}

}  // namespace

std::string Md5Hex(std::string_view body) { return DigestHex(EVP_md5(), body); }

std::string Sha1Hex(std::string_view body) {
  return DigestHex(EVP_sha1(), body);
}

std::string HmacSha1Hex(std::string_view secret, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha1(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           bytes, &size) == nullptr) {
    return "";
  }
  return Hex(bytes, size, kLower);
}

}  // namespace hourglass
