// Random stories of one group beside a slow, obvious model of it: a list of
// all messages, each with a state and a count of attempts. Whatever the group
// hands out must be free in the model, and if it hands out less than it was
// asked for, nothing else may be free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/random.h"
#include "tests/support/group_world.h"

namespace hourglass {
namespace {

constexpr int kAttemptsMax = 3;
constexpr int64_t kBackoffMs[] = {300, 700};

struct ModelItem {
  enum State { kNew, kLeased, kReturned, kAcked, kDead };
  std::string body;
  std::string message_group;
  bool wanted = true;
  State state = kNew;
  int attempts = 0;
  int64_t until_ms = 0;  // kLeased
  std::string receipt;
};

class GroupStory {
 public:
  GroupStory(uint64_t seed, bool fifo) : random_(seed), fifo_(fifo) {
    world_.settings.fifo = fifo;
    world_.settings.attempts_max = kAttemptsMax;
    world_.settings.backoff_ms.assign(std::begin(kBackoffMs),
                                      std::end(kBackoffMs));
    world_.box.options.checkpoint_interval_ms = 1 + random_.Uniform(2000);
    filtered_ = random_.Uniform(2) == 0;
    world_.Open();
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      OneOperation();
    }
    if (!testing::Test::HasFailure()) Drain();
  }

  uint64_t delivered() const { return delivered_; }
  uint64_t dead() const { return dead_; }
  uint64_t restarts() const { return restarts_; }

 private:
  int64_t now_ms() { return world_.box.clock.NowMs(); }

  void OneOperation() {
    const uint64_t die = random_.Uniform(100);
    if (die < 30) return Put();
    if (die < 55) return Receive();
    if (die < 75) return Ack();
    if (die < 83) return Change();
    if (die < 86) return Bury();
    if (die < 97) return Pass();
    Restart();
  }

  void Put() {
    ModelItem item;
    item.wanted = !filtered_ || random_.Uniform(3) > 0;
    item.body = absl::StrCat(item.wanted ? "m" : "unwanted ", items_.size());
    // Some belong to none.
    const uint64_t group = random_.Uniform(5);
    if (fifo_ && group > 0) item.message_group = absl::StrCat("mg", group);
    world_.Put(item.body, item.message_group);
    items_.push_back(item);
  }

  // --- what is free ---

