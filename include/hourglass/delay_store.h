// File: delay_store.h
//
// The durable delayed-message store. Put a message with a due time; at that
// millisecond it becomes ready, exactly once, whatever happens in between.
//
//   StoreOptions options;
//   auto store = DelayStore::Open("/var/lib/orders", options);
//   if (!store.ok()) return store.status();
//   MessageView reminder;
//   reminder.topic = "reminders";
//   reminder.body = "your order is waiting";
//   reminder.due_ms = options.clock->NowMs() + 30'000;
//   absl::StatusOr<PutResult> put = (*store)->Put(reminder);  // durable now
//   ...
//   auto answer = (*store)->Cancel(put->handle);  // the truth, one of three
//
// Ownership: the store owns its directory until Close; options.clock,
// options.file_system and the sink are the caller's and must outlive it.
//
// Threads: every method may be called from any thread, except Open and
// Close. Callbacks run on the store's threads and must not block, nor call
// back into a method that waits (those that return a status, not a callback).
//
// Errors, everywhere: INVALID_ARGUMENT (names the field and the limit),
// RESOURCE_EXHAUSTED (names the option that is full), FAILED_PRECONDITION
// (closed, locked, wrong version), DATA_LOSS (damage; names file and place),
// UNAVAILABLE (the store stopped after an I/O error; the text says which),
// NOT_FOUND.
//
// Keeps promises 1 to 7: they are this class's contract.
#ifndef HOURGLASS_DELAY_STORE_H_
#define HOURGLASS_DELAY_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hourglass/delivery_sink.h"
#include "hourglass/group_progress.h"
#include "hourglass/histogram.h"
#include "hourglass/message.h"
#include "hourglass/options.h"
#include "hourglass/types.h"

