// File: log_records.h
//
// One commit-log record as facts for people and machines: what `hourglass
// log` prints.
//
//   RecordFacts facts = DescribeRecord(record);
//   AppendRecordLine(facts, &out);   // "  512  delayed  A-17  orders ..."
//   AppendRecordJson(facts, &out);   // {"offset":512,"kind":"delayed",...}
//
// Serves promise 2: what stands in the log, for everybody to check.
#ifndef HOURGLASS_BROKER_PROGRAM_LOG_RECORDS_H_
#define HOURGLASS_BROKER_PROGRAM_LOG_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "storage/log_format.h"

namespace hourglass {

// What a record has; absent where its kind has no such fact.
struct RecordFacts {
  LogOffset offset;
  RecordKind kind = RecordKind::kReady;
  uint32_t size = 0;
  std::optional<std::string> id, topic;
  std::optional<int64_t> due_ms, stored_ms;
  std::optional<Hour> hour;
  std::optional<RecordNumber> number;
  // What only this kind has: target; group, next; sequence, applied, ...
  std::vector<std::pair<std::string, int64_t>> numbers;
  std::vector<std::pair<std::string, std::string>> texts;
  // DATA_LOSS if the payload is not what its kind says, though its checksum
  // is right. Then only the header's facts are there.
  absl::Status status;
};

RecordFacts DescribeRecord(const LogRecord& record);

// The line above the lines.
std::string RecordTitles();
// Append one line with its end; "-" stands for what is absent.
void AppendRecordLine(const RecordFacts& facts, std::string* out);
void AppendRecordJson(const RecordFacts& facts, std::string* out);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_LOG_RECORDS_H_
