#include "broker/front/sender.h"

#include <atomic>
#include <utility>

#include "broker/front/message_form.h"
#include "broker/front/message_limits.h"
#include "broker/front/names.h"
#include "broker/front/recall_handle.h"
#include "broker/front/topic_quota.h"
#include "broker/front/transactions.h"
#include "broker/front/verdict.h"
#include "broker/text.h"

namespace hourglass {
struct Sender::Join {
  Join(int count, std::string topic, proto::SendMessageResponse* response,
       Done done)
      : left(count),
        topic(std::move(topic)),
        response(response),
        done(std::move(done)) {
    for (int i = 0; i < count; ++i) response->add_entries();
  }

  // Each entry is written by one thread; the last one to end answers.
  void End(int at, const proto::Message& message,
           const absl::StatusOr<PutResult>& result) {
    proto::SendResultEntry* const entry = response->mutable_entries(at);
    const std::string& id = message.system_properties().message_id();
    *entry->mutable_status() = ToProto(VerdictOf(result.status()));
    entry->set_message_id(id);
    if (result.ok()) Fill(message, *result, entry);
    if (left.fetch_sub(1) == 1) Answer();
  }

  void Fill(const proto::Message& message, const PutResult& result,
            proto::SendResultEntry* entry) const {
    const std::string& id = message.system_properties().message_id();
    entry->set_offset(static_cast<int64_t>(result.offset.value()));
    entry->set_transaction_id(id);
    if (result.handle.IsNone()) return;
    const std::string handle = RecallHandle{result.handle, id}.ToString(topic);
    if (KindOf(message) == proto::TRANSACTION) {
      entry->set_transaction_id(handle);
    } else {
      entry->set_recall_handle(handle);
    }
  }

  void Answer() {
    *response->mutable_status() = ToProto(Verdict());
    for (const proto::SendResultEntry& entry : response->entries()) {
      if (entry.status().code() == proto::OK) continue;
      *response->mutable_status() = entry.status();
      break;
    }
    done();
  }

  std::atomic<int> left;
  const std::string topic;
  proto::SendMessageResponse* const response;
  Done done;
};

Sender::Sender(DelayStore* store, Clock* clock, const FrontOptions& options,
               const Topics* topics, DedupeWindow* window,
               Transactions* transactions, TopicQuota* quota)
    : store_(store),
      clock_(clock),
      options_(options),
      topics_(topics),
      window_(window),
      transactions_(transactions),
      quota_(quota) {}

void Sender::RefuseAll(const Verdict& verdict,
                       const proto::SendMessageRequest& request,
                       proto::SendMessageResponse* response) {
  *response->mutable_status() = ToProto(verdict);
  for (const proto::Message& message : request.messages()) {
    proto::SendResultEntry* const entry = response->add_entries();
    *entry->mutable_status() = ToProto(verdict);
    entry->set_message_id(message.system_properties().message_id());
  }
}

Verdict Sender::Check(const proto::SendMessageRequest& request) const {
  const auto count = static_cast<size_t>(request.messages_size());
  if (count == 0) {
    return Verdict::Refuse(proto::MESSAGE_CORRUPTED, "no message to send");
  }
  if (count > options_.batch_messages_max) {
    return Verdict::Refuse(
        proto::MESSAGE_CORRUPTED,
        Concat(count, " messages; expected at most ",
               options_.batch_messages_max, " (batch_messages_max)"));
  }
  const proto::Resource& topic = request.messages(0).topic();
  if (Verdict verdict = CheckTopicName(topic, options_); !verdict.ok()) {
    return verdict;
  }
  const std::string name = StoreName(topic);
  const int64_t now_ms = clock_->NowMs();
  for (const proto::Message& message : request.messages()) {
    if (StoreName(message.topic()) != name) {
      return Verdict::Refuse(proto::MESSAGE_CORRUPTED,
                             "messages of several topics; expected one");
    }
    Verdict verdict = topics_->CheckTakes(name, KindOf(message));
    if (verdict.ok()) verdict = CheckMessage(message, options_, now_ms);
    if (!verdict.ok()) return verdict;
  }
  return {};
}

void Sender::Send(const proto::SendMessageRequest& request,
                  std::string_view client_id,
                  proto::SendMessageResponse* response, Done done) {
  const Verdict verdict = Check(request);
  if (!verdict.ok()) {
    RefuseAll(verdict, request, response);
    done();
    return;
  }
  const int count = request.messages_size();
  auto join = std::make_shared<Join>(
      count, StoreName(request.messages(0).topic()), response, std::move(done));
  for (int i = 0; i < count; ++i) {
    SendOne(request.messages(i), join->topic, client_id, join, i);
  }
}

void Sender::SendOne(const proto::Message& message, const std::string& topic,
                     std::string_view client_id, std::shared_ptr<Join> join,
                     int entry) {
  const std::string& id = message.system_properties().message_id();
  PutResult known;
  DedupeWindow::Waiter waiter =
      [join, entry, &message](const absl::StatusOr<PutResult>& result) {
        join->End(entry, message, result);
      };
  switch (window_->Begin(topic, id, clock_->NowMs(), &known, &waiter)) {
    case DedupeWindow::kWaits:
      return;
    case DedupeWindow::kKnown:
      join->End(entry, message, known);
      return;
    case DedupeWindow::kFirst:
      break;
  }
  Put(message, topic, client_id,
      [this, join, entry, &message](absl::StatusOr<PutResult> result) {
        const std::string& id = message.system_properties().message_id();
        window_->End(join->topic, id, clock_->NowMs(), result);
        join->End(entry, message, result);
      });
}

// Within the topic's quota. Not asked before a message is known to be new: one
// that is sent again is answered as before, however full the topic is now.
void Sender::PutPlain(const MessageView& view, PutCallback done) {
  const int64_t now_ms = clock_->NowMs();
  const size_t bytes = view.body.size();
  absl::Status room = quota_->Take(view.topic, view.due_ms, bytes, now_ms);
  if (!room.ok()) {
    done(std::move(room));
    return;
  }
  if (!quota_->on() || view.due_ms <= now_ms) {
    store_->PutAsync(view, std::move(done));
    return;
  }
  store_->PutAsync(
      view, [this, topic = std::string(view.topic), due_ms = view.due_ms, bytes,
             done = std::move(done)](absl::StatusOr<PutResult> result) mutable {
        if (!result.ok()) quota_->GiveBack(topic, due_ms, bytes);
        done(std::move(result));
      });
}

void Sender::Put(const proto::Message& message, const std::string& topic,
                 std::string_view client_id, PutCallback done) {
  StoredForm stored(message, topic);
  if (KindOf(message) != proto::TRANSACTION) {
    PutPlain(stored.view(), std::move(done));
  } else {
    transactions_->PutHalf(message, client_id, &stored, std::move(done));
  }
}

}  // namespace hourglass
