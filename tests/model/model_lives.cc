#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "recovery/verify.h"
#include "tests/model/model_run.h"

namespace hourglass {
namespace {

constexpr int64_t kStartMs = 498'675LL * kMsPerHour + 1'234'567;
constexpr size_t kStoryMax = 50;

}  // namespace

ModelRun::ModelRun(uint64_t seed, int operations)
    : seed_(seed),
      operations_(operations),
      random_(seed),
      clock_(kStartMs),
      fs_(std::make_unique<MemoryFileSystem>(&clock_)) {
  tiny_bodies_ = Chance(30);
  large_bodies_ = Chance(15);
  hooked_.set_hook(
      [this](const HookedFileSystem::Call& call) { OnFileEvent(call); });
  burst_percent_ = OneOf({0, 20, 80});
  clock_percent_ = OneOf({0, 0, 1, 4});
  cancel_percent_ = OneOf({3, 10, 18});
  late_messages_max_ = OneOf<uint32_t>({3, 1u << 20});
  topics_ = {"a", "orders/\xc3\xa4 %", std::string(255, 'T')};
  topics_.resize(1 + Upto(2));
}

ModelRun::~ModelRun() { store_.reset(); }

void ModelRun::Note(std::string line) {
  ++totals_.operations;
  if (story_.size() == kStoryMax) story_.pop_front();
  story_.push_back(
      absl::StrCat(now_ms(), " ", line, faulty_ ? " (faults)" : ""));
}

void ModelRun::Fail(std::string why) {
  if (failed()) return;
  failure_ = absl::StrCat("seed ", seed_, ": ", why, "\nlast operations:\n  ",
                          absl::StrJoin(story_, "\n  "));
}

std::string ModelRun::Run() {
  if (Chance(20)) OpenWithFaults();
  Open();
  int left = operations_;
  while (left > 0 && !failed()) {
    int life = std::min<int>(
        left, 20 + static_cast<int>(Upto(OneOf<uint64_t>({40, 400, 1500}))));
    left -= life;
    for (; life > 0 && !failed(); --life) OneOperation();
    if (!failed()) EndLife();
    if (!failed()) Open();
  }
  if (!failed()) Pass(0);
  if (!failed()) CheckPending();
  if (!failed()) ReadAgain();
  return failure_;
}

// --- how a life ends ---

void ModelRun::EndLife() {
  switch (Upto(5)) {
    case 0:
      CloseStore();
      break;
    case 1:
    case 2:
      Crash();
      break;
    default:
      FaultAndCrash();
  }
  if (!failed()) VerifyFiles();
  // Time goes on while the store is down, and clocks are set.
  const auto down = static_cast<int64_t>(
      Upto(OneOf<uint64_t>({0, 0, 50, 5000, 3 * kMsPerHour})));
  clock_.AdvanceMs(down);
  highest_ms_ = std::max(highest_ms_, now_ms());
  if (clock_percent_ > 0 && Chance(30)) {
    clock_.StepMs(-static_cast<int64_t>(Upto(2 * kMsPerHour)));
    stepped_back_ = true;
  }
  if (Chance(20)) OpenWithFaults();
}

void ModelRun::CloseStore() {
  Note("close");
  const absl::Status closed = store_->Close();
  if (!closed.ok()) return Fail("Close: " + closed.ToString());
  store_.reset();
}

void ModelRun::Crash() {
  const int keep = OneOf({0, 0, 100, 10, 50, 90});
  Note(absl::StrCat("crash, ", keep, " percent kept"));
  auto after = fs_->CrashClone(random_.Next(), keep);
  store_.reset();
  fs_ = std::move(after);
  ++totals_.crashes;
}

void ModelRun::FaultAndCrash() {
  const MemoryOp op =
      OneOf({MemoryOp::kAny, MemoryOp::kAny, MemoryOp::kWrite, MemoryOp::kSync,
             MemoryOp::kCreate, MemoryOp::kRename, MemoryOp::kRemove,
             MemoryOp::kSyncDir, MemoryOp::kTruncate, MemoryOp::kAllocate});
  const int n = 1 + static_cast<int>(Upto(OneOf<uint64_t>({3, 30, 200})));
  Note(absl::StrCat("fault of kind ", static_cast<int>(op), " at ", n));
  faulty_ = true;
  ++totals_.faults;
  fs_->FailAfter(op, n, absl::DataLossError("injected"), /*sticky=*/true);
  const auto more = static_cast<int>(Upto(60));
  for (int i = 0; i < more && !failed(); ++i) OneOperation();
  if (!failed() && Chance(30)) {
    Note("close");
    store_->Close().IgnoreError();
  }
  if (!failed()) Crash();
}

// However a life ended, its files are sound: a crash is no damage.
void ModelRun::VerifyFiles() {
  const auto report = VerifyStore({fs_.get(), "/store"});
  if (!report.ok()) return Fail("verify: " + report.status().ToString());
  for (const Finding& finding : report->findings.all()) {
    if (finding.severity == Severity::kNote) continue;
    Fail(absl::StrCat("verify: ", finding.file, ": ", finding.what));
  }
}

// --- how it begins ---

// Recovery can be interrupted anywhere and started again.
void ModelRun::OpenWithFaults() {
  const int times = 1 + static_cast<int>(Upto(2));
  for (int i = 0; i < times && !failed(); ++i) {
    options_ = SomeOptions();
    const int n = 1 + static_cast<int>(Upto(OneOf<uint64_t>({10, 60, 400})));
    Note(absl::StrCat("open, fault at ", n));
    fs_->FailAfter(MemoryOp::kAny, n, absl::DataLossError("injected"),
                   /*sticky=*/true);
    auto store = DelayStore::Open("/store", options_);
    const int keep = OneOf({0, 100, 50});
    auto after = fs_->CrashClone(random_.Next(), keep);
    if (store.ok()) store->reset();
    fs_ = std::move(after);
  }
}

void ModelRun::Open() {
  options_ = SomeOptions();
  retained_all_along_ = retained_all_along_ && options_.retain_for_groups;
  Note("open");
  opened_ms_ = now_ms();
  auto store = DelayStore::Open("/store", options_);
  if (!store.ok()) return Fail("Open: " + store.status().ToString());
  store_ = *std::move(store);
  ++totals_.lives;
  AfterOpen();
}

void ModelRun::ListPending(const PendingQuery& query,
                           std::vector<PendingMessage>* listed) {
  PendingQuery next = query;
  do {
    auto page = store_->Pending(next);
    if (!page.ok()) {
      if (!faulty_) Fail("Pending: " + page.status().ToString());
      return;
    }
    if (page->messages.size() > query.count_max) return Fail("too long a page");
    std::move(page->messages.begin(), page->messages.end(),
              std::back_inserter(*listed));
    next.after = page->next;
  } while (!next.after.empty());
}

void ModelRun::AfterOpen() {
  faulty_ = false;
  fresh_life_ = true;
  ready_version_ = 0;
  checkpoints_seen_ = 0;
  done_since_.clear();
  // First what is ready, then what is pending: so a message in doubt that is
  // neither did not happen.
  highest_ms_ = std::max(highest_ms_, now_ms());
  for (const std::string& topic : topics_) ReadTopic(topic);
  highest_ms_ = now_ms();
  shown_.clear();
  if (!failed()) ReadAgain();
  std::vector<PendingMessage> listed;
  if (!failed()) {
    PendingQuery all;
    all.count_max = 500;
    ListPending(all, &listed);
  }
  if (failed()) return;
  totals_.settled += model_.doubtful().size();
  std::string wrong = model_.Settle(listed);
  if (!wrong.empty()) return Fail(std::move(wrong));
  for (const PendingMessage& pending : listed) {
    const ModelMessage* known = model_.Find(pending.message.id);
    if (known == nullptr) return Fail(pending.message.id + ": nobody put it");
  }
  ComparePending(listed, model_.PendingBetween(0, INT64_MAX, ""));
  if (failed()) return;
  for (auto& [key, next] : progress_) {
    const auto maybe = progress_maybe_.find(key);
    const uint64_t found = store_->Progress(key.first, key.second).value();
    if (maybe != progress_maybe_.end() && found == maybe->second) next = found;
  }
  progress_maybe_.clear();
  CheckProgress();
  if (!failed()) CheckFiles();
  stepped_back_ = stepped_back_ && clock_percent_ > 0;
}

}  // namespace hourglass
