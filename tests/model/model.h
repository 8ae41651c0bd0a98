// File: model.h
//
// What a delayed-message store must do, said as slowly and plainly as can be:
// a multimap of what is pending, a list of what became ready in each topic,
// and a map of all messages ever put. It lives outside of the simulated disk,
// so it forgets nothing in a crash.
//
//   Model model;
//   model.Put(message, handle);                 // the store acknowledged it
//   model.Cancelled(id);
//   std::string wrong = model.Ready("orders", ready_message);
//   EXPECT_EQ(wrong, "");
//
// An operation that was not acknowledged may have happened or not: Doubt says
// which, and the store is asked after its recovery (Settle). Whatever it then
// says must stay true.
//
// Threads: none.
#ifndef HOURGLASS_TESTS_MODEL_MODEL_H_
#define HOURGLASS_TESTS_MODEL_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/delay_store.h"
#include "hourglass/message.h"
#include "hourglass/types.h"

namespace hourglass {

enum class ModelState {
  kPending,
  kReady,
  kCancelled,
  kNothing,  // a put that was not acknowledged, and did not happen
};

struct ModelMessage {
  Message message;
  Handle handle;  // none: due at once
  ModelState state = ModelState::kPending;
  // Not acknowledged: it may be so, or as `message` and `handle` say.
  enum class Doubt { kNone, kPut, kCancel, kMove };
  Doubt doubt = Doubt::kNone;
  int64_t moved_due_ms = 0;  // kMove, kPut
};

class Model {
 public:
  using Pending = std::multimap<int64_t, std::string>;  // due time, id
  // From now on messages of one millisecond may be ready in any order.
  void AnyOrder() { in_order_ = false; }

  // --- what the store acknowledged ---
  void Put(const Message& message, const Handle& handle);
  void Cancelled(const std::string& id);
  void Moved(const std::string& id, int64_t due_ms, const Handle& handle);

  // --- what it did not ---
  void DoubtPut(const Message& message);
  void DoubtCancel(const std::string& id);
  void DoubtMove(const std::string& id, int64_t due_ms);
  bool InDoubt(const std::string& id) const { return doubtful_.contains(id); }
  const std::set<std::string>& doubtful() const { return doubtful_; }
  // The store, recovered, lists these as pending; what is ready was read
  // before. "" or what is wrong.
  std::string Settle(const std::vector<PendingMessage>& listed);

  // --- what the store shows ---
  // The next ready message of the topic; "" or what is wrong.
  std::string Ready(const std::string& topic, const ReadyMessage& ready,
                    int64_t now_ms);
  // It was read before: "" if it is still what it was.
  // All of that topic from `from` on is there as it was read before.
  std::string StillReadable(DelayStore* store, const std::string& topic,
                            uint64_t from);
  std::string StillReady(const std::string& topic,
                         const ReadyMessage& ready) const;

  // --- the truth ---
  const ModelMessage* Find(const std::string& id) const;
  const std::map<std::string, ModelMessage>& messages() const {
    return messages_;
  }
  const Pending& pending() const { return pending_; }
  // Put at once and not seen in the ready log yet.
  const std::set<std::string>& due_at_once() const { return at_once_; }
  uint64_t ready_count(const std::string& topic) const;
  // Frame bytes of a pending message, as Forecast counts them.
  static uint64_t StoredBytes(const ModelMessage& known);
  // The pending ones, in the order of delivery.
  std::vector<const ModelMessage*> PendingBetween(int64_t from_ms,
                                                  int64_t to_ms,
                                                  std::string_view topic) const;
  // The highest number the store gave out in an hour.
  const std::map<Hour, RecordNumber>& last_numbers() const { return last_; }

 private:
  struct Shown {
    std::string id;
    LogOffset offset;
  };
  void AddPending(ModelMessage* known);
  void RemovePending(const ModelMessage& known);
  void NowPending(ModelMessage* known, const Handle& handle);
  std::string SettleOne(const std::string& id, const PendingMessage* listed);
  std::string CheckReady(const ReadyMessage& ready, ModelMessage* known,
                         int64_t now_ms);
  std::string CheckPlace(const ReadyMessage& ready, const ModelMessage& known);

  std::map<std::string, ModelMessage> messages_;
  Pending pending_;
  std::set<std::string> at_once_;
  std::set<std::string> doubtful_;
  std::map<std::string, std::vector<Shown>> ready_;
  std::map<Hour, RecordNumber> last_;
  // Of each topic and millisecond, the number that was delivered last.
  std::map<std::pair<std::string, int64_t>, RecordNumber> delivered_last_;
  bool in_order_ = true;
  std::set<MessageKey> keys_;
};

// "" if equal, else the first field that differs.
std::string Differs(const Message& expected, const Message& found);
std::string Describe(const Handle& handle);

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_MODEL_MODEL_H_
