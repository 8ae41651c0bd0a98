#include "tests/simulation/exhaustive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "storage/text.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/sim_file_system.h"

namespace hourglass {
namespace {

constexpr int64_t kStartMs = 498'675LL * kMsPerHour + 1000;
constexpr char kDir[] = "/store";

StoreOptions Options(Clock* clock, FileSystem* fs) {
  StoreOptions options;
  options.threads = false;
  options.clock = clock;
  options.file_system = fs;
  options.checkpoint_interval_ms = 500;
  options.log_segment_bytes = 64u << 10;
  options.body_bytes_max = 8192;
  options.properties_bytes_max = 1024;
  options.batch_bytes_max = 4096;
  options.unsynced_bytes_max = 1u << 20;
  options.open_segments_max = 4;
  options.disk_reserve_bytes = 0;
  return options;
}

// The history, up to the first answer that is an error; with what the oracle
// knows at every moment.
class Script {
 public:
  explicit Script(const FaultPlan& plan)
      : fs_(std::make_unique<SimFileSystem>(&clock_, plan, 1, &counts_)) {}
  ~Script() { store_.reset(); }

  SimFileSystem* fs() { return fs_.get(); }
  Oracle& oracle() { return oracle_; }
  VirtualClock& clock() { return clock_; }
  // What the store may have done with the operation that is on its way.
  const Oracle& doubtful() const { return doubtful_; }

  void BeginTrouble() { oracle_.BeginTrouble(); }
  void SomeAreTriedAgain() { oracle_.SomeAreTriedAgain(); }

  // False if a store could not be opened.
  bool Run() {
    if (!Open()) return false;
    for (int i = 0; i < 3; ++i) Put(clock_.NowMs() + 300 + i, 20);
    PutMany(4, clock_.NowMs() + kMsPerHour, 1500);
    Put(kDueNow, 10);
    Cancel(1);
    Pass(400);
    Progress(1);
    Pass(200);
    Put(clock_.NowMs() + 2 * kMsPerHour, 10);
    Move(3, clock_.NowMs() + 700);
    Cancel(4);
    Pass(1000);
    Close();
    if (!Open()) return false;
    Put(clock_.NowMs() + 10, 4000);
    Pass(kMsPerHour + 5000);
    Pass(kMsPerHour);
    Progress(3);
    Pass(600);
    Pass(600);
    return true;
  }

  bool Open() {
    store_.reset();
    auto store = DelayStore::Open(kDir, Options(&clock_, fs_.get()));
    if (!store.ok()) return false;
    store_ = *std::move(store);
    return true;
  }

 private:
  Message Make(int64_t due_ms, size_t bytes) {
    Message message;
    message.topic = "a";
    message.id = absl::StrCat("m", next_id_++);
    message.due_ms = due_ms;
    message.stored_ms = clock_.NowMs();
    message.body = std::string(bytes, static_cast<char>('a' + next_id_ % 26));
    return message;
  }
  void Put(int64_t due_ms, size_t bytes) { PutMany(1, due_ms, bytes); }
  void PutMany(size_t count, int64_t due_ms, size_t bytes) {
    std::vector<Message> messages;
    std::vector<MessageView> views;
    for (size_t i = 0; i < count; ++i) messages.push_back(Make(due_ms, bytes));
    for (const Message& message : messages) views.push_back(message.View());
    const absl::Status unknown = absl::UnknownError("on its way");
    for (const Message& message : messages) {
      doubtful_.PutAnswered(message, clock_.NowMs(), unknown);
    }
    const auto results = store_->PutMany(views);
    for (size_t i = 0; i < count; ++i) {
      oracle_.PutAnswered(messages[i], clock_.NowMs(), results[i]);
    }
    Answered();
  }
  void Cancel(size_t nth) {
    if (oracle_.given().size() <= nth || Doubtful(nth)) return;
    const Oracle::Given given = oracle_.given()[nth];
    doubtful_.CancelAnswered(given, absl::UnknownError("on its way"));
    oracle_.CancelAnswered(given, store_->Cancel(given.handle));
    Answered();
  }
  void Move(size_t nth, int64_t due_ms) {
    if (oracle_.given().size() <= nth || Doubtful(nth)) return;
    const Oracle::Given given = oracle_.given()[nth];
    doubtful_.MoveAnswered(given, due_ms, clock_.NowMs(),
                           absl::UnknownError("on its way"));
    oracle_.MoveAnswered(given, due_ms, clock_.NowMs(),
                         store_->Reschedule(given.handle, due_ms));
    Answered();
  }
  bool Doubtful(size_t nth) const {
    return oracle_.model().InDoubt(oracle_.given()[nth].id);
  }
  void Progress(uint64_t next) {
    next = std::min(next, oracle_.model().ready_count("a"));
    if (next == 0) return;
    doubtful_.ProgressAnswered("a", "g", next, absl::UnknownError("?"));
    oracle_.ProgressAnswered(
        "a", "g", next, store_->CommitProgress("a", "g", QueueIndex(next)));
    Answered();
  }
  void Pass(int64_t ms) {
    const int64_t before_ms = clock_.NowMs() + ms;
    clock_.AdvanceMs(ms);
    store_->Step();
    oracle_.AfterStep(store_.get(), before_ms);
    Answered();
  }
  void Close() { store_->Close().IgnoreError(); }
  void Answered() {
    doubtful_ = oracle_;
    doubtful_.BeginTrouble();
  }

