#include "wheel/hand.h"

#include <algorithm>
#include <limits>

#include "storage/log_format.h"

namespace hourglass {
namespace {

// Far beyond any due time, and safe to multiply by 1000.
constexpr Second kEndOfTime{int64_t{1} << 40};

// What an entry will take in a group of the log: many small messages have
// more header than body, and a batch must fit into one group.
size_t LogBytes(const DueEntry& entry) {
  return entry.size + kRecordHeaderBytes;
}

}  // namespace

Hand::Hand(const HandOptions& options, const SecondLevelWheel* hours,
           HourLedger* ledger)
    : options_(options), hours_(hours), ledger_(ledger) {}

void Hand::Start(Second cursor, int64_t now_ms) {
  cursor_ = cursor;
  fresh_ = MakeLane(cursor);
  overdue_.reset();
  SplitIfBehind(now_ms);
}

void Hand::Arrive(const DueEntry& entry, LogOffset offset) {
  const Second second = SecondOf(entry.due_ms);
  if (second < cursor_) {
    late_.emplace(entry.key(), Late{entry, offset});
  } else if (overdue_ && overdue_->Owns(entry.due_ms)) {
    overdue_->Arrive(entry);
  } else if (fresh_->Owns(entry.due_ms)) {
    fresh_->Arrive(entry);
  } else {
    // Between a finished overdue lane and the cursor: the clock was stepped
    // back while the cursor was on its way. Nobody owns that second any more.
    late_.emplace(entry.key(), Late{entry, offset});
  }
}

std::optional<DueEntry> Hand::PopFrom(DueLane* lane, int64_t now_ms,
                                      Batch* batch) {
  while (auto entry = lane->Pop(now_ms)) {
    if (ledger_->Claim(entry->hour(), entry->number)) return entry;
    batch->passed_over = true;
  }
  return std::nullopt;
}

size_t Hand::TakeLane(DueLane* lane, int64_t now_ms, size_t count_max,
                      size_t bytes_max, Batch* batch) {
  size_t bytes = 0;
  for (size_t count = 0; count < count_max && bytes < bytes_max; ++count) {
    const auto entry = PopFrom(lane, now_ms, batch);
    if (!entry) break;
    bytes += LogBytes(*entry);
    batch->entries.push_back(*entry);
  }
  return bytes;
}

size_t Hand::TakeLate(int64_t now_ms, size_t count_max, size_t bytes_max,
                      Batch* batch) {
  size_t bytes = 0;
  while (!late_.empty() && batch->entries.size() < count_max &&
         bytes < bytes_max) {
    const auto first = late_.begin();
    const Late late = first->second;
    if (late.entry.due_ms > now_ms) break;
    late_.erase(first);
    if (!ledger_->Claim(late.entry.hour(), late.entry.number)) continue;
    bytes += LogBytes(late.entry);
    batch->entries.push_back(late.entry);
    late_in_flight_.push_back({0, late});
  }
  return bytes;
}

Hand::Batch Hand::Take(int64_t now_ms, size_t count_max, size_t bytes_max) {
  SplitIfBehind(now_ms);
  Batch batch;
  // Never nothing: what is due now would wait for all that is overdue.
  const size_t share =
      overdue_ ? std::max<size_t>(count_max / 2, 1) : count_max;
  const size_t share_bytes =
      overdue_ ? std::max<size_t>(bytes_max / 2, 1) : bytes_max;
  size_t bytes = TakeLate(now_ms, std::max<size_t>(share / 2, 1),
                          std::max<size_t>(share_bytes / 2, 1), &batch);
  const size_t late = batch.entries.size();
  const size_t room = share > late ? share - late : 0;
  if (bytes < share_bytes) {
    bytes += TakeLane(&*fresh_, now_ms, room, share_bytes - bytes, &batch);
  }
  if (overdue_ && bytes < bytes_max) {
    TakeLane(&*overdue_, now_ms, count_max - batch.entries.size(),
             bytes_max - bytes, &batch);
  }
  if (batch.entries.empty()) {
    MoveCursor(now_ms);
    return batch;
  }
  batch.token = Mark(batch.entries);
  for (LateInFlight& flying : late_in_flight_) {
    if (flying.token == 0) flying.token = batch.token;
  }
  return batch;
}

DeliveryMarks::Token Hand::Mark(const std::vector<DueEntry>& entries) {
  // Late ones stand before the cursor and must not hold it back.
  Second first = kEndOfTime;
  Second last = cursor_;
  for (const DueEntry& entry : entries) {
    const Second second = SecondOf(entry.due_ms);
    if (second < cursor_) continue;
    first = std::min(first, second);
    last = std::max(last, second);
  }
  return marks_.Taken(first, last);
}

Hand::Batch Hand::Split(DeliveryMarks::Token of, std::vector<DueEntry> later) {
  Batch batch;
  batch.token = Mark(later);
  for (LateInFlight& flying : late_in_flight_) {
    const bool moves =
        flying.token == of &&
        std::any_of(later.begin(), later.end(), [&](const DueEntry& entry) {
          return entry.key() == flying.late.entry.key();
        });
    if (moves) flying.token = batch.token;
  }
  batch.entries = std::move(later);
  return batch;
}

void Hand::Durable(LogOffset durable, int64_t now_ms) {
  marks_.Durable(durable);
  std::erase_if(late_in_flight_, [this](const LateInFlight& flying) {
    return !marks_.IsOpen(flying.token);
  });
  MoveCursor(now_ms);
}

DueLane Hand::MakeLane(Second begin) {
  return DueLane(begin, kEndOfTime, options_.entries_max / 2, ++lanes_made_);
}

void Hand::SplitIfBehind(int64_t now_ms) {
  if (overdue_) return;
  const Second now = SecondOf(now_ms);
  if (StartMs(fresh_->Position()) + options_.split_after_ms > now_ms) return;
  // What is in the lane's memory before `now` stays with the old part.
  overdue_ = std::move(*fresh_);
  overdue_->CutTo(now);
  fresh_ = MakeLane(now);
}

void Hand::MoveCursor(int64_t now_ms) {
  if (overdue_ && overdue_->Done()) overdue_.reset();
  Second position = overdue_ ? overdue_->Position() : fresh_->Position();
  // The current second may still get messages.
  position = std::min(position, SecondOf(now_ms));
  if (const auto open = marks_.FirstOpen()) {
    position = std::min(position, *open);
  }
  cursor_ = std::max(cursor_, position);
}

DueLane* Hand::lane(LaneId id) {
  if (id == LaneId::kFresh) return &*fresh_;
  return overdue_ ? &*overdue_ : nullptr;
}

std::optional<Hand::Want> Hand::NextLoad(int64_t now_ms) {
  const int64_t horizon_ms = now_ms + options_.preload_ahead_ms;
  // First let the lane cover hours without files, then see if it is behind.
  fresh_->CoverEmptyHours(*hours_, horizon_ms);
  SplitIfBehind(now_ms);
  if (const auto hour = fresh_->NextHourToLoad(*hours_, horizon_ms)) {
    return Want{LaneId::kFresh, *hour};
  }
  if (!overdue_) return std::nullopt;
  if (const auto hour = overdue_->NextHourToLoad(*hours_, horizon_ms)) {
    return Want{LaneId::kOverdue, *hour};
  }
  return std::nullopt;
}

void Hand::BeginLoad(LaneId id, LoadRequest* request) {
  lane(id)->BeginLoad(request);
}

void Hand::FinishLoad(LoadResult result) {
  const bool overdue = overdue_ && overdue_->Expects(result.generation);
  DueLane& to = overdue ? *overdue_ : *fresh_;
  to.FinishLoad(std::move(result));
}

void Hand::PassOver(LaneId id, Hour hour) {
  if (DueLane* to = lane(id)) to->PassOver(hour);
}

bool Hand::PassOver(uint64_t generation, Hour hour) {
  for (const LaneId id : {LaneId::kFresh, LaneId::kOverdue}) {
    DueLane* to = lane(id);
    if (to == nullptr || !to->Expects(generation)) continue;
    to->PassOver(hour);
    return true;
  }
  return false;
}

Second Hand::Covered(LaneId id) { return lane(id)->Covered(); }

Hour Hand::LastHour() const {
  const Hour fresh = fresh_->LastHour();
  return overdue_ ? std::max(fresh, overdue_->LastHour()) : fresh;
}

LogOffset Hand::ReplayFrom(LogOffset applied) {
  LogOffset from = std::min(applied, marks_.ReplayFloor(cursor_, applied));
  for (const auto& [key, late] : late_) from = std::min(from, late.offset);
  for (const LateInFlight& flying : late_in_flight_) {
    from = std::min(from, flying.late.offset);
  }
  return from;
}

int64_t Hand::NextDueMs() const {
  int64_t next = std::numeric_limits<int64_t>::max();
  if (!late_.empty()) next = late_.begin()->first.due_ms;
  if (overdue_) next = std::min(next, overdue_->NextDueMs().value_or(next));
  next = std::min(next, fresh_->NextDueMs().value_or(next));
  return next == std::numeric_limits<int64_t>::max() ? 0 : next;
}

int64_t Hand::NextWakeMs(int64_t now_ms) const {
  const int64_t due_ms = NextDueMs();
  int64_t wake = due_ms == 0 ? std::numeric_limits<int64_t>::max() : due_ms;
  // The next hour with files is to be loaded this long before it begins.
  const int64_t horizon_ms = now_ms + options_.preload_ahead_ms;
  if (const auto hour = hours_->NextFrom(HourOf(horizon_ms) + 1)) {
    wake = std::min(wake, StartMs(*hour) - options_.preload_ahead_ms);
  }
  return wake;
}

size_t Hand::entries() const {
  return fresh_->entries() + (overdue_ ? overdue_->entries() : 0) +
         late_.size();
}

bool Hand::HasLateIn(Hour hour) const {
  for (const auto& [key, late] : late_) {
    if (late.entry.hour() == hour) return true;
  }
  return std::any_of(late_in_flight_.begin(), late_in_flight_.end(),
                     [hour](const LateInFlight& flying) {
                       return flying.late.entry.hour() == hour;
                     });
}

}  // namespace hourglass
