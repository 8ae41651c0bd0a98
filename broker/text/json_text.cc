#include "broker/text/json_text.h"

#include "broker/text/text.h"

namespace hourglass {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr size_t kQuotedBytesMax = 60;

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

// Length of the UTF-8 character at the front of `text`, 0 if it is not one.
size_t CharacterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if (lead == 0xE0 && second < 0xA0) return 0;   // overlong
  if (lead == 0xED && second >= 0xA0) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;   // overlong
  if (lead == 0xF4 && second >= 0x90) return 0;  // past U+10FFFF
  return size;
}

void AppendEscaped(std::string* out, char c) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      Append(out, "\\u00", absl::Hex(c, absl::kZeroPad2));
  }
}

bool IsPlain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' &&
         c != 0x7F;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = CharacterBytes(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return at;
}

void AppendJsonString(std::string* out, std::string_view text) {
  out->push_back('"');
  size_t run = 0;  // start of what can be copied as it is
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = CharacterBytes(text.substr(at));
    if (size > 1 || (size == 1 && IsPlain(text[at]))) {
      at += size;
      continue;
    }
    out->append(text, run, at - run);
    if (size == 0) {
      out->append(kReplacement);
    } else {
      AppendEscaped(out, text[at]);
    }
    run = ++at;
  }
  out->append(text, run, at - run);
  out->push_back('"');
}

std::string Quoted(std::string_view text) {
  std::string out;
  if (text.size() <= kQuotedBytesMax) {
    AppendJsonString(&out, text);
    return out;
  }
  size_t cut = kQuotedBytesMax;
  while (cut > kQuotedBytesMax - 4 && IsContinuation(text[cut])) --cut;
  AppendJsonString(&out, text.substr(0, cut));
  out.insert(out.size() - 1, "...");
  return out;
}

JsonObject& JsonObject::Name(std::string_view name) {
  if (!first_) out_->push_back(',');
  first_ = false;
  AppendJsonString(out_, name);
  out_->push_back(':');
  return *this;
}

JsonObject& JsonObject::Text(std::string_view name, std::string_view value) {
  Name(name);
  AppendJsonString(out_, value);
  return *this;
}

JsonObject& JsonObject::Int(std::string_view name, int64_t value) {
  Name(name);
  Append(out_, value);
  return *this;
}

JsonObject& JsonObject::Uint(std::string_view name, uint64_t value) {
  Name(name);
  Append(out_, value);
  return *this;
}

JsonObject& JsonObject::Bool(std::string_view name, bool value) {
  Name(name);
  out_->append(value ? "true" : "false");
  return *this;
}

JsonObject& JsonObject::Null(std::string_view name) {
  Name(name);
  out_->append("null");
  return *this;
}

JsonObject& JsonObject::Texts(std::string_view name,
                              const std::vector<std::string>& values) {
  Name(name);
  out_->push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out_->push_back(',');
    AppendJsonString(out_, values[i]);
  }
  out_->push_back(']');
  return *this;
}

}  // namespace hourglass
