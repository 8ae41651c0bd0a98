#include "broker/front/transactions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"
#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// Who reads the half messages that were not ended in time.
constexpr std::string_view kAsker = "%HALF%";
constexpr size_t kPageMessages = 64;
constexpr size_t kPageBytes = 8u << 20;
// Half messages that were put again and are known by their older ids.
constexpr size_t kMovedMax = 100'000;
// A half message that is just becoming ready is met by the next Scan or two.
constexpr int kScansToMeet = 4;

int64_t NumberOf(const Message& message, std::string_view property,
                 int64_t otherwise) {
  int64_t number = 0;
  const bool good =
      absl::SimpleAtoi(ToAbsl(PropertyOf(message, property)), &number);
  return good ? number : otherwise;
}

std::string KeyOf(std::string_view topic, std::string_view id) {
  return Concat(topic, "\n", id);
}
std::string KeyOf(const Message& half) {
  return KeyOf(PropertyOf(half, kHalfTopicProperty), half.id);
}

bool BelongsToHalf(std::string_view name) {
  return name == kHalfTopicProperty || name == kHalfClientProperty ||
         name == kHalfChecksProperty || name == kHalfWaitProperty ||
         name == kHalfSinceProperty;
}

Verdict UnknownTransaction(std::string_view why) {
  return Verdict::Refuse(proto::INVALID_TRANSACTION_ID, std::string(why));
}

Verdict EndedBefore() {
  return UnknownTransaction(
      "transaction: it was committed or rolled back before");
}

}  // namespace

MessageView RealMessage(const Message& half, std::string_view transaction_id) {
  MessageView real = half.View();
  real.topic = PropertyOf(half, kHalfTopicProperty);
  real.due_ms = kDueNow;
  std::erase_if(real.properties, [](const auto& property) {
    return BelongsToHalf(property.first);
  });
  real.properties.emplace_back(kTransactionIdProperty, transaction_id);
  return real;
}

Transactions::Transactions(DelayStore* store, Clock* clock,
                           const FrontOptions& options, const Clients* clients)
    : store_(store), clock_(clock), options_(options), clients_(clients) {}

Transactions::~Transactions() {
  for (auto& [key, decided] : decided_) {
    decided.done(Verdict::Refuse(proto::INTERNAL_SERVER_ERROR,
                                 "the server is stopping"));
  }
}

// --- put ---

void Transactions::PutHalf(const proto::Message& message,
                           std::string_view client_id, StoredForm* stored,
                           PutCallback done) {
  const proto::SystemProperties& system = message.system_properties();
  int64_t wait_ms = options_.transaction_check_ms;
  if (system.has_orphaned_transaction_recovery_duration()) {
    wait_ms = std::clamp<int64_t>(
        MsOf(system.orphaned_transaction_recovery_duration()), 1,
        options_.transaction_check_ms_max);
  }
  MessageView& view = stored->view();
  stored->AddProperty(kHalfTopicProperty, std::string(view.topic));
  stored->AddProperty(kHalfClientProperty, std::string(client_id));
  stored->AddProperty(kHalfWaitProperty, Concat(wait_ms));
  stored->AddProperty(kHalfSinceProperty, Concat(clock_->NowMs()));
  view.topic = kHalfTopic;
  view.due_ms = clock_->NowMs() + wait_ms;
  store_->PutAsync(view, std::move(done));
}

// --- end ---

void Transactions::End(const proto::EndTransactionRequest& request,
                       proto::EndTransactionResponse* response, Done done) {
  auto answer = [response, done = std::move(done)](Verdict verdict) mutable {
    *response->mutable_status() = ToProto(verdict);
    done();
  };
  const bool commit = request.resolution() == proto::COMMIT;
  if (!commit && request.resolution() != proto::ROLLBACK) {
    // "Not known yet": it will be asked again.
    return answer(Verdict());
  }
  const std::string topic = StoreName(request.topic());
  const auto id = RecallHandle::Parse(request.transaction_id(), topic);
  if (!id.ok() || id->message_id != request.message_id()) {
    return answer(
        UnknownTransaction("transaction id: not of this message and topic"));
  }
  Key key = KeyOf(topic, id->message_id);
  Handle handle = id->handle;
  {
    MutexLock lock(&mu_);
    const auto moved = moved_.find(key);
    if (moved != moved_.end()) handle = moved->second;
  }
  EndOne(handle, std::move(key), commit, std::move(answer));
}

