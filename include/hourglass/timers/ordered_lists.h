// File: ordered_lists.h
//
// Lists of entries in the order of a key: the turns of an overflow list, the
// rounds of one bucket. Only keys that have entries are there.
//
//   OrderedLists lists;
//   lists.Add(round, entry);
//   lists.first_key();           // the lowest
//   lists.TakeFirst(&due);       // its entries, in the order they came
//
// Add is O(log keys); so is EraseIfEmpty, which whoever cancels an entry must
// call when its list has become empty. Nodes are used again, so that a wheel
// at work allocates only while it grows.
//
// Threads: none.
//
// Serves promise 3: what is due first stands first.
#ifndef HOURGLASS_TIMERS_ORDERED_LISTS_H_
#define HOURGLASS_TIMERS_ORDERED_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hourglass/timers/timer_entry.h"

namespace hourglass {

// Nodes that are not in use, shared by the OrderedLists of a wheel.
using OrderedListsMap = std::map<int64_t, EntryList>;
using OrderedListsSpares = std::vector<OrderedListsMap::node_type>;

class OrderedLists {
 public:
  bool empty() const { return lists_.empty(); }
  // Precondition: not empty.
  int64_t first_key() const { return lists_.begin()->first; }

  // True if the key is new.
  bool Add(int64_t key, TimerEntry* entry, OrderedListsSpares* spares) {
    auto at = lists_.lower_bound(key);
    const bool is_new = at == lists_.end() || at->first != key;
    if (is_new) at = Insert(at, key, spares);
    at->second.PushBack(entry);
    return is_new;
  }

  // Appends the entries of the lowest key to `to`.
  void TakeFirst(EntryList* to, OrderedListsSpares* spares) {
    to->Splice(&lists_.begin()->second);
    Keep(lists_.extract(lists_.begin()), spares);
  }

  // The list of `key` may have lost its last entry.
  void EraseIfEmpty(int64_t key, OrderedListsSpares* spares) {
    const auto at = lists_.find(key);
    if (at == lists_.end() || !at->second.empty()) return;
    Keep(lists_.extract(at), spares);
  }

  template <typename Fn>
  void ForEach(Fn&& fn) {
    for (auto& [key, list] : lists_) list.ForEach(fn);
  }

 private:
  static constexpr size_t kSparesMax = 1024;

  OrderedListsMap::iterator Insert(OrderedListsMap::iterator hint, int64_t key,
                                   OrderedListsSpares* spares) {
    if (spares->empty()) return lists_.try_emplace(hint, key);
    OrderedListsMap::node_type node = std::move(spares->back());
    spares->pop_back();
    node.key() = key;
    return lists_.insert(hint, std::move(node));
  }

  static void Keep(OrderedListsMap::node_type node,
                   OrderedListsSpares* spares) {
    if (spares->size() < kSparesMax) spares->push_back(std::move(node));
  }

  OrderedListsMap lists_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_ORDERED_LISTS_H_
