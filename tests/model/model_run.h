// File: model_run.h
//
// One random life story of a store beside its model: a seed decides the
// options, the operations, the clock and the crashes. The same seed gives the
// same story.
//
//   ModelRun run(/*seed=*/7, /*operations=*/4000);
//   EXPECT_EQ(run.Run(), "");       // "" or what went wrong, with the story
//
// A story is a chain of lives. A life ends with Close, with a power loss, or
// with an operation in the middle of which the disk began to fail. What the
// disk keeps of unsynced data is then nothing, all, or any part of it, file
// by file, page by page and name by name: also of RocksDB's own files.
//
// Faults given: writes, syncs, creations, renames, removals or everything
// fail from the n-th on. Reads alone do not fail: a record that cannot be
// read is set aside by design (DESIGN, promise 6), which is no loss of the
// store's but looks like one from here; storage tests cover it.
//
// Threads: none (StoreOptions::threads == false). What another thread might do
// between the store's locks is done where Step reads or syncs files without
// one: while a slot is being loaded, while bodies are being read, and in the
// middle of a checkpoint.
#ifndef HOURGLASS_TESTS_MODEL_MODEL_RUN_H_
#define HOURGLASS_TESTS_MODEL_MODEL_RUN_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/random.h"
#include "tests/model/hooked_file_system.h"
#include "tests/model/model.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {

class ModelRun {
 public:
  ModelRun(uint64_t seed, int operations);
  ~ModelRun();

  std::string Run();

  struct Totals {
    uint64_t operations = 0, lives = 0, crashes = 0, faults = 0;
    uint64_t delivered = 0, cancelled = 0, moved = 0, checkpoints = 0;
    uint64_t late = 0, overdue_steps = 0, hours_removed = 0, settled = 0;
    uint64_t log_files_removed = 0, between = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  // --- chance (model_choices.cc) ---
  bool Chance(uint64_t percent) { return random_.Uniform(100) < percent; }
  uint64_t Upto(uint64_t n) { return random_.Uniform(n + 1); }
  template <typename T>
  T OneOf(std::initializer_list<T> of) {
    return *(of.begin() + random_.Uniform(of.size()));
  }
  StoreOptions SomeOptions();
  int64_t SomeDueMs();
  Message SomeMessage();
  std::string Bytes(size_t size);
  struct Given {
    Handle handle;
    std::string id;
  };
  // Null if there is none yet.
  const Given* SomeGiven();
  Handle Forge(const Handle& handle);
  int64_t SomePassingMs();

  // --- operations (model_operations.cc) ---
  void OneOperation();
  void PutSome(size_t count);
  void Cancel();
  void CancelForged();
  void Move();
  void CommitProgress();
  void PassTime();
  void FollowTheStore();
  void StepClock();
  void Pass(int64_t ms);
  void Step();
  void OnFileEvent(const HookedFileSystem::Call& call);
  bool HoldsNoLock(const HookedFileSystem::Call& call) const;
  void Acknowledge(const Message& message,
                   const absl::StatusOr<PutResult>& result);
  void Gave(const Handle& handle, const std::string& id);
  void Refused(const Message& message, const absl::Status& status);
  bool MayRefuse(const Message& message, const absl::Status& status);
  void CheckAnswer(const Given& given, CancelAnswer answer);
  bool IsCurrent(const Given& given) const;

  // --- lives (model_lives.cc) ---
  void Open();
  void OpenWithFaults();
  void EndLife();
  void CloseStore();
  void Crash();
  void FaultAndCrash();
  void VerifyFiles();
  void AfterOpen();
  void ListPending(const PendingQuery& query,
                   std::vector<PendingMessage>* listed);

  // --- checks (model_checks.cc) ---
  void ReadReady();
  void ReadTopic(const std::string& topic);
  void ReadAgain();
  void CheckOrder(bool strict);
  bool IsSortedInStretches();
  void CheckStats();
  void CheckFiles();
  void ListHourFiles(std::map<Hour, int>* files);
  void NoteRemoved(const std::map<Hour, int>& files);
  void CheckPending();
  void CheckForecast();
  void CheckProgress();
  void CheckFirstReady();
  void ComparePending(const std::vector<PendingMessage>& listed,
                      const std::vector<const ModelMessage*>& expected);

  void Note(std::string line);
  void Fail(std::string why);
  bool failed() const { return !failure_.empty(); }
  int64_t now_ms() { return clock_.NowMs(); }

  const uint64_t seed_;
  const int operations_;
  Random random_;
  VirtualClock clock_;
  std::unique_ptr<MemoryFileSystem> fs_;
  HookedFileSystem hooked_;  // on top of fs_
  StoreOptions options_;
  std::unique_ptr<DelayStore> store_;
  Model model_;
  Totals totals_;

  // What this story is like.
  bool tiny_bodies_ = false, large_bodies_ = false;
  int burst_percent_ = 0, clock_percent_ = 0, cancel_percent_ = 0;
  uint32_t late_messages_max_ = 0;
  std::vector<std::string> topics_;

  int64_t burst_due_ms_ = 0;
  uint64_t next_id_ = 0;
  std::vector<Given> given_;
  std::map<std::pair<std::string, std::string>, uint64_t> progress_;
  // Not acknowledged: it may be there.
  std::map<std::pair<std::string, std::string>, uint64_t> progress_maybe_;
  // What was removed already when the group last said where it is.
  std::map<std::pair<std::string, std::string>, uint64_t> not_owed_;

  // retain_for_groups was on in every life.
  bool retained_all_along_ = true;

  // Of this life.
  bool faulty_ = false;
  bool many_ = false;  // the last put was of several messages
  bool in_step_ = false;
  bool in_hook_ = false;
  uint64_t opened_before_step_ = 0;
  bool stepped_back_ = false;
  // The clock's highest value since all that is ready was read.
  int64_t highest_ms_ = 0;
  bool fresh_life_ = false;  // no Step yet
  int64_t opened_ms_ = 0;
  uint64_t ready_version_ = 0;
  uint64_t checkpoints_seen_ = 0;
  // Hours that were seen done, and how many checkpoints there were then.
  std::map<Hour, uint64_t> done_since_;
  // Hours whose files were removed: numbers up to this went with them.
  std::map<Hour, RecordNumber> removed_upto_;
  std::vector<ReadyMessage> shown_;  // by the last ReadReady

  std::deque<std::string> story_;
  std::string failure_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_MODEL_MODEL_RUN_H_
