#include "broker/delay_store_impl.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "broker/message_check.h"
#include "recovery/open_store.h"
#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "storage/planted_bug.h"
#include "storage/random.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

// The hand looks at the wall clock at least this often, because somebody may
// have set it forward.
constexpr int64_t kClockCheckMs = 1000;

// Bounded: after that many the operator knows that the disk is to be looked at.
constexpr size_t kNoticesMax = 1000;

absl::StatusOr<std::unique_ptr<DelayStore>> OpenImpl(
    const Path& dir, const StoreOptions& options, DeliverySink* sink,
    IfMissing if_missing) {
  RETURN_IF_ERROR(options.Validate());
  const int64_t begin_ns = options.clock->MonotonicNs();
  ASSIGN_OR_RETURN(auto state, OpenStore(dir, options, if_missing));
  const int64_t took_ms = (options.clock->MonotonicNs() - begin_ns) / 1'000'000;
  auto store =
      std::make_unique<DelayStoreImpl>(std::move(state), sink, took_ms);
  if (options.threads) store->Start();
  return store;
}

}  // namespace

std::string_view CancelAnswerName(CancelAnswer answer) {
  switch (answer) {
    case CancelAnswer::kCancelled:
      return "cancelled";
    case CancelAnswer::kAlreadyDelivered:
      return "already delivered";
    case CancelAnswer::kNeverExisted:
      return "never existed";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<DelayStore>> DelayStore::Open(
    const Path& dir, const StoreOptions& options, DeliverySink* sink) {
  return OpenImpl(dir, options, sink, IfMissing::kCreate);
}

absl::StatusOr<std::unique_ptr<DelayStore>> DelayStore::OpenExisting(
    const Path& dir, const StoreOptions& options, DeliverySink* sink) {
  return OpenImpl(dir, options, sink, IfMissing::kFail);
}

DelayStoreImpl::DelayStoreImpl(std::unique_ptr<StoreState> state,
                               DeliverySink* sink, int64_t recovery_ms)
    : state_(std::move(state)),
      recovery_ms_(recovery_ms),
      ids_(SystemEntropy()),
      staging_(state_->options.unsynced_bytes_max),
      writer_(state_.get(), &staging_,
              {[this](int64_t due_ms) { OnArrival(due_ms); },
               [this](uint64_t ready) { OnDurable(ready); },
               [this](const CommitGroup& group) { OnReady(group); }}),
      deliverer_(state_.get(), &writer_, sink,
                 [this](const DueEntry&, const absl::Status& why) {
                   OnLost(1, std::string(why.message()));
                 }),
      preloader_(&state_->mu, &state_->hand, &state_->applier.hours(),
                 &state_->second_wheel, state_->options.preload_ahead_ms,
                 [this](uint64_t count, const std::string& why) {
                   OnLost(count, why);
                 }),
      checkpointer_(state_.get(),
                    [this](Op op, const std::string& payload) {
                      return StageAndWait(std::move(op), payload).status;
                    }),
      pending_(state_.get()) {}

DelayStoreImpl::~DelayStoreImpl() { Close().IgnoreError(); }

void DelayStoreImpl::Start() {
  writer_.Start();
  threads_.emplace_back([this] { HandLoop(); });
  for (uint32_t i = 0; i < state_->options.preload_workers; ++i) {
    threads_.emplace_back([this] { PreloadLoop(); });
  }
  checkpoint_thread_ = std::thread([this] { CheckpointLoop(); });
}

// --- put -------------------------------------------------------------------

absl::Status DelayStoreImpl::CheckOpen() {
  if (closed_.load(std::memory_order_relaxed)) {
    return absl::FailedPreconditionError("the store is closed");
  }
  return absl::OkStatus();
}

bool DelayStoreImpl::Stage(Op* op, std::string_view payload, bool always) {
  op->payload_bytes = static_cast<uint32_t>(payload.size());
  op->payload_hash =
      HashBytes(payload.substr(0, payload.size() - op->ack_bytes));
  return staging_.Push(std::move(*op), payload, always);
}

absl::Status DelayStoreImpl::TooMuchUnsynced() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", state_->options.unsynced_bytes_max,
                   " bytes wait to become durable (unsynced_bytes_max)"));
}

