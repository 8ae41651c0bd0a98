#include "tests/simulation/oracle.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/hour_format.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr size_t kReadCount = 200;
constexpr size_t kReadBytes = 1u << 20;

}  // namespace

void Oracle::Fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

// --- what the store answered ---

void Oracle::Gave(const Handle& handle, const std::string& id) {
  if (handle.IsNone()) return;
  given_.push_back({handle, id});
  done_since_.erase(handle.hour);
}

bool Oracle::IsCurrent(const Given& given) const {
  return model_.Find(given.id)->handle == given.handle;
}

void Oracle::PutAnswered(const Message& message, int64_t asked_ms,
                         const absl::StatusOr<PutResult>& result) {
  if (!result.ok()) {
    if (!trouble_) return Fail("put: " + result.status().ToString());
    return model_.DoubtPut(message);
  }
  const Handle& handle = result->handle;
  const bool due_when_asked = message.due_ms <= asked_ms;
  const bool due_now = message.due_ms <= now_ms();
  if ((due_when_asked && !handle.IsNone()) || (!due_now && handle.IsNone()) ||
      (!handle.IsNone() && handle.due_ms() != message.due_ms)) {
    return Fail(message.id + " got the wrong handle");
  }
  model_.Put(message, handle);
  Gave(handle, message.id);
}

void Oracle::CheckAnswer(const Given& given, CancelAnswer answer) {
  const ModelMessage& known = *model_.Find(given.id);
  const bool current = IsCurrent(given);
  const bool already = answer == CancelAnswer::kAlreadyDelivered;
  const auto wrong = [&](std::string_view truth) {
    Fail(absl::StrCat("the answer for ", given.id, " ", Describe(given.handle),
                      " was \"", ToAbsl(CancelAnswerName(answer)),
                      "\", but it ", ToAbsl(truth)));
  };
  if (current && known.state == ModelState::kReady) {
    if (!already && !moved_to_ready_.contains(given.id)) wrong("is delivered");
    return;
  }
  if (answer == CancelAnswer::kCancelled) return;
  if (current && known.state == ModelState::kPending) {
    // Where the disk fails it may be on its way, or set aside.
    if (already && trouble_ && given.handle.due_ms() <= highest_ms_) return;
    return wrong("is pending");
  }
  // It was cancelled or moved before. Where nothing is left of the hour, that
  // is no longer told apart from a delivery.
  if (already && (trouble_ || gone_.contains(given.handle.hour))) return;
  wrong("was cancelled");
}

void Oracle::CancelAnswered(const Given& given,
                            const absl::StatusOr<CancelAnswer>& answer) {
  const bool pending =
      IsCurrent(given) && model_.Find(given.id)->state == ModelState::kPending;
  highest_ms_ = std::max(highest_ms_, now_ms());
  if (!answer.ok()) {
    if (!trouble_) return Fail("cancel: " + answer.status().ToString());
    if (pending) model_.DoubtCancel(given.id);
    return;
  }
  if (!damaged_) CheckAnswer(given, *answer);
  if (pending && *answer == CancelAnswer::kCancelled) {
    model_.Cancelled(given.id);
  }
}

void Oracle::MoveAnswered(const Given& given, int64_t due_ms, int64_t asked_ms,
                          const absl::StatusOr<MoveResult>& moved) {
  const bool pending =
      IsCurrent(given) && model_.Find(given.id)->state == ModelState::kPending;
  highest_ms_ = std::max(highest_ms_, now_ms());
  if (!moved.ok()) {
    if (!pending && absl::IsNotFound(moved.status())) return;
    if (!trouble_) return Fail("move: " + moved.status().ToString());
    if (pending) model_.DoubtMove(given.id, due_ms);
    return;
  }
  if (!damaged_) CheckAnswer(given, moved->answer);
  if (failed() || moved->answer != CancelAnswer::kCancelled) return;
  if (!pending && damaged_) return;
  if (!pending) return Fail(given.id + " was cancelled, and moved");
  if (due_ms <= asked_ms && !moved->handle.IsNone()) {
    return Fail(given.id + " was moved to the past, and got a handle");
  }
  model_.Moved(given.id, due_ms, moved->handle);
  Gave(moved->handle, given.id);
}

// --- what the store shows ---

void Oracle::ReadNewReady(DelayStore* store) {
  highest_ms_ = std::max(highest_ms_, now_ms());
  for (const std::string& topic : topics_) {
    while (!failed()) {
      const QueueIndex from(model_.ready_count(topic));
      const auto read = store->ReadReady(topic, from, kReadCount, kReadBytes);
      if (!read.ok()) {
        if (!trouble_) Fail("ReadReady: " + read.status().ToString());
        break;
      }
      for (const ReadyMessage& ready : *read) {
        const ModelMessage* known = model_.Find(ready.message.id);
        if (known != nullptr && known->handle.number != ready.key.number) {
          moved_to_ready_.insert(ready.message.id);
        }
        std::string wrong = model_.Ready(topic, ready, highest_ms_);
        if (!wrong.empty()) return Fail(std::move(wrong));
      }
      delivered_ += read->size();
      if (read->size() < kReadCount) break;
    }
  }
}

