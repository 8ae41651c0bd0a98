// Every wheel beside an obvious model, a million random operations each:
// HOURGLASS_MODEL_OPERATIONS bounds them, HOURGLASS_MODEL_SEED replays.
#include <cstdlib>
#include <map>
#include <set>

#include "storage/random.h"
#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// Deadline and order of arrival; entries of one tick may fire in any order
// unless the wheel keeps it.
using Key = std::pair<int64_t, uint64_t>;

template <typename Kind>
class WheelModelTest : public testing::Test {
 protected:
  using Wheel = typename Kind::template Wheel<TestEntry>;
  static constexpr size_t kEntries = 300;

  int64_t now() const { return wheel_.now().value(); }

  // Mostly near, with a taste for borders and some far away.
  int64_t SomeDeadline() {
    const int64_t span = Kind::kSpan;
    switch (random_.Uniform(8)) {
      case 0:
        return now() + static_cast<int64_t>(random_.Uniform(3)) - 1;
      case 1:
        return now() + span + static_cast<int64_t>(random_.Uniform(5)) - 2;
      case 2: {  // a border of turns
        const int64_t turn = span << random_.Uniform(3);
        return (now() / turn + 1) * turn +
               static_cast<int64_t>(random_.Uniform(3)) - 1;
      }
      case 3:
        return now() + static_cast<int64_t>(random_.Uniform(50 * span));
      case 4:
        return now() + static_cast<int64_t>(
                           random_.Uniform(uint64_t{1} << random_.Uniform(40)));
      default:
        return now() + static_cast<int64_t>(random_.Uniform(span));
    }
  }

  bool Fits(int64_t deadline) const {
    if constexpr (std::is_same_v<Kind, Bounded>) {
      return deadline - now() < 16;
    } else if constexpr (std::is_same_v<Kind, ClockFace>) {
      return deadline / 3600 - now() / 3600 < 24;
    } else {
      return true;
    }
  }

  void Schedule(TestEntry* entry) {
    const int64_t deadline = SomeDeadline();
    const bool was_in = keys_.contains(entry->id);
    const Scheduled got = was_in ? wheel_.Reschedule(entry, Tick(deadline))
                                 : wheel_.Schedule(entry, Tick(deadline));
    if (deadline > now() && !Fits(deadline)) {
      ASSERT_EQ(got, Scheduled::kBeyondSpan);
      return;
    }
    Forget(entry);
    if (deadline <= now()) {
      ASSERT_EQ(got, Scheduled::kDue);
      return;
    }
    ASSERT_EQ(got, Scheduled::kPending);
    const Key key(deadline, ++arrivals_);
    model_[key] = entry->id;
    keys_[entry->id] = key;
  }

  bool Forget(TestEntry* entry) {
    const auto at = keys_.find(entry->id);
    if (at == keys_.end()) return false;
    model_.erase(at->second);
    keys_.erase(at);
    return true;
  }

  void Cancel(TestEntry* entry) {
    ASSERT_EQ(wheel_.Cancel(entry), Forget(entry));
  }

  void OnFire(TestEntry* entry, int64_t to) {
    ASSERT_FALSE(model_.empty());
    const auto first = model_.begin();
    const Key key = keys_.at(entry->id);
    ASSERT_EQ(key.first, first->first.first) << "out of order";
    if (Wheel::kKeepsOrder) {
      ASSERT_EQ(key, first->first);
    }
    ASSERT_LE(key.first, to) << "early";
    ASSERT_EQ(now(), key.first);
    Forget(entry);
    // Re-entrant work, sometimes on the entry itself.
    if (random_.Uniform(4) == 0) Schedule(AnyEntry());
    if (random_.Uniform(4) == 0) Cancel(AnyEntry());
    if (random_.Uniform(8) == 0) Schedule(entry);
  }

  void Advance() {
    int64_t to = now() + static_cast<int64_t>(random_.Uniform(4)) - 1;
    if (random_.Uniform(16) == 0) {
      to = now() + static_cast<int64_t>(
                       random_.Uniform(uint64_t{1} << random_.Uniform(36)));
    }
    // A step back moves nothing; what is due by the hand is still due.
    const int64_t reach = std::max(to, now());
    const size_t limit = random_.Uniform(3) == 0 ? random_.Uniform(4) : 200;
    const Advanced advanced = wheel_.Advance(
        Tick(to), limit, [&](TestEntry& entry) { OnFire(&entry, reach); });
    ASSERT_LE(advanced.expired, limit);
    if (advanced.more) {
      ASSERT_EQ(advanced.expired, limit);
    }
    const bool due_left =
        !model_.empty() && model_.begin()->first.first <= reach;
    ASSERT_EQ(advanced.more, due_left);
    if (!advanced.more) {
      ASSERT_GE(now(), to);
    }
  }

  void CheckNextDeadline() {
    const auto next = wheel_.NextDeadline();
    ASSERT_EQ(next.has_value(), !model_.empty());
    if (!next) return;
    ASSERT_LE(next->value(), model_.begin()->first.first);
    ASSERT_GE(next->value(), now());
  }

  TestEntry* AnyEntry() { return &entries_[random_.Uniform(kEntries)]; }

  void Step() {
    switch (random_.Uniform(8)) {
      case 0:
      case 1:
      case 2:
        return Schedule(AnyEntry());
      case 3:
        return Cancel(AnyEntry());
      case 4:
        return CheckNextDeadline();
      default:
        return Advance();
    }
  }

  const uint64_t seed_ =
      FromEnvironment("HOURGLASS_MODEL_SEED", SystemEntropy());
  Random random_{seed_};
  std::vector<TestEntry> entries_ = MakeEntries(kEntries);
  Wheel wheel_;
  uint64_t arrivals_ = 0;
  std::map<Key, int> model_;
  std::map<int, Key> keys_;
};
TYPED_TEST_SUITE(WheelModelTest, AllKinds, KindNames);

TYPED_TEST(WheelModelTest, DoesWhatTheModelDoes) {
  SCOPED_TRACE(testing::Message() << "HOURGLASS_MODEL_SEED=" << this->seed_);
  const uint64_t operations =
      FromEnvironment("HOURGLASS_MODEL_OPERATIONS", 1'000'000);
  for (uint64_t i = 0; i < operations; ++i) {
    this->Step();
    ASSERT_EQ(this->wheel_.size(), this->model_.size()) << i;
    if (this->HasFatalFailure()) FAIL() << "at operation " << i;
  }
}

}  // namespace
}  // namespace hourglass
