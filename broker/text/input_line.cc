// ParseInputLine of json_lines.h: one JSON object into one Message, without a
// tree in between. The parser hands over value by value; the first one that
// does not fit ends the parse and is the error.
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/escaping.h"
#include "broker/text/duration.h"
#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"

namespace hourglass {
namespace {

using nlohmann::json;

constexpr std::string_view kLineExpected =
    R"(one JSON object a line, such as {"body":"hello","delay":"30s"})";

// What a value of each field must be.
struct Field {
  std::string_view name;
  std::string_view expected;
};
constexpr Field kFields[] = {
    {"topic", "a string of 1 to 255 bytes"},
    {"body", "a string (body_base64 for bytes)"},
    {"body_base64", R"(base64, such as "aGVsbG8=")"},
    {"delay", kDurationExpected},
    {"delay_ms", "a whole number of milliseconds, 0 or more"},
    {"deliver_at", kTimestampExpected},
    {"id", "a string of up to 255 bytes"},
    {"tag", "a string"},
    {"keys", R"(a list of strings, such as ["A-17"])"},
    {"properties", R"(an object of strings, such as {"region":"eu"})"},
};

const Field* FindField(std::string_view name) {
  for (const Field& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string Joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) {
    Append(&out, out.empty() ? "" : ", ", name);
  }
  return out;
}

std::string FieldNames() {
  std::vector<std::string_view> names;
  for (const Field& field : kFields) names.push_back(field.name);
  return Joined(names);
}

class LineHandler final : public json::json_sax_t {
 public:
  explicit LineHandler(Message* message) : message_(message) {}

  bool null() override { return WrongType("null"); }
  bool boolean(bool value) override {
    return WrongType(value ? "true" : "false");
  }
  bool number_integer(json::number_integer_t value) override {
    // Only negative ones come here.
    if (Is("delay_ms") || Is("deliver_at")) {
      return Refuse(Concat(value, " is negative"));
    }
    return WrongType(Concat("the number ", value));
  }
  bool number_unsigned(json::number_unsigned_t value) override {
    if (depth_ == 1 && Is("delay_ms")) {
      due_.delay_ms = static_cast<int64_t>(
          std::min<uint64_t>(value, static_cast<uint64_t>(INT64_MAX)));
      return true;
    }
    if (depth_ == 1 && Is("deliver_at")) {
      due_.deliver_at = Concat(value);
      return true;
    }
    if (depth_ == 1 && Is("delay")) {
      return Refuse(Concat(value, " has no unit"));
    }
    return WrongType(Concat("the number ", value));
  }
  bool number_float(json::number_float_t, const json::string_t& text) override {
    return WrongType(Concat("the number ", text));
  }
  bool binary(json::binary_t&) override { return WrongType("binary"); }
  bool string(json::string_t& value) override;

  bool start_object(size_t) override;
  bool key(json::string_t& name) override;
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override;
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const json::exception&) override {
    error_ = {0, "", Concat("is not JSON at byte ", position),
              std::string(kLineExpected)};
    return false;
  }

  // A field pair that excludes each other, met after the whole line.
  std::optional<InputError> CheckPairs() const;
  const DueFields& due() const { return due_; }
  InputError& error() { return error_; }

 private:
  bool Is(std::string_view name) const {
    return field_ != nullptr && field_->name == name;
  }
  bool Refuse(std::string was) {
    error_ = {0, std::string(field_->name), std::move(was),
              std::string(field_->expected)};
    return false;
  }
  bool WrongType(std::string_view what) {
    if (depth_ == 0) {
      error_ = {0, "", Concat("is ", what), std::string(kLineExpected)};
      return false;
    }
    return Refuse(depth_ == 1 ? Concat("is ", what) : Concat("holds ", what));
  }
  bool NewProperty(const std::string& name);
  bool SetBase64(std::string_view text);

