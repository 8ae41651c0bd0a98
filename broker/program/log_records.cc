#include "broker/program/log_records.h"

#include "absl/strings/str_format.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/ack_format.h"
#include "storage/checkpoint.h"
#include "storage/coding.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kRowFormat[] =
    "%12s  %-10s  %-24s  %-16s  %13s  %13s  %-13s  "
    "%8s  %8s  %s";
constexpr size_t kIdWidth = 24;
constexpr size_t kTopicWidth = 16;

absl::Status Malformed(const LogRecord& record) {
  return absl::DataLossError(
      Concat("the ", RecordKindName(record.kind), " record at log offset ",
             record.offset.value(), " has a payload of another shape"));
}

absl::Status DescribeMessage(const LogRecord& record, RecordFacts* facts) {
  if (record.kind != RecordKind::kReady) {
    facts->hour = record.hour;
    facts->number = record.number;
  }
  if ((record.flags & kFlagMarkOnly) != 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MessageView message, DecodeMessage(record.payload));
  facts->id = std::string(message.id);
  facts->topic = std::string(message.topic);
  // A message that was due at once was due when it was stored.
  facts->due_ms =
      message.due_ms == kDueNow ? message.stored_ms : message.due_ms;
  facts->stored_ms = message.stored_ms;
  return absl::OkStatus();
}

absl::Status DescribeCancel(const LogRecord& record, RecordFacts* facts) {
  uint32_t target = 0, ms_into_hour = 0;
  Decoder decoder(record.payload);
  if (!decoder.Fixed(&target) || !decoder.Fixed(&ms_into_hour)) {
    return Malformed(record);
  }
  facts->hour = record.hour;
  facts->number = record.number;
  facts->due_ms = StartMs(record.hour) + ms_into_hour;
  facts->numbers.emplace_back("target", target);
  return absl::OkStatus();
}

// "0-4,7": first and last of each range, as many as a line holds.
constexpr size_t kRangesShown = 8;

std::string AckedText(const GroupProgress& marks) {
  std::string text;
  size_t shown = 0;
  const auto add = [&](QueueIndex from, QueueIndex to) {
    if (++shown > kRangesShown) return;
    Append(&text, text.empty() ? "" : ",", from.value());
    if (to > from + 1) Append(&text, "-", to.value() - 1);
  };
  if (marks.next > QueueIndex()) add(QueueIndex(), marks.next);
  for (const auto& [from, to] : marks.acked) add(from, to);
  if (shown > kRangesShown) text += ",...";
  return text;
}

// "5:2": message 5 was given out twice.
std::string AttemptsText(const GroupProgress& marks) {
  std::string text;
  size_t shown = 0;
  for (const auto& [index, attempts] : marks.attempts) {
    if (++shown > kRangesShown) return text + ",...";
    Append(&text, text.empty() ? "" : ",", index.value(), ":", attempts);
  }
  return text;
}

absl::Status DescribeMarks(const LogRecord& record, RecordFacts* facts) {
  const auto ack = DecodeMarks(record.payload);
  if (!ack.ok()) return Malformed(record);
  facts->topic = std::string(ack->topic);
  facts->texts.emplace_back("group", std::string(ack->group));
  const std::string acked = AckedText(ack->marks);
  if (!acked.empty()) facts->texts.emplace_back("acked", acked);
  const std::string attempts = AttemptsText(ack->marks);
  if (!attempts.empty()) facts->texts.emplace_back("attempts", attempts);
  return absl::OkStatus();
}

absl::Status DescribeAck(const LogRecord& record, RecordFacts* facts) {
  if ((record.flags & kFlagMarks) != 0) return DescribeMarks(record, facts);
  const auto ack = DecodeAck(record.payload);
  if (!ack.ok()) return Malformed(record);
  facts->topic = std::string(ack->topic);
  facts->texts.emplace_back("group", std::string(ack->group));
  facts->numbers.emplace_back("next", static_cast<int64_t>(ack->next.value()));
  return absl::OkStatus();
}

