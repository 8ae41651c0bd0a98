#include "broker/front/digest.h"

#include <openssl/evp.h>

namespace hourglass {
namespace {

std::string Hex(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text(2 * size, '0');
  for (size_t i = 0; i < size; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
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

}  // namespace hourglass
