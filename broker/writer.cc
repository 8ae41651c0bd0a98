#include "broker/writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/crash_point.h"
#include "storage/planted_bug.h"

namespace hourglass {
namespace {

// Up to this size a group is written by the thread that filled it.
constexpr size_t kInlineBytesMax = 64u << 10;
// One is filled, one waits for the disk, one is written, one is told.
constexpr int kGroups = 4;
constexpr int64_t kIdleWaitMs = 100;
// How long to wait before asking again for room on a full disk.
constexpr int64_t kFullDiskWaitMs = 20;

}  // namespace

Writer::Writer(StoreState* state, Staging* staging, Listener listener)
    : state_(state),
      staging_(staging),
      listener_(std::move(listener)),
      sequencer_(state, staging),
      acknowledged_(state->log->end().value()) {
  for (int i = 0; i < kGroups; ++i) {
    groups_.push_back(std::make_unique<CommitGroup>(state->salt));
    free_.push_back(groups_.back().get());
  }
}

Writer::~Writer() { Stop(); }

void Writer::Start() {
  tell_thread_ = std::thread([this] { TellLoop(); });
  disk_thread_ = std::thread([this] { DiskLoop(); });
  fill_thread_ = std::thread([this] { FillLoop(); });
  prepare_thread_ = std::thread([this] { PrepareLoop(); });
}

void Writer::Stop() {
  if (!fill_thread_.joinable()) return;
  stop_ = true;
  staging_->Wake();
  fill_thread_.join();
  {
    MutexLock lock(&hand_over_mu_);
    disk_stop_ = true;
    handed_over_.SignalAll();
  }
  disk_thread_.join();
  {
    MutexLock lock(&hand_over_mu_);
    tell_stop_ = true;
    handed_over_.SignalAll();
  }
  tell_thread_.join();
  {
    MutexLock lock(&prepare_mu_);
    prepare_stop_ = true;
    prepare_.Signal();
  }
  prepare_thread_.join();
}

void Writer::Submit(std::unique_ptr<DeliveredBatch> batch) {
  {
    MutexLock lock(&submit_mu_);
    submitted_.push_back(std::move(batch));
  }
  staging_->Wake();
}

bool Writer::Gather() {
  std::vector<std::unique_ptr<DeliveredBatch>> submitted;
  {
    MutexLock lock(&submit_mu_);
    submitted.swap(submitted_);
  }
  for (auto& batch : submitted) sequencer_.Add(std::move(batch));
  staging_->Drain(&sequencer_.batches());
  return sequencer_.HasWork();
}

bool Writer::LogHasRoom() {
  {
    MutexLock lock(&state_->mu);
    const LogOffset end = state_->applied;
    const uint64_t bytes = sequencer_.BytesWanted();
    if (state_->log->NextStart(end, bytes) == end) return true;
  }
  // As a rule the next file has been there for a while.
  const absl::Status spare = state_->log->PrepareNextFile();
  if (spare.ok()) return true;
  if (!absl::IsResourceExhausted(spare)) Fail(spare);
  return !Failure().ok();  // then everybody is to be told of it
}

void Writer::PrepareLoop() {
  constexpr int64_t kLookMs = 20;
  MutexLock lock(&prepare_mu_);
  while (!prepare_stop_) {
    prepare_mu_.Unlock();
    // An error is the fill thread's to meet, when it needs the file.
    state_->log->PrepareNextFile().IgnoreError();
    prepare_mu_.Lock();
    if (!prepare_stop_) prepare_.WaitForMs(&prepare_mu_, kLookMs);
  }
}

// Nobody is left waiting for space that may never come. Delivered messages
// do wait: they are pending anyhow.
void Writer::RefuseOps() {
  sequencer_.FailOps(absl::ResourceExhaustedError(absl::StrCat(
      "the disk is full: no room for the next file of the commit log, ",
      state_->options.log_segment_bytes, " bytes (log_segment_bytes)")));
}

absl::Status Writer::Failure() {
  MutexLock lock(&state_->mu);
  return state_->failure;
}

absl::Status Writer::Fill(CommitGroup* group) {
  group->Clear();
  const absl::Status filled =
      sequencer_.Fill(group, state_->options.clock->NowMs());
  const int64_t due_ms = sequencer_.earliest_due_ms();
  if (due_ms != std::numeric_limits<int64_t>::max()) {
    listener_.on_arrival(due_ms);
  }
  return filled;
}

bool Writer::RunOnce() {
  if (!Gather()) return false;
  if (!LogHasRoom()) {
    RefuseOps();
    return false;
  }
  CommitGroup* group = groups_[0].get();
  const absl::Status filled = Fill(group);
  if (!filled.ok()) {
    FailWork(group, filled);
    return true;
  }
  if (group->empty()) return false;  // waits for room on a full disk
  Commit(group);
  return true;
}

int64_t Writer::NextWakeMs(int64_t now_ms) const {
  return sequencer_.HasWork() ? now_ms + kFullDiskWaitMs
                              : std::numeric_limits<int64_t>::max();
}

void Writer::FillLoop() {
  while (true) {
    if (!Gather()) {
      if (stop_) return;
      StageIntervalSync();
      staging_->Wait(kIdleWaitMs);
      continue;
    }
    if (!LogHasRoom()) {
      RefuseOps();
      if (stop_) return;
      staging_->Wait(kFullDiskWaitMs);
      continue;
    }
    CommitGroup* group = TakeFree();
    const absl::Status filled = Fill(group);
    if (filled.ok() && !group->empty()) {
      HandOver(group);
      continue;
    }
    if (!filled.ok()) FailWork(group, filled);
    GiveBack(group);
    if (!filled.ok()) continue;
    if (stop_) return;
    staging_->Wait(kFullDiskWaitMs);
  }
}

void Writer::GiveBack(CommitGroup* group) {
  MutexLock lock(&hand_over_mu_);
  free_.push_back(group);
}

void Writer::FailWork(CommitGroup* group, const absl::Status& why) {
  Fail(why);
  Tell(group, Failure());
  sequencer_.FailAll(Failure());
}

void Writer::StageIntervalSync() {
  const CommitLog& log = *state_->log;
  if (state_->options.sync != SyncPolicy::kInterval) return;
  if (log.durable() >= log.end()) return;
  Op barrier;
  barrier.kind = Op::Kind::kBarrier;
  staging_->Push(std::move(barrier), "", /*always=*/true);
}

CommitGroup* Writer::TakeFree() {
  MutexLock lock(&hand_over_mu_);
  while (free_.empty()) handed_over_.Wait(&hand_over_mu_);
  CommitGroup* group = free_.back();
  free_.pop_back();
  return group;
}

void Writer::HandOver(CommitGroup* group) {
  const uint64_t bytes = group->builder.end() - group->builder.start();
  bool inline_write = false;
  {
    MutexLock lock(&hand_over_mu_);
    inline_write = bytes <= kInlineBytesMax && !disk_busy_ &&
                   full_ == nullptr && written_.empty();
    if (!inline_write) {
      while (full_ != nullptr) handed_over_.Wait(&hand_over_mu_);
      full_ = group;
      handed_over_.SignalAll();
      return;
    }
  }
  Commit(group);
  MutexLock lock(&hand_over_mu_);
  free_.push_back(group);
}

void Writer::DiskLoop() {
  while (true) {
    CommitGroup* group = nullptr;
    {
      MutexLock lock(&hand_over_mu_);
      while (full_ == nullptr && !disk_stop_) handed_over_.Wait(&hand_over_mu_);
      if (full_ == nullptr) return;
      group = std::exchange(full_, nullptr);
      disk_busy_ = true;
      handed_over_.SignalAll();
    }
    const absl::Status status = WriteAndSync(group);
    if (!status.ok()) Fail(status);
    MutexLock lock(&hand_over_mu_);
    disk_busy_ = false;
    written_.push_back(group);
    group->status = status.ok() ? status : Failure();
    handed_over_.SignalAll();
  }
}

void Writer::TellLoop() {
  while (true) {
    CommitGroup* group = nullptr;
    {
      MutexLock lock(&hand_over_mu_);
      while (written_.empty() && !tell_stop_) handed_over_.Wait(&hand_over_mu_);
      if (written_.empty()) return;
      group = written_.front();
    }
    Tell(group, group->status);
    MutexLock lock(&hand_over_mu_);
    // Only now: a small group must not be told before this one.
    written_.pop_front();
    free_.push_back(group);
    handed_over_.SignalAll();
  }
}

void Writer::Commit(CommitGroup* group) {
  const absl::Status status = WriteAndSync(group);
  if (!status.ok()) Fail(status);
  Tell(group, status.ok() ? status : Failure());
}

absl::Status Writer::WriteAndSync(CommitGroup* group) {
  CommitLog* log = state_->log.get();
  // Not the state lock: the next group is being filled under it.
  if (failed_) return Failure();
  const bool writes = group->builder.records() > 0;
  uint64_t bytes = 0;
  if (writes) {
    group->builder.Finish(log->durable());
    bytes = group->builder.bytes().size();
    if (auto status = log->Append(group->builder); !status.ok()) return status;
  }
  const bool sync = SyncIsDue(*group) && log->durable() < log->end() &&
                    !PlantedBug("ack_before_sync");
  int64_t sync_ns = 0;
  if (sync) {
    sync_ns = -state_->options.clock->MonotonicNs();
    if (auto status = log->Sync(); !status.ok()) return status;
    last_sync_ns_ = state_->options.clock->MonotonicNs();
    sync_ns += last_sync_ns_;
  }
  acknowledged_ = log->end().value();
  MutexLock lock(&counters_mu_);
  counters_.groups += writes ? 1 : 0;
  counters_.syncs += sync ? 1 : 0;
  if (sync) counters_.sync_us.Add(sync_ns / 1000);
  counters_.bytes += bytes;
  return absl::OkStatus();
}

bool Writer::SyncIsDue(const CommitGroup& group) const {
  if (group.wants_sync) return true;
  switch (state_->options.sync) {
    case SyncPolicy::kSync:
      return true;
    case SyncPolicy::kInterval:
      return state_->options.clock->MonotonicNs() - last_sync_ns_ >=
             state_->options.sync_interval_ms * 1'000'000;
    case SyncPolicy::kOs:
      return false;
  }
  return true;
}

void Writer::RecordLateness(const CommitGroup& group) {
  if (group.delivered_due_ms.empty()) return;
  const int64_t now_ms = state_->options.clock->NowMs();
  MutexLock lock(&counters_mu_);
  for (const int64_t due_ms : group.delivered_due_ms) {
    counters_.lateness_us.Add((now_ms - due_ms) * 1000);
  }
}

void Writer::Tell(CommitGroup* group, const absl::Status& status) {
  if (status.ok()) {
    RecordLateness(*group);
    {
      MutexLock lock(&state_->mu);
      state_->hand.Durable(acknowledged(), state_->options.clock->NowMs());
    }
  }
  staging_->Release(group->staged_bytes);
  if (!group->puts.empty()) CrashPoint("put.durable_not_told");
  for (CommitGroup::PutWaiter& put : group->puts) {
    if (!put.done) continue;
    if (!status.ok()) {
      put.done(status);
    } else if (!put.refused.ok()) {
      put.done(put.refused);
    } else {
      put.done(std::move(put.result));
    }
  }
  for (CommitGroup::OpWaiter& op : group->ops) {
    if (!op.done) continue;
    if (!status.ok()) op.result.status = status;
    op.done(op.result);
  }
  if (group->ready_messages > 0) CrashPoint("ready.durable_not_told");
  if (!status.ok()) return;
  if (group->ready_messages > 0 && listener_.on_ready) {
    listener_.on_ready(*group);
  }
  listener_.on_durable(group->ready_messages);
}

void Writer::Fail(const absl::Status& status) {
  failed_ = true;
  MutexLock lock(&state_->mu);
  if (!state_->failure.ok()) return;
  state_->failure = absl::UnavailableError(
      absl::StrCat("the store stopped: ", status.message()));
}

Writer::Counters Writer::GetCounters() {
  MutexLock lock(&counters_mu_);
  return counters_;
}

}  // namespace hourglass
