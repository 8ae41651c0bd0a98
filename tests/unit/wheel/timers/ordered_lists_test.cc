#include "hourglass/timers/ordered_lists.h"

#include <gmock/gmock.h>

#include "tests/unit/wheel/timers/wheels_under_test.h"

namespace hourglass {
namespace {

TEST(OrderedListsTest, YieldsTheLowestKeyFirst) {
  std::vector<TestEntry> entries = MakeEntries(4);
  OrderedListsSpares spares;
  OrderedLists lists;
  EXPECT_TRUE(lists.Add(9, &entries[0], &spares));
  EXPECT_TRUE(lists.Add(2, &entries[1], &spares));
  EXPECT_FALSE(lists.Add(9, &entries[2], &spares));
  EXPECT_EQ(lists.first_key(), 2);
  EntryList out;
  lists.TakeFirst(&out, &spares);
  EXPECT_EQ(out.PopFront(), &entries[1]);
  EXPECT_EQ(lists.first_key(), 9);
  lists.TakeFirst(&out, &spares);
  EXPECT_EQ(out.PopFront(), &entries[0]);
  EXPECT_EQ(out.PopFront(), &entries[2]);
  EXPECT_TRUE(lists.empty());
  EXPECT_EQ(spares.size(), 2u);
}

TEST(OrderedListsTest, UsesItsNodesAgain) {
  std::vector<TestEntry> entries = MakeEntries(2);
  OrderedListsSpares spares;
  OrderedLists lists;
  lists.Add(9, &entries[0], &spares);
  lists.EraseIfEmpty(9, &spares);  // it is not
  EXPECT_FALSE(lists.empty());
  EntryList::Remove(&entries[0]);
  lists.EraseIfEmpty(9, &spares);
  lists.EraseIfEmpty(9, &spares);
  EXPECT_TRUE(lists.empty());
  EXPECT_EQ(spares.size(), 1u);
  EXPECT_TRUE(lists.Add(4, &entries[1], &spares));
  EXPECT_EQ(spares.size(), 0u);
  EXPECT_EQ(lists.first_key(), 4);
}

}  // namespace
}  // namespace hourglass
