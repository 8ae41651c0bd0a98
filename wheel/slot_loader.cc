#include "wheel/slot_loader.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "storage/hour_rescue.h"
#include "storage/planted_bug.h"

namespace hourglass {
namespace {

// Cost of one cold dependent read against one record of a sequential sweep,
// in nanoseconds; measured, see docs/preload.md.
constexpr uint64_t kColdReadNs = 45'000;
constexpr uint64_t kSweepRecordNs = 50;
constexpr uint64_t kOneReadBytes = 256u << 10;
// A sweep has to open and read at least one block.
constexpr uint64_t kSweepStartNs = 100'000;

bool ByKey(const DueEntry& a, const DueEntry& b) { return a.key() < b.key(); }

// Collects entries, holding no more than twice `entries_max` at any time:
// whenever that many have gathered, the larger half is let go and `end` moves
// in front of it.
class Gatherer {
 public:
  explicit Gatherer(const LoadRequest& request)
      : hour_ms_(StartMs(request.segment->hour())),
        entries_max_(std::max<size_t>(request.entries_max, 1)),
        after_(request.after),
        end_(request.until) {}

  bool Wants(DueKey key) const { return after_ < key && key <= end_; }
  DueKey KeyOf(uint32_t ms_into_hour, RecordNumber number) const {
    return {hour_ms_ + ms_into_hour, number};
  }

  void Add(RecordNumber number, const IndexRecord& record) {
    if (record.kind == IndexKind::kTombstone) return AddTombstone(record);
    const DueKey key = KeyOf(record.ms_into_hour, number);
    if (!Wants(key)) return;
    entries_.push_back({key.due_ms, record.location, number, record.size});
    if (entries_.size() >= 2 * entries_max_) Prune();
  }

  void AddTombstone(const IndexRecord& record) {
    if (PlantedBug("tombstone_ignored")) return;
    if (!Wants(KeyOf(record.ms_into_hour, record.target()))) return;
    cancelled_.insert(record.target().value());
    if (cancelled_.size() >= 2 * entries_max_) DropCancelled();
  }

  LoadResult Finish() {
    DropCancelled();
    if (entries_.size() > entries_max_) Prune();
    std::sort(entries_.begin(), entries_.end(), ByKey);
    LoadResult result;
    result.entries = std::move(entries_);
    result.end = end_;
    return result;
  }

 private:
  // A tombstone always comes after its target, so all it can hit is here.
  // (ChainWalk meets it first and keeps the set until its slot is done.)
  void DropCancelled() {
    if (cancelled_.empty()) return;
    std::erase_if(entries_, [this](const DueEntry& entry) {
      return cancelled_.contains(entry.number.value());
    });
    cancelled_.clear();
  }

  void Prune() {
    DropCancelled();
    if (entries_.size() <= entries_max_) return;
    const auto last = entries_.begin() + (entries_max_ - 1);
    std::nth_element(entries_.begin(), last, entries_.end(), ByKey);
    end_ = last->key();
    entries_.resize(entries_max_);
  }

  const int64_t hour_ms_;
  const size_t entries_max_;
  const DueKey after_;
  DueKey end_;
  std::vector<DueEntry> entries_;
  absl::flat_hash_set<uint32_t> cancelled_;
};

// Walks one slot's chain from `head` down. Numbers must fall strictly, which
// also rules out cycles.
absl::Status WalkSlot(const LoadRequest& request, Slot slot, RecordNumber head,
                      Gatherer* gatherer) {
  std::vector<std::pair<RecordNumber, IndexRecord>> chain;
  absl::flat_hash_set<uint32_t> cancelled;
  for (RecordNumber number = head; number != RecordNumber();) {
    auto record = request.segment->ReadIndex(number);
    if (!record.ok()) return record.status();
    if (record->slot() != slot || record->prev >= number) {
      return absl::DataLossError(absl::StrCat(
          DelayIndexName(request.segment->hour()), ": record ", number.value(),
          " does not belong to the chain of slot ", slot.value()));
    }
    if (record->kind == IndexKind::kTombstone) {
      cancelled.insert(record->target().value());
    } else if (!cancelled.contains(number.value())) {
      gatherer->Add(number, *record);
    }
    number = record->prev;
  }
  return absl::OkStatus();
}

Slot FirstSlot(const LoadRequest& request) {
  const int64_t start_ms = StartMs(request.segment->hour());
  if (request.after.due_ms < start_ms) return Slot(0);
  return SlotOf(request.after.due_ms);
}

}  // namespace

LoadResult ForwardSweep(const LoadRequest& request) {
  Gatherer gatherer(request);
  LoadResult::Numbered damaged, rescued;
  HourRescue rescue(request.segment.get());
  const RecordNumber first = request.segment->facts().base + 1;
  const absl::Status status = request.segment->ScanIndex(
      first, request.upto,
      [&](RecordNumber number, const IndexRecord& record) {
        gatherer.Add(number, record);
        return true;
      },
      [&](RecordNumber number, const absl::Status& why) {
        const auto record = rescue.Read(number);
        if (record.ok()) gatherer.Add(number, *record);
        (record.ok() ? rescued : damaged).emplace_back(number, why);
      });
  LoadResult result = gatherer.Finish();
  result.damaged = std::move(damaged);
  result.rescued = std::move(rescued);
  result.status = status;
  result.method = LoadMethod::kSweep;
  result.hour = request.segment->hour();
  result.generation = request.generation;
  return result;
}

LoadResult ChainWalk(const LoadRequest& request) {
  Gatherer gatherer(request);
  absl::Status status;
  const Slot last = SlotOf(request.until.due_ms);
  for (Slot slot = FirstSlot(request); slot <= last && status.ok(); ++slot) {
    const auto next = request.heads->NextNonEmpty(slot);
    if (!next || *next > last) break;
    slot = *next;
    status = WalkSlot(request, slot, request.heads->Get(slot), &gatherer);
  }
  // A broken chain hides what is behind the break; the sweep reads around it.
  if (!status.ok()) return ForwardSweep(request);
  LoadResult result = gatherer.Finish();
  result.method = LoadMethod::kWalk;
  result.hour = request.segment->hour();
  result.generation = request.generation;
  return result;
}

LoadResult Load(const LoadRequest& request) {
  return request.method == LoadMethod::kWalk ? ChainWalk(request)
                                             : ForwardSweep(request);
}

LoadMethod ChooseLoad(uint64_t records, uint64_t slots) {
  // Small hours are never walked; the bug is where they are.
  if (PlantedBug("heads_not_restored") || PlantedBug("walk_always")) {
    return LoadMethod::kWalk;
  }
  // One read fetches all of it.
  if (records * kIndexRecordBytes <= kOneReadBytes) return LoadMethod::kSweep;
  const uint64_t wanted = records * slots / kSlotsPerHour + 1;
  // Each wanted record is a read of its own until every page has been read.
  const uint64_t pages = records * kIndexRecordBytes / 4096 + 1;
  const uint64_t walk_ns = std::min(wanted, pages) * kColdReadNs;
  const uint64_t sweep_ns = kSweepStartNs + records * kSweepRecordNs;
  return walk_ns < sweep_ns ? LoadMethod::kWalk : LoadMethod::kSweep;
}

}  // namespace hourglass