  VirtualClock clock_{kStartMs};
  FaultCounts counts_{};
  std::unique_ptr<SimFileSystem> fs_;
  std::unique_ptr<DelayStore> store_;
  Oracle oracle_{{"a"}, &clock_};
  Oracle doubtful_ = [this] {
    Oracle doubtful({"a"}, &clock_);
    doubtful.BeginTrouble();
    return doubtful;
  }();
  uint64_t next_id_ = 0;
};

FaultPlan HonestPlan(NameOrder order) {
  FaultPlan plan;
  plan.order = order;
  return plan;
}

// Opens the disk, judges, delivers everything, judges again.
std::string Judge(SimFileSystem* fs, Oracle oracle, int64_t now_ms) {
  VirtualClock clock(now_ms);
  oracle.UseClock(&clock);
  auto store = DelayStore::Open(kDir, Options(&clock, fs));
  if (!store.ok()) return "open: " + store.status().ToString();
  oracle.AfterOpen(store->get());
  for (int i = 0; i < 3 && !oracle.failed(); ++i) {
    const int64_t before_ms = clock.NowMs();
    (*store)->Step();
    oracle.AfterStep(store->get(), before_ms);
    const auto& pending = oracle.model().pending();
    if (pending.empty()) break;
    clock.AdvanceMs(
        std::max<int64_t>(0, pending.rbegin()->first + 1 - clock.NowMs()));
  }
  if (!oracle.failed()) oracle.CheckAll(store->get(), fs->Files());
  if (!oracle.failed() && !oracle.model().pending().empty()) {
    return "not all was delivered";
  }
  return oracle.failure();
}

std::string JudgeDamaged(SimFileSystem* fs, Oracle* oracle, int64_t now_ms) {
  VirtualClock clock(now_ms);
  oracle->UseClock(&clock);
  oracle->BeginDamage(/*lied=*/false);
  auto store = DelayStore::Open(kDir, Options(&clock, fs));
  if (!store.ok()) {
    oracle->OpenRefused(store.status());
    return oracle->failure();
  }
  for (int i = 0; i < 4 && !oracle->failed(); ++i) {
    (*store)->Step();
    clock.AdvanceMs(kMsPerHour);
  }
  (*store)->Step();
  oracle->CheckDamaged(store->get(), /*finished=*/true);
  return oracle->failure();
}

}  // namespace

std::string Exhaustive::PowerLossAtEveryCall(uint64_t damage_seeds,
                                             NameOrder order) {
  FaultPlan plan = HonestPlan(order);
  plan.power_loss.torn_percent = 30;
  Script script(plan);
  std::string failure;
  uint64_t last = 0;
  const auto at_call = [&](uint64_t call) {
    if (!failure.empty() || call == last || !Mine(call)) return;
    last = call;
    ++totals_.calls;
    for (uint64_t seed = 0; seed < damage_seeds && failure.empty(); ++seed) {
      plan.power_loss.keep_percent = static_cast<int>(seed % 5) * 25;
      auto disk = script.fs()->PeekPowerLoss(call * 1000 + seed);
      const int64_t now_ms = script.clock().NowMs();
      if (seed % 4 == 3) {
        // Again, in the middle of the recovery.
        disk->PowerOffAfter(1 + (call * 7 + seed * 13) % 180);
        VirtualClock clock(now_ms);
        auto store = DelayStore::Open(kDir, Options(&clock, disk.get()));
        auto again = disk->PowerLoss(seed);
        if (store.ok()) store->reset();
        disk = std::move(again);
      }
      ++totals_.states;
      const std::string wrong = Judge(disk.get(), script.doubtful(), now_ms);
      if (wrong.empty()) continue;
      failure = absl::StrCat("power lost before call ", call, ", damage seed ",
                             seed, ": ", wrong, "\n", disk->LastCalls());
    }
  };
  script.fs()->set_observer(at_call);
  script.Run();
  script.fs()->set_observer(nullptr);
  if (failure.empty()) failure = script.oracle().failure();
  return failure;
}

std::string Exhaustive::ErrorAtEveryCall(FaultKind kind) {
  for (uint32_t nth = 1;; ++nth) {
    bool struck = true;
    for (int variant = 0; variant < 4 && Mine(nth); ++variant) {
      const bool sticky = variant % 2 != 0;
      const FaultPlan plan = HonestPlan(NameOrder::kJournal);
      Script script(plan);
      script.BeginTrouble();
      if (IsTriedAgain(kind)) script.SomeAreTriedAgain();
      script.fs()->Arm({kind, "", nth, sticky});
      script.Run();
      struck = script.fs()->errors() > 0;
      Oracle oracle = script.oracle();
      if (oracle.failed()) return oracle.failure();
      oracle.ErrorInOpen();
      const auto disk =
          variant < 2 ? script.fs()->PowerLoss(nth) : script.fs()->Kill();
      ++totals_.states;
      const std::string wrong =
          Judge(disk.get(), oracle, script.clock().NowMs());
      if (wrong.empty()) continue;
      return absl::StrCat(ToAbsl(FaultKindName(kind)), " at call ", nth,
                          ", variant ", variant, ": ", wrong, "\n",
                          disk->LastCalls());
    }
    if (!struck) return "";
    ++totals_.calls;
  }
}

std::string Exhaustive::ErrorAtEveryCallOfOpen(FaultKind kind) {
  const FaultPlan plan = HonestPlan(NameOrder::kAnySubset);
  Script script(plan);
  script.Run();
  const int64_t now_ms = script.clock().NowMs();
  const auto base = script.fs()->PowerLoss(1);
  Oracle oracle = script.oracle();
  oracle.ErrorInOpen();
  for (uint32_t nth = 1;; ++nth) {
    bool struck = true;
    for (int variant = 0; variant < 4 && Mine(nth); ++variant) {
      auto disk = base->PeekPowerLoss(nth);
      disk->Arm({kind, "", nth, variant % 2 != 0});
      VirtualClock clock(now_ms);
      auto store = DelayStore::Open(kDir, Options(&clock, disk.get()));
      struck = disk->errors() > 0;
      auto after = variant < 2 ? disk->PowerLoss(nth) : disk->Kill();
      if (store.ok()) store->reset();
      ++totals_.states;
      const std::string wrong = Judge(after.get(), oracle, now_ms);
      if (wrong.empty()) continue;
      return absl::StrCat(ToAbsl(FaultKindName(kind)), " at call ", nth,
                          " of open, variant ", variant, ": ", wrong, "\n",
                          after->LastCalls());
    }
    if (!struck) return "";
    ++totals_.calls;
  }
}

template <typename Damage>
std::string Exhaustive::EveryPlace(const char* what, int ways, Damage damage) {
  const FaultPlan plan = HonestPlan(NameOrder::kJournal);
  Script script(plan);
  script.Run();
  if (script.oracle().failed()) return script.oracle().failure();
  const int64_t now_ms = script.clock().NowMs();
  const auto base = script.fs()->PowerLoss(1);
  uint64_t place = 0;
  for (const std::string& path : base->Files()) {
    std::string content = base->Content(path);
    content.resize(content.find_last_not_of('\0') + 1);
    for (uint64_t i = 0; i < content.size() * ways; ++i) {
      if (!Mine(++place)) continue;
      const uint64_t at = i / ways;
      const int way = static_cast<int>(i % ways);
      auto disk = base->PeekPowerLoss(place);
      damage(disk.get(), path, at, way);
      Oracle oracle = script.oracle();
      ++totals_.states;
      const std::string wrong = JudgeDamaged(disk.get(), &oracle, now_ms);
      totals_.refused += oracle.answers().refused;
      totals_.reported += oracle.answers().reported;
      totals_.harmless += oracle.answers().harmless;
      if (wrong.empty()) continue;
      return absl::StrCat(what, " ", way, " of ", path, " at ", at, ": ", wrong,
                          "\n", disk->LastCalls());
    }
  }
  totals_.calls += place;
  return "";
}

std::string Exhaustive::EveryBit() {
  return EveryPlace("flipped bit", 8,
                    [](SimFileSystem* disk, const std::string& path,
                       uint64_t at, int bit) { disk->FlipBit(path, at, bit); });
}

std::string Exhaustive::EveryLength() {
  return EveryPlace("cut", 1,
                    [](SimFileSystem* disk, const std::string& path,
                       uint64_t at, int) { disk->CutFile(path, at); });
}

}  // namespace hourglass