absl::Status DelayStoreImpl::CheckPut(const MessageView& message,
                                      int64_t now_ms) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(CheckMessage(message, state_->options, now_ms));
  if (!disk_full_.load(std::memory_order_relaxed)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the disk is full: less than ", state_->options.disk_reserve_bytes,
      " bytes free (disk_reserve_bytes)"));
}

Op DelayStoreImpl::PutOp(const MessageView& message, int64_t now_ms,
                         std::string* payload) {
  Op op;
  op.kind = Op::Kind::kPut;
  op.id = message.id.empty() ? ids_.Next() : std::string(message.id);
  op.id_hash = IdHash(op.id);
  op.due_ms = message.due_ms;
  MessageView stored = message;
  stored.id = op.id;
  stored.stored_ms = now_ms;
  payload->clear();
  EncodeMessage(stored, payload);
  return op;
}

void DelayStoreImpl::PutAsync(const MessageView& message, PutCallback done) {
  const int64_t now_ms = NowMs();
  const absl::Status refused = CheckPut(message, now_ms);
  if (!refused.ok()) return done(refused);
  thread_local std::string payload;
  Op op = PutOp(message, now_ms, &payload);
  op.put_done = std::move(done);
  if (!Stage(&op, payload)) op.put_done(TooMuchUnsynced());
}

std::vector<absl::StatusOr<PutResult>> DelayStoreImpl::PutMany(
    absl::Span<const MessageView> messages) {
  std::vector<absl::StatusOr<PutResult>> results(
      messages.size(), absl::UnknownError("not answered"));
  Latch left(messages.size());
  if (messages.empty()) return results;
  for (size_t i = 0; i < messages.size(); ++i) {
    PutAsync(messages[i], [&, i](absl::StatusOr<PutResult> result) {
      results[i] = std::move(result);
      left.CountDown();
    });
  }
  if (!state_->options.threads) Pump();
  left.Wait();
  return results;
}

absl::StatusOr<PutResult> DelayStoreImpl::Put(const MessageView& message) {
  return std::move(PutMany({&message, 1}).front());
}

// --- change what is pending --------------------------------------------------

OpResult DelayStoreImpl::StageAndWait(Op op, std::string_view payload) {
  OpResult answer;
  Latch answered(1);
  op.done = [&](OpResult result) {
    answer = std::move(result);
    answered.CountDown();
  };
  Stage(&op, payload, /*always=*/true);
  if (!state_->options.threads) Pump();
  answered.Wait();
  return answer;
}

void DelayStoreImpl::Pump() {
  // On a disk without room the writer waits; a store without threads cannot.
  while (writer_.RunOnce()) {
  }
}

bool DelayStoreImpl::IsOurs(const Handle& handle) const {
  return !handle.IsNone() && handle.seal == HandleSeal(state_->salt, handle);
}

void DelayStoreImpl::CancelAsync(const Handle& handle, CancelCallback done) {
  if (absl::Status open = CheckOpen(); !open.ok()) return done(open);
  if (!IsOurs(handle)) return done(CancelAnswer::kNeverExisted);
  Op op;
  op.kind = Op::Kind::kCancel;
  op.handle = handle;
  op.done = [done = std::move(done)](OpResult result) mutable {
    if (!result.status.ok()) return done(result.status);
    done(result.answer);
  };
  if (!Stage(&op, "")) op.Fail(TooMuchUnsynced());
}

absl::StatusOr<CancelAnswer> DelayStoreImpl::Cancel(const Handle& handle) {
  absl::StatusOr<CancelAnswer> answer = absl::UnknownError("not answered");
  Latch answered(1);
  CancelAsync(handle, [&](absl::StatusOr<CancelAnswer> result) {
    answer = std::move(result);
    answered.CountDown();
  });
  if (!state_->options.threads) Pump();
  answered.Wait();
  return answer;
}

absl::StatusOr<MoveResult> DelayStoreImpl::Reschedule(const Handle& handle,
                                                      int64_t due_ms) {
  RETURN_IF_ERROR(CheckDue(due_ms, state_->options, NowMs()));
  return Move(handle, due_ms);
}

