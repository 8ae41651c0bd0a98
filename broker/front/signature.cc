#include "broker/front/signature.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "broker/text.h"

namespace hourglass {
namespace {

constexpr std::string_view kAlgorithm = "MQv2-HMAC-SHA1";
constexpr std::string_view kSignedHeader = "x-mq-date-time";
constexpr size_t kHexDigits = 40;

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "a=1, b=2" as a map.
std::map<std::string_view, std::string_view> Fields(std::string_view text) {
  std::map<std::string_view, std::string_view> fields;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = Trim(text.substr(0, comma));
    const size_t equals = field.find('=');
    if (equals != std::string_view::npos) {
      fields[field.substr(0, equals)] = field.substr(equals + 1);
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return fields;
}

absl::Status Malformed(std::string_view expected) {
  return absl::UnauthenticatedError(
      Concat("authorization: expected ", expected));
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

}  // namespace

absl::StatusOr<Signature> Signature::Parse(std::string_view header,
                                           std::string_view date_time) {
  const size_t space = header.find(' ');
  if (header.substr(0, space) != kAlgorithm ||
      space == std::string_view::npos) {
    return Malformed(Concat("it to begin with ", kAlgorithm));
  }
  auto fields = Fields(header.substr(space + 1));
  if (fields["SignedHeaders"] != kSignedHeader) {
    return Malformed(Concat("SignedHeaders=", kSignedHeader));
  }
  const std::string_view hmac = fields["Signature"];
  if (hmac.size() != kHexDigits || !IsHex(hmac)) {
    return Malformed("Signature= with 40 hexadecimal digits");
  }
  if (!fields.contains("Credential")) return Malformed("Credential=");
  const std::string_view credential = fields["Credential"];
  Signature signature;
  signature.access_key = std::string(
      credential.substr(0, std::min(credential.find('/'), credential.size())));
  signature.hmac_hex = Lower(hmac);
  signature.date_time = std::string(date_time);
  return signature;
}

}  // namespace hourglass
