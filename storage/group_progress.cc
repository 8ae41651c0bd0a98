#include "hourglass/group_progress.h"

#include <algorithm>
#include <iterator>

namespace hourglass {

bool GroupProgress::IsAcked(QueueIndex index) const {
  if (index < next) return true;
  auto at = acked.upper_bound(index);
  return at != acked.begin() && index < std::prev(at)->second;
}

uint32_t GroupProgress::AttemptsOf(QueueIndex index) const {
  const auto at = attempts.find(index);
  return at == attempts.end() ? 0 : at->second;
}

QueueIndex GroupProgress::end() const {
  QueueIndex end = next;
  if (!acked.empty()) end = std::max(end, acked.rbegin()->second);
  if (!attempts.empty()) end = std::max(end, attempts.rbegin()->first + 1);
  return end;
}

bool GroupProgress::WouldAddRange(QueueIndex from, QueueIndex to) const {
  if (from >= to || from <= next) return false;
  // One that begins at `to` or before, and ends at `from` or behind, touches.
  const auto at = acked.upper_bound(to);
  return at == acked.begin() || std::prev(at)->second < from;
}

void GroupProgress::Ack(QueueIndex from, QueueIndex to) {
  from = std::max(from, next);
  if (from >= to) return;
  attempts.erase(attempts.lower_bound(from), attempts.lower_bound(to));
  // Swallow every range that overlaps or touches.
  auto at = acked.upper_bound(from);
  if (at != acked.begin() && std::prev(at)->second >= from) --at;
  while (at != acked.end() && at->first <= to) {
    from = std::min(from, at->first);
    to = std::max(to, at->second);
    at = acked.erase(at);
  }
  if (from == next) {
    next = to;
  } else {
    acked.insert(at, {from, to});
  }
}

void GroupProgress::NoteAttempts(QueueIndex index, uint32_t count) {
  if (count == 0 || IsAcked(index)) return;
  uint32_t& known = attempts[index];
  known = std::max(known, count);
}

void GroupProgress::Merge(const GroupProgress& other) {
  Ack(QueueIndex(), other.next);
  for (const auto& [from, to] : other.acked) Ack(from, to);
  for (const auto& [index, count] : other.attempts) NoteAttempts(index, count);
}

}  // namespace hourglass