void Transactions::EndOne(const Handle& handle, Key key, bool commit,
                          absl::AnyInvocable<void(Verdict)> done) {
  if (commit) {
    Commit(handle, std::move(key), std::move(done));
  } else {
    Rollback(handle, std::move(key), std::move(done));
  }
}

void Transactions::Rollback(const Handle& handle, Key key,
                            absl::AnyInvocable<void(Verdict)> done) {
  store_->CancelAsync(handle,
                      [this, key = std::move(key), done = std::move(done)](
                          absl::StatusOr<CancelAnswer> answer) mutable {
                        if (!answer.ok())
                          return done(VerdictOf(answer.status()));
                        Settle(*answer, /*commit=*/false, key, std::move(done));
                      });
}

absl::StatusOr<Message> Transactions::Find(const Handle& handle) {
  PendingQuery query;
  query.from_ms = handle.due_ms();
  query.to_ms = handle.due_ms() + 1;
  query.topic = kHalfTopic;
  do {
    ASSIGN_OR_RETURN(PendingPage page, store_->Pending(query));
    for (PendingMessage& pending : page.messages) {
      if (pending.handle == handle) return std::move(pending.message);
    }
    query.after = std::move(page.next);
  } while (!query.after.empty());
  return absl::NotFoundError("no such half message");
}

void Transactions::Commit(const Handle& handle, Key key,
                          absl::AnyInvocable<void(Verdict)> done) {
  const absl::StatusOr<Message> half = Find(handle);
  if (absl::IsNotFound(half.status())) {
    return Settle(CancelAnswer::kAlreadyDelivered, /*commit=*/true, key,
                  std::move(done));
  }
  if (!half.ok()) return done(VerdictOf(half.status()));
  const std::string id = RecallHandle{handle, half->id}.ToString(
      PropertyOf(*half, kHalfTopicProperty));
  store_->ReplaceAsync(
      handle, RealMessage(*half, id),
      [this, key = std::move(key),
       done = std::move(done)](absl::StatusOr<MoveResult> moved) mutable {
        if (!moved.ok()) return done(VerdictOf(moved.status()));
        Settle(moved->answer, /*commit=*/true, std::move(key), std::move(done));
      });
}

// Runs on the store's thread, so it must not look for anything there.
void Transactions::Settle(CancelAnswer answer, bool commit, const Key& key,
                          absl::AnyInvocable<void(Verdict)> done) {
  if (answer == CancelAnswer::kNeverExisted) {
    return done(UnknownTransaction("transaction: there never was such a one"));
  }
  {
    MutexLock lock(&mu_);
    if (answer == CancelAnswer::kCancelled) {
      moved_.erase(key);
    } else if (!decided_.contains(key)) {
      // It has just become ready, or it was ended before: Scan will know.
      Decided& decided = decided_[key];
      decided.commit = commit;
      decided.scans_left = kScansToMeet;
      decided.done = std::move(done);
      return;
    }
  }
  done(answer == CancelAnswer::kCancelled ? Verdict() : EndedBefore());
}

// --- what was not ended in time ---

void Transactions::Scan() {
  while (ScanPage()) {
  }
  ForgetDecided();
}

bool Transactions::ScanPage() {
  if (!started_) Retry(store_->Progress(kHalfTopic, kAsker));
  started_ = true;
  const QueueIndex first = store_->FirstReady(kHalfTopic);
  QueueIndex from;
  {
    MutexLock lock(&mu_);
    next_ = std::max(next_, first);
    from = next_;
  }
  const auto page =
      store_->ReadReady(kHalfTopic, from, kPageMessages, kPageBytes);
  // Not readable now: a later Scan tries again.
  if (!page.ok() || page->empty()) return false;
  {
    MutexLock lock(&mu_);
    next_ = page->back().index + 1;
  }
  for (const ReadyMessage& ready : *page) Meet(ready);
  return true;
}

