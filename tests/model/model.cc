#include "tests/model/model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/hour_format.h"
#include "storage/message_codec.h"

namespace hourglass {

std::string Describe(const Handle& handle) {
  if (handle.IsNone()) return "none";
  return absl::StrCat(handle.hour.value(), "/", handle.number.value(), "@",
                      handle.due_ms());
}

std::string Differs(const Message& expected, const Message& found) {
  if (expected.topic != found.topic) return "topic";
  if (expected.id != found.id) return "id";
  if (expected.tag != found.tag) return "tag";
  if (expected.keys != found.keys) return "keys";
  if (expected.properties != found.properties) return "properties";
  if (expected.body != found.body) return "body";
  if (expected.stored_ms != found.stored_ms) return "stored_ms";
  if (expected.due_ms != found.due_ms) {
    return absl::StrCat("due_ms ", expected.due_ms, " -> ", found.due_ms);
  }
  return "";
}

// --- what the store acknowledged ---

void Model::AddPending(ModelMessage* known) {
  known->state = ModelState::kPending;
  if (known->handle.IsNone()) {
    at_once_.insert(known->message.id);
    return;
  }
  pending_.emplace(known->message.due_ms, known->message.id);
  RecordNumber& last = last_[known->handle.hour];
  last = std::max(last, known->handle.number);
}

void Model::RemovePending(const ModelMessage& known) {
  at_once_.erase(known.message.id);
  const auto [begin, end] = pending_.equal_range(known.message.due_ms);
  for (auto it = begin; it != end; ++it) {
    if (it->second != known.message.id) continue;
    pending_.erase(it);
    return;
  }
}

void Model::Put(const Message& message, const Handle& handle) {
  ModelMessage& known = messages_[message.id];
  known.message = message;
  known.handle = handle;
  AddPending(&known);
}

void Model::Cancelled(const std::string& id) {
  ModelMessage& known = messages_.at(id);
  RemovePending(known);
  known.state = ModelState::kCancelled;
}

void Model::Moved(const std::string& id, int64_t due_ms, const Handle& handle) {
  ModelMessage& known = messages_.at(id);
  RemovePending(known);
  known.message.due_ms = due_ms;
  known.handle = handle;
  AddPending(&known);
}

// --- what it did not ---

void Model::DoubtPut(const Message& message) {
  ModelMessage& known = messages_[message.id];
  known.message = message;
  known.state = ModelState::kNothing;
  known.doubt = ModelMessage::Doubt::kPut;
  known.moved_due_ms = message.due_ms;
  doubtful_.insert(message.id);
}

void Model::DoubtCancel(const std::string& id) {
  messages_.at(id).doubt = ModelMessage::Doubt::kCancel;
  doubtful_.insert(id);
}

void Model::DoubtMove(const std::string& id, int64_t due_ms) {
  messages_.at(id).doubt = ModelMessage::Doubt::kMove;
  messages_.at(id).moved_due_ms = due_ms;
  doubtful_.insert(id);
}

void Model::NowPending(ModelMessage* known, const Handle& handle) {
  if (known->handle == handle && known->state == ModelState::kPending) return;
  RemovePending(*known);
  known->handle = handle;
  known->message.due_ms = handle.due_ms();
  AddPending(known);
}

std::string Model::SettleOne(const std::string& id,
                             const PendingMessage* listed) {
  using Doubt = ModelMessage::Doubt;
  ModelMessage& known = messages_.at(id);
  const Doubt doubt = std::exchange(known.doubt, Doubt::kNone);
  if (known.state == ModelState::kReady) {
    return listed == nullptr ? "" : id + " is ready and pending";
  }
  if (listed == nullptr) {
    if (doubt == Doubt::kMove) return id + " was lost by a move";
    RemovePending(known);
    known.state =
        doubt == Doubt::kPut ? ModelState::kNothing : ModelState::kCancelled;
    return "";
  }
  const int64_t due_ms = listed->handle.due_ms();
  const bool as_before = doubt != Doubt::kPut && listed->handle == known.handle;
  const bool as_asked = (doubt == Doubt::kPut || doubt == Doubt::kMove) &&
                        due_ms == known.moved_due_ms;
  if (!as_before && !as_asked) {
    return absl::StrCat(id, " is pending at ", Describe(listed->handle),
                        ", which nobody asked for");
  }
  NowPending(&known, listed->handle);
  return "";
}

std::string Model::Settle(const std::vector<PendingMessage>& listed) {
  std::map<std::string, const PendingMessage*> found;
  // In the order of the listing: messages of the same millisecond keep the
  // order in which they arrived.
  for (const PendingMessage& pending : listed) {
    const std::string& id = pending.message.id;
    if (!doubtful_.contains(id)) continue;
    if (!found.emplace(id, &pending).second) return id + " is pending twice";
    std::string wrong = SettleOne(id, &pending);
    if (!wrong.empty()) return wrong;
  }
  for (const std::string& id : doubtful_) {
    if (found.contains(id)) continue;
    std::string wrong = SettleOne(id, nullptr);
    if (!wrong.empty()) return wrong;
  }
  doubtful_.clear();
  return "";
}

// --- what the store shows ---

std::string Model::CheckPlace(const ReadyMessage& ready,
                              const ModelMessage& known) {
  if (ready.key.number == RecordNumber()) return "";
  if (!keys_.insert(ready.key).second) return "a key that was used before";
  // A move that was not acknowledged may have given it another number.
  if (known.doubt == ModelMessage::Doubt::kNone &&
      (ready.key.hour != known.handle.hour ||
       ready.key.number != known.handle.number)) {
    return absl::StrCat("key ", ready.key.hour.value(), "/",
                        ready.key.number.value(), " instead of ",
                        Describe(known.handle));
  }
  if (HourOf(ready.message.due_ms) != ready.key.hour) return "another hour";
  RecordNumber& last =
      delivered_last_[{ready.message.topic, ready.message.due_ms}];
  if (ready.key.number <= last && in_order_) {
    return absl::StrCat("number ", ready.key.number.value(), " after ",
                        last.value(), " of the same millisecond");
  }
  last = ready.key.number;
  return "";
}

std::string Model::CheckReady(const ReadyMessage& ready, ModelMessage* known,
                              int64_t now_ms) {
  const bool doubt = known->doubt != ModelMessage::Doubt::kNone;
  switch (known->state) {
    case ModelState::kPending:
      break;
    case ModelState::kReady:
      return "delivered twice";
    case ModelState::kCancelled:
      return "was cancelled";
    case ModelState::kNothing:
      if (!doubt) return "was never put";
  }
  if (ready.message.due_ms > now_ms) {
    return absl::StrCat("early: due ", ready.message.due_ms, ", now ", now_ms);
  }
  if (!doubt && known->handle.IsNone() != (ready.key.number == RecordNumber()))
    return "ready by another way";
  Message expected = known->message;
  if (doubt && ready.message.due_ms == known->moved_due_ms) {
    expected.due_ms = known->moved_due_ms;
  }
  const std::string differs = Differs(expected, ready.message);
  if (!differs.empty()) return "another " + differs;
  return CheckPlace(ready, *known);
}

std::string Model::Ready(const std::string& topic, const ReadyMessage& ready,
                         int64_t now_ms) {
  std::vector<Shown>& shown = ready_[topic];
  const std::string where = absl::StrCat(
      "ready ", topic, "[", ready.index.value(), "] ", ready.message.id, " ",
      ready.key.hour.value(), "/", ready.key.number.value(), ": ");
  if (ready.index.value() != shown.size()) return where + "another index";
  if (!shown.empty() && ready.offset <= shown.back().offset) {
    return where + "its offset falls";
  }
  const auto at = messages_.find(ready.message.id);
  if (at == messages_.end()) return where + "nobody put it";
  if (topic != ready.message.topic) return where + "another topic";
  ModelMessage& known = at->second;
  const std::string wrong = CheckReady(ready, &known, now_ms);
  if (!wrong.empty()) return where + wrong;
  RemovePending(known);
  known.message.due_ms = ready.message.due_ms;
  known.state = ModelState::kReady;
  shown.push_back({ready.message.id, ready.offset});
  return "";
}

std::string Model::StillReadable(DelayStore* store, const std::string& topic,
                                 uint64_t from) {
  constexpr size_t kCount = 1000;
  constexpr size_t kBytes = 1u << 20;
  const uint64_t end = ready_count(topic);
  while (from < end) {
    const auto read = store->ReadReady(topic, QueueIndex(from), kCount, kBytes);
    if (!read.ok()) return "read again: " + read.status().ToString();
    if (read->empty()) {
      return absl::StrCat(topic, "[", from, "] was readable, and is not");
    }
    for (const ReadyMessage& ready : *read) {
      if (ready.index.value() >= end) break;
      const std::string wrong = StillReady(topic, ready);
      if (!wrong.empty()) return "read again: " + wrong;
    }
    from += read->size();
  }
  return "";
}

std::string Model::StillReady(const std::string& topic,
                              const ReadyMessage& ready) const {
  const auto at = ready_.find(topic);
  if (at == ready_.end() || ready.index.value() >= at->second.size()) {
    return "more than was shown";
  }
  const Shown& shown = at->second[ready.index.value()];
  if (shown.id != ready.message.id) {
    return absl::StrCat(topic, "[", ready.index.value(), "] was ", shown.id,
                        " and is now ", ready.message.id);
  }
  if (shown.offset != ready.offset) return shown.id + " has another offset";
  return Differs(messages_.at(shown.id).message, ready.message);
}

// --- the truth ---

const ModelMessage* Model::Find(const std::string& id) const {
  const auto at = messages_.find(id);
  return at == messages_.end() ? nullptr : &at->second;
}

uint64_t Model::ready_count(const std::string& topic) const {
  const auto at = ready_.find(topic);
  return at == ready_.end() ? 0 : at->second.size();
}

uint64_t Model::StoredBytes(const ModelMessage& known) {
  return kFrameHeaderBytes + EncodedMessageSize(known.message.View());
}

std::vector<const ModelMessage*> Model::PendingBetween(
    int64_t from_ms, int64_t to_ms, std::string_view topic) const {
  std::vector<const ModelMessage*> found;
  for (auto it = pending_.lower_bound(from_ms);
       it != pending_.end() && it->first < to_ms; ++it) {
    const ModelMessage& known = messages_.at(it->second);
    if (topic.empty() || known.message.topic == topic) found.push_back(&known);
  }
  return found;
}

}  // namespace hourglass
