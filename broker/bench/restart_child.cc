// `hourglass bench restart --child`: the process that is killed. It opens the
// store, puts one message and waits for it, and meanwhile reads what becomes
// ready; it says when each had happened, on the clock that all processes
// share. Then it goes on putting and delivering until it is killed.
//
// What it was the process before that put, and this one that delivered, is
// told from the due time: whatever is due after the kill cannot have been
// delivered before it.
#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "broker/bench/jobs.h"
#include "broker/bench/put_work.h"
#include "broker/bench/ready_reader.h"
#include "storage/mutex.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// If nobody kills it, it ends by itself.
constexpr int64_t kLifeNs = 120'000'000'000;
// What it puts is due so soon that something always is when it is restarted.
constexpr int64_t kSoonMs = 20;
constexpr int64_t kSoonSpreadMs = 3000;
constexpr int64_t kLaterMs = 3'600'000;

// Lines to the parent.
class Teller {
 public:
  explicit Teller(const Bench& bench) : bench_(bench) {}

  void Tell(const char* what, int64_t value) {
    MutexLock lock(&mu_);
    // If nobody listens, nobody needs to know.
    bench_.console->out(absl::StrCat(what, " ", value, "\n")).IgnoreError();
  }
  void TellNow(const char* what) { Tell(what, bench_.clock->MonotonicNs()); }

 private:
  const Bench& bench_;
  Mutex mu_;
};

absl::Status PutUntilKilled(const Bench& bench, DelayStore* store) {
  const int64_t end_ns = bench.clock->MonotonicNs() + kLifeNs;
  // Several processes in turn: none repeats the due times of another.
  PutWork work(store, bench.clock,
               {.size = bench.options.size,
                .from_ms = kSoonMs,
                .spread_ms = kSoonSpreadMs,
                .from_now = true},
               SystemEntropy());
  WindowList windows;
  windows.push_back(std::make_unique<Window>(bench.clock, 1000));
  Window* const window = windows.front().get();
  for (uint64_t i = 0; bench.clock->MonotonicNs() < end_ns; ++i) {
    if (bench.console->stopped() || window->failed()) break;
    window->WaitForRoom(i);
    work.Issue(i, window);
    absl::SleepFor(absl::Milliseconds(1));
  }
  RETURN_IF_ERROR(store->Close());
  return window->failure();
}

}  // namespace

absl::Status RunRestartChild(const Bench& bench) {
  ASSIGN_OR_RETURN(const StoreOptions options, bench.MakeStoreOptions());
  ASSIGN_OR_RETURN(const auto store,
                   DelayStore::OpenExisting(bench.options.data, options));
  Teller teller(bench);
  bool delivering = false;
  ReadyReader reader(store.get(), bench.clock, [&](const ReadyMessage& ready) {
    if (delivering || ready.message.due_ms <= bench.options.killed_ms) {
      return;
    }
    delivering = true;
    teller.TellNow("delivering");
  });
  MessageView message;
  message.topic = kBenchTopic;
  message.body = "accepted";
  message.due_ms = bench.clock->NowMs() + kLaterMs;
  RETURN_IF_ERROR(store->Put(message).status());
  teller.TellNow("accepting");
  teller.Tell("pending", static_cast<int64_t>(store->Stats().pending_messages));
  teller.Tell("rss", static_cast<int64_t>(ReadProcessStats().rss_bytes));
  const absl::Status put = PutUntilKilled(bench, store.get());
  const absl::Status read = reader.Stop();
  return put.ok() ? read : put;
}

}  // namespace hourglass
