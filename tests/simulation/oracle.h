// File: oracle.h
//
// What must be true of a store whatever happens to its disk. It stands
// outside of the simulated machine, writes down every answer the store gave,
// and judges what the store shows after each life.
//
//   Oracle oracle({"orders"}, &clock);
//   oracle.PutAnswered(message, asked_ms, store->Put(view));
//   ...
//   oracle.AfterOpen(store.get());          // after every recovery
//   if (!oracle.failure().empty()) ...
//
// On a disk that loses power and reports errors (strict, the default):
// acknowledged and not cancelled = exactly once in the ready log, when due;
// never early; cancelled = never; not acknowledged = at most once; payloads
// identical; what was ready stays, what consumers acknowledged stays so;
// answers of Cancel were true; files of finished hours go, and no others.
//
// On a disk that destroys what it had synced (BeginDamage): never wrong and
// never silent. No payload differs, nothing that was cancelled or was not put
// is delivered, nothing twice, and if a message is missing the store has said
// so: a count, a notice, or a refusal that names the file.
//
// The truth about messages is tests/model's Model.
//
// Threads: none.
#ifndef HOURGLASS_TESTS_SIMULATION_ORACLE_H_
#define HOURGLASS_TESTS_SIMULATION_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "tests/model/model.h"

namespace hourglass {

class Oracle {
 public:
  struct Given {
    Handle handle;
    std::string id;
  };

  Oracle(std::vector<std::string> topics, Clock* clock)
      : topics_(std::move(topics)), clock_(clock) {}

  // A copy goes on with a clock of its own.
  void UseClock(Clock* clock) { clock_ = clock; }

  // "" while nothing is wrong, else the first thing that was.
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }
  void Fail(std::string why);

  // --- what the store answered ---
  // From here to the next AfterOpen or Settle the disk may fail.
  void BeginTrouble() { trouble_ = true; }
  bool trouble() const { return trouble_; }
  // From now on files may not open, or have no room: a message whose hour
  // could not be opened or written is tried again, and comes behind others of
  // its millisecond.
  void SomeAreTriedAgain() { model_.AnyOrder(); }
  // `asked_ms`: the time when it was asked.
  void PutAnswered(const Message& message, int64_t asked_ms,
                   const absl::StatusOr<PutResult>& result);
  void CancelAnswered(const Given& given,
                      const absl::StatusOr<CancelAnswer>& answer);
  void MoveAnswered(const Given& given, int64_t due_ms, int64_t asked_ms,
                    const absl::StatusOr<MoveResult>& moved);
  void ProgressAnswered(const std::string& topic, const std::string& group,
                        uint64_t next, const absl::Status& status);
  // Acknowledgements in any order, and counted attempts.
  void MarksAnswered(const std::string& topic, const std::string& group,
                     const GroupProgress& marks, const absl::Status& status);
  // A message put in the same breath in which another is acknowledged, by a
  // group that acknowledges in no other way.
  void PutAndAckAnswered(const Message& message, const std::string& topic,
                         const std::string& group, uint64_t index,
                         int64_t asked_ms,
                         const absl::StatusOr<PutResult>& result);
  // Another message in the place of one.
  void ReplaceAnswered(const Given& given, const Message& replacement,
                       int64_t asked_ms,
                       const absl::StatusOr<MoveResult>& result);

  // --- what the store shows ---
  // After a recovery, before anything else is done with the store.
  void AfterOpen(DelayStore* store);
  // The trouble is over, and the store goes on without a restart.
  void Settle(DelayStore* store);
  // An open met an I/O error, which the store may take for damage: it may
  // have begun to rebuild its files from the log, and say so from now on.
  void ErrorInOpen() { error_in_open_ = true; }
  // `before_ms`: the time when Step was called.
  void AfterStep(DelayStore* store, int64_t before_ms);
  // All that can be seen, compared. `files`: of the machine, by path.
  void CheckAll(DelayStore* store, const std::vector<std::string>& files);
  // Files of hours with messages are there, and those of finished hours are
  // gone two checkpoints after they were seen to be finished.
  void CheckFiles(DelayStore* store, const std::vector<std::string>& files);

  // --- a disk that destroys ---
  // `lied`: a sync said OK and did nothing, so the end of the log may be gone
  // without a trace.
  void BeginDamage(bool lied);
  // The store refused to open. True if it may, and says where.
  void OpenRefused(const absl::Status& status);
  // What the damaged store shows now. `finished`: everything is due and was
  // given time: what is not there must have been reported.
  void CheckDamaged(DelayStore* store, bool finished);

  // --- the truth ---
  const Model& model() const { return model_; }
  const std::vector<Given>& given() const { return given_; }
  uint64_t progress(const std::string& topic, const std::string& group) const;
  uint64_t ranges_seen() const { return ranges_seen_; }
  uint64_t delivered() const { return delivered_; }
  uint64_t settled() const { return settled_; }
  // Damage that was answered by refusal, by report, or that did no harm.
  struct Answers {
    uint64_t refused = 0, reported = 0, harmless = 0;
  };
  const Answers& answers() const { return answers_; }

 private:
  using ConsumerAt = std::pair<std::string, std::string>;

  int64_t now_ms() { return clock_->NowMs(); }
  bool IsCurrent(const Given& given) const;
  void Gave(const Handle& handle, const std::string& id);
  void CheckAnswer(const Given& given, CancelAnswer answer);
  void ReadNewReady(DelayStore* store);
  void ReadOldReady(DelayStore* store);
  void ListPending(DelayStore* store, std::vector<PendingMessage>* listed);
  void ComparePending(const std::vector<PendingMessage>& listed);
  void CheckProgress(DelayStore* store);
  // What must be done as a whole was done as a whole.
  void CheckPairs();
  void CheckNotices(DelayStore* store);
  void CheckDamagedTopic(DelayStore* store, const std::string& topic,
                         std::map<std::string, MessageKey>* in_log);
  std::string CheckDamagedReady(const ReadyMessage& ready) const;

  std::vector<std::string> topics_;
  Clock* clock_;
  std::string failure_;
  Model model_;
  std::vector<Given> given_;
  struct Consumer {
    GroupProgress sure;
    std::vector<GroupProgress> maybe;  // not answered, or with an error
  };
  std::map<ConsumerAt, Consumer> consumers_;
  // Since the last recovery: put and acknowledged, or neither; ...
  struct PutAndAck {
    std::vector<std::string> answered, maybe;  // ids
  };
  std::map<std::pair<ConsumerAt, QueueIndex>, PutAndAck> maybe_put_;
  // ... the one message cancelled and the other there, or neither.
  std::vector<std::pair<std::string, std::string>> maybe_replaced_;
  uint64_t ranges_seen_ = 0;  // acknowledged behind a gap, after a recovery
  bool trouble_ = false;
  bool error_in_open_ = false;
  int64_t highest_ms_ = 0;  // of the clock, ever
  uint64_t delivered_ = 0;
  uint64_t settled_ = 0;

  // Ready by a move that was not acknowledged: their handles were cancelled.
  std::set<std::string> moved_to_ready_;
  // Hours whose numbers may be forgotten: their files were seen to be gone.
  std::set<Hour> gone_;
  // Hours that were seen done, and how many checkpoints there were then.
  std::map<Hour, uint64_t> done_since_;

  bool damaged_ = false;
  bool lied_ = false;
  bool reported_ = false;
  std::set<std::string> seen_;  // ready, since the damage
  Answers answers_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_ORACLE_H_