// What was read once is there for ever, unless retention took it.
void Oracle::ReadOldReady(DelayStore* store) {
  for (const std::string& topic : topics_) {
    const std::string wrong =
        model_.StillReadable(store, topic, store->FirstReady(topic).value());
    if (!wrong.empty()) return Fail(wrong);
  }
}

void Oracle::ListPending(DelayStore* store,
                         std::vector<PendingMessage>* listed) {
  PendingQuery query;
  do {
    auto page = store->Pending(query);
    if (!page.ok()) {
      return Fail("Pending: " + page.status().ToString());
    }
    std::move(page->messages.begin(), page->messages.end(),
              std::back_inserter(*listed));
    query.after = page->next;
  } while (!query.after.empty());
}

void Oracle::ComparePending(const std::vector<PendingMessage>& listed) {
  const auto expected = model_.PendingBetween(0, INT64_MAX, "");
  for (size_t i = 0; i < std::min(listed.size(), expected.size()); ++i) {
    const PendingMessage& found = listed[i];
    const ModelMessage& known = *expected[i];
    if (found.handle != known.handle) {
      return Fail(absl::StrCat("pending[", i, "] is ", found.message.id, " ",
                               Describe(found.handle), " instead of ",
                               known.message.id, " ", Describe(known.handle)));
    }
    const std::string differs = Differs(known.message, found.message);
    if (!differs.empty()) {
      return Fail(found.message.id + " is pending with another " + differs);
    }
  }
  if (listed.size() == expected.size()) return;
  Fail(absl::StrCat(listed.size(), " are pending; expected ", expected.size(),
                    listed.size() < expected.size()
                        ? " with " + expected[listed.size()]->message.id
                        : ""));
}

void Oracle::CheckFiles(DelayStore* store,
                        const std::vector<std::string>& files) {
  constexpr std::string_view kDir = "/store/hours/";
  std::map<Hour, int> found;
  for (const std::string& path : files) {
    if (!path.starts_with(kDir)) continue;
    const auto file = ParseHourFileName(path.substr(kDir.size()));
    if (!file.ok()) return Fail("a strange file: " + path);
    ++found[file->hour];
  }
  for (const Given& given : given_) {
    if (!found.contains(given.handle.hour)) gone_.insert(given.handle.hour);
  }
  if (trouble_) return;
  std::set<Hour> wanted;
  for (const auto& [due_ms, id] : model_.pending()) {
    wanted.insert(HourOf(due_ms));
  }
  for (const Hour hour : wanted) {
    if (found[hour] == 2) continue;
    return Fail(absl::StrCat("hour ", hour.value(), " has ", found[hour],
                             " files, and pending messages"));
  }
  const StoreStats stats = store->Stats();
  for (const auto& [hour, count] : found) {
    if (count == 0 || hour >= HourOf(stats.cursor) || wanted.contains(hour)) {
      done_since_.erase(hour);
    } else if (done_since_.try_emplace(hour, stats.checkpoints).first->second +
                   2 <=
               stats.checkpoints) {
      return Fail(absl::StrCat("hour ", hour.value(),
                               " is done since two checkpoints and has files"));
    }
  }
}

void Oracle::AfterOpen(DelayStore* store) {
  done_since_.clear();
  Settle(store);
  CheckNotices(store);
  if (failed()) return;
  ReadOldReady(store);
}

// A disk that keeps its promises never makes a store rebuild what it had, nor
// fall back to an older checkpoint: that would hide that something was lost.
void Oracle::CheckNotices(DelayStore* store) {
  if (error_in_open_) return;
  for (const std::string& notice : store->Stats().notices) {
    if (absl::StrContains(notice, "torn tail")) continue;
    Fail("the disk was honest, but: " + notice);
  }
}

void Oracle::Settle(DelayStore* store) {
  trouble_ = false;
  // First what is ready, then what is pending: so a message in doubt that is
  // neither did not happen.
  ReadNewReady(store);
  std::vector<PendingMessage> listed;
  if (!failed()) ListPending(store, &listed);
  if (failed()) return;
  settled_ += model_.doubtful().size();
  std::string wrong = model_.Settle(listed);
  if (!wrong.empty()) return Fail(std::move(wrong));
  for (const PendingMessage& pending : listed) {
    if (model_.Find(pending.message.id) != nullptr) continue;
    return Fail(pending.message.id + " is pending, and nobody put it");
  }
  ComparePending(listed);
  if (!failed() && !model_.due_at_once().empty()) {
    return Fail(*model_.due_at_once().begin() +
                " was put at once, and is lost");
  }
  if (!failed()) CheckProgress(store);
  if (!failed()) CheckPairs();
}

