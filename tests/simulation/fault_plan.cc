#include "tests/simulation/fault_plan.h"

#include "absl/strings/str_cat.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr std::array<std::string_view, kFaultKinds> kKindNames = {
    "power loss",
    "power loss in open",
    "process kill",
    "page lost",
    "page torn",
    "sector garbage",
    "sector trashed",
    "page grown zero",
    "size lost",
    "create lost",
    "rename lost",
    "unlink lost",
    "write back",
    "write error",
    "short write",
    "no space, by call",
    "no space, by budget",
    "sync error, clean",
    "sync error, reverted",
    "sync error, late",
    "read error",
    "open error",
    "create error",
    "allocate error",
    "truncate error",
    "rename error",
    "remove error",
    "sync directory error",
    "list error",
    "error in open",
    "bad sector",
    "bit rot",
    "block misdirected",
    "block duplicated",
    "file cut",
    "slow sync",
    "clock back",
    "clock forward",
    "long downtime",
};

constexpr std::array<std::string_view, static_cast<size_t>(SimOp::kCount_)>
    kOpNames = {"read",     "write",          "sync",   "allocate",
                "truncate", "open",           "create", "rename",
                "remove",   "sync directory", "list",   "stat"};

// All kinds of errors that lose nothing of what was acknowledged.
constexpr FaultKind kHonestErrors[] = {
    FaultKind::kWriteError,      FaultKind::kShortWrite,
    FaultKind::kNoSpaceCall,     FaultKind::kSyncErrorClean,
    FaultKind::kSyncErrorRevert, FaultKind::kOpenError,
    FaultKind::kCreateError,     FaultKind::kAllocateError,
    FaultKind::kTruncateError,   FaultKind::kRenameError,
    FaultKind::kRemoveError,     FaultKind::kSyncDirError,
    FaultKind::kListError,
};

constexpr FaultKind kDamages[] = {
    FaultKind::kBadSector,        FaultKind::kBitRot,
    FaultKind::kBlockMisdirected, FaultKind::kBlockDuplicated,
    FaultKind::kFileCut,          FaultKind::kReadError,
    FaultKind::kSyncErrorLate,
};

// A fault that waits for the fortieth of these calls never strikes.
bool IsSeldomCalled(FaultKind kind) {
  return kind == FaultKind::kAllocateError ||
         kind == FaultKind::kTruncateError || kind == FaultKind::kRenameError ||
         kind == FaultKind::kListError || kind == FaultKind::kRemoveError;
}

bool Chance(Random* random, uint64_t percent) {
  return random->Uniform(100) < percent;
}

template <size_t n>
int OneOf(Random* random, const int (&of)[n]) {
  return of[random->Uniform(n)];
}

template <size_t n>
std::vector<FaultKind> Some(Random* random, const FaultKind (&of)[n]) {
  std::vector<FaultKind> some;
  const uint64_t percent = 10 + random->Uniform(60);
  for (const FaultKind kind : of) {
    if (Chance(random, percent)) some.push_back(kind);
  }
  if (some.empty()) some.push_back(of[random->Uniform(n)]);
  return some;
}

}  // namespace