absl::StatusOr<MoveResult> DelayStoreImpl::DeliverNow(const Handle& handle) {
  return Move(handle, kDueNow);
}

void DelayStoreImpl::ReplaceAsync(const Handle& handle,
                                  const MessageView& replacement,
                                  MoveCallback done) {
  const int64_t now_ms = NowMs();
  absl::Status refused = CheckOpen();
  if (refused.ok()) {
    refused = CheckMessage(replacement, state_->options, now_ms);
  }
  if (!refused.ok()) return done(refused);
  if (!IsOurs(handle)) return done(MoveResult{});
  thread_local std::string payload;
  Op op = PutOp(replacement, now_ms, &payload);
  op.kind = Op::Kind::kMove;
  op.handle = handle;
  op.done = [done = std::move(done)](OpResult result) mutable {
    if (!result.status.ok()) return done(result.status);
    done(MoveResult{result.answer, result.handle});
  };
  if (!Stage(&op, payload)) op.Fail(TooMuchUnsynced());
}

absl::StatusOr<MoveResult> DelayStoreImpl::Move(const Handle& handle,
                                                int64_t due_ms) {
  RETURN_IF_ERROR(CheckOpen());
  if (!IsOurs(handle)) return MoveResult{};
  // The message is read here; whether it may still be moved is decided by the
  // writer. If it cannot be found now, a cancel's judgement says why, but it
  // must not cancel: a handle of a message that is gone has only the other
  // two answers.
  std::string payload;
  {
    std::shared_ptr<HourSegment> segment;
    absl::StatusOr<IndexRecord> found = absl::NotFoundError("");
    {
      MutexLock lock(&state_->mu);
      found = state_->applier.Find(handle.hour, handle.number);
      if (found.ok()) {
        ASSIGN_OR_RETURN(segment, state_->applier.hours().ForRead(handle.hour));
      }
    }
    if (absl::IsNotFound(found.status())) {
      MutexLock lock(&state_->mu);
      return MoveResult{AnswerWhenGone(*state_, handle), {}};
    }
    RETURN_IF_ERROR(found.status());
    std::string buffer;
    ASSIGN_OR_RETURN(const std::string_view old,
                     segment->ReadFrame(handle.number, found->location,
                                        found->size, &buffer));
    ASSIGN_OR_RETURN(MessageView message, DecodeMessage(old));
    message.due_ms = due_ms == kDueNow ? NowMs() : due_ms;
    EncodeMessage(message, &payload);
  }
  Op op;
  op.kind = Op::Kind::kMove;
  op.handle = handle;
  op.id_hash = handle.id_hash;
  op.due_ms = due_ms;
  const OpResult result = StageAndWait(std::move(op), payload);
  RETURN_IF_ERROR(result.status);
  return MoveResult{result.answer, result.handle};
}

// --- look --------------------------------------------------------------------

absl::StatusOr<PendingPage> DelayStoreImpl::Pending(const PendingQuery& query) {
  RETURN_IF_ERROR(CheckOpen());
  return pending_.Page(query);
}

absl::StatusOr<Forecast> DelayStoreImpl::GetForecast(Hour seconds_of) {
  RETURN_IF_ERROR(CheckOpen());
  return pending_.GetForecast(seconds_of);
}