void Transactions::Meet(const ReadyMessage& ready) {
  if (store_->GetProgress(kHalfTopic, kAsker).IsAcked(ready.index)) return;
  Decided decided;
  {
    MutexLock lock(&mu_);
    const auto found = decided_.find(KeyOf(ready.message));
    if (found != decided_.end()) {
      decided = std::move(found->second);
      decided_.erase(found);
    }
  }
  if (decided.done != nullptr) return Finish(ready, std::move(decided));
  const int64_t checks = NumberOf(ready.message, kHalfChecksProperty, 0);
  const int64_t since_ms =
      NumberOf(ready.message, kHalfSinceProperty, ready.message.stored_ms);
  const int64_t age_ms = clock_->NowMs() - since_ms;
  if (checks >= options_.transaction_checks_max ||
      age_ms > options_.transaction_age_ms_max) {
    return GiveUp(ready);
  }
  Ask(ready, PropertyOf(ready.message, kHalfTopicProperty));
}

void Transactions::Ask(const ReadyMessage& ready, std::string_view topic) {
  const auto producer = clients_->ProducerOf(
      topic, PropertyOf(ready.message, kHalfClientProperty));
  const int64_t checks = NumberOf(ready.message, kHalfChecksProperty, 0) +
                         (producer == nullptr ? 0 : 1);
  const std::string checks_text = Concat(checks);
  MessageView again = ready.message.View();
  std::erase_if(again.properties, [](const auto& property) {
    return property.first == kHalfChecksProperty;
  });
  again.properties.emplace_back(kHalfChecksProperty, checks_text);
  again.due_ms = clock_->NowMs() + NumberOf(ready.message, kHalfWaitProperty,
                                            options_.transaction_check_ms);
  proto::Resource name;
  name.set_name(std::string(topic));
  proto::RecoverOrphanedTransactionCommand question;
  *question.mutable_message() = ToProto(ready.message, name);
  store_->PutAndAckAsync(
      again, kHalfTopic, kAsker, ready.index,
      [this, producer, index = ready.index, key = KeyOf(ready.message),
       topic = std::string(topic),
       question = std::move(question)](absl::StatusOr<PutResult> put) mutable {
        if (absl::IsNotFound(put.status())) return;
        if (!put.ok()) return Retry(index);
        {
          MutexLock lock(&mu_);
          if (moved_.size() < kMovedMax) moved_[key] = put->handle;
        }
        if (producer == nullptr) return;
        question.set_transaction_id(
            RecallHandle{put->handle, put->id}.ToString(topic));
        proto::TelemetryCommand command;
        *command.mutable_status() = ToProto(Verdict());
        *command.mutable_recover_orphaned_transaction_command() =
            std::move(question);
        producer->Send(std::move(command));
      });
}

void Transactions::GiveUp(const ReadyMessage& ready) {
  {
    MutexLock lock(&mu_);
    moved_.erase(KeyOf(ready.message));
  }
  store_->AckAsync(kHalfTopic, kAsker, {ready.index},
                   [this, index = ready.index](absl::Status status) {
                     if (!status.ok()) Retry(index);
                   });
}

void Transactions::Finish(const ReadyMessage& ready, Decided decided) {
  if (!decided.commit) {
    store_->AckAsync(
        kHalfTopic, kAsker, {ready.index},
        [done = std::move(decided.done)](absl::Status status) mutable {
          done(VerdictOf(status));
        });
    return;
  }
  store_->PutAndAckAsync(
      RealMessage(ready.message, ready.message.id), kHalfTopic, kAsker,
      ready.index,
      [done = std::move(decided.done)](absl::StatusOr<PutResult> put) mutable {
        done(VerdictOf(put.status()));
      });
}

void Transactions::Retry(QueueIndex index) {
  MutexLock lock(&mu_);
  next_ = std::min(next_, index);
}

void Transactions::ForgetDecided() {
  std::vector<std::pair<Key, Decided>> left;
  std::map<Key, Handle> moved;
  {
    MutexLock lock(&mu_);
    for (auto at = decided_.begin(); at != decided_.end();) {
      if (--at->second.scans_left > 0) {
        ++at;
        continue;
      }
      if (moved_.contains(at->first)) moved[at->first] = moved_[at->first];
      left.emplace_back(at->first, std::move(at->second));
      at = decided_.erase(at);
    }
  }
  for (auto& [key, decided] : left) {
    const auto at = moved.find(key);
    if (at == moved.end()) {
      decided.done(EndedBefore());
    } else {
      EndOne(at->second, key, decided.commit, std::move(decided.done));
    }
  }
}

}  // namespace hourglass
