#include "tests/support/fake_delay_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hourglass {
namespace {

constexpr uint32_t kSeal = 0xFA4E;
constexpr int64_t kDueMsMax = 253'402'300'799'999;

}  // namespace

FakeDelayStore::FakeDelayStore(std::shared_ptr<FakeStoreState> state)
    : state_(std::move(state)) {
  ++state_->opened;
}

void FakeDelayStore::MakeReady(Message message, const MessageKey& key) {
  std::vector<ReadyMessage>& queue = state_->ready[message.topic];
  ReadyMessage ready;
  ready.index = QueueIndex(queue.size());
  ready.offset = LogOffset(state_->offset += 64);
  ready.key = key;
  ready.delivered_ms = state_->clock->NowMs();
  ready.message = std::move(message);
  state_->grown.insert(ready.message.topic);
  queue.push_back(std::move(ready));
  ++state_->version;
}

void FakeDelayStore::Advance() {
  PendingMap& pending = state_->pending;
  while (!pending.empty() &&
         pending.begin()->first.first <= state_->clock->NowMs()) {
    PendingMessage due = std::move(pending.begin()->second);
    pending.erase(pending.begin());
    MakeReady(std::move(due.message), {due.handle.hour, due.handle.number});
  }
}

Handle FakeDelayStore::Wait(Message message) {
  const int64_t due_ms = message.due_ms;
  Handle handle;
  handle.hour = HourOf(due_ms);
  handle.number = RecordNumber(++state_->numbers[handle.hour]);
  handle.ms_into_hour = MsIntoHour(due_ms);
  handle.seal = kSeal;
  state_->pending[{due_ms, state_->arrivals++}] = {handle, std::move(message)};
  return handle;
}

bool FakeDelayStore::Step() {
  {
    MutexLock lock(&state_->mu);
    Advance();
  }
  TellListener();
  return false;
}

void FakeDelayStore::SetReadyListener(ReadyListener listener) {
  MutexLock lock(&listener_mu_);
  listener_ = std::move(listener);
}

void FakeDelayStore::TellListener() {
  std::vector<std::string> topics;
  {
    MutexLock lock(&state_->mu);
    topics.assign(state_->grown.begin(), state_->grown.end());
    state_->grown.clear();
  }
  MutexLock lock(&listener_mu_);
  if (listener_ && !topics.empty()) listener_(topics);
}

absl::StatusOr<PutResult> FakeDelayStore::Put(const MessageView& view) {
  auto put = PutQuietly(view);
  TellListener();
  return put;
}

absl::StatusOr<PutResult> FakeDelayStore::PutQuietly(const MessageView& view) {
  MutexLock lock(&state_->mu);
  ++state_->put_calls;
  if (!state_->put_error.ok()) return state_->put_error;
  if (state_->exhausted_puts > 0) {
    --state_->exhausted_puts;
    return absl::ResourceExhaustedError("unsynced_bytes_max: the fake is full");
  }
  if (view.due_ms > kDueMsMax) {
    return absl::InvalidArgumentError("due_ms: past the year 9999");
  }
  Message message = Message::From(view);
  if (message.id.empty()) message.id = absl::StrCat("fake-", state_->arrivals);
  message.stored_ms = state_->clock->NowMs();
  PutResult result;
  result.id = message.id;
  result.offset = LogOffset(state_->offset += 64);
  if (message.due_ms <= state_->clock->NowMs()) {
    ++state_->arrivals;
    MakeReady(std::move(message), {});
  } else {
    result.handle = Wait(std::move(message));
  }
  return result;
}

std::vector<absl::StatusOr<PutResult>> FakeDelayStore::PutMany(
    absl::Span<const MessageView> messages) {
  std::vector<absl::StatusOr<PutResult>> results;
  for (const MessageView& message : messages) results.push_back(Put(message));
  return results;
}

void FakeDelayStore::PutAsync(const MessageView& message, PutCallback done) {
  done(Put(message));
}

FakeDelayStore::PendingMap::iterator FakeDelayStore::Find(
    const Handle& handle) {
  return std::find_if(
      state_->pending.begin(), state_->pending.end(),
      [&](const auto& entry) { return entry.second.handle == handle; });
}

CancelAnswer FakeDelayStore::AnswerForMissing(const Handle& handle) {
  const auto number = state_->numbers.find(handle.hour);
  const bool given = handle.seal == kSeal && number != state_->numbers.end() &&
                     handle.number.value() <= number->second;
  return given ? CancelAnswer::kAlreadyDelivered : CancelAnswer::kNeverExisted;
}

absl::StatusOr<CancelAnswer> FakeDelayStore::Cancel(const Handle& handle) {
  MutexLock lock(&state_->mu);
  Advance();
  const auto at = Find(handle);
  if (at == state_->pending.end()) return AnswerForMissing(handle);
  state_->pending.erase(at);
  return CancelAnswer::kCancelled;
}

