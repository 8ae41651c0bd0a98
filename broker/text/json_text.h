// File: json_text.h
//
// Writing JSON, one object a line, straight into a string: no tree in
// between, since `hourglass pipe` writes one object for each message.
//
//   std::string line;
//   JsonObject(&line).Text("id", id).Int("due_ms", due_ms).End();
//   // {"id":"a","due_ms":1795230000000}
//
// Text that is not UTF-8 is written with U+FFFD for each bad byte; where that
// would lose data (bodies) the caller asks IsValidUtf8 and uses base64.
//
// Serves promise 5: what is written can be read back.
#ifndef HOURGLASS_BROKER_TEXT_JSON_TEXT_H_
#define HOURGLASS_BROKER_TEXT_JSON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hourglass {

// Where the first byte stands that is not UTF-8; text.size() if none.
size_t FirstInvalidUtf8(std::string_view text);
inline bool IsValidUtf8(std::string_view text) {
  return FirstInvalidUtf8(text) == text.size();
}

// Appends `text` as a JSON string, with its quotes.
void AppendJsonString(std::string* out, std::string_view text);

// `text` in quotes for a message to people: escaped, cut if it is long.
std::string Quoted(std::string_view text);

// Appends one object, member by member. End() must come last, once.
class JsonObject {
 public:
  explicit JsonObject(std::string* out) : out_(out) { out_->push_back('{'); }

  JsonObject& Text(std::string_view name, std::string_view value);
  JsonObject& Int(std::string_view name, int64_t value);
  JsonObject& Uint(std::string_view name, uint64_t value);
  JsonObject& Bool(std::string_view name, bool value);
  JsonObject& Null(std::string_view name);
  JsonObject& Texts(std::string_view name,
                    const std::vector<std::string>& values);
  // Starts the member; the caller appends its value to the string.
  JsonObject& Name(std::string_view name);
  void End() { out_->push_back('}'); }

 private:
  std::string* const out_;
  bool first_ = true;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TEXT_JSON_TEXT_H_
