// File: delay_store_impl.h
//
// DelayStore, put together: staging and writer, hand and deliverer,
// preloader, checkpointer, and the threads that drive them (or Step, which
// does what the threads do, in the caller's thread and in a fixed order).
//
// Keeps promises 1 to 7, by its parts.
#ifndef HOURGLASS_BROKER_DELAY_STORE_IMPL_H_
#define HOURGLASS_BROKER_DELAY_STORE_IMPL_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "broker/checkpointer.h"
#include "broker/deliverer.h"
#include "broker/id_maker.h"
#include "broker/pending_reader.h"
#include "broker/staging.h"
#include "broker/writer.h"
#include "hourglass/delay_store.h"
#include "recovery/store_state.h"
#include "storage/mutex.h"
#include "wheel/preloader.h"

namespace hourglass {

class DelayStoreImpl final : public DelayStore {
 public:
  DelayStoreImpl(std::unique_ptr<StoreState> state, DeliverySink* sink,
                 int64_t recovery_ms);
  ~DelayStoreImpl() override;
  void Start();

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
  uint64_t ReadyVersion() override { return ready_version_.load(); }
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
  int64_t NextStepMs() override;

 private:
  absl::Status CheckOpen();
  // Hands an op to the writer; without threads, also makes it happen.
  // Takes `*op` if there is room, and leaves it alone otherwise.
  bool Stage(Op* op, std::string_view payload, bool always = false);
  OpResult StageAndWait(Op op, std::string_view payload);
  absl::Status TooMuchUnsynced() const;
  absl::Status CheckPut(const MessageView& message, int64_t now_ms);
  // Gives the message its id, and its encoded form to `payload`.
  Op PutOp(const MessageView& message, int64_t now_ms, std::string* payload);
  absl::Status CheckConsumer(std::string_view topic, std::string_view group,
                             QueueIndex end);
  void StageMarks(std::string_view topic, std::string_view group,
                  const GroupProgress& marks, AckCallback done);
  void Pump();
  absl::StatusOr<MoveResult> Move(const Handle& handle, int64_t due_ms);
  bool IsOurs(const Handle& handle) const;

  void OnArrival(int64_t due_ms);
  void OnDurable(uint64_t ready);
  void OnReady(const CommitGroup& group);
  void OnLost(uint64_t count, const std::string& why);
  // How many entries it looked at.
  absl::StatusOr<size_t> ReadSome(const std::vector<QueueEntry>& entries,
                                  QueueIndex from, size_t bytes_max,
                                  std::vector<ReadyMessage>* messages);
  absl::Status ReadOne(const QueueEntry& entry, QueueIndex index,
                       std::string* buffer,
                       std::vector<ReadyMessage>* messages);
  // Reported once each, though consumers may ask often.
  void OnDamagedRecord(LogOffset offset, const absl::Status& why);

  void HandLoop();
  void PreloadLoop();
  void CheckpointLoop();
  void WakeHand();
  void CheckDisk();
  void StopThreads();
  bool Empty();

  int64_t NowMs() const { return state_->options.clock->NowMs(); }
  int64_t NowNs() const { return state_->options.clock->MonotonicNs(); }

  std::unique_ptr<StoreState> state_;
  const int64_t recovery_ms_;
  IdMaker ids_;
  Staging staging_;
  Writer writer_;
  Deliverer deliverer_;
  Preloader preloader_;
  Checkpointer checkpointer_;
  PendingReader pending_;

  std::set<LogOffset> damaged_records_;  // under the state lock
  std::atomic<bool> disk_full_{false};
  std::atomic<uint64_t> disk_free_bytes_{0};
  std::atomic<uint64_t> lost_{0};
  std::atomic<bool> closed_{false};

  Mutex listener_mu_;
  ReadyListener ready_listener_ ABSL_GUARDED_BY(listener_mu_);
  std::atomic<bool> has_listener_{false};

  Mutex ready_mu_;
  std::atomic<uint64_t> ready_version_{1};
  CondVar ready_;

  // The hand and the preloaders sleep on this one.
  Mutex wake_mu_;
  CondVar wake_;
  uint64_t wakes_ ABSL_GUARDED_BY(wake_mu_) = 0;
  bool stop_ ABSL_GUARDED_BY(wake_mu_) = false;
  std::atomic<int64_t> hand_sleeps_until_ms_{0};
  Mutex checkpoint_mu_;
  CondVar checkpoint_wake_;
  bool checkpoint_stop_ ABSL_GUARDED_BY(checkpoint_mu_) = false;

  std::vector<std::thread> threads_;
  std::thread checkpoint_thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_DELAY_STORE_IMPL_H_