void FakeDelayStore::CancelAsync(const Handle& handle, CancelCallback done) {
  done(Cancel(handle));
}

absl::StatusOr<MoveResult> FakeDelayStore::Reschedule(const Handle& handle,
                                                      int64_t due_ms) {
  MutexLock lock(&state_->mu);
  Advance();
  const auto at = Find(handle);
  MoveResult result;
  if (at == state_->pending.end()) {
    result.answer = AnswerForMissing(handle);
    return result;
  }
  Message message = std::move(at->second.message);
  state_->pending.erase(at);
  message.due_ms = due_ms;
  result.answer = CancelAnswer::kCancelled;
  result.handle = Wait(std::move(message));
  Advance();
  return result;
}

absl::StatusOr<MoveResult> FakeDelayStore::DeliverNow(const Handle& handle) {
  return Reschedule(handle, state_->clock->NowMs());
}

absl::StatusOr<PendingPage> FakeDelayStore::Pending(const PendingQuery& query) {
  MutexLock lock(&state_->mu);
  Advance();
  PendingPage page;
  const size_t skip = query.after.empty() ? 0 : std::stoul(query.after);
  size_t matched = 0;
  for (const auto& [place, pending] : state_->pending) {
    if (place.first < query.from_ms || place.first >= query.to_ms) continue;
    if (!query.topic.empty() && pending.message.topic != query.topic) continue;
    if (matched++ < skip) continue;
    if (page.messages.size() == query.count_max) {
      page.next = absl::StrCat(matched - 1);
      break;
    }
    page.messages.push_back(pending);
  }
  return page;
}

absl::StatusOr<Forecast> FakeDelayStore::GetForecast(Hour seconds_of) {
  MutexLock lock(&state_->mu);
  Advance();
  std::map<int64_t, ForecastBucket> hours, seconds;
  for (const auto& [place, pending] : state_->pending) {
    // Named anew: clang 14 does not capture structured bindings.
    const auto count = [&body = pending.message.body](
                           std::map<int64_t, ForecastBucket>& buckets,
                           int64_t start_ms) {
      ForecastBucket& bucket = buckets[start_ms];
      bucket.start_ms = start_ms;
      ++bucket.messages;
      bucket.bytes += body.size();
    };
    const Hour hour = HourOf(place.first);
    count(hours, StartMs(hour));
    if (hour == seconds_of) count(seconds, StartMs(SecondOf(place.first)));
  }
  Forecast forecast;
  for (const auto& [start, bucket] : hours) forecast.hours.push_back(bucket);
  for (const auto& [start, bucket] : seconds) {
    forecast.seconds.push_back(bucket);
  }
  return forecast;
}

StoreStats FakeDelayStore::Stats() {
  MutexLock lock(&state_->mu);
  StoreStats stats;
  stats.pending_messages = state_->pending.size();
  stats.put_messages = state_->arrivals;
  stats.log_end = LogOffset(state_->offset);
  stats.failure = state_->failure;
  return stats;
}

absl::StatusOr<std::vector<ReadyMessage>> FakeDelayStore::ReadReady(
    std::string_view topic, QueueIndex from, size_t count_max,
    size_t bytes_max) {
  MutexLock lock(&state_->mu);
  Advance();
  if (!state_->read_error.ok()) return state_->read_error;
  const std::string name(topic);
  if (from.value() < state_->removed_before[name]) {
    return absl::OutOfRangeError("removed by retention");
  }
  std::vector<ReadyMessage> batch;
  const std::vector<ReadyMessage>& queue = state_->ready[name];
  size_t bytes = 0;
  for (uint64_t i = from.value();
       i < queue.size() && batch.size() < count_max && bytes < bytes_max; ++i) {
    if (state_->damaged.count({name, i}) > 0) {
      return absl::DataLossError("a flipped bit");
    }
    batch.push_back(queue[i]);
    bytes += queue[i].message.body.size();
  }
  return batch;
}

QueueIndex FakeDelayStore::FirstReady(std::string_view topic) {
  MutexLock lock(&state_->mu);
  return QueueIndex(state_->removed_before[std::string(topic)]);
}

std::vector<std::string> FakeDelayStore::Topics() {
  MutexLock lock(&state_->mu);
  Advance();
  std::vector<std::string> topics;
  for (const auto& [topic, queue] : state_->ready) topics.push_back(topic);
  return topics;
}

uint64_t FakeDelayStore::ReadyVersion() {
  MutexLock lock(&state_->mu);
  Advance();
  return state_->version;
}