  Message* const message_;
  int depth_ = 0;                 // 1 in the object, 2 in keys or properties
  const Field* field_ = nullptr;  // the member that is being read
  std::set<const Field*> seen_;
  std::set<std::string> properties_seen_;
  DueFields due_;
  InputError error_;
};

bool LineHandler::string(json::string_t& value) {
  if (depth_ == 0) return WrongType("a string");
  if (depth_ == 2) {
    if (Is("keys")) {
      message_->keys.push_back(std::move(value));
    } else {
      message_->properties.back().second = std::move(value);
    }
    return true;
  }
  if (Is("topic")) {
    message_->topic = std::move(value);
  } else if (Is("body")) {
    message_->body = std::move(value);
  } else if (Is("body_base64")) {
    return SetBase64(value);
  } else if (Is("delay")) {
    due_.delay = std::move(value);
  } else if (Is("deliver_at")) {
    due_.deliver_at = std::move(value);
  } else if (Is("id")) {
    message_->id = std::move(value);
  } else if (Is("tag")) {
    message_->tag = std::move(value);
  } else {
    return WrongType(Concat("the string ", Quoted(value)));
  }
  return true;
}

bool LineHandler::SetBase64(std::string_view text) {
  if (absl::Base64Unescape(ToAbsl(text), &message_->body)) return true;
  return Refuse(Concat(Quoted(text), " is not base64"));
}

bool LineHandler::start_object(size_t) {
  if (depth_ == 0 || (depth_ == 1 && Is("properties"))) {
    ++depth_;
    return true;
  }
  return WrongType("an object");
}

bool LineHandler::start_array(size_t) {
  if (depth_ == 1 && Is("keys")) {
    ++depth_;
    return true;
  }
  return WrongType("a list");
}

bool LineHandler::key(json::string_t& name) {
  if (depth_ == 2) return NewProperty(name);
  field_ = FindField(name);
  if (field_ == nullptr) {
    error_ = {0, name.size() > 40 ? Quoted(name) : name, "is not a field",
              Concat("one of ", FieldNames())};
    return false;
  }
  if (seen_.insert(field_).second) return true;
  error_ = {0, name, "is given twice", "each field at most once"};
  return false;
}

bool LineHandler::NewProperty(const std::string& name) {
  if (!properties_seen_.insert(name).second) {
    error_ = {0, "properties", Concat("has ", Quoted(name), " twice"),
              "each name at most once"};
    return false;
  }
  message_->properties.emplace_back(name, "");
  return true;
}

std::optional<InputError> LineHandler::CheckPairs() const {
  std::vector<std::string_view> due, body;
  for (const Field& field : kFields) {
    if (seen_.count(&field) == 0) continue;
    if (field.name.starts_with("del")) due.push_back(field.name);
    if (field.name.starts_with("body")) body.push_back(field.name);
  }
  if (due.size() > 1) {
    return InputError{0, Joined(due), "are given together",
                      "at most one of delay, delay_ms, deliver_at"};
  }
  if (body.size() > 1) {
    return InputError{0, Joined(body), "are given together",
                      "one of body, body_base64"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<InputError> ParseInputLine(std::string_view line, int64_t now_ms,
                                         const InputLimits& limits,
                                         Message* message,
                                         std::string_view topic) {
  const size_t invalid = FirstInvalidUtf8(line);
  if (invalid < line.size()) {
    return InputError{0, "", Concat("is not UTF-8 at byte ", invalid + 1),
                      "UTF-8 (body_base64 for bytes)"};
  }
  *message = Message();
  message->topic = topic;
  LineHandler handler(message);
  if (!json::sax_parse(line.begin(), line.end(), &handler)) {
    return std::move(handler.error());
  }
  if (auto error = handler.CheckPairs()) return error;
  if (auto error = CheckLimits(*message, limits)) return error;
  return ResolveDue(handler.due(), now_ms, limits, &message->due_ms);
}

}  // namespace hourglass