void Oracle::AfterStep(DelayStore* store, int64_t before_ms) {
  highest_ms_ = std::max(highest_ms_, now_ms());
  if (damaged_) return;
  ReadNewReady(store);
  if (failed() || trouble_) return;
  const StoreStats stats = store->Stats();
  if (!stats.failure.ok()) {
    return Fail("the store stopped, and the disk was well: " +
                stats.failure.ToString());
  }
  if (stats.lost_messages != 0) {
    return Fail("messages were set aside, and the disk was well: " +
                stats.notices.back());
  }
  if (!model_.pending().empty() &&
      model_.pending().begin()->first <= before_ms) {
    return Fail(absl::StrCat(model_.pending().begin()->second, " is late: due ",
                             model_.pending().begin()->first));
  }
  if (!model_.due_at_once().empty()) {
    return Fail(*model_.due_at_once().begin() +
                " was put at once, and is lost");
  }
}

void Oracle::CheckAll(DelayStore* store,
                      const std::vector<std::string>& files) {
  ReadNewReady(store);
  std::vector<PendingMessage> listed;
  if (!failed()) ListPending(store, &listed);
  if (!failed()) ComparePending(listed);
  if (!failed()) CheckFiles(store, files);
  if (!failed()) CheckProgress(store);
}

// --- a disk that destroys ---

void Oracle::BeginDamage(bool lied) {
  damaged_ = true;
  trouble_ = true;
  lied_ = lied_ || lied;
}

void Oracle::OpenRefused(const absl::Status& status) {
  ++answers_.refused;
  if (absl::StrContains(status.message(), "/store")) return;
  Fail("the store refused to open and does not say which file: " +
       status.ToString());
}

std::string Oracle::CheckDamagedReady(const ReadyMessage& ready) const {
  const ModelMessage* known = model_.Find(ready.message.id);
  if (known == nullptr) return "nobody put it";
  const bool doubt = known->doubt != ModelMessage::Doubt::kNone;
  Message expected = known->message;
  if (doubt && ready.message.due_ms == known->moved_due_ms) {
    expected.due_ms = known->moved_due_ms;
  }
  // A move at the end of the log may be gone, and then it is where it was.
  if (reported_ || lied_) expected.due_ms = ready.message.due_ms;
  const std::string differs = Differs(expected, ready.message);
  if (!differs.empty()) return "another " + differs;
  if (ready.message.due_ms > highest_ms_) return "early";
  if (known->state == ModelState::kCancelled && !doubt && !reported_ &&
      !lied_) {
    return "was cancelled";
  }
  return "";
}

void Oracle::CheckDamagedTopic(DelayStore* store, const std::string& topic,
                               std::map<std::string, MessageKey>* in_log) {
  uint64_t from = store->FirstReady(topic).value();
  // Damaged ones are left out: two empty reads in a row are the end.
  for (int empty = 0; empty < 2 && !failed();) {
    const auto read =
        store->ReadReady(topic, QueueIndex(from), kReadCount, kReadBytes);
    if (!read.ok()) {
      reported_ = true;
      return;
    }
    empty = read->empty() ? empty + 1 : 0;
    for (const ReadyMessage& ready : *read) {
      const std::string& id = ready.message.id;
      std::string wrong = CheckDamagedReady(ready);
      // A tombstone that was destroyed, and reported, lets a message live that
      // was moved: then it stands there under both its numbers.
      const auto [at, is_new] = in_log->try_emplace(id, ready.key);
      if (wrong.empty() && !is_new && !(reported_ && at->second != ready.key)) {
        wrong = "twice";
      }
      if (!wrong.empty()) {
        return Fail(absl::StrCat("after damage: ", id, ": ", wrong));
      }
      seen_.insert(id);
    }
    from = read->empty() ? from + kReadCount : read->back().index.value() + 1;
  }
}

void Oracle::CheckDamaged(DelayStore* store, bool finished) {
  highest_ms_ = std::max(highest_ms_, now_ms());
  std::map<std::string, uint64_t> first;
  const auto note = [&] {
    const StoreStats stats = store->Stats();
    // What was made up for excuses nothing.
    const bool noticed = std::any_of(
        stats.notices.begin(), stats.notices.end(), [](std::string_view why) {
          return !why.starts_with("damaged, and read from the DelayLog");
        });
    reported_ =
        reported_ || stats.lost_messages > 0 || noticed || !stats.failure.ok();
    return !stats.failure.ok();
  };
  note();
  std::map<std::string, MessageKey> in_log;
  for (const std::string& topic : topics_) {
    CheckDamagedTopic(store, topic, &in_log);
    first[topic] = store->FirstReady(topic).value();
  }
  if (failed() || !finished) return;
  const bool stopped = note();
  std::set<std::string> missing;
  std::map<std::string, uint64_t> missing_of;  // by topic
  for (const auto& [id, known] : model_.messages()) {
    if (known.doubt != ModelMessage::Doubt::kNone || seen_.contains(id)) {
      continue;
    }
    const bool owed = known.state == ModelState::kPending ||
                      known.state == ModelState::kReady;
    // So many were ready once and are gone by retention.
    const std::string& topic = known.message.topic;
    if (owed && ++missing_of[topic] > first[topic]) missing.insert(id);
  }
  if (missing.empty() && !stopped) {
    ++answers_.harmless;
  } else if (reported_ || lied_) {
    ++answers_.reported;
  } else {
    Fail(absl::StrCat("after damage: ", missing.size(),
                      " messages are missing and nothing was reported; one is ",
                      *missing.begin()));
  }
}

}  // namespace hourglass
