#include "storage/ack_format.h"

#include <limits>

#include "absl/status/status.h"

namespace hourglass {
namespace {

constexpr uint64_t kIndexMax = std::numeric_limits<uint64_t>::max();
// Each takes at most fifteen bytes.
constexpr size_t kMarksPerPayload = 4096;

// Takes `skip`, then moves on by it; false if that is no index.
bool TakeSkip(Decoder* in, uint64_t* at) {
  uint64_t skip = 0;
  if (!in->Varint64(&skip) || skip > kIndexMax - *at) return false;
  *at += skip;
  return true;
}

bool TakeRange(Decoder* in, uint64_t* at, GroupProgress* progress) {
  const uint64_t before = *at;
  if (!TakeSkip(in, at)) return false;
  const uint64_t from = *at;
  uint64_t length = 0;
  if (!in->Varint64(&length) || length == 0 || length > kIndexMax - from) {
    return false;
  }
  *at = from + length;
  // Only a range from index 0 touches what is before it.
  if (from == before && before != 0) return false;
  progress->Ack(QueueIndex(from), QueueIndex(*at));
  return true;
}

bool TakeCount(Decoder* in, uint64_t* at, GroupProgress* progress) {
  uint32_t attempts = 0;
  if (!TakeSkip(in, at) || *at == kIndexMax || !in->Varint32(&attempts)) {
    return false;
  }
  const QueueIndex index((*at)++);
  if (attempts == 0 || progress->IsAcked(index)) return false;
  progress->attempts.insert(progress->attempts.end(), {index, attempts});
  return true;
}

bool TakeMarks(Decoder* in, uint64_t base, GroupProgress* progress) {
  uint32_t ranges = 0;
  if (!in->Varint32(&ranges)) return false;
  uint64_t at = base;
  for (uint32_t i = 0; i < ranges; ++i) {
    if (!TakeRange(in, &at, progress)) return false;
  }
  uint32_t counted = 0;
  if (!in->Varint32(&counted)) return false;
  at = base;
  for (uint32_t i = 0; i < counted; ++i) {
    if (!TakeCount(in, &at, progress)) return false;
  }
  return in->rest().empty();
}

// Of all that is at or above `base`; what is below it is not looked at.
void AppendMarks(QueueIndex base, const GroupProgress& marks,
                 std::string* out) {
  const bool from_zero = marks.next > base;
  AppendVarint32(
      out, static_cast<uint32_t>(marks.acked.size() + (from_zero ? 1 : 0)));
  QueueIndex at = base;
  const auto append = [&](QueueIndex from, QueueIndex to) {
    AppendVarint64(out, from - at);
    AppendVarint64(out, to - from);
    at = to;
  };
  if (from_zero) append(base, marks.next);
  for (const auto& [from, to] : marks.acked) append(from, to);
  AppendVarint32(out, static_cast<uint32_t>(marks.attempts.size()));
  at = base;
  for (const auto& [index, attempts] : marks.attempts) {
    AppendVarint64(out, index - at);
    AppendVarint32(out, attempts);
    at = index + 1;
  }
}

}  // namespace

std::string EncodeAck(const AckPayload& ack) {
  std::string out;
  AppendPrefixed(&out, ack.topic);
  AppendPrefixed(&out, ack.group);
  AppendFixed<uint64_t>(&out, ack.next.value());
  return out;
}

absl::StatusOr<AckPayload> DecodeAck(std::string_view payload) {
  Decoder in(payload);
  AckPayload ack;
  uint64_t next = 0;
  if (!in.Prefixed(&ack.topic) || !in.Prefixed(&ack.group) ||
      !in.Fixed(&next) || !in.rest().empty()) {
    return absl::DataLossError("malformed Ack record");
  }
  ack.next = QueueIndex(next);
  return ack;
}

std::string EncodeMarks(std::string_view topic, std::string_view group,
                        const GroupProgress& marks) {
  std::string out;
  AppendPrefixed(&out, topic);
  AppendPrefixed(&out, group);
  AppendMarks(QueueIndex(), marks, &out);
  return out;
}

absl::StatusOr<MarksPayload> DecodeMarks(std::string_view payload) {
  Decoder in(payload);
  MarksPayload marks;
  if (!in.Prefixed(&marks.topic) || !in.Prefixed(&marks.group) ||
      !TakeMarks(&in, 0, &marks.marks)) {
    return absl::DataLossError("malformed Ack record with marks");
  }
  return marks;
}

std::vector<std::string> EncodeManyMarks(std::string_view topic,
                                         std::string_view group,
                                         const GroupProgress& marks) {
  std::vector<std::string> payloads;
  GroupProgress part(marks.next);
  const auto full = [&part] {
    return part.acked.size() + part.attempts.size() >= kMarksPerPayload;
  };
  const auto flush = [&] {
    payloads.push_back(EncodeMarks(topic, group, part));
    part = GroupProgress();
  };
  for (const auto& range : marks.acked) {
    part.acked.insert(part.acked.end(), range);
    if (full()) flush();
  }
  for (const auto& count : marks.attempts) {
    part.attempts.insert(part.attempts.end(), count);
    if (full()) flush();
  }
  if (part.next > QueueIndex() || part.HasMarks()) flush();
  return payloads;
}

void AppendMarksAbove(const GroupProgress& progress, std::string* out) {
  AppendMarks(progress.next, progress, out);
}

bool TakeMarksAbove(Decoder* in, GroupProgress* progress) {
  const QueueIndex next = progress->next;
  // A range that touches `next` would move it.
  return TakeMarks(in, next.value(), progress) && progress->next == next &&
         progress->HasMarks();
}

}  // namespace hourglass
