// File: delay_queue.h
//
// Things that are due at some tick, the earliest on top: what lets a hand
// sleep until there is something to do. It holds numbers (of buckets, of
// slots), each at most once, and a number can be moved or taken out.
//
//   DelayQueue queue;
//   queue.Set(7, Tick(100));
//   queue.Set(7, Tick(90));    // moved forward
//   queue.top();               // {Tick(90), 7}
//   queue.Remove(7);
//
// A binary heap with the place of each number beside it. Set and Remove are
// O(log n) in the numbers queued; top is O(1). Memory: 16 bytes for each
// queued number, 4 for the largest number seen and all below it.
//
// Threads: none.
//
// Serves promise 3: the hand wakes for what is due first.
#ifndef HOURGLASS_TIMERS_DELAY_QUEUE_H_
#define HOURGLASS_TIMERS_DELAY_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hourglass/timers/tick.h"

namespace hourglass {

class DelayQueue {
 public:
  struct Item {
    Tick due;
    uint32_t number;
  };

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // Precondition: not empty.
  const Item& top() const { return heap_[0]; }

  bool Contains(uint32_t number) const {
    return number < places_.size() && places_[number] != kNowhere;
  }

  // Puts it in, or moves it.
  void Set(uint32_t number, Tick due) {
    if (number >= places_.size()) places_.resize(number + 1, kNowhere);
    if (places_[number] == kNowhere) {
      heap_.push_back({due, number});
      Up(heap_.size() - 1);
      return;
    }
    const size_t at = places_[number];
    heap_[at].due = due;
    Down(Up(at));
  }

  // Nothing if it is not in.
  void Remove(uint32_t number) {
    if (!Contains(number)) return;
    const size_t at = places_[number];
    places_[number] = kNowhere;
    const Item last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    heap_[at] = last;
    Down(Up(at));
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  void Put(size_t at, const Item& item) {
    heap_[at] = item;
    places_[item.number] = static_cast<uint32_t>(at);
  }

  // Both move the item at `at` to where it belongs.
  size_t Up(size_t at) {
    const Item item = heap_[at];
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (heap_[parent].due <= item.due) break;
      Put(at, heap_[parent]);
      at = parent;
    }
    Put(at, item);
    return at;
  }

  void Down(size_t at) {
    const Item item = heap_[at];
    while (true) {
      size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].due < heap_[child].due) {
        ++child;
      }
      if (item.due <= heap_[child].due) break;
      Put(at, heap_[child]);
      at = child;
    }
    Put(at, item);
  }

  std::vector<Item> heap_;
  std::vector<uint32_t> places_;  // by number
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_DELAY_QUEUE_H_
