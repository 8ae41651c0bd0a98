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
  if (request->method == LoadMethod::kWalk) {
    // Chains are walked for the near slots only; what lies behind them is
    // another load.
    const Second from =
        std::max(hand_->Covered(want.lane), SecondOf(StartMs(want.hour)));
    const auto first = wheel_->NextNonEmpty(from).value_or(from);
    const int64_t until_ms = StartMs(first) + preload_ahead_ms_;
    request->until =
        std::min(DueKey::Before(until_ms), DueKey::EndOf(want.hour));
    request->heads = std::make_shared<SlotHeads>(*request->segment->heads());
  }
  hand_->BeginLoad(want.lane, request);
  return absl::OkStatus();
}

void Preloader::PassOver(const Hand::Want& want, const absl::Status& why) {
  uint64_t count = 0;
  {
    MutexLock lock(mu_);
    count = hours_->Facts(want.hour).messages();
    hand_->PassOver(want.lane, want.hour);
  }
  lost_(count,
        absl::StrCat("hour ", DelayIndexName(want.hour), ": ", why.message()));
}

bool Preloader::RunOnce(int64_t now_ms) {
  LoadRequest request;
  std::optional<Hand::Want> want;
  absl::Status prepared;
  {
    MutexLock lock(mu_);
    want = hand_->NextLoad(now_ms);
    if (!want) return false;
    prepared = Prepare(*want, &request);
  }
  if (!prepared.ok()) {
    PassOver(*want, prepared);
    return true;
  }
  LoadResult result = Load(request);
  (result.method == LoadMethod::kWalk ? walks_ : sweeps_) += 1;
  for (const auto& [number, why] : result.damaged) {
    lost_(1, std::string(why.message()));
  }
  if (!result.status.ok()) {
    PassOver(*want, result.status);
    return true;
  }
  MutexLock lock(mu_);
  hand_->FinishLoad(std::move(result));
  return true;
}

}  // namespace hourglass
