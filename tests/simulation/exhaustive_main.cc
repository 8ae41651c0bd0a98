// The exhaustive loops, shared between two processes: of power losses and
// errors all, of damage every n-th byte.
//
//   exhaustive_test          what fits into a minute and a half
//   exhaustive_test 1        every byte too
//
// Limitation: a loop stops at the first thing that goes wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/simulation/exhaustive.h"

namespace hourglass {
namespace {

constexpr int kProcesses = 2;
constexpr uint64_t kDamageSeeds = 20;

bool Loop(const char* name, uint64_t every, uint64_t offset,
          const std::function<std::string(Exhaustive*)>& loop) {
  const auto begin = std::chrono::steady_clock::now();
  Exhaustive all(every, offset);
  const std::string wrong = loop(&all);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  const Exhaustive::Totals& t = all.totals();
  std::printf(
      "%-34s %6lu places, %6lu disks, %5.1f s, refused %lu, reported %lu, "
      "harmless %lu%s%s\n",
      name, t.calls, t.states, seconds, t.refused, t.reported, t.harmless,
      wrong.empty() ? "" : "\nFAILED ", wrong.c_str());
  std::fflush(stdout);
  return wrong.empty();
}

bool RunShare(uint64_t share, uint64_t damage_stride) {
  bool good = true;
  for (const NameOrder order : {NameOrder::kJournal, NameOrder::kAnySubset}) {
    good &= Loop("power loss at every call", kProcesses, share,
                 [order](Exhaustive* all) {
                   return all->PowerLossAtEveryCall(kDamageSeeds, order);
                 });
  }
  for (const FaultKind kind :
       {FaultKind::kWriteError, FaultKind::kShortWrite, FaultKind::kNoSpaceCall,
        FaultKind::kSyncErrorClean, FaultKind::kSyncErrorRevert,
        FaultKind::kOpenError, FaultKind::kCreateError,
        FaultKind::kAllocateError, FaultKind::kTruncateError,
        FaultKind::kRenameError, FaultKind::kRemoveError,
        FaultKind::kSyncDirError, FaultKind::kListError}) {
    const std::string name(FaultKindName(kind));
    good &=
        Loop((name + " at every call").c_str(), kProcesses, share,
             [kind](Exhaustive* all) { return all->ErrorAtEveryCall(kind); });
    good &= Loop(
        (name + " in open").c_str(), kProcesses, share,
        [kind](Exhaustive* all) { return all->ErrorAtEveryCallOfOpen(kind); });
  }
  // Eight ways a place: the daily run takes fewer places instead.
  const uint64_t bit_stride = damage_stride == 1 ? 1 : damage_stride * 3;
  good &= Loop("every bit", kProcesses * bit_stride, share,
               [](Exhaustive* all) { return all->EveryBit(); });
  good &= Loop("every length", kProcesses * damage_stride, share,
               [](Exhaustive* all) { return all->EveryLength(); });
  return good;
}

int Main(int argc, char** argv) {
  const uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 13;
  pid_t children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = ::fork();
    if (children[i] == 0) {
      ::_exit(RunShare(static_cast<uint64_t>(i), stride) ? 0 : 1);
    }
  }
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hourglass

int main(int argc, char** argv) { return hourglass::Main(argc, argv); }