StoreStats DelayStoreImpl::Stats() {
  StoreStats stats;
  const Writer::Counters counters = writer_.GetCounters();
  stats.groups = counters.groups;
  stats.syncs = counters.syncs;
  stats.log_bytes_written = counters.bytes;
  stats.lateness_us = counters.lateness_us;
  stats.sync_us = counters.sync_us;
  stats.put_messages = writer_.sequenced().put_messages;
  stats.put_bytes = writer_.sequenced().put_bytes;
  stats.delivered_messages = writer_.sequenced().delivered;
  stats.at_once_messages = writer_.sequenced().at_once;
  stats.cancelled_messages = writer_.sequenced().cancelled;
  stats.lost_messages = lost_;
  stats.rescued_records = preloader_.rescued();
  stats.sweeps = preloader_.sweeps();
  stats.walks = preloader_.walks();
  stats.recovery_ms = recovery_ms_;
  stats.recovered_records = state_->recovered_records;
  stats.log_start = state_->log->start();
  stats.log_end = state_->log->end();
  stats.log_durable = state_->log->durable();
  stats.checkpoints = checkpointer_.written();
  const int64_t now_ms = NowMs();
  stats.checkpoint_age_ms = now_ms - checkpointer_.last_ms();
  MutexLock lock(&state_->mu);
  stats.pending_messages =
      static_cast<uint64_t>(state_->applier.pending().messages);
  stats.pending_bytes = static_cast<uint64_t>(state_->applier.pending().bytes);
  stats.hour_bytes_written = state_->applier.hour_bytes();
  stats.cursor = state_->hand.cursor();
  stats.preloaded_before = state_->hand.Covered(Hand::LaneId::kFresh);
  const int64_t next_ms = state_->hand.NextDueMs();
  stats.oldest_undelivered_ms = next_ms != 0 && next_ms <= now_ms ? next_ms : 0;
  stats.hour_files = state_->hour_wheel.size();
  stats.disk_free_bytes = disk_free_bytes_;
  stats.disk_full = disk_full_;
  stats.open_segments = state_->applier.hours().open_segments();
  stats.window_entries = state_->hand.entries();
  stats.notices = state_->notices;
  stats.failure = state_->failure;
  return stats;
}

// --- ready messages ---------------------------------------------------------

absl::StatusOr<std::vector<ReadyMessage>> DelayStoreImpl::ReadReady(
    std::string_view topic, QueueIndex from, size_t count_max,
    size_t bytes_max) {
  RETURN_IF_ERROR(CheckOpen());
  std::vector<ReadyMessage> messages;
  while (true) {
    ASSIGN_OR_RETURN(const auto entries,
                     state_->applier.queues().Read(topic, from, count_max));
    ASSIGN_OR_RETURN(const size_t looked_at,
                     ReadSome(entries, from, bytes_max, &messages));
    // Where all of it was damaged, nothing is not the end.
    if (!messages.empty() || looked_at == 0) return messages;
    from = from + looked_at;
  }
}

absl::StatusOr<size_t> DelayStoreImpl::ReadSome(
    const std::vector<QueueEntry>& entries, QueueIndex from, size_t bytes_max,
    std::vector<ReadyMessage>* messages) {
  const LogOffset visible = writer_.acknowledged();
  size_t bytes = 0;
  size_t looked_at = 0;
  std::string buffer;
  for (; looked_at < entries.size() && bytes < bytes_max; ++looked_at) {
    const QueueEntry& entry = entries[looked_at];
    if (entry.offset + entry.size > visible) break;
    const absl::Status read =
        ReadOne(entry, from + looked_at, &buffer, messages);
    // What is behind a damaged record must not wait for it.
    if (absl::IsDataLoss(read)) {
      OnDamagedRecord(entry.offset, read);
    } else if (!read.ok()) {
      return read;
    }
    bytes += entry.size;
  }
  return looked_at;
}

absl::Status DelayStoreImpl::ReadOne(const QueueEntry& entry, QueueIndex index,
                                     std::string* buffer,
                                     std::vector<ReadyMessage>* messages) {
  ASSIGN_OR_RETURN(const LogRecord record,
                   state_->log->ReadRecord(entry.offset, entry.size, buffer));
  ASSIGN_OR_RETURN(const MessageView view, DecodeMessage(record.payload));
  ReadyMessage& ready = messages->emplace_back();
  ready.index = index;
  ready.offset = entry.offset;
  ready.key = {record.hour, record.number};
  ready.delivered_ms = NowMs();
  ready.message = Message::From(view);
  return absl::OkStatus();
}

void DelayStoreImpl::OnDamagedRecord(LogOffset offset,
                                     const absl::Status& why) {
  MutexLock lock(&state_->mu);
  if (damaged_records_.size() >= kNoticesMax) return;
  if (!damaged_records_.insert(offset).second) return;
  state_->notices.push_back(
      absl::StrCat("cannot be read again: ", why.message()));
}

