// File: fake_delay_store.h
//
// A DelayStore without a disk, obviously right: pending messages in a map by
// (due time, arrival), ready ones in a vector a topic. For tests of whatever
// stands on top of a store (the program, the broker).
//
//   auto shared = std::make_shared<FakeStoreState>(&clock);
//   FakeDelayStore store(shared);          // opens it
//   store.Put(message);
//   clock.AdvanceMs(500);                  // what is due becomes ready
//
// The state outlives the store, as a directory outlives a process: a second
// FakeDelayStore on it goes on where the first ended.
//
// Time: what is due becomes ready whenever anybody looks. With
// `auto_advance` set, WaitReady lets the virtual clock jump to the next due
// time instead of waiting, so that a test of hours takes no time.
//
// A ReadyListener hears of it in Put and in Step.
//
// Threads: as DelayStore.
#ifndef HOURGLASS_TESTS_SUPPORT_FAKE_DELAY_STORE_H_
#define HOURGLASS_TESTS_SUPPORT_FAKE_DELAY_STORE_H_

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "hourglass/delay_store.h"
#include "storage/mutex.h"

namespace hourglass {

struct FakeStoreState {
  explicit FakeStoreState(Clock* clock) : clock(clock) {}

  Clock* const clock;
  std::atomic<VirtualClock*> auto_advance{nullptr};

  // Faults. Set them before the store is used.
  int exhausted_puts = 0;   // so many puts get RESOURCE_EXHAUSTED first
  absl::Status put_error;   // every put gets it
  absl::Status read_error;  // every ReadReady gets it
  absl::Status failure;     // the store stopped by itself
  absl::Status close_error;
  absl::Status open_error;                             // for openers
  std::set<std::pair<std::string, uint64_t>> damaged;  // topic, index
  std::map<std::string, uint64_t> removed_before;      // by retention

  // What a test may look at when nobody uses the store.
  int put_calls = 0;
  int commits = 0;
  int opened = 0;
  int closed = 0;

  Mutex mu;
  // (due time, arrival) -> message.
  std::map<std::pair<int64_t, uint64_t>, PendingMessage> pending;
  std::map<std::string, std::vector<ReadyMessage>> ready;
  std::map<ConsumerKey, GroupProgress> progress;
  std::map<Hour, uint32_t> numbers;  // last record number given in an hour
  std::set<std::string> grown;       // topics, not told yet
  uint64_t arrivals = 0;
  uint64_t version = 1;
  uint64_t offset = 512;
};

class FakeDelayStore final : public DelayStore {
 public:
  explicit FakeDelayStore(std::shared_ptr<FakeStoreState> state);

  absl::StatusOr<PutResult> Put(const MessageView& message) override;
  std::vector<absl::StatusOr<PutResult>> PutMany(
      absl::Span<const MessageView> messages) override;
  void PutAsync(const MessageView& message, PutCallback done) override;

  absl::StatusOr<CancelAnswer> Cancel(const Handle& handle) override;
  void CancelAsync(const Handle& handle, CancelCallback done) override;
  absl::StatusOr<MoveResult> Reschedule(const Handle& handle,
                                        int64_t due_ms) override;
  absl::StatusOr<MoveResult> DeliverNow(const Handle& handle) override;
  void ReplaceAsync(const Handle& handle, const MessageView& replacement,
                    MoveCallback done) override;

  absl::StatusOr<PendingPage> Pending(const PendingQuery& query) override;
  absl::StatusOr<Forecast> GetForecast(Hour seconds_of) override;
  StoreStats Stats() override;

  absl::StatusOr<std::vector<ReadyMessage>> ReadReady(
      std::string_view topic, QueueIndex from, size_t count_max,
      size_t bytes_max) override;
  QueueIndex FirstReady(std::string_view topic) override;
  std::vector<std::string> Topics() override;
  uint64_t ReadyVersion() override;
  void SetReadyListener(ReadyListener listener) override;
  bool WaitReady(uint64_t seen, absl::Duration timeout) override;
  QueueIndex Progress(std::string_view topic, std::string_view group) override;
  absl::Status CommitProgress(std::string_view topic, std::string_view group,
                              QueueIndex next) override;
  void CommitProgressAsync(std::string_view topic, std::string_view group,
                           QueueIndex next, AckCallback done) override;
  void AckAsync(std::string_view topic, std::string_view group,
                absl::Span<const QueueIndex> indexes,
                AckCallback done) override;
  void NoteAttemptsAsync(std::string_view topic, std::string_view group,
                         absl::Span<const AttemptCount> counts,
                         AckCallback done) override;
  void PutAndAckAsync(const MessageView& message, std::string_view topic,
                      std::string_view group, QueueIndex index,
                      PutCallback done) override;
  GroupProgress GetProgress(std::string_view topic,
                            std::string_view group) override;
  bool HasGroup(std::string_view topic, std::string_view group) override;
  std::vector<ConsumerKey> Groups() override;
  QueueIndex EndOfReady(std::string_view topic) override;
  bool WaitEmpty(absl::Duration timeout) override;
  absl::Status Close() override;
  bool Step() override;
  int64_t NextStepMs() override { return INT64_MAX; }

 private:
  using PendingMap = std::map<std::pair<int64_t, uint64_t>, PendingMessage>;

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu);
  void MakeReady(Message message, const MessageKey& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu);
  Handle Wait(Message message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu);
  PendingMap::iterator Find(const Handle& handle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu);
  CancelAnswer AnswerForMissing(const Handle& handle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu);

  // What became ready since the last call.
  void TellListener();
  absl::StatusOr<PutResult> PutQuietly(const MessageView& view);

  const std::shared_ptr<FakeStoreState> state_;
  Mutex listener_mu_;
  ReadyListener listener_ ABSL_GUARDED_BY(listener_mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_FAKE_DELAY_STORE_H_
