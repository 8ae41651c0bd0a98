#include "wheel/preloader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/status_macros.h"

namespace hourglass {

Preloader::Preloader(Mutex* mu, Hand* hand, HourTable* hours,
                     FirstLevelWheel* wheel, int64_t preload_ahead_ms,
                     Lost lost)
    : mu_(mu),
      hand_(hand),
      hours_(hours),
      wheel_(wheel),
      preload_ahead_ms_(preload_ahead_ms),
      lost_(std::move(lost)) {}

absl::Status Preloader::Prepare(const Hand::Want& want, LoadRequest* request) {
  ASSIGN_OR_RETURN(request->segment, hours_->ForRead(want.hour));
  RETURN_IF_ERROR(request->segment->Flush());
  request->upto = request->segment->facts().last;
  wheel_->Place(request->segment);
  const auto slots =
      static_cast<uint64_t>(preload_ahead_ms_ / kMsPerSecond + 1);
  request->method = ChooseLoad(request->segment->facts().records(),
                               std::min<uint64_t>(slots, kSlotsPerHour));
  if (request->method == LoadMethod::kWalk) PrepareWalk(want, request);
  hand_->BeginLoad(want.lane, request);
  return absl::OkStatus();
}

// Chains are walked for the near slots only; what lies behind them is another
// load. Whole seconds, at least one: so that each load gets somewhere.
void Preloader::PrepareWalk(const Hand::Want& want, LoadRequest* request) {
  const Second from =
      std::max(hand_->Covered(want.lane), SecondOf(StartMs(want.hour)));
  const Second first = wheel_->NextNonEmpty(from).value_or(from);
  const Second end = first + (preload_ahead_ms_ / kMsPerSecond + 1);
  request->until =
      std::min(DueKey::Before(StartMs(end)), DueKey::EndOf(want.hour));
  request->heads = std::make_shared<SlotHeads>(*request->segment->heads());
}

uint64_t Preloader::LoseHour(Hour hour) {
  if (!unreadable_.insert(hour).second) return 0;
  const HourFacts facts = hours_->Facts(hour);
  return facts.messages() - facts.tombstones;
}

void Preloader::Report(Hour hour, uint64_t lost, const absl::Status& why) {
  if (lost == 0) return;
  lost_(lost, absl::StrCat("hour ", DelayIndexName(hour), ": ", why.message()));
}

bool Preloader::IsNews(Reported* reported, Hour hour, RecordNumber number) {
  MutexLock lock(mu_);
  return (*reported)[hour].Insert(number);
}

void Preloader::ReportDamaged(const LoadResult& result) {
  for (const auto& [number, why] : result.damaged) {
    if (!IsNews(&damaged_, result.hour, number)) continue;
    lost_(1, std::string(why.message()));
  }
  for (const auto& [number, why] : result.rescued) {
    if (!IsNews(&rescued_before_, result.hour, number)) continue;
    ++rescued_;
    lost_(0, std::string(why.message()));
  }
}

bool Preloader::RunOnce(int64_t now_ms) {
  LoadRequest request;
  Hour hour;
  uint64_t lost = 0;
  absl::Status prepared;
  {
    MutexLock lock(mu_);
    const auto want = hand_->NextLoad(now_ms);
    if (!want) return false;
    hour = want->hour;
    prepared = Prepare(*want, &request);
    if (!prepared.ok() && !absl::IsDataLoss(prepared)) return false;
    if (!prepared.ok()) {
      hand_->PassOver(want->lane, hour);
      lost = LoseHour(hour);
    }
  }
  if (!prepared.ok()) {
    Report(hour, lost, prepared);
    return true;
  }
  LoadResult result = Load(request);
  (result.method == LoadMethod::kWalk ? walks_ : sweeps_) += 1;
  ReportDamaged(result);
  const absl::Status status = result.status;
  {
    MutexLock lock(mu_);
    if (!absl::IsDataLoss(status)) {
      // With an error the lane only learns that nothing came.
      hand_->FinishLoad(std::move(result));
    } else if (hand_->PassOver(result.generation, hour)) {
      lost = LoseHour(hour);
    }
  }
  Report(hour, lost, status);
  return status.ok() || absl::IsDataLoss(status);
}

}  // namespace hourglass
