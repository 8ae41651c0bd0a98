// File: delivery_marks.h
//
// How far delivery is durable, and from where recovery must read.
//
// Messages are taken in batches; a batch is in flight until its Delivered
// records are durable. Two answers follow:
//   * FirstOpen(): the earliest second of any batch in flight. The cursor must
//     not pass it.
//   * ReplayFloor(cursor): the offset of the first Delivered record of any
//     second at or after the cursor. Recovery must read it, or it would
//     deliver that message again.
//
// Threads: under the owner's state lock.
//
// Keeps promise 2: how far delivery is durable.
#ifndef HOURGLASS_WHEEL_DELIVERY_MARKS_H_
#define HOURGLASS_WHEEL_DELIVERY_MARKS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "hourglass/types.h"

namespace hourglass {

class DeliveryMarks {
 public:
  using Token = uint64_t;

  // A batch was taken whose messages are due in seconds first..last.
  Token Taken(Second first, Second last);
  // Its Delivered records stand in the log at [from, to).
  void Sequenced(Token token, LogOffset from, LogOffset to);
  // The log is durable up to `durable`.
  void Durable(LogOffset durable);
  // The batch came to nothing (all of it was set aside).
  void Dropped(Token token) { open_.erase(token); }
  bool IsOpen(Token token) const { return open_.contains(token); }
  // Recovery saw a Delivered record.
  void Replayed(Second second, LogOffset at);

  std::optional<Second> FirstOpen() const;
  // `none` if there is no such record.
  LogOffset ReplayFloor(Second cursor, LogOffset none);
  size_t in_flight() const { return open_.size(); }

 private:
  struct Batch {
    Second first, last;
    LogOffset from, to;  // to == 0: not sequenced yet
  };
  struct Mark {
    Second last;
    LogOffset from;
  };
  // Beyond this many marks, neighbours are merged: recovery then reads a
  // little more than it has to, and memory stays bounded while an overdue
  // backlog holds the cursor back.
  static constexpr size_t kMarksMax = 4096;
  void AddMark(Second last, LogOffset from);

  std::map<Token, Batch> open_;
  std::deque<Mark> marks_;  // by offset
  Token next_ = 1;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_DELIVERY_MARKS_H_
