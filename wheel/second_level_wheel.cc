#include "wheel/second_level_wheel.h"

#include <algorithm>

namespace hourglass {

void SecondLevelWheel::Add(Hour hour) {
  Rounds& rounds = slots_[SlotIndex(hour)];
  const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
  if (at != rounds.end() && *at == hour) return;
  rounds.insert(at, hour);
  ++size_;
}

void SecondLevelWheel::Remove(Hour hour) {
  Rounds& rounds = slots_[SlotIndex(hour)];
  const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
  if (at == rounds.end() || *at != hour) return;
  rounds.erase(at);
  --size_;
}

bool SecondLevelWheel::Contains(Hour hour) const {
  const Rounds& rounds = slots_[SlotIndex(hour)];
  return std::binary_search(rounds.begin(), rounds.end(), hour);
}

std::optional<Hour> SecondLevelWheel::NextFrom(Hour from) const {
  std::optional<Hour> next;
  for (int32_t step = 0; step < kSlots; ++step) {
    const Hour hour = from + step;
    const Rounds& rounds = slots_[SlotIndex(hour)];
    const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
    if (at == rounds.end()) continue;
    // Within this round nothing can come before it; a later round's
    // reference is only a candidate.
    if (*at == hour) return hour;
    if (!next || *at < *next) next = *at;
  }
  return next;
}

}  // namespace hourglass
