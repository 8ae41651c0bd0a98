// File: ack_format.h
//
// Payloads of the commit log's Ack records, and the part of them that also
// stands in the checkpoint's values. Grammar and example:
// docs/formats/commit_log.md.
//
//   watermark (no flag)  = topic | group | next index u64
//   marks (kFlagMarks)   = topic | group | marks
//   marks = ranges varint | (skip varint, length varint)*
//           counted varint | (skip varint, attempts varint)*
//
// `skip` counts from the end of the one before, the first from 0 (in the
// checkpoint from the group's next index). There is one spelling of each
// state: ranges do not touch, lengths and attempts are not 0.
//
//   std::string payload = EncodeMarks("orders", "billing", progress);
//   auto marks = DecodeMarks(payload);     // points into the payload
//
// Threads: functions only.
//
// Keeps promise 5: bytes that are no such marks are refused.
#ifndef HOURGLASS_STORAGE_ACK_FORMAT_H_
#define HOURGLASS_STORAGE_ACK_FORMAT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hourglass/group_progress.h"
#include "hourglass/types.h"
#include "storage/coding.h"

namespace hourglass {

struct AckPayload {
  std::string_view topic;
  std::string_view group;
  QueueIndex next;
};
std::string EncodeAck(const AckPayload& ack);
absl::StatusOr<AckPayload> DecodeAck(std::string_view payload);

struct MarksPayload {
  std::string_view topic;
  std::string_view group;
  // What is acknowledged from index 0 on stands in `next`.
  GroupProgress marks;
};
// `marks.next` counts as a range from 0.
std::string EncodeMarks(std::string_view topic, std::string_view group,
                        const GroupProgress& marks);
absl::StatusOr<MarksPayload> DecodeMarks(std::string_view payload);

// The same in as many payloads as keep each below some 64 KiB.
std::vector<std::string> EncodeManyMarks(std::string_view topic,
                                         std::string_view group,
                                         const GroupProgress& marks);

// Only the marks above `progress.next`; false if `in` holds something else.
void AppendMarksAbove(const GroupProgress& progress, std::string* out);
bool TakeMarksAbove(Decoder* in, GroupProgress* progress);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_ACK_FORMAT_H_
