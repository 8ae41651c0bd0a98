// File: json_lines.h
//
// Messages as JSON lines: what `hourglass pipe` and `hourglass put` read, and
// what `pipe` writes.
//
//   in   {"topic":"orders","body":"pay me","delay":"30s","id":"A-17"}
//   out  {"id":"A-17","topic":"orders","body":"pay me",
//         "due_ms":1795230030000,"delivered_ms":1795230030001}
//
// Input fields, all optional: topic ("default"), body or body_base64, one of
// delay, delay_ms, deliver_at (none: now), id, tag, keys, properties. Reading
// is strict: what is not understood is refused, with the field, what was
// wrong and what would be right, because a delay that is silently dropped
// shows only when it is too late.
//
// Limitations: a body that is not UTF-8 travels as body_base64.
//
// Serves promise 5: a line that is not understood is named, not guessed.
#ifndef HOURGLASS_BROKER_TEXT_JSON_LINES_H_
#define HOURGLASS_BROKER_TEXT_JSON_LINES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hourglass/delay_store.h"
#include "hourglass/message.h"
#include "hourglass/options.h"

namespace hourglass {

// Why a line was refused.
struct InputError {
  uint64_t line = 0;     // from 1 on; 0 = not from a line
  std::string field;     // "" = the line as a whole
  std::string was;       // what is wrong with it
  std::string expected;  // what would be right

  // `line 7: delay: "-5s" is negative; expected a duration such as "30s"`
  std::string ToString() const;
};

struct InputLimits {
  size_t body_bytes_max = 0;
  size_t properties_bytes_max = 0;  // tag, keys and properties together
  int64_t delay_ms_max = 0;

  static InputLimits From(const StoreOptions& options);
  // No line of a message within the limits can be longer than this: six
  // bytes ("\u0001") spell one.
  size_t line_bytes_max() const;
};

// The due time of a message from one of the three fields; at most one is set.
struct DueFields {
  std::optional<std::string> delay;
  std::optional<int64_t> delay_ms;
  std::optional<std::string> deliver_at;
};
// Fills `due_ms`. `now_ms` turns a delay into a due time, here and only here.
std::optional<InputError> ResolveDue(const DueFields& fields, int64_t now_ms,
                                     const InputLimits& limits,
                                     int64_t* due_ms);

// Lengths of topic, id, body, and of tag, keys and properties together.
std::optional<InputError> CheckLimits(const Message& message,
                                      const InputLimits& limits);

// Reads one line. nullopt: `message` holds it; else why not. `line` and
// `message` may not overlap. `topic`: of a line that names none.
std::optional<InputError> ParseInputLine(std::string_view line, int64_t now_ms,
                                         const InputLimits& limits,
                                         Message* message,
                                         std::string_view topic = "default");

// True for a line of nothing but white space; such lines are skipped.
bool IsBlank(std::string_view line);

// Append one line, with its end.
void AppendReadyLine(const ReadyMessage& ready, std::string* out);
void AppendPendingLine(const PendingMessage& pending, std::string* out);
// As ParseInputLine reads it, with `deliver_at`. Nothing is appended, and the
// answer says why, if JSON cannot spell the message: an id, say, that is not
// UTF-8.
std::optional<std::string> AppendExportLine(const Message& message,
                                            std::string* out);
void AppendAckLine(const PutResult& put, std::string* out);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TEXT_JSON_LINES_H_
