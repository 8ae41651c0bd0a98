#include "tests/simulation/sim_machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr size_t kWrittenKept = 8;

absl::Status Describe(SimOp op, const std::string& path,
                      const absl::Status& why) {
  if (why.ok()) return why;
  return absl::Status(why.code(), absl::StrCat(ToAbsl(SimOpName(op)), " ", path,
                                               ": ", why.message()));
}

}  // namespace

absl::Status SimNoPower() {
  return absl::UnavailableError("the simulated machine has lost power");
}
absl::Status SimIoError(FaultKind kind) {
  if (kind == FaultKind::kNoSpaceCall) {
    return absl::ResourceExhaustedError("no space left (simulated)");
  }
  if (kind == FaultKind::kOpenError) {
    return absl::ResourceExhaustedError("too many open files (simulated)");
  }
  return absl::DataLossError(
      absl::StrCat("I/O error (simulated: ", ToAbsl(FaultKindName(kind)), ")"));
}
uint64_t SimMix(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

SimVerdict SimMachine::Begin(SimOp op, const std::string& path, uint64_t offset,
                             uint64_t size) {
  if (!power) return {false, SimNoPower()};
  ++calls;
  SimCall& call = last[calls % kSimCallsKept];
  call.op = op;
  call.path.assign(path);
  call.offset = offset;
  call.size = size;
  call.code = absl::StatusCode::kOk;
  trace = SimMix(trace, static_cast<uint64_t>(op));
  trace = SimMix(trace, HashBytes(path));
  trace = SimMix(SimMix(trace, offset), size);
  if (calls == power_off_at) {
    power = false;
    return {rng.Percent(50), SimNoPower(), FaultKind::kPowerLoss};
  }
  WriteBackSome();
  return Judge(op, path);
}

SimVerdict SimMachine::Judge(SimOp op, const std::string& path) {
  SimVerdict verdict;
  for (Fault& fault : faults) {
    if (!Strikes(fault.kind, op)) continue;
    if (!fault.where.empty() && path.find(fault.where) == path.npos) continue;
    if (fault.nth > 0) --fault.nth;
    if (fault.nth > 0 || !verdict.status.ok()) continue;
    verdict = {false, SimIoError(fault.kind), fault.kind};
  }
  if (verdict.status.ok()) return verdict;
  Count(counts, verdict.fault);
  ++errors;
  std::erase_if(faults, [](const Fault& f) { return f.nth == 0 && !f.sticky; });
  return verdict;
}

absl::Status SimMachine::End(SimOp op, const std::string& path,
                             absl::Status status) {
  trace = SimMix(trace, static_cast<uint64_t>(status.raw_code()));
  last[calls % kSimCallsKept].code = status.code();
  return Describe(op, path, status);
}

void SimMachine::NoteContent(const std::string& path, std::string_view data) {
  if (path.find("/checkpoint/") != path.npos) return;
  trace = SimMix(trace, HashBytes(data));
}

void SimMachine::WriteBackSome() {
  if (plan->write_back_permille == 0 || written.empty()) return;
  if (rng.Uniform(1000) >= plan->write_back_permille) return;
  SimInode& inode = *written[rng.Uniform(written.size())];
  if (inode.content.WriteBack(rng.Next())) {
    Count(counts, FaultKind::kWriteBack);
  }
}

void SimMachine::NoteWritten(const SimInodePtr& inode) {
  inode->modified_ms = clock->NowMs();
  if (plan->write_back_permille == 0) return;
  if (std::find(written.begin(), written.end(), inode) != written.end()) return;
  if (written.size() == kWrittenKept) written.erase(written.begin());
  written.push_back(inode);
}

std::shared_ptr<SimMachine> SimMachine::Successor(uint64_t seed) const {
  auto after = std::make_shared<SimMachine>();
  after->clock = clock;
  after->plan = plan;
  after->counts = counts;
  after->rng = SplitMix64(seed);
  after->calls = calls;
  after->trace = SimMix(trace, seed);
  after->last = last;
  return after;
}

std::unique_ptr<SimDisk> SimMachine::DiskAfterPowerLoss(
    SplitMix64* after) const {
  const auto how = [this](const std::string& path) {
    hourglass::PowerLoss loss = plan->power_loss;
    loss.powersafe_overwrite = !plan->trash_beside_all_writes &&
                               !(plan->trash_beside_log_writes &&
                                 path.find("/commitlog/") != path.npos);
    return loss;
  };
  return disk->AfterPowerLoss(how, after, counts);
}

}  // namespace hourglass
