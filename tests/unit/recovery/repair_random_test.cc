// Random stores, damaged at random in several places at once, and repaired:
// whatever happened, the new store is sound, gives nothing twice, and what it
// does not give is on the list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "recovery/repair.h"
#include "tests/support/damaged_store.h"

namespace hourglass {
namespace {

constexpr char kOut[] = "/repaired";

enum class Known { kPending, kDelivered, kCancelled };

class RandomStore {
 public:
  explicit RandomStore(uint64_t seed) : random_(seed) {
    box_.options.log_segment_bytes = 64u << 10;
    box_.options.body_bytes_max = 4u << 10;
    box_.options.properties_bytes_max = 1u << 10;
    box_.options.batch_bytes_max = 8u << 10;
    box_.options.unsynced_bytes_max = 128u << 10;
    box_.options.retention_ms = int64_t{1} << 60;
  }

  void Run() {
    Work();
    if (Chance(30)) {
      box_.Crash(static_cast<int>(Below(101)), Below(1000));
    } else {
      box_.Shut();
    }
    ASSERT_TRUE(box_.Verify().sound()) << box_.TextOf(box_.Verify());
    // A crash may have kept less than the test saw as ready: ask the store.
    box_.Open();
    box_.Step();
    for (const std::string& body : box_.Ready()) {
      known_[body] = Known::kDelivered;
    }
    box_.Shut();
    if (Chance(40)) RetireLog();
    for (uint64_t n = 1 + Below(3); n > 0; --n) Damage();
    RepairAndCheck();
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t percent) { return Below(100) < percent; }

  void Work() {
    box_.Open();
    std::vector<std::pair<Handle, std::string>> handles;
    for (int i = 0; i < 120; ++i) {
      const std::string body =
          "m" + std::to_string(1000 + i) + std::string(Below(1500), '.');
      const bool soon = Chance(40);
      const auto in_ms =
          static_cast<int64_t>(soon ? Below(5000) : Below(3 * 3'600'000));
      const Handle handle = box_.Put(body, box_.InMs(in_ms));
      known_[body] = Known::kPending;
      if (!handle.IsNone()) handles.emplace_back(handle, body);
      if (Chance(15) && !handles.empty()) {
        const auto& [one, its] = handles[Below(handles.size())];
        if (box_.Cancel(one) == CancelAnswer::kCancelled) {
          known_[its] = Known::kCancelled;
        }
      }
      if (Chance(20)) box_.Advance(static_cast<int64_t>(Below(4000)));
      if (Chance(2)) box_.Advance(3'600'000);
      if (Chance(2)) {
        box_.clock.StepMs(-static_cast<int64_t>(Below(7'200'000)));
      }
    }
    box_.Advance(1500);
  }

  void RetireLog() {
    const auto logs = box_.LogFiles();
    const uint64_t gone = Below(logs.size());
    for (uint64_t i = 0; i < gone; ++i) {
      did_ += "retire " + logs[i].string() + "\n";
      box_.Remove(logs[i]);
    }
  }

  void Damage() {
    const auto files = box_.Files();
    const Path file = files[Below(files.size())];
    std::string bytes = box_.fs->Content(file);
    const size_t data = bytes.find_last_not_of('\0') + 1;
    const auto what = Below(5);
    did_ += std::to_string(what) + " " + file.string() + "\n";
    if (what == 0) {
      box_.Remove(file);
    } else if (what == 1) {
      box_.RemoveAll(box_.dir / "checkpoint");
    } else if (data == 0 || bytes.empty()) {
      return;
    } else if (what == 2) {
      bytes[Below(data)] ^= static_cast<char>(1 << Below(8));
      box_.fs->SetContent(file, bytes);
    } else if (what == 3) {
      box_.fs->SetContent(file, bytes.substr(0, Below(data)));
    } else {
      const size_t at = Below(data) / 512 * 512;
      const size_t size = std::min<size_t>(1 + Below(4096), data - at);
      std::fill_n(bytes.begin() + static_cast<int64_t>(at), size, '\x5a');
      box_.fs->SetContent(file, bytes);
    }
  }

  void RepairAndCheck() {
    SCOPED_TRACE(did_);
    RepairOptions options;
    options.out = kOut;
    options.store = box_.options;
    const auto before = box_.Image();
    const auto report = RepairStore(box_.Source(), options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(box_.Image() == before);
    const auto verified = VerifyStore({box_.fs.get(), kOut});
    ASSERT_TRUE(verified.ok()) << verified.status();
    EXPECT_TRUE(verified->sound()) << box_.TextOf(*verified);
    auto opened = DelayStore::OpenExisting(kOut, box_.options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    box_.store = *std::move(opened);
    // The clock may have been set back by hours.
    box_.clock.AdvanceMs(48 * 3'600'000);
    box_.Step();
    CheckReady(*report);
  }

  void CheckReady(const RepairReport& report) {
    EXPECT_EQ(box_.store->Stats().pending_messages, 0u);
    std::map<std::string, int> count;
    for (const std::string& body : box_.Ready()) ++count[body];
    uint64_t lost = 0, uncancelled = 0;
    for (const auto& [body, state] : known_) {
      const std::string name = body.substr(0, 5);
      EXPECT_LE(count[body], 1) << name << " came twice";
      if (state == Known::kPending) {
        lost += count[body] == 0;
        if (count[body] == 0) did_ += "lost " + name + "\n";
      }
      if (state == Known::kCancelled) {
        uncancelled += count[body];
        if (count[body] > 0) did_ += "uncancelled " + name + "\n";
      }
    }
    EXPECT_LE(lost, report.lost) << "lost, and not on the list:\n" << did_;
    EXPECT_LE(uncancelled, report.lost + report.maybe_twice) << did_;
  }

  DamagedStore box_;
  std::mt19937_64 random_;
  std::map<std::string, Known> known_;
  std::string did_;
};

TEST(RepairRandomTest, NothingTwiceAndWhatIsLostIsListed) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStore(seed).Run();
  }
}

}  // namespace
}  // namespace hourglass
