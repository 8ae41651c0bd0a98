#include "wheel/delivery_marks.h"

#include <algorithm>
#include <utility>

namespace hourglass {

DeliveryMarks::Token DeliveryMarks::Taken(Second first, Second last) {
  open_[next_] = {first, last, LogOffset(), LogOffset()};
  return next_++;
}

void DeliveryMarks::Sequenced(Token token, LogOffset from, LogOffset to) {
  const auto at = open_.find(token);
  if (at == open_.end()) return;
  at->second.from = from;
  at->second.to = to;
  AddMark(at->second.last, from);
}

void DeliveryMarks::Durable(LogOffset durable) {
  std::erase_if(open_, [durable](const auto& batch) {
    return batch.second.to != LogOffset() && batch.second.to <= durable;
  });
}

void DeliveryMarks::Replayed(Second second, LogOffset at) {
  AddMark(second, at);
}

std::optional<Second> DeliveryMarks::FirstOpen() const {
  std::optional<Second> first;
  for (const auto& [token, batch] : open_) {
    if (!first || batch.first < *first) first = batch.first;
  }
  return first;
}

void DeliveryMarks::AddMark(Second last, LogOffset from) {
  if (!marks_.empty() && marks_.back().last == last) return;
  marks_.push_back({last, from});
  if (marks_.size() <= kMarksMax) return;
  std::deque<Mark> merged;
  for (size_t i = 0; i < marks_.size(); i += 2) {
    Mark mark = marks_[i];
    if (i + 1 < marks_.size()) {
      mark.last = std::max(mark.last, marks_[i + 1].last);
    }
    merged.push_back(mark);
  }
  marks_ = std::move(merged);
}

LogOffset DeliveryMarks::ReplayFloor(Second cursor, LogOffset none) {
  // Marks stand in log order, so the first that still matters is the floor.
  while (!marks_.empty() && marks_.front().last < cursor) marks_.pop_front();
  for (const Mark& mark : marks_) {
    if (mark.last >= cursor) return mark.from;
  }
  return none;
}

}  // namespace hourglass
