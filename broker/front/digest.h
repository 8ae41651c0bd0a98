// File: digest.h
//
// The digest of a message's body, as receivers check it: MD5 in upper-case
// hexadecimal. Against accidents only; it proves nothing about the sender.
// That is what the HMAC is for, with which clients sign.
//
// Threads: any.
//
// Serves promise 5: a body that was damaged on its way is seen.
#ifndef HOURGLASS_BROKER_FRONT_DIGEST_H_
#define HOURGLASS_BROKER_FRONT_DIGEST_H_

#include <string>
#include <string_view>

namespace hourglass {

std::string Md5Hex(std::string_view body);
std::string Sha1Hex(std::string_view body);
// In lower case, as signatures have it.
std::string HmacSha1Hex(std::string_view secret, std::string_view text);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_DIGEST_H_
