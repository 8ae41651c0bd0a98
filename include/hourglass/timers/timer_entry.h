// File: timer_entry.h
//
// What a wheel holds: an entry that the host owns and the wheel only links.
// Nothing is allocated to schedule it, and an entry is found for cancelling
// through its own links.
//
//   struct Lease : TimerEntry {
//     std::string owner;
//   };
//
// Layout: 32 bytes, so an entry and a payload of as much again share one
// cache line.
//
//   prev  next   neighbours in the bucket; null while not in a wheel
//   deadline     the tick at which it fires
//   rounds       how often the hand passes before that (HashedWheel)
//
// `EntryList` is a bucket: a ring through a head of 16 bytes. New entries go
// to the end, so entries of one tick keep the order in which they came.
//
// Ownership: the host's. An entry must not move, and must be cancelled or
// fired before it is destroyed: the process ends otherwise, because a bucket
// would point at freed memory. A list that is destroyed lets its entries go.
//
// Threads: none; a wheel and its entries belong to one thread at a time.
//
// Serves promise 2: an entry is in one place, and leaves it once.
#ifndef HOURGLASS_TIMERS_TIMER_ENTRY_H_
#define HOURGLASS_TIMERS_TIMER_ENTRY_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "hourglass/timers/tick.h"

namespace hourglass {

namespace timers_internal {

[[noreturn]] inline void Die(const char* why) {
  std::fprintf(stderr, "hourglass: %s\n", why);
  std::abort();
}

struct Link {
  Link* prev = nullptr;
  Link* next = nullptr;
};

}  // namespace timers_internal

class TimerEntry : private timers_internal::Link {
 public:
  TimerEntry() = default;
  TimerEntry(const TimerEntry&) = delete;
  TimerEntry& operator=(const TimerEntry&) = delete;
  ~TimerEntry() {
    if (scheduled()) {
      timers_internal::Die("a TimerEntry was destroyed while scheduled");
    }
  }

  // In a wheel: neither fired nor cancelled nor handed back.
  bool scheduled() const { return next != nullptr; }
  // The last one it was scheduled for.
  Tick deadline() const { return deadline_; }

 private:
  friend class EntryList;
  template <typename Derived, typename Entry>
  friend class TimerWheelBase;
  template <typename Entry>
  friend class HashedWheel;

  Tick deadline_;
  int64_t rounds_ = 0;
};
static_assert(sizeof(TimerEntry) == 32);

class EntryList {
 public:
  EntryList() { head_.prev = head_.next = &head_; }
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;
  ~EntryList() {
    while (!empty()) PopFront();
  }

  bool empty() const { return head_.next == &head_; }

  void PushBack(TimerEntry* entry) {
    Link* const link = entry;
    Link* const last = head_.prev;
    link->prev = last;
    link->next = &head_;
    last->next = link;
    head_.prev = link;
  }

  TimerEntry* PopFront() {
    TimerEntry* const entry = ToEntry(head_.next);
    Remove(entry);
    return entry;
  }

  // True if the list that it was in is empty now. Only the head of an empty
  // list has the same neighbour on both sides.
  static bool Remove(TimerEntry* entry) {
    Link* const link = entry;
    Link* const prev = link->prev;
    Link* const next = link->next;
    prev->next = next;
    next->prev = prev;
    link->next = nullptr;
    return prev == next;
  }

  // Moves everything from `other` to the end of this one.
  void Splice(EntryList* other) {
    if (other->empty()) return;
    Link* const first = other->head_.next;
    Link* const last = other->head_.prev;
    first->prev = head_.prev;
    head_.prev->next = first;
    last->next = &head_;
    head_.prev = last;
    other->head_.prev = other->head_.next = &other->head_;
  }

  // Starts to fetch its ends: a hand that comes here soon would wait for
  // memory otherwise.
  void Prefetch() const {
    __builtin_prefetch(head_.next, 1);
    __builtin_prefetch(head_.prev, 1);
  }

  // `fn(TimerEntry*)` for each; it may remove or move that entry.
  template <typename Fn>
  void ForEach(Fn&& fn) {
    Link* next;
    for (Link* at = head_.next; at != &head_; at = next) {
      next = at->next;
      fn(ToEntry(at));
    }
  }

 private:
  using Link = timers_internal::Link;
  static TimerEntry* ToEntry(Link* link) {
    return static_cast<TimerEntry*>(link);
  }

  Link head_;
};

}  // namespace hourglass

#endif  // HOURGLASS_TIMERS_TIMER_ENTRY_H_