  bool IsFree(const ModelItem& item) const {
    return item.wanted && (item.state == ModelItem::kNew ||
                           item.state == ModelItem::kReturned);
  }
  static bool IsDone(const ModelItem& item) {
    return !item.wanted || item.state == ModelItem::kAcked ||
           item.state == ModelItem::kDead;
  }
  // Of each message group: what may be handed out next, in this order.
  std::vector<size_t> FreeOf(const std::string& message_group) const {
    std::vector<size_t> free;
    for (size_t i = 0; i < items_.size(); ++i) {
      const ModelItem& item = items_[i];
      if (item.message_group != message_group || IsDone(item)) continue;
      if (item.state == ModelItem::kLeased) {
        // Something is out: nothing is free, whatever stands before it.
        return {};
      }
      free.push_back(i);
    }
    return free;
  }
  std::set<size_t> Free() const {
    std::set<size_t> free;
    std::set<std::string> groups;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].message_group.empty()) {
        groups.insert(items_[i].message_group);
      } else if (IsFree(items_[i])) {
        free.insert(i);
      }
    }
    for (const std::string& group : groups) {
      for (const size_t i : FreeOf(group)) free.insert(i);
    }
    return free;
  }

  // --- operations ---

  void Receive() {
    ReceiveRequest request = world_.Request();
    request.count_max = 1 + random_.Uniform(6);
    request.lease_ms = 100 * (1 + static_cast<int64_t>(random_.Uniform(30)));
    if (filtered_) {
      request.filter = [](const Message& message) {
        return message.body[0] == 'm';
      };
    }
    const auto leases = world_.TryReceive(request);
    ASSERT_TRUE(leases.ok()) << leases.status();
    std::set<size_t> free = Free();
    std::map<std::string, std::vector<size_t>> next;
    bool was_new = false;
    size_t last_new = 0;
    for (const Lease& lease : *leases) {
      const size_t at = lease.message.index.value();
      ASSERT_LT(at, items_.size());
      ModelItem& item = items_[at];
      ASSERT_EQ(lease.message.message.body, item.body);
      ASSERT_TRUE(free.contains(at)) << item.body << " in state " << item.state;
      free.erase(at);
      if (!item.message_group.empty()) {
        // A prefix of what its message group has open.
        auto& open =
            next.try_emplace(item.message_group, FreeOf(item.message_group))
                .first->second;
        ASSERT_EQ(open.front(), at) << "out of order";
        open.erase(open.begin());
      } else if (item.state == ModelItem::kNew) {
        ASSERT_TRUE(!was_new || at > last_new) << "out of order";
        was_new = true;
        last_new = at;
      }
      EXPECT_EQ(lease.attempt, item.attempts + 1) << item.body;
      item.attempts = lease.attempt;
      item.until_ms = now_ms() + request.lease_ms;
      EXPECT_EQ(lease.until_ms, item.until_ms);
      item.receipt = lease.receipt;
    }
    // Leased only now: a batch may hold several of a message group.
    for (const Lease& lease : *leases) {
      items_[lease.message.index.value()].state = ModelItem::kLeased;
    }
    delivered_ += leases->size();
    if (!leases->empty()) return;
    EXPECT_TRUE(free.empty()) << items_[*free.begin()].body << " is free";
  }

  // Some receipt that was given out once.
  ModelItem* SomeHeld() {
    std::vector<size_t> held;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].receipt.empty()) held.push_back(i);
    }
    if (held.empty()) return nullptr;
    // Mostly of the newest ones.
    const size_t back = random_.Uniform(std::min<size_t>(held.size(), 8));
    return &items_[held[held.size() - 1 - back]];
  }

  void Ack() {
    ModelItem* item = SomeHeld();
    if (item == nullptr) return;
    const absl::Status status = world_.Ack(item->receipt);
    if (item->state == ModelItem::kLeased) {
      EXPECT_TRUE(status.ok()) << item->body << " " << status;
      item->state = ModelItem::kAcked;
    } else {
      EXPECT_TRUE(absl::IsNotFound(status)) << item->body << " " << status;
    }
  }

  void Change() {
    ModelItem* item = SomeHeld();
    if (item == nullptr) return;
    const int64_t lease_ms = 100 * static_cast<int64_t>(random_.Uniform(8));
    Lease lease;
    lease.receipt = item->receipt;
    const auto changed = world_.Change(lease, lease_ms);
    if (item->state != ModelItem::kLeased) {
      EXPECT_TRUE(absl::IsNotFound(changed.status())) << item->body;
      return;
    }
    ASSERT_TRUE(changed.ok()) << changed.status();
    // The old one is dead.
    if (random_.Uniform(4) == 0) {
      EXPECT_TRUE(absl::IsNotFound(world_.Ack(item->receipt)));
    }
    item->receipt = *changed;
    if (lease_ms > 0) {
      item->until_ms = now_ms() + lease_ms;
    } else if (item->attempts >= kAttemptsMax) {
      Dies(item);
    } else {
      item->until_ms = now_ms() + kBackoffMs[std::min(item->attempts, 2) - 1];
    }
  }

  void Bury() {
    ModelItem* item = SomeHeld();
    if (item == nullptr) return;
    Lease lease;
    lease.receipt = item->receipt;
    const absl::Status status = world_.ToDeadLetter(lease);
    if (item->state == ModelItem::kLeased) {
      EXPECT_TRUE(status.ok()) << status;
      Dies(item);
    } else {
      EXPECT_TRUE(absl::IsNotFound(status)) << status;
    }
  }

  void Dies(ModelItem* item) {
    item->state = ModelItem::kDead;
    ++dead_;
    graves_.push_back(item->body);
  }

  void Pass() {
    const int64_t ms = 100 * (1 + static_cast<int64_t>(random_.Uniform(12)));
    for (int64_t passed = 0; passed < ms; passed += 100) {
      world_.Pass(100);
      for (ModelItem& item : items_) {
        if (item.state != ModelItem::kLeased || item.until_ms > now_ms()) {
          continue;
        }
        if (item.attempts >= kAttemptsMax) {
          Dies(&item);
        } else {
          item.state = ModelItem::kReturned;
        }
      }
    }
    CheckGraves();
  }

  void CheckGraves() {
    std::vector<std::string> found = world_.box.Ready("%DLQ%g");
    std::vector<std::string> expected = graves_;
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected);
  }

  // What was out is free again, in the order of its index; attempts and
  // acknowledgements stay.
  void Restart() {
    ++restarts_;
    if (random_.Uniform(3) == 0) {
      world_.groups.reset();
      world_.Begin();
    } else {
      world_.Restart(static_cast<int>(random_.Uniform(101)));
    }
    for (ModelItem& item : items_) {
      if (item.state == ModelItem::kReturned) item.state = ModelItem::kNew;
      if (item.state != ModelItem::kLeased) continue;
      item.state = ModelItem::kNew;
      if (item.attempts >= kAttemptsMax) doomed_.insert(item.body);
    }
    // Those whose attempts are used up die when they are met.
    if (doomed_.empty()) return;
    for (ModelItem& item : items_) {
      if (doomed_.contains(item.body)) Dies(&item);
    }
    doomed_.clear();
    ReadAllOnce();
  }

  // Reads ahead to the end, so that what is to die has died.
  void ReadAllOnce() {
    ReceiveRequest request = world_.Request();
    request.count_max = items_.size() + 1;
    request.lease_ms = 100;
    if (filtered_) {
      request.filter = [](const Message& message) {
        return message.body[0] == 'm';
      };
    }
    const auto leases = world_.TryReceive(request);
    ASSERT_TRUE(leases.ok()) << leases.status();
    const std::set<size_t> free = Free();
    for (const Lease& lease : *leases) {
      ModelItem& item = items_[lease.message.index.value()];
      ASSERT_TRUE(free.contains(lease.message.index.value())) << item.body;
      EXPECT_EQ(lease.attempt, ++item.attempts) << item.body;
      item.receipt = lease.receipt;
      item.until_ms = now_ms() + request.lease_ms;
    }
    EXPECT_EQ(leases->size(), free.size());
    for (const Lease& lease : *leases) {
      items_[lease.message.index.value()].state = ModelItem::kLeased;
    }
    CheckGraves();
  }

  void Drain() {
    for (int round = 0; round < 200; ++round) {
      if (std::all_of(items_.begin(), items_.end(), IsDone)) break;
      Receive();
      for (ModelItem& item : items_) {
        if (item.state != ModelItem::kLeased) continue;
        EXPECT_TRUE(world_.Ack(item.receipt).ok()) << item.body;
        item.state = ModelItem::kAcked;
      }
      if (testing::Test::HasFailure()) return;
      Pass();
    }
    Receive();
    CheckGraves();
    const GroupState state = world_.State();
    EXPECT_EQ(state.next, QueueIndex(items_.size()));
    EXPECT_EQ(state.lag, 0u);
    EXPECT_EQ(state.leased + state.waiting_retry, 0u);
    EXPECT_FALSE(world_.box.store->GetProgress("t", "g").HasMarks());
  }

  Random random_;
  const bool fifo_;
  bool filtered_ = false;
  GroupWorld world_;
  std::vector<ModelItem> items_;
  std::vector<std::string> graves_;
  std::set<std::string> doomed_;
  uint64_t delivered_ = 0, dead_ = 0, restarts_ = 0;
};

void RunStories(bool fifo) {
  uint64_t delivered = 0, dead = 0, restarts = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    GroupStory story(seed, fifo);
    story.Run(200);
    delivered += story.delivered();
    dead += story.dead();
    restarts += story.restarts();
    if (testing::Test::HasFailure()) return;
  }
  // That much was looked at.
  EXPECT_GT(delivered, 5000u);
  EXPECT_GT(dead, 500u);
  EXPECT_GT(restarts, 300u);
}

TEST(GroupModelTest, Shared) { RunStories(/*fifo=*/false); }
TEST(GroupModelTest, Fifo) { RunStories(/*fifo=*/true); }

}  // namespace
}  // namespace hourglass
