// File: log_trace.h
//
// What one reading of the commit log leaves in memory: for each hour which
// numbers were delivered and cancelled (a bit each) and which of them the log
// knows at first hand; for each topic and consumer how far things went. From
// it follows for every message of an hour's files whether it is still owed.
//
//   LogTrace trace(replay_from, applied);
//   trace.OnRecord(record, written_ms);     // all of them, in order
//   trace.OnDamage(range);
//   Fate fate = trace.FateOf(hour, number, due_ms, damaged, cursor);
//
// The rule, in this order:
//   cancelled or delivered  | the log says so
//   pending                 | the log holds the Delayed record and is intact
//                           | from there on, but has no Delivered record
//   pending                 | no cursor is known, or it is not past the due
//   time pending (may come twice)| before the cursor, but damage hides whether
//   a
//                           | late one was delivered, or took its record away
//   done                    | before the cursor
//
// Memory: two bits a message of the hours that the log speaks of.
//
// Threads: none of its own.
//
// Keeps promise 5: what the log says of each message, to compare with.
#ifndef HOURGLASS_RECOVERY_LOG_TRACE_H_
#define HOURGLASS_RECOVERY_LOG_TRACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hourglass/types.h"
#include "recovery/finding.h"
#include "recovery/salvage_log.h"
#include "storage/checkpoint.h"
#include "storage/log_format.h"
#include "wheel/hour_ledger.h"

namespace hourglass {

enum class Fate {
  kPending,
  kPendingMaybeTwice,  // may have been delivered; the evidence is lost
  kDelivered,          // its Delivered record is in the log
  kDone,               // delivered, and the record is gone (retention)
  kCancelled,
};

// Of Delayed and Cancel records, which take a number each.
struct HourTrace {
  RecordNumber first;         // 0: none in the log
  RecordNumber last;          // the newest; 0: none
  uint64_t records = 0;       // records == last - first + 1: no gap
  RecordNumber first_clean;   // the log is intact from here on; 0: none
  RecordNumber first_replay;  // at or after replay_from; 0: none
  RecordNumber last_applied;  // the newest before `applied`; 0: none
  // What the hour's files begin behind: an earlier life of it is not theirs.
  RecordNumber base;
  // Of the records behind base up to last_applied: XOR of what RecordDigest
  // gives.
  uint64_t digest = 0;
  NumberSet delivered, cancelled;
  uint64_t delivered_count = 0;

  bool HasGap() const {
    return first.value() != 0 && records != last.value() - first.value() + 1u;
  }
};

struct TopicTrace {
  uint64_t ready = 0;          // Ready and full Delivered records
  uint64_t ready_applied = 0;  // of them, before `applied`
  uint64_t ready_saved = 0;    // of them, out of damaged ranges
  // Of those before `applied`: XOR of what ReadyDigest gives.
  uint64_t digest = 0;
};

// What an entry of a consume queue is, in the log and in the queue alike.
uint64_t ReadyDigest(LogOffset offset, uint32_t size, uint32_t tag_hash);

// What a record of an hour is, in the log and in the hour's files alike.
uint64_t RecordDigest(RecordNumber number, uint64_t payload_hash);
uint64_t TombstoneDigest(RecordNumber number, RecordNumber target);

class LogTrace {
 public:
  LogTrace() = default;
  LogTrace(LogOffset replay_from, LogOffset applied)
      : replay_from_(replay_from), applied_(applied) {}

  // Before the first record: HourTrace::base.
  void SetBase(Hour hour, RecordNumber base) { At(hour).base = base; }
  void OnRecord(const LogRecord& record, int64_t written_ms,
                FindingList* findings);
  void OnDamage(const DamagedRange& range);

  // `damaged`: the hour's own files cannot deliver it, so a cursor that is
  // past it proves nothing where the log still covers its time.
  Fate FateOf(Hour hour, RecordNumber number, int64_t due_ms, bool damaged,
              std::optional<Second> cursor) const;
  const HourTrace* Find(Hour hour) const;

  const std::map<Hour, HourTrace>& hours() const { return hours_; }
  const TopicTrace* FindTopic(std::string_view topic) const {
    const auto at = topics_.find(topic);
    return at == topics_.end() ? nullptr : &at->second;
  }
  const std::map<std::string, TopicTrace, std::less<>>& topics() const {
    return topics_;
  }
  const GroupProgressMap& acks() const { return acks_; }
  const std::vector<DamagedRange>& damage() const { return damage_; }
  const std::optional<CheckpointRecord>& checkpoint() const {
    return checkpoint_;
  }
  // Every Checkpoint record that has this sequence agrees with `record`.
  bool Agrees(const CheckpointRecord& record) const;
  uint64_t records() const { return records_; }

 private:
  void OnNumber(const LogRecord& record, uint64_t digest);
  void OnDelivered(const LogRecord& record, FindingList* findings);
  void OnCancel(const LogRecord& record, FindingList* findings);
  void OnReady(const LogRecord& record);
  void OnAck(const LogRecord& record, FindingList* findings);
  bool DamageHides(int64_t due_ms) const;

  HourTrace& At(Hour hour);

  LogOffset replay_from_, applied_;

  std::map<Hour, HourTrace> hours_;
  // Into hours_: a log jumps from hour to hour with each record.
  absl::flat_hash_map<Hour, HourTrace*> by_hour_;
  std::map<std::string, TopicTrace, std::less<>> topics_;
  GroupProgressMap acks_;
  std::vector<DamagedRange> damage_;
  LogOffset damage_end_;
  std::optional<CheckpointRecord> checkpoint_;
  // The newest few, to be compared with the database's.
  std::map<uint64_t, CheckpointRecord> checkpoints_;
  uint64_t records_ = 0;
  int64_t first_written_ms_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_LOG_TRACE_H_