std::string_view FaultKindName(FaultKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::string_view SimOpName(SimOp op) {
  return kOpNames[static_cast<size_t>(op)];
}

bool Strikes(FaultKind kind, SimOp op) {
  switch (kind) {
    case FaultKind::kWriteError:
    case FaultKind::kShortWrite:
      return op == SimOp::kWrite;
    case FaultKind::kNoSpaceCall:
      return op == SimOp::kWrite || op == SimOp::kCreate ||
             op == SimOp::kAllocate || op == SimOp::kSync;
    case FaultKind::kSyncErrorClean:
    case FaultKind::kSyncErrorRevert:
    case FaultKind::kSyncErrorLate:
      return op == SimOp::kSync;
    case FaultKind::kReadError:
      return op == SimOp::kRead;
    case FaultKind::kOpenError:
      return op == SimOp::kOpen;
    case FaultKind::kCreateError:
      return op == SimOp::kCreate;
    case FaultKind::kAllocateError:
      return op == SimOp::kAllocate;
    case FaultKind::kTruncateError:
      return op == SimOp::kTruncate;
    case FaultKind::kRenameError:
      return op == SimOp::kRename;
    case FaultKind::kRemoveError:
      return op == SimOp::kRemove;
    case FaultKind::kSyncDirError:
      return op == SimOp::kSyncDir;
    case FaultKind::kListError:
      return op == SimOp::kList;
    default:
      return false;
  }
}

std::string Fault::ToString() const {
  return absl::StrCat(ToAbsl(FaultKindName(kind)), " at call ", nth,
                      where.empty() ? "" : " below ", where,
                      sticky ? ", and from then on" : "");
}

FaultPlan FaultPlan::Draw(Random* random) {
  FaultPlan plan;
  plan.order = Chance(random, 50) ? NameOrder::kJournal : NameOrder::kAnySubset;
  plan.power_loss.keep_percent = OneOf(random, {0, 10, 50, 90, 100});
  plan.power_loss.torn_percent = OneOf(random, {0, 10, 50, 100});
  plan.power_loss.garbage_percent = OneOf(random, {0, 30, 100});
  const uint64_t sectors = random->Uniform(10);
  plan.trash_beside_log_writes = sectors < 4;
  plan.trash_beside_all_writes = sectors == 0;
  plan.write_back_permille =
      static_cast<uint32_t>(OneOf(random, {0, 0, 20, 200}));
  plan.power_loss_percent = static_cast<uint32_t>(OneOf(random, {20, 50, 100}));
  plan.in_open_percent = static_cast<uint32_t>(OneOf(random, {0, 20, 60}));
  plan.slow_sync_percent = static_cast<uint32_t>(OneOf(random, {0, 0, 0, 5}));
  plan.clock_percent = static_cast<uint32_t>(OneOf(random, {0, 3, 10}));
  plan.no_space_budget = Chance(random, 20);
  plan.errors = Some(random, kHonestErrors);
  plan.damage = Chance(random, 50);
  plan.damages = Some(random, kDamages);
  return plan;
}

Fault FaultPlan::DrawFault(Random* random) const {
  Fault fault;
  fault.kind = errors[random->Uniform(errors.size())];
  // The log's own write and sync are what everything rests on.
  if (Chance(random, 30)) {
    const FaultKind log_faults[] = {
        FaultKind::kSyncErrorClean, FaultKind::kSyncErrorClean,
        FaultKind::kSyncErrorRevert, FaultKind::kShortWrite};
    fault.kind = log_faults[random->Uniform(4)];
    fault.where = "commitlog";
    fault.nth = 1 + static_cast<uint32_t>(random->Uniform(8));
    fault.sticky = Chance(random, 10);
    return fault;
  }
  const char* const places[] = {"",      "",       "",          "commitlog",
                                "hours", "queues", "checkpoint"};
  fault.where = places[random->Uniform(7)];
  fault.nth =
      1 + static_cast<uint32_t>(random->Uniform(Chance(random, 50) ? 4 : 40));
  fault.sticky = Chance(random, 40);
  if (IsSeldomCalled(fault.kind)) {
    fault.where = "";
    fault.nth = 1 + static_cast<uint32_t>(random->Uniform(3));
  }
  // After a while without a file handle messages are set aside.
  if (fault.kind == FaultKind::kOpenError) fault.sticky = false;
  return fault;
}

std::string FaultPlan::ToString() const {
  std::string text = absl::StrCat(
      "names ", order == NameOrder::kJournal ? "in order" : "in any subset",
      "; a power loss keeps ", power_loss.keep_percent, "%, tears ",
      power_loss.torn_percent, "%, garbage ", power_loss.garbage_percent,
      "%; powersafe overwrite: ",
      trash_beside_all_writes   ? "no"
      : trash_beside_log_writes ? "not in the log"
                                : "yes",
      "; write-back ", write_back_permille, "/1000; power losses ",
      power_loss_percent, "%, in open ", in_open_percent, "%; slow syncs ",
      slow_sync_percent, "%; clock steps ", clock_percent, "%");
  if (no_space_budget) text += "; disk full";
  text += "; errors:";
  for (const FaultKind kind : errors) {
    absl::StrAppend(&text, " [", ToAbsl(FaultKindName(kind)), "]");
  }
  if (!damage) return text;
  text += "; damage:";
  for (const FaultKind kind : damages) {
    absl::StrAppend(&text, " [", ToAbsl(FaultKindName(kind)), "]");
  }
  return text;
}

}  // namespace hourglass