QueueIndex DelayStoreImpl::FirstReady(std::string_view topic) {
  QueueTable& queues = state_->applier.queues();
  const QueueFacts facts = queues.Facts(topic);
  // A queue file goes when all it points to is gone, so it may begin with
  // entries whose messages are not there any more.
  const LogOffset start = state_->log->start();
  QueueIndex first = facts.first;
  QueueIndex end = facts.next;
  while (first < end) {
    const QueueIndex middle = first + (end - first) / 2;
    const auto entry = queues.Read(topic, middle, 1);
    if (!entry.ok() || entry->empty()) break;
    if (entry->front().offset < start) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

std::vector<std::string> DelayStoreImpl::Topics() {
  std::vector<std::string> topics;
  for (const auto& [topic, facts] : state_->applier.queues().AllFacts()) {
    topics.push_back(topic);
  }
  return topics;
}

bool DelayStoreImpl::WaitReady(uint64_t seen, absl::Duration timeout) {
  const int64_t until_ns = NowNs() + absl::ToInt64Nanoseconds(timeout);
  MutexLock lock(&ready_mu_);
  while (ready_version_.load() == seen) {
    const int64_t left_ns = until_ns - NowNs();
    if (left_ns <= 0) return false;
    ready_.WaitForNs(&ready_mu_, left_ns);
  }
  return true;
}

bool DelayStoreImpl::Empty() {
  MutexLock lock(&state_->mu);
  if (!state_->failure.ok()) return false;
  const auto lost = static_cast<int64_t>(lost_.load());
  return state_->applier.pending().messages <= lost &&
         state_->applied == writer_.acknowledged();
}

bool DelayStoreImpl::WaitEmpty(absl::Duration timeout) {
  constexpr int64_t kLookNs = 200'000'000;
  const int64_t until_ns = NowNs() + absl::ToInt64Nanoseconds(timeout);
  while (true) {
    const uint64_t seen = ReadyVersion();
    if (Empty()) return true;
    const int64_t left_ns = until_ns - NowNs();
    if (left_ns <= 0) return false;
    WaitReady(seen, absl::Nanoseconds(std::min(left_ns, kLookNs)));
  }
}

// --- life ------------------------------------------------------------------

void DelayStoreImpl::OnArrival(int64_t due_ms) {
  if (due_ms < hand_sleeps_until_ms_.load()) WakeHand();
}

void DelayStoreImpl::OnDurable(uint64_t ready) {
  // Batches in flight have landed: the hand may take more.
  if (ready == 0) return;
  WakeHand();
  MutexLock lock(&ready_mu_);
  ++ready_version_;
  ready_.SignalAll();
}

void DelayStoreImpl::SetReadyListener(ReadyListener listener) {
  MutexLock lock(&listener_mu_);
  ready_listener_ = std::move(listener);
  has_listener_ = ready_listener_ != nullptr;
}

void DelayStoreImpl::OnReady(const CommitGroup& group) {
  if (!has_listener_) return;
  const std::vector<std::string> topics(group.ready_topics.begin(),
                                        group.ready_topics.end());
  MutexLock lock(&listener_mu_);
  if (ready_listener_) ready_listener_(topics);
}

void DelayStoreImpl::OnLost(uint64_t count, const std::string& why) {
  lost_ += count;
  MutexLock lock(&state_->mu);
  if (state_->notices.size() < kNoticesMax) {
    state_->notices.push_back(
        (count > 0 ? "cannot be delivered: "
                   : "damaged, and read from the DelayLog instead: ") +
        why);
  }
}

void DelayStoreImpl::WakeHand() {
  MutexLock lock(&wake_mu_);
  ++wakes_;
  wake_.SignalAll();
}

void DelayStoreImpl::HandLoop() {
  while (true) {
    uint64_t seen = 0;
    {
      MutexLock lock(&wake_mu_);
      if (stop_) return;
      seen = wakes_;
    }
    int64_t now_ms = NowMs();
    bool any = false;
    while (deliverer_.RunOnce(now_ms)) {
      now_ms = NowMs();
      any = true;
    }
    // The preloader may be waiting for the room that this made.
    if (any) WakeHand();
    // While the hand makes up its mind every arrival counts as a wake, so
    // none slips between the question and the sleep.
    hand_sleeps_until_ms_ = std::numeric_limits<int64_t>::max();
    const int64_t wake_ms =
        std::min(deliverer_.NextWakeMs(now_ms), NowMs() + kClockCheckMs);
    hand_sleeps_until_ms_ = wake_ms;
    MutexLock lock(&wake_mu_);
    while (wakes_ == seen && !stop_) {
      const int64_t sleep_ms = wake_ms - NowMs();
      if (sleep_ms <= 0) break;
      wake_.WaitForMs(&wake_mu_, sleep_ms);
    }
    hand_sleeps_until_ms_ = 0;
  }
}

void DelayStoreImpl::PreloadLoop() {
  while (true) {
    uint64_t seen = 0;
    {
      MutexLock lock(&wake_mu_);
      if (stop_) return;
      seen = wakes_;
    }
    bool any = false;
    while (preloader_.RunOnce(NowMs())) any = true;
    if (any) {
      WakeHand();
      continue;
    }
    MutexLock lock(&wake_mu_);
    if (wakes_ == seen && !stop_) {
      wake_.WaitForMs(&wake_mu_, kClockCheckMs);
    }
  }
}

void DelayStoreImpl::CheckDisk() {
  const auto free = state_->options.file_system->FreeSpace(state_->dir);
  if (!free.ok()) return;
  disk_free_bytes_ = *free;
  disk_full_ = *free < state_->options.disk_reserve_bytes;
}

void DelayStoreImpl::CheckpointLoop() {
  constexpr int64_t kTickMs = 50;
  while (true) {
    {
      MutexLock lock(&checkpoint_mu_);
      if (checkpoint_stop_) return;
      checkpoint_wake_.WaitForMs(&checkpoint_mu_, kTickMs);
      if (checkpoint_stop_) return;
    }
    CheckDisk();
    if (!checkpointer_.Due()) continue;
    const absl::Status status = checkpointer_.RunOnce();
    if (status.ok() || absl::IsResourceExhausted(status)) continue;
    MutexLock lock(&state_->mu);
    if (state_->failure.ok()) {
      state_->failure = absl::UnavailableError(
          absl::StrCat("the store stopped: checkpoint: ", status.message()));
    }
  }
}

void DelayStoreImpl::StopThreads() {
  {
    MutexLock lock(&wake_mu_);
    stop_ = true;
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (!checkpoint_thread_.joinable()) return;
  {
    MutexLock lock(&checkpoint_mu_);
    checkpoint_stop_ = true;
    checkpoint_wake_.SignalAll();
  }
  checkpoint_thread_.join();
}

absl::Status DelayStoreImpl::Close() {
  if (closed_.exchange(true)) return absl::OkStatus();
  StopThreads();
  if (!state_->options.threads) Pump();
  const absl::Status status = checkpointer_.RunOnce();
  writer_.Stop();
  absl::Status failure;
  {
    MutexLock lock(&state_->mu);
    failure = state_->failure;
  }
  return failure.ok() ? status : failure;
}

bool DelayStoreImpl::Step() {
  bool any = false;
  bool more = true;
  CheckDisk();
  while (more) {
    more = writer_.RunOnce();
    more |= preloader_.RunOnce(NowMs());
    more |= deliverer_.RunOnce(NowMs());
    any |= more;
  }
  if (!closed_ && checkpointer_.Due()) {
    const absl::Status status = checkpointer_.RunOnce();
    MutexLock lock(&state_->mu);
    if (!status.ok() && !absl::IsResourceExhausted(status) &&
        state_->failure.ok()) {
      state_->failure = absl::UnavailableError(
          absl::StrCat("the store stopped: checkpoint: ", status.message()));
    }
  }
  return any;
}

int64_t DelayStoreImpl::NextStepMs() {
  const int64_t now_ms = NowMs();
  return std::min({deliverer_.NextWakeMs(now_ms), writer_.NextWakeMs(now_ms),
                   checkpointer_.NextDueMs()});
}

}  // namespace hourglass
