#include "hourglass/timers/timer_entry.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

using testing::ElementsAre;

class EntryListTest : public testing::Test {
 protected:
  std::vector<int> Ids(EntryList* list) {
    std::vector<int> ids;
    list->ForEach([&](TimerEntry* entry) {
      ids.push_back(static_cast<TestEntry*>(entry)->id);
    });
    return ids;
  }

  std::vector<TestEntry> entries_ = MakeEntries(5);
  EntryList list_;
};

TEST_F(EntryListTest, KeepsTheOrderOfArrival) {
  for (TestEntry& entry : entries_) list_.PushBack(&entry);
  EXPECT_THAT(Ids(&list_), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(list_.PopFront(), &entries_[0]);
  EXPECT_FALSE(entries_[0].scheduled());
  EXPECT_TRUE(entries_[1].scheduled());
}

TEST_F(EntryListTest, RemoveSaysWhetherItWasTheLast) {
  for (TestEntry& entry : entries_) list_.PushBack(&entry);
  for (int id : {2, 0, 4, 1}) {
    EXPECT_FALSE(EntryList::Remove(&entries_[id])) << id;
  }
  EXPECT_TRUE(EntryList::Remove(&entries_[3]));
  EXPECT_TRUE(list_.empty());
}

TEST_F(EntryListTest, SplicesAtTheEnd) {
  EntryList other;
  list_.Splice(&other);
  EXPECT_TRUE(list_.empty());
  list_.PushBack(&entries_[0]);
  other.PushBack(&entries_[1]);
  other.PushBack(&entries_[2]);
  list_.Splice(&other);
  EXPECT_TRUE(other.empty());
  EXPECT_THAT(Ids(&list_), ElementsAre(0, 1, 2));
  other.PushBack(&entries_[3]);
  EXPECT_THAT(Ids(&other), ElementsAre(3));
}

TEST_F(EntryListTest, ForEachMayRemoveWhatItVisits) {
  for (TestEntry& entry : entries_) list_.PushBack(&entry);
  list_.ForEach([](TimerEntry* entry) {
    if (static_cast<TestEntry*>(entry)->id % 2 == 0) EntryList::Remove(entry);
  });
  EXPECT_THAT(Ids(&list_), ElementsAre(1, 3));
}

}  // namespace
}  // namespace hourglass
