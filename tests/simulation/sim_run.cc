#include "tests/simulation/sim_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "storage/random.h"

namespace hourglass {
namespace {

constexpr int64_t kStartMs = 498'675LL * kMsPerHour + 1'234'567;
constexpr size_t kStoryMax = 50;
constexpr char kDir[] = "/store";

FaultPlan DrawPlan(Random* random) { return FaultPlan::Draw(random); }

}  // namespace

void SimTotals::Add(const SimTotals& other) {
  runs += other.runs;
  lives += other.lives;
  operations += other.operations;
  calls += other.calls;
  puts += other.puts;
  delivered += other.delivered;
  settled += other.settled;
  ranges += other.ranges;
  full_disks += other.full_disks;
  full_disks_without_reserve += other.full_disks_without_reserve;
  refused += other.refused;
  reported += other.reported;
  harmless += other.harmless;
  for (size_t i = 0; i < kFaultKinds; ++i) faults[i] += other.faults[i];
}

SimRun::SimRun(uint64_t seed)
    : seed_(seed),
      random_(seed),
      plan_(DrawPlan(&random_)),
      clock_(kStartMs),
      fs_(std::make_unique<SimFileSystem>(&clock_, plan_, random_.Next(),
                                          &counts_)),
      oracle_({"a", "b"}, &clock_) {
  large_percent_ = OneOf<uint64_t>({2, 10, 60});
}

SimRun::~SimRun() { store_.reset(); }

void SimRun::Note(std::string line) {
  if (story_.size() == kStoryMax) story_.pop_front();
  story_.push_back(absl::StrCat(now_ms(), " @", fs_->calls(), " ", line,
                                oracle_.trouble() ? " (trouble)" : ""));
}

std::string SimRun::Report() {
  return absl::StrCat("seed ", seed_, ": ", oracle_.failure(),
                      "\nfault plan: ", plan_.ToString(),
                      "\nlast operations:\n  ", absl::StrJoin(story_, "\n  "),
                      "\nlast calls:\n", fs_->LastCalls());
}

SimResult SimRun::Run() {
  const EntropyFromSeed entropy(seed_);
  // Where every write may trash what stands beside it, a power loss is damage.
  const bool fragile = plan_.trash_beside_all_writes;
  const uint64_t lives = fragile ? 1 : 1 + Upto(3);
  for (uint64_t i = 0; i < lives && !failed(); ++i) OneLife();
  if (!failed() && !fragile) Finish();
  if (!failed() && (fragile || plan_.damage)) DamagedLife(fragile);
  SimResult result;
  if (failed()) result.failure = Report();
  result.trace_hash = fs_->trace_hash();
  totals_.runs = 1;
  totals_.calls = fs_->calls();
  totals_.delivered = oracle_.delivered();
  totals_.settled = oracle_.settled();
  totals_.ranges = oracle_.ranges_seen();
  totals_.refused = oracle_.answers().refused;
  totals_.reported = oracle_.answers().reported;
  totals_.harmless = oracle_.answers().harmless;
  totals_.faults = counts_;
  result.totals = totals_;
  return result;
}

void SimRun::OneLife() {
  if (Chance(plan_.in_open_percent)) InterruptedOpens();
  if (failed() || !Open()) return;
  Live(Upto(25));
  if (failed()) return;
  if (plan_.no_space_budget && Chance(50)) FillDisk();
  if (failed()) return;
  if (Chance(85)) {
    StartTrouble();
    Live(Upto(20));
  }
  if (!failed() && !plan_.trash_beside_all_writes) EndLife();
}

void SimRun::Live(uint64_t operations) {
  for (; operations > 0 && !failed(); --operations) {
    OneOperation();
    // Nothing more will come of it.
    if (fs_->power_is_off() && Chance(30)) return;
  }
}

// --- how a life begins ---

// Recovery can be interrupted anywhere and started again.
void SimRun::InterruptedOpens() {
  for (uint64_t times = 1 + Upto(2); times > 0 && !failed(); --times) {
    options_ = SomeOptions();
    if (Chance(60)) {
      const uint64_t calls = 1 + Upto(OneOf<uint64_t>({20, 100, 300}));
      Note(absl::StrCat("open, power goes after ", calls));
      fs_->PowerOffAfter(calls);
      Count(&counts_, FaultKind::kPowerLossInOpen);
    } else {
      const Fault fault = plan_.DrawFault(&random_);
      Note("open with " + fault.ToString());
      fs_->Arm(fault);
    }
    auto store = DelayStore::Open(kDir, options_);
    if (fs_->errors() > 0) {
      Count(&counts_, FaultKind::kErrorInOpen);
      oracle_.ErrorInOpen();
    }
    fs_->Disarm();
    // What it opened is used no further: it may already have failed.
    auto after =
        Chance(plan_.power_loss_percent) || fs_->power_is_off()
            ? (Chance(80) ? fs_->PowerLoss(random_.Next()) : fs_->Kill())
            : fs_->Kill();
    if (store.ok()) store->reset();
    fs_ = std::move(after);
  }
}

bool SimRun::Open() {
  options_ = SomeOptions();
  Note("open");
  auto store = DelayStore::Open(kDir, options_);
  if (!store.ok()) {
    Fail("open: " + store.status().ToString());
    return false;
  }
  store_ = *std::move(store);
  ++totals_.lives;
  // What was retired while the store closed is gone now.
  oracle_.CheckFiles(store_.get(), fs_->Files());
  if (!failed()) oracle_.AfterOpen(store_.get());
  return !failed();
}

// --- what goes wrong in it ---

void SimRun::StartTrouble() {
  oracle_.BeginTrouble();
  if (Chance(plan_.power_loss_percent)) {
    const uint64_t calls = 1 + Upto(OneOf<uint64_t>({5, 30, 150}));
    Note(absl::StrCat("power goes after ", calls));
    fs_->PowerOffAfter(calls);
  }
  // A checkpoint that lets an hour go is worth meeting trouble.
  if (Chance(20)) TurnHour();
  if (Chance(15)) return FailLargeGroup();
  if (Chance(50)) {
    for (uint64_t n = 1 + Upto(1); n > 0; --n) {
      const Fault fault = plan_.DrawFault(&random_);
      if (IsTriedAgain(fault.kind)) oracle_.SomeAreTriedAgain();
      Note("arm " + fault.ToString());
      fs_->Arm(fault);
    }
  }
}

// A group of many pages that the cache has and the disk never got.
void SimRun::FailLargeGroup() {
  const Fault fault{FaultKind::kSyncErrorClean, "commitlog", 1, false};
  Note("arm " + fault.ToString());
  fs_->Arm(fault);
  const uint64_t before = std::exchange(large_percent_, 100);
  Put(10 + Upto(10));
  large_percent_ = before;
}

// A full disk refuses puts, goes on delivering, and takes puts again when
// there is space.
void SimRun::FillDisk() {
  oracle_.BeginTrouble();
  oracle_.SomeAreTriedAgain();
  ++totals_.full_disks;
  const uint64_t reserve = options_.disk_reserve_bytes;
  const uint64_t bytes =
      reserve + Upto(OneOf<uint64_t>({10'000, 60'000, 200'000}));
  Note(absl::StrCat("disk full after ", bytes));
  fs_->SetFreeBytes(bytes);
  Live(10 + Upto(20));
  if (failed()) return;
  Note("space again");
  fs_->Disarm();
  // What waits for space is tried every 100 ms; after a step of the clock it
  // may take that again.
  for (int i = 0; i < 5; ++i) {
    clock_.AdvanceMs(200);
    Step();
  }
  if (failed()) return;
  const StoreStats stats = store_->Stats();
  // Then there was not even room for the files of hours and queues.
  if (options_.disk_reserve_bytes == 0) ++totals_.full_disks_without_reserve;
  if (!stats.failure.ok()) {
    return Fail("a full disk stopped the store: " + stats.failure.ToString());
  }
  oracle_.Settle(store_.get());
  if (!failed()) Put(1);
  if (!failed()) Step();
}

// --- how it ends ---

void SimRun::EndLife() {
  if (fs_->power_is_off()) {
    Chance(80) ? LosePower() : Kill();
  } else if (Chance(15)) {
    CloseStore();
    if (fs_->power_is_off() || Chance(50)) LosePower();
  } else {
    // After an error the page cache may hold what the disk never got: the
    // next life must not believe it.
    Chance(fs_->errors() > 0 ? 25 : 60) ? LosePower() : Kill();
  }
  Downtime();
}

void SimRun::CloseStore() {
  Note("close");
  const absl::Status closed = store_->Close();
  if (!closed.ok() && !oracle_.trouble()) Fail("close: " + closed.ToString());
  store_.reset();
  fs_->Disarm();
  fs_->PowerOffAfter(0);
}

void SimRun::LosePower() {
  Note("power is lost");
  auto after = fs_->PowerLoss(random_.Next());
  store_.reset();
  fs_ = std::move(after);
}

void SimRun::Kill() {
  Note("killed");
  auto after = fs_->Kill();
  store_.reset();
  fs_ = std::move(after);
}

void SimRun::Downtime() {
  const int64_t down_ms = static_cast<int64_t>(
      Upto(OneOf<uint64_t>({0, 0, 50, 5000, 3 * kMsPerHour})));
  if (down_ms >= kMsPerHour) Count(&counts_, FaultKind::kLongDowntime);
  clock_.AdvanceMs(down_ms);
}

// --- the end of the history ---

// All that is pending becomes due, hour by hour or at once.
void SimRun::DeliverAll() {
  for (int i = 0; i < 6 && !failed(); ++i) {
    const auto& pending = oracle_.model().pending();
    const int64_t last_ms = pending.empty() ? 0 : pending.rbegin()->first;
    const int64_t next_ms = i < 3 && !pending.empty()
                                ? pending.begin()->first + kMsPerSecond
                                : last_ms;
    clock_.AdvanceMs(std::max<int64_t>(next_ms - now_ms(), 0) + 1);
    Step();
  }
}

void SimRun::Finish() {
  if (!Open()) return;
  Note("deliver all");
  Step();
  if (!failed()) oracle_.CheckAll(store_.get(), fs_->Files());
  if (plan_.damage) return;
  if (!failed()) DeliverAll();
  if (failed()) return;
  oracle_.CheckAll(store_.get(), fs_->Files());
  if (!failed() && !oracle_.model().pending().empty()) {
    return Fail("not all was delivered in the end");
  }
  if (!failed()) CloseStore();
}

// --- a disk that destroys ---

void SimRun::DamageDisk() {
  for (uint64_t n = 1 + Upto(Chance(50) ? 0 : 7); n > 0; --n) {
    const FaultKind kind = plan_.damages[Upto(plan_.damages.size() - 1)];
    if (kind == FaultKind::kReadError || kind == FaultKind::kSyncErrorLate) {
      const auto nth = static_cast<uint32_t>(1 + Upto(20));
      const Fault fault{kind, "", nth, Chance(20)};
      Note("arm " + fault.ToString());
      fs_->Arm(fault);
      oracle_.BeginDamage(kind == FaultKind::kSyncErrorLate);
    } else {
      Note(fs_->Damage(kind, &random_));
      oracle_.BeginDamage(false);
    }
  }
}

bool SimRun::OpenDamaged() {
  options_ = SomeOptions();
  options_.retention_ms = 100LL * 366 * 24 * kMsPerHour;
  options_.retention_bytes = 0;
  Note("open");
  auto store = DelayStore::Open(kDir, options_);
  if (!store.ok()) {
    oracle_.OpenRefused(store.status());
    return false;
  }
  store_ = *std::move(store);
  ++totals_.lives;
  oracle_.CheckDamaged(store_.get(), /*finished=*/false);
  return !failed();
}

void SimRun::DamagedLife(bool by_power_loss) {
  damaged_ = true;
  oracle_.BeginTrouble();
  const bool while_open = !by_power_loss && Chance(40);
  if (by_power_loss) {
    LosePower();
    oracle_.BeginDamage(false);
  } else {
    if (!while_open) Chance(50) ? LosePower() : Kill();
    DamageDisk();
  }
  if (!while_open && !OpenDamaged()) return;
  Live(Upto(15));
  if (!failed() && Chance(50)) {
    oracle_.CheckDamaged(store_.get(), /*finished=*/false);
    Chance(50) ? LosePower() : Kill();
    if (failed() || !OpenDamaged()) return;
  }
  if (!failed()) DeliverAll();
  if (!failed()) oracle_.CheckDamaged(store_.get(), /*finished=*/true);
}

}  // namespace hourglass
