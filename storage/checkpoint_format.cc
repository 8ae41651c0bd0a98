#include "storage/checkpoint_format.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/ack_format.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

static_assert(kCheckpointRecordBytes == 1 + 8 * 5);
static_assert(kHourFactsBytes == 4 * 4 + 4 * 8 + 1);

// Big-endian with the sign bit flipped: keys sort as hours do.
void AppendHour(std::string* out, Hour hour) {
  const uint32_t bits = static_cast<uint32_t>(hour.value()) ^ 0x80000000u;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(bits >> shift));
  }
}

bool TakeHour(std::string_view bytes, Hour* hour) {
  if (bytes.size() != 4) return false;
  uint32_t bits = 0;
  for (const char c : bytes) bits = bits << 8 | static_cast<unsigned char>(c);
  *hour = Hour(static_cast<int32_t>(bits ^ 0x80000000u));
  return true;
}

bool DecodeHourFacts(std::string_view bytes, HourFacts* facts) {
  if (bytes.size() != kHourFactsBytes) return false;
  Decoder in(bytes);
  uint32_t base = 0;
  uint32_t last = 0;
  uint8_t retired = 0;
  in.Fixed(&base);
  in.Fixed(&last);
  in.Fixed(&facts->tombstones);
  in.Fixed(&facts->delay_log_bytes);
  in.Fixed(&facts->message_bytes);
  in.Fixed(&facts->cancelled_bytes);
  in.Fixed(&facts->delivered);
  in.Fixed(&facts->delivered_bytes);
  in.Fixed(&retired);
  facts->base = RecordNumber(base);
  facts->last = RecordNumber(last);
  facts->retired = retired != 0;
  return retired <= 1 && base <= last && facts->tombstones <= last - base &&
         facts->delivered <= last - base;
}

bool DecodeIndex(Decoder* in, QueueIndex* index) {
  uint64_t value = 0;
  const bool ok = in->Fixed(&value);
  *index = QueueIndex(value);
  return ok;
}

bool DecodeHourEntry(std::string_view key, std::string_view value,
                     CheckpointState* state) {
  Hour hour;
  return TakeHour(key, &hour) && DecodeHourFacts(value, &state->hours[hour]);
}

bool DecodeQueueEntryOf(std::string_view topic, std::string_view value,
                        CheckpointState* state) {
  QueueFacts& facts = state->queues[std::string(topic)];
  Decoder in(value);
  return DecodeIndex(&in, &facts.first) && DecodeIndex(&in, &facts.next) &&
         in.rest().empty() && facts.first <= facts.next;
}

bool DecodeProgressEntry(std::string_view key, std::string_view value,
                         CheckpointState* state) {
  Decoder in(key);
  std::string_view topic;
  if (!in.Prefixed(&topic)) return false;
  const ConsumerKey consumer(topic, in.rest());
  GroupProgress& progress = state->progress[consumer];
  Decoder rest(value);
  if (!DecodeIndex(&rest, &progress.next)) return false;
  return rest.rest().empty() || TakeMarksAbove(&rest, &progress);
}

bool DecodeRecordEntry(std::string_view key, std::string_view value,
                       CheckpointState* state) {
  const auto record = DecodeCheckpointRecord(value);
  if (!key.empty() || !record.ok()) return false;
  state->record = *record;
  return true;
}

bool DecodeAny(std::string_view key, std::string_view value,
               CheckpointState* state) {
  if (key.empty()) return false;
  const std::string_view rest = key.substr(1);
  switch (key[0]) {
    case kHourPrefix:
      return DecodeHourEntry(rest, value, state);
    case kQueuePrefix:
      return DecodeQueueEntryOf(rest, value, state);
    case kProgressPrefix:
      return DecodeProgressEntry(rest, value, state);
    case kRecordPrefix:
      return DecodeRecordEntry(rest, value, state);
    default:
      return false;
  }
}

}  // namespace

std::string EncodeCheckpointRecord(const CheckpointRecord& record) {
  std::string out;
  AppendFixed<uint8_t>(&out, kCheckpointVersion);
  AppendFixed<uint64_t>(&out, record.sequence);
  AppendFixed<uint64_t>(&out, record.applied.value());
  AppendFixed<uint64_t>(&out, record.replay_from.value());
  AppendFixed<int64_t>(&out, record.cursor.value());
  AppendFixed<uint64_t>(&out, record.state_hash);
  return out;
}

