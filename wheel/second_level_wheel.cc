#include "wheel/second_level_wheel.h"

#include <algorithm>

namespace hourglass {

void SecondLevelWheel::Add(Hour hour) {
  Rounds& rounds = slots_[SlotIndex(hour)];
  const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
  if (at != rounds.end() && *at == hour) return;
  rounds.insert(at, hour);
  occupied_.Insert(SlotIndex(hour));
  ++size_;
}

void SecondLevelWheel::Remove(Hour hour) {
  Rounds& rounds = slots_[SlotIndex(hour)];
  const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
  if (at == rounds.end() || *at != hour) return;
  rounds.erase(at);
  if (rounds.empty()) occupied_.Remove(SlotIndex(hour));
  --size_;
}

bool SecondLevelWheel::Contains(Hour hour) const {
  const Rounds& rounds = slots_[SlotIndex(hour)];
  return std::binary_search(rounds.begin(), rounds.end(), hour);
}

std::optional<Hour> SecondLevelWheel::NextFrom(Hour from) const {
  std::optional<Hour> next;
  for (int32_t step = 0;; ++step) {
    step += StepsToOccupied(from + step);
    if (step >= kSlots) return next;
    const Hour hour = from + step;
    const Rounds& rounds = slots_[SlotIndex(hour)];
    const auto at = std::lower_bound(rounds.begin(), rounds.end(), hour);
    if (at == rounds.end()) continue;
    // Within this round nothing can come before it; a later round's
    // reference is only a candidate.
    if (*at == hour) return hour;
    if (!next || *at < *next) next = *at;
  }
}

int32_t SecondLevelWheel::StepsToOccupied(Hour from) const {
  const size_t here = SlotIndex(from);
  const std::optional<size_t> slot = occupied_.NextAround(here);
  if (!slot) return kSlots;
  return static_cast<int32_t>((*slot + kSlots - here) % kSlots);
}

}  // namespace hourglass
