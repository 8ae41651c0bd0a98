// File: replay.h
//
// The part of recovery that reads the commit log from the replay offset to
// its end and brings files and wheels to where the log says they are.
//
//   Replay replay(state, checkpoint);
//   RETURN_IF_ERROR(replay.Run());
//   // replay.end(): where the log goes on
//
// Records before the checkpoint's applied offset are in the files already
// (record numbers tell); they only say which messages were delivered or
// cancelled since the cursor. A Delayed record met here whose second lies
// before the cursor, and which is neither, is a late message that was not
// delivered yet.
//
// Threads: one, before anybody else sees the state.
//
// Keeps promises 2 and 7: exact, and only since the checkpoint.
#ifndef HOURGLASS_RECOVERY_REPLAY_H_
#define HOURGLASS_RECOVERY_REPLAY_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "recovery/store_state.h"
#include "storage/checkpoint.h"
#include "storage/log_reader.h"

namespace hourglass {

class Replay {
 public:
  Replay(StoreState* state, const CheckpointRecord& checkpoint);

  absl::Status Run();

  LogOffset end() const { return end_; }
  bool torn() const { return torn_; }
  // How far the log was synced when its last group was written.
  LogOffset synced() const { return synced_; }
  // Gives the hand the messages found to be late. After Hand::Start.
  absl::Status ArriveLate();

 private:
  using MessageAt = std::pair<Hour, RecordNumber>;

  absl::Status CheckBegin() const;
  absl::Status One(const LogRecord& record);
  absl::Status OnDelayed(const LogRecord& record, bool apply);
  absl::Status OnDelivered(const LogRecord& record, bool apply);
  absl::Status OnCancel(const LogRecord& record, bool apply);
  absl::Status OnCheckpoint(const LogRecord& record);

  StoreState* const state_;
  const CheckpointRecord checkpoint_;
  std::map<MessageAt, LogOffset> maybe_late_;
  LogOffset end_;
  LogOffset synced_;
  bool torn_ = false;
  bool told_behind_ = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_REPLAY_H_