namespace hourglass {

struct PutResult {
  Handle handle;     // none for a message that was due at once
  LogOffset offset;  // of its record in the commit log
  std::string id;    // as given, or as made by the store
};
using PutCallback = absl::AnyInvocable<void(absl::StatusOr<PutResult>)>;

// The three definite answers of Cancel, Reschedule and DeliverNow.
enum class CancelAnswer {
  kCancelled,         // durable: it will never be delivered
  kAlreadyDelivered,  // too late: it is, or is just becoming, ready
  kNeverExisted,      // this store never gave out such a handle
};
std::string_view CancelAnswerName(CancelAnswer answer);
using CancelCallback = absl::AnyInvocable<void(absl::StatusOr<CancelAnswer>)>;

struct MoveResult {
  CancelAnswer answer = CancelAnswer::kNeverExisted;
  Handle handle;  // of the message at its new time, if answer is kCancelled
};

using MoveCallback = absl::AnyInvocable<void(absl::StatusOr<MoveResult>)>;
using AckCallback = absl::AnyInvocable<void(absl::Status)>;

using ReadyListener = std::function<void(absl::Span<const std::string> topics)>;

// How often a message was given out.
struct AttemptCount {
  QueueIndex index;
  uint32_t attempts = 0;
};

// One ready message as a consumer reads it.
struct ReadyMessage {
  QueueIndex index;          // its place in the topic
  LogOffset offset;          // its record in the commit log
  MessageKey key;            // where it waited; number 0: it was due at once
  int64_t delivered_ms = 0;  // when it was handed to this reader
  Message message;
};

// One pending message, for listings.
struct PendingMessage {
  Handle handle;
  Message message;
};
struct PendingPage {
  std::vector<PendingMessage> messages;  // by due time, then arrival
  std::string next;  // give it to Pending to go on; "" = that was all
};
struct PendingQuery {
  int64_t from_ms = 0;  // due time window [from, to)
  int64_t to_ms = INT64_MAX;
  std::string topic;  // "" = every topic
  std::string after;  // PendingPage::next of the page before
  size_t count_max = 1000;
};

struct ForecastBucket {
  int64_t start_ms = 0;
  uint64_t messages = 0;  // pending
  uint64_t bytes = 0;     // of them, as stored
};
struct Forecast {
  std::vector<ForecastBucket> hours;    // non-empty ones, by time
  std::vector<ForecastBucket> seconds;  // of the hour asked for
};

struct StoreStats {
  uint64_t pending_messages = 0;
  uint64_t pending_bytes = 0;
  uint64_t put_messages = 0;        // since Open
  uint64_t put_bytes = 0;           // bodies
  uint64_t delivered_messages = 0;  // since Open, delayed ones
  // Since Open: due when they were written, so ready without a delay.
  uint64_t at_once_messages = 0;
  uint64_t cancelled_messages = 0;  // since Open
  uint64_t lost_messages = 0;       // could not be read and were set aside
  uint64_t rescued_records = 0;     // damaged in the index, read all the same
  LogOffset log_start, log_end, log_durable;
  uint64_t log_bytes_written = 0;  // since Open, with padding
  uint64_t hour_bytes_written = 0;
  uint64_t groups = 0;  // log writes
  uint64_t syncs = 0;
  uint64_t checkpoints = 0;
  int64_t checkpoint_age_ms = 0;
  Second cursor;                      // every slot before is delivered
  int64_t oldest_undelivered_ms = 0;  // due time; 0 = nothing is overdue
  uint64_t hour_files = 0;            // hours with files
  uint32_t open_segments = 0;
  uint64_t window_entries = 0;     // preloaded, in memory
  uint64_t sweeps = 0, walks = 0;  // how slots were loaded
  // As seen last, some twenty times a second; 0: not known yet. Below
  // disk_reserve_bytes puts are refused.
  uint64_t disk_free_bytes = 0;
  bool disk_full = false;
  int64_t recovery_ms = 0;         // what Open took
  uint64_t recovered_records = 0;  // replayed by Open
  Second preloaded_before;         // messages due before are in memory
  // Due time to durable in the ready log.
  Histogram lateness_us;
  Histogram sync_us;  // a sync of the commit log
  // What opening found worth telling, and what could not be delivered.
  std::vector<std::string> notices;
  absl::Status failure;  // why the store stopped, if it did
};

class DelayStore {
 public:
  // Opens the store in `dir`, or makes one if `dir` is missing or empty,
  // recovers, and starts to deliver. `sink`: null = the embedded commit log.
  static absl::StatusOr<std::unique_ptr<DelayStore>> Open(
      const Path& dir, const StoreOptions& options,
      DeliverySink* sink = nullptr);

  // As Open, for tools: FAILED_PRECONDITION if `dir` holds no store.
  static absl::StatusOr<std::unique_ptr<DelayStore>> OpenExisting(
      const Path& dir, const StoreOptions& options,
      DeliverySink* sink = nullptr);

  // Closes if Close was not called.
  virtual ~DelayStore() = default;

  // --- put ---
  // Returns when the message is durable (by options.sync).
  virtual absl::StatusOr<PutResult> Put(const MessageView& message) = 0;
  // One group, one wait; a result for each, in order. Messages before and
  // after a refused one are still put.
  virtual std::vector<absl::StatusOr<PutResult>> PutMany(
      absl::Span<const MessageView> messages) = 0;
  // Returns at once; `done` runs exactly once. RESOURCE_EXHAUSTED
  // (unsynced_bytes_max) also comes through `done`, before returning.
  virtual void PutAsync(const MessageView& message, PutCallback done) = 0;
  // Messages of one thread keep their order.

  // --- change what is pending ---
  virtual absl::StatusOr<CancelAnswer> Cancel(const Handle& handle) = 0;
  virtual void CancelAsync(const Handle& handle, CancelCallback done) = 0;
  // Same message, new due time, atomically: never both, never neither.
  virtual absl::StatusOr<MoveResult> Reschedule(const Handle& handle,
                                                int64_t due_ms) = 0;
  virtual absl::StatusOr<MoveResult> DeliverNow(const Handle& handle) = 0;
  // The same with another message in its place, in whatever topic and due
  // whenever, under its own id: after a crash there is the one or the other.
  virtual void ReplaceAsync(const Handle& handle,
                            const MessageView& replacement,
                            MoveCallback done) = 0;

