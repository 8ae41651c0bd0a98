#include "wheel/first_level_wheel.h"

#include <utility>

namespace hourglass {
namespace {

Second StartOf(Hour hour) {
  return Second(int64_t{hour.value()} * kSlotsPerHour);
}

Slot SlotOf(Second second) {
  return Slot(static_cast<uint32_t>(second.value() % kSlotsPerHour));
}

}  // namespace

void FirstLevelWheel::Place(std::shared_ptr<HourSegment> segment) {
  const size_t round = RoundOf(segment->hour());
  rounds_[round] = std::move(segment);
}

void FirstLevelWheel::Remove(Hour hour) {
  auto& round = rounds_[RoundOf(hour)];
  if (round && round->hour() == hour) round = nullptr;
}

std::shared_ptr<HourSegment> FirstLevelWheel::SegmentOf(Hour hour) const {
  const auto& round = rounds_[RoundOf(hour)];
  return round && round->hour() == hour ? round : nullptr;
}

RecordNumber FirstLevelWheel::Head(Second second) const {
  const auto segment = SegmentOf(HourOf(second));
  return segment ? segment->heads()->Get(SlotOf(second)) : RecordNumber();
}

std::optional<Second> FirstLevelWheel::NextNonEmpty(Second from) const {
  const Hour hour = HourOf(from);
  if (auto next = NextInHour(hour, from)) return next;
  return NextInHour(hour + 1, StartOf(hour + 1));
}

std::optional<Second> FirstLevelWheel::NextInHour(Hour hour,
                                                  Second from) const {
  const auto segment = SegmentOf(hour);
  if (!segment) return std::nullopt;
  const auto slot = segment->heads()->NextNonEmpty(SlotOf(from));
  if (!slot) return std::nullopt;
  return StartOf(hour) + slot->value();
}

}  // namespace hourglass