bool FakeDelayStore::WaitReady(uint64_t seen, absl::Duration timeout) {
  MutexLock lock(&state_->mu);
  Advance();
  if (state_->version != seen) return true;
  VirtualClock* const clock = state_->auto_advance;
  if (clock != nullptr && !state_->pending.empty()) {
    const int64_t due_ms = state_->pending.begin()->first.first;
    clock->AdvanceMs(due_ms - state_->clock->NowMs());
    Advance();
    return true;
  }
  // A real clock moves by itself: look again after a moment.
  CondVar moment;
  moment.WaitForNs(&state_->mu, absl::ToInt64Nanoseconds(
                                    std::min(timeout, absl::Milliseconds(1))));
  Advance();
  return state_->version != seen;
}

void FakeDelayStore::ReplaceAsync(const Handle& handle,
                                  const MessageView& replacement,
                                  MoveCallback done) {
  MoveResult result;
  {
    MutexLock lock(&state_->mu);
    Advance();
    const auto at = Find(handle);
    if (at == state_->pending.end()) {
      result.answer = AnswerForMissing(handle);
    } else {
      state_->pending.erase(at);
      result.answer = CancelAnswer::kCancelled;
    }
  }
  if (result.answer == CancelAnswer::kCancelled) {
    const auto put = Put(replacement);
    if (!put.ok()) return done(put.status());
    result.handle = put->handle;
  }
  done(result);
}

QueueIndex FakeDelayStore::Progress(std::string_view topic,
                                    std::string_view group) {
  return GetProgress(topic, group).next;
}

absl::Status FakeDelayStore::CommitProgress(std::string_view topic,
                                            std::string_view group,
                                            QueueIndex next) {
  MutexLock lock(&state_->mu);
  ++state_->commits;
  state_->progress[{std::string(topic), std::string(group)}].Ack(QueueIndex(),
                                                                 next);
  return absl::OkStatus();
}

void FakeDelayStore::CommitProgressAsync(std::string_view topic,
                                         std::string_view group,
                                         QueueIndex next, AckCallback done) {
  done(CommitProgress(topic, group, next));
}

void FakeDelayStore::AckAsync(std::string_view topic, std::string_view group,
                              absl::Span<const QueueIndex> indexes,
                              AckCallback done) {
  {
    MutexLock lock(&state_->mu);
    GroupProgress& progress =
        state_->progress[{std::string(topic), std::string(group)}];
    for (const QueueIndex index : indexes) progress.Ack(index, index + 1);
  }
  done(absl::OkStatus());
}

void FakeDelayStore::NoteAttemptsAsync(std::string_view topic,
                                       std::string_view group,
                                       absl::Span<const AttemptCount> counts,
                                       AckCallback done) {
  {
    MutexLock lock(&state_->mu);
    GroupProgress& progress =
        state_->progress[{std::string(topic), std::string(group)}];
    for (const AttemptCount& count : counts) {
      progress.NoteAttempts(count.index, count.attempts);
    }
  }
  done(absl::OkStatus());
}

void FakeDelayStore::PutAndAckAsync(const MessageView& message,
                                    std::string_view topic,
                                    std::string_view group, QueueIndex index,
                                    PutCallback done) {
  if (GetProgress(topic, group).IsAcked(index)) {
    return done(absl::NotFoundError("acknowledged before"));
  }
  auto put = Put(message);
  if (put.ok()) AckAsync(topic, group, {&index, 1}, [](absl::Status) {});
  done(std::move(put));
}

GroupProgress FakeDelayStore::GetProgress(std::string_view topic,
                                          std::string_view group) {
  MutexLock lock(&state_->mu);
  const auto at =
      state_->progress.find({std::string(topic), std::string(group)});
  return at == state_->progress.end() ? GroupProgress() : at->second;
}

bool FakeDelayStore::HasGroup(std::string_view topic, std::string_view group) {
  MutexLock lock(&state_->mu);
  return state_->progress.contains({std::string(topic), std::string(group)});
}

std::vector<ConsumerKey> FakeDelayStore::Groups() {
  MutexLock lock(&state_->mu);
  std::vector<ConsumerKey> groups;
  for (const auto& [key, progress] : state_->progress) groups.push_back(key);
  return groups;
}

QueueIndex FakeDelayStore::EndOfReady(std::string_view topic) {
  MutexLock lock(&state_->mu);
  Advance();
  return QueueIndex(state_->ready[std::string(topic)].size());
}

bool FakeDelayStore::WaitEmpty(absl::Duration) {
  MutexLock lock(&state_->mu);
  Advance();
  return state_->pending.empty();
}

absl::Status FakeDelayStore::Close() {
  MutexLock lock(&state_->mu);
  ++state_->closed;
  return state_->close_error;
}

}  // namespace hourglass