  // --- look ---
  virtual absl::StatusOr<PendingPage> Pending(const PendingQuery& query) = 0;
  // Counts by hour; by second for the one hour named, if it has files.
  virtual absl::StatusOr<Forecast> GetForecast(Hour seconds_of) = 0;
  virtual StoreStats Stats() = 0;

  // --- ready messages (embedded sink) ---
  // In the topic's order from `from` on; only durable ones; at most
  // `count_max` messages and about `bytes_max` bytes. One that is damaged is
  // left out (a gap in the indexes) and named in Stats().notices, once; what
  // is behind it goes on. OUT_OF_RANGE if `from`
  // was removed by retention (FirstReady says where it begins now).
  virtual absl::StatusOr<std::vector<ReadyMessage>> ReadReady(
      std::string_view topic, QueueIndex from, size_t count_max,
      size_t bytes_max) = 0;
  virtual QueueIndex FirstReady(std::string_view topic) = 0;
  virtual std::vector<std::string> Topics() = 0;
  // A number that grows whenever new messages became readable.
  virtual uint64_t ReadyVersion() = 0;
  // Called with the topics that have new readable messages, whenever that is
  // so, on the store's threads: it must not block, nor call the store. Null
  // ends it; returns when no call is under way.
  virtual void SetReadyListener(ReadyListener listener) = 0;
  // Waits until ReadyVersion() != seen; false on time-out.
  virtual bool WaitReady(uint64_t seen, absl::Duration timeout) = 0;

  // Durable progress of a consumer group: the index it reads next.
  virtual QueueIndex Progress(std::string_view topic,
                              std::string_view group) = 0;
  // Returns when durable. Never moves back (a smaller index is ignored).
  virtual absl::Status CommitProgress(std::string_view topic,
                                      std::string_view group,
                                      QueueIndex next) = 0;
  virtual void CommitProgressAsync(std::string_view topic,
                                   std::string_view group, QueueIndex next,
                                   AckCallback done) = 0;

  // Single messages, in any order; `done` runs when that is durable. Many
  // calls become durable together, as puts do. RESOURCE_EXHAUSTED
  // (group_marks_max, unsynced_bytes_max).
  virtual void AckAsync(std::string_view topic, std::string_view group,
                        absl::Span<const QueueIndex> indexes,
                        AckCallback done) = 0;
  // A number that is smaller than the one before it is ignored, and so is one
  // of a message that is acknowledged.
  virtual void NoteAttemptsAsync(std::string_view topic, std::string_view group,
                                 absl::Span<const AttemptCount> counts,
                                 AckCallback done) = 0;
  // Puts a message and acknowledges another, in one group of the log: after a
  // crash both are done or neither. NOT_FOUND if that one is acknowledged
  // already; then nothing is put.
  virtual void PutAndAckAsync(const MessageView& message,
                              std::string_view topic, std::string_view group,
                              QueueIndex index, PutCallback done) = 0;
  // All of it; like Progress, perhaps a moment before it is durable.
  virtual GroupProgress GetProgress(std::string_view topic,
                                    std::string_view group) = 0;
  // True if the group ever said anything of the topic: also AckAsync of no
  // message, after which log files are kept for it (retain_for_groups).
  virtual bool HasGroup(std::string_view topic, std::string_view group) = 0;
  // Every topic and group that the store knows a progress of.
  virtual std::vector<ConsumerKey> Groups() = 0;
  // One behind the newest ready message, perhaps before it can be read.
  virtual QueueIndex EndOfReady(std::string_view topic) = 0;

  // Waits until `pending == 0` and all of it is readable; false on time-out.
  virtual bool WaitEmpty(absl::Duration timeout) = 0;

  // --- life ---
  // Everything put is durable, a checkpoint is written, files are closed.
  virtual absl::Status Close() = 0;

  // With options.threads == false: does all work that is to be done at
  // options.clock's time, then returns; true if it did any.
  virtual bool Step() = 0;
  // ... and when to call it next if nothing else happens (UTC ms).
  virtual int64_t NextStepMs() = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_DELAY_STORE_H_
