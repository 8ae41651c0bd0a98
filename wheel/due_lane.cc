#include "wheel/due_lane.h"

#include <algorithm>
#include <utility>

namespace hourglass {
namespace {

// std::push_heap and friends keep the largest in front: turn the order round.
bool Later(const DueEntry& a, const DueEntry& b) { return b.key() < a.key(); }
bool Earlier(const DueEntry& a, const DueEntry& b) { return a.key() < b.key(); }

}  // namespace

DueLane::DueLane(Second begin, Second end, size_t entries_max, uint32_t serial)
    : begin_(begin),
      end_(end),
      entries_max_(std::max<size_t>(entries_max, 2)),
      covered_(DueKey::Before(StartMs(begin))),
      generation_(uint64_t{serial} << 32) {}

void DueLane::Arrive(const DueEntry& entry) {
  const DueKey key = entry.key();
  if (key <= covered_) {
    PushLive(entry);
    PruneIfFull();
  } else if (loading_ && key <= loading_until_) {
    arrived_while_loading_.push_back(entry);
    if (arrived_while_loading_.size() > entries_max_) {
      // More arrives than may be kept: forget this load, read it again later.
      ++generation_;
      loading_ = false;
      arrived_while_loading_ = {};
    }
  }
}

void DueLane::PushLive(const DueEntry& entry) {
  live_.push_back(entry);
  std::push_heap(live_.begin(), live_.end(), Later);
}

const DueEntry* DueLane::Peek() const {
  if (run_.empty()) return live_.empty() ? nullptr : &live_.front();
  if (live_.empty()) return &run_.front();
  return Earlier(live_.front(), run_.front()) ? &live_.front() : &run_.front();
}

std::optional<int64_t> DueLane::NextDueMs() const {
  const DueEntry* next = Peek();
  if (next == nullptr) return std::nullopt;
  return next->due_ms;
}

std::optional<DueEntry> DueLane::Pop(int64_t now_ms) {
  const DueEntry* next = Peek();
  if (next == nullptr || next->due_ms > now_ms) return std::nullopt;
  const DueEntry entry = *next;
  if (!run_.empty() && next == &run_.front()) {
    run_.pop_front();
  } else {
    std::pop_heap(live_.begin(), live_.end(), Later);
    live_.pop_back();
  }
  return entry;
}

DueKey DueLane::NextKey() const {
  if (covered_ != DueKey::EndOf(covered_.due_ms)) return covered_;
  return {covered_.due_ms + 1, RecordNumber()};
}

Hour DueLane::Horizon(int64_t horizon_ms) const {
  return HourOf(std::min(horizon_ms, StartMs(end_) - kMsPerSecond));
}

void DueLane::CoverEmptyHours(const SecondLevelWheel& hours,
                              int64_t horizon_ms) {
  if (loading_ || covered_ >= LastKey()) return;
  const Hour horizon = Horizon(horizon_ms);
  const auto hour = hours.NextFrom(HourOf(NextKey().due_ms));
  const Hour empty = hour ? std::min(*hour - 1, horizon) : horizon;
  covered_ = std::max(covered_, std::min(DueKey::EndOf(empty), LastKey()));
}

std::optional<Hour> DueLane::NextHourToLoad(const SecondLevelWheel& hours,
                                            int64_t horizon_ms) {
  CoverEmptyHours(hours, horizon_ms);
  if (loading_ || covered_ >= LastKey()) return std::nullopt;
  if (entries() > entries_max_ / 2) return std::nullopt;
  const auto hour = hours.NextFrom(HourOf(NextKey().due_ms));
  if (!hour || *hour > Horizon(horizon_ms)) return std::nullopt;
  return hour;
}

void DueLane::BeginLoad(LoadRequest* request) {
  request->after = covered_;
  if (request->until.due_ms < 0) {
    request->until = DueKey::EndOf(request->segment->hour());
  }
  request->until = std::min(request->until, LastKey());
  request->entries_max = entries_max_ / 2;
  request->generation = ++generation_;
  loading_ = true;
  loading_until_ = request->until;
}

void DueLane::FinishLoad(LoadResult result) {
  if (!Expects(result.generation)) return;
  loading_ = false;
  std::vector<DueEntry> arrived = std::move(arrived_while_loading_);
  arrived_while_loading_ = {};
  if (!result.status.ok()) return;
  covered_ = std::min(result.end, LastKey());
  for (const DueEntry& entry : result.entries) {
    // The lane may have been cut since the load began.
    if (entry.key() <= covered_) run_.push_back(entry);
  }
  for (const DueEntry& entry : arrived) {
    if (entry.key() <= covered_) PushLive(entry);
  }
  PruneIfFull();
}

void DueLane::PassOver(Hour hour) {
  ++generation_;
  loading_ = false;
  covered_ = std::max(covered_, std::min(DueKey::EndOf(hour), LastKey()));
  for (const DueEntry& entry : std::exchange(arrived_while_loading_, {})) {
    if (entry.key() <= covered_) PushLive(entry);
  }
}

void DueLane::PruneIfFull() {
  if (entries() <= entries_max_) return;
  std::vector<DueEntry> all(run_.begin(), run_.end());
  all.insert(all.end(), live_.begin(), live_.end());
  const auto last = all.begin() + (entries_max_ / 2 - 1);
  std::nth_element(all.begin(), last, all.end(), Earlier);
  covered_ = last->key();
  all.resize(entries_max_ / 2);
  std::sort(all.begin(), all.end(), Earlier);
  run_.assign(all.begin(), all.end());
  live_ = {};
  // A load in flight starts behind the old `covered_`: its answer would leave
  // a hole.
  ++generation_;
  loading_ = false;
  arrived_while_loading_ = {};
}

void DueLane::CutTo(Second from) {
  end_ = from;
  const DueKey last = LastKey();
  if (covered_ <= last) return;
  covered_ = last;
  while (!run_.empty() && run_.back().key() > last) run_.pop_back();
  std::erase_if(live_, [&](const DueEntry& e) { return e.key() > last; });
  std::make_heap(live_.begin(), live_.end(), Later);
}

Hour DueLane::LastHour() const {
  const int64_t last_ms =
      std::max(covered_.due_ms, loading_ ? loading_until_.due_ms : 0);
  return HourOf(std::max<int64_t>(last_ms, 0));
}

Second DueLane::Position() const {
  if (const DueEntry* next = Peek()) return SecondOf(next->due_ms);
  if (covered_ >= LastKey()) return end_;
  // A second that is covered only in part is not done.
  return Covered();
}

}  // namespace hourglass