absl::StatusOr<CheckpointRecord> DecodeCheckpointRecord(
    std::string_view bytes) {
  Decoder in(bytes);
  uint8_t version = 0;
  if (in.Fixed(&version) && version > kCheckpointVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("checkpoint record of format version ", version,
                     "; this program reads version ", kCheckpointVersion));
  }
  if (bytes.size() != kCheckpointRecordBytes || version != kCheckpointVersion) {
    return absl::DataLossError(absl::StrCat(
        "checkpoint record of ", bytes.size(), " bytes, version ", version,
        "; must be ", kCheckpointRecordBytes, ", ", kCheckpointVersion));
  }
  CheckpointRecord record;
  uint64_t applied = 0;
  uint64_t replay_from = 0;
  int64_t cursor = 0;
  in.Fixed(&record.sequence);
  in.Fixed(&applied);
  in.Fixed(&replay_from);
  in.Fixed(&cursor);
  in.Fixed(&record.state_hash);
  record.applied = LogOffset(applied);
  record.replay_from = LogOffset(replay_from);
  record.cursor = Second(cursor);
  return record;
}

std::string HourKey(Hour hour) {
  std::string key(1, kHourPrefix);
  AppendHour(&key, hour);
  return key;
}

std::string HeadsKey(Hour hour) {
  std::string key(1, kHeadsPrefix);
  AppendHour(&key, hour);
  return key;
}

std::string IdentityKey() { return std::string(1, kIdentityPrefix); }
std::string RecordKey() { return std::string(1, kRecordPrefix); }

std::string QueueKey(std::string_view topic) {
  std::string key(1, kQueuePrefix);
  key.append(topic);
  return key;
}

std::string ProgressKey(const ConsumerKey& consumer) {
  std::string key(1, kProgressPrefix);
  AppendPrefixed(&key, consumer.first);
  key.append(consumer.second);
  return key;
}

std::string EncodeIdentity(const StoreId& id) {
  std::string out;
  AppendFixed<uint8_t>(&out, kCheckpointVersion);
  out.append(id.view());
  return out;
}

std::string EncodeHourFacts(const HourFacts& facts) {
  std::string out;
  AppendFixed<uint32_t>(&out, facts.base.value());
  AppendFixed<uint32_t>(&out, facts.last.value());
  AppendFixed<uint32_t>(&out, facts.tombstones);
  AppendFixed<uint64_t>(&out, facts.delay_log_bytes);
  AppendFixed<uint64_t>(&out, facts.message_bytes);
  AppendFixed<uint64_t>(&out, facts.cancelled_bytes);
  AppendFixed<uint32_t>(&out, facts.delivered);
  AppendFixed<uint64_t>(&out, facts.delivered_bytes);
  AppendFixed<uint8_t>(&out, facts.retired ? 1 : 0);
  return out;
}

std::string EncodeQueueFacts(const QueueFacts& facts) {
  std::string out;
  AppendFixed<uint64_t>(&out, facts.first.value());
  AppendFixed<uint64_t>(&out, facts.next.value());
  return out;
}

std::string EncodeProgress(const GroupProgress& progress) {
  std::string out;
  AppendFixed<uint64_t>(&out, progress.next.value());
  if (progress.HasMarks()) AppendMarksAbove(progress, &out);
  return out;
}

uint64_t EntryHash(std::string_view key, std::string_view value) {
  // The length keeps a byte from moving unseen between key and value.
  std::string bytes;
  AppendPrefixed(&bytes, key);
  bytes.append(value);
  return HashBytes(bytes);
}

uint64_t RecordHash(const CheckpointRecord& record) {
  CheckpointRecord fields = record;
  fields.state_hash = 0;
  return EntryHash(RecordKey(), EncodeCheckpointRecord(fields));
}

absl::Status DecodeEntry(std::string_view key, std::string_view value,
                         CheckpointState* state) {
  if (DecodeAny(key, value, state)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "checkpoint: key \"", absl::CHexEscape(std::string(key)), "\" with ",
      value.size(), " bytes of value is not of this format"));
}

}  // namespace hourglass