absl::Status DescribeCheckpoint(const LogRecord& record, RecordFacts* facts) {
  ASSIGN_OR_RETURN(const CheckpointRecord checkpoint,
                   DecodeCheckpointRecord(record.payload));
  facts->numbers = {
      {"sequence", static_cast<int64_t>(checkpoint.sequence)},
      {"applied", static_cast<int64_t>(checkpoint.applied.value())},
      {"replay_from", static_cast<int64_t>(checkpoint.replay_from.value())},
      {"cursor_ms", StartMs(checkpoint.cursor)}};
  return absl::OkStatus();
}

absl::Status DescribePayload(const LogRecord& record, RecordFacts* facts) {
  switch (record.kind) {
    case RecordKind::kReady:
    case RecordKind::kDelayed:
    case RecordKind::kDelivered:
      return DescribeMessage(record, facts);
    case RecordKind::kCancel:
      return DescribeCancel(record, facts);
    case RecordKind::kAck:
      return DescribeAck(record, facts);
    case RecordKind::kCheckpoint:
      return DescribeCheckpoint(record, facts);
  }
  return Malformed(record);
}

std::string TextOr(const std::optional<std::string>& text, size_t width) {
  return text && !text->empty() ? Printable(*text, width) : "-";
}
std::string MsOr(const std::optional<int64_t>& ms) {
  return ms ? Concat(*ms) : "-";
}

// What only this kind has: "group=pipe next=12".
std::string Details(const RecordFacts& facts) {
  std::string out;
  for (const auto& [name, value] : facts.texts) {
    Append(&out, out.empty() ? "" : " ", name, "=", Printable(value, kIdWidth));
  }
  for (const auto& [name, value] : facts.numbers) {
    Append(&out, out.empty() ? "" : " ", name, "=", value);
  }
  return out;
}

// Padding counts bytes; add what multi-byte characters take away.
std::string Pad(std::string text, size_t width) {
  const size_t shown = DisplayWidth(text);
  if (shown < width) text.append(width - shown, ' ');
  return text;
}

void AppendRow(std::string row, std::string* out) {
  row.erase(row.find_last_not_of(' ') + 1);
  Append(out, row, "\n");
}

}  // namespace

RecordFacts DescribeRecord(const LogRecord& record) {
  RecordFacts facts;
  facts.offset = record.offset;
  facts.kind = record.kind;
  facts.size = record.size();
  facts.status = DescribePayload(record, &facts);
  return facts;
}

std::string RecordTitles() {
  std::string out;
  AppendRow(
      absl::StrFormat(kRowFormat, "OFFSET", "KIND", "ID", "TOPIC", "DUE_MS",
                      "STORED_MS", "HOUR", "NUMBER", "SIZE", ""),
      &out);
  return out;
}

void AppendRecordLine(const RecordFacts& facts, std::string* out) {
  AppendRow(absl::StrFormat(kRowFormat, Concat(facts.offset.value()),
                            RecordKindName(facts.kind),
                            Pad(TextOr(facts.id, kIdWidth), kIdWidth),
                            Pad(TextOr(facts.topic, kTopicWidth), kTopicWidth),
                            MsOr(facts.due_ms), MsOr(facts.stored_ms),
                            facts.hour ? FormatHour(*facts.hour) : "-",
                            facts.number ? Concat(facts.number->value()) : "-",
                            Concat(facts.size), Details(facts)),
            out);
}

void AppendRecordJson(const RecordFacts& facts, std::string* out) {
  JsonObject object(out);
  object.Uint("offset", facts.offset.value());
  object.Text("kind", RecordKindName(facts.kind));
  if (facts.id) object.Text("id", *facts.id);
  if (facts.topic) object.Text("topic", *facts.topic);
  if (facts.due_ms) object.Int("due_ms", *facts.due_ms);
  if (facts.stored_ms) object.Int("stored_ms", *facts.stored_ms);
  if (facts.hour) object.Text("hour", FormatHour(*facts.hour));
  if (facts.number) object.Uint("number", facts.number->value());
  object.Uint("size", facts.size);
  for (const auto& [name, value] : facts.texts) object.Text(name, value);
  for (const auto& [name, value] : facts.numbers) object.Int(name, value);
  object.End();
  out->push_back('\n');
}

}  // namespace hourglass
