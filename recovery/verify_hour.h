// File: verify_hour.h
//
// One hour's files, checked record by record against themselves, the
// checkpoint and the commit log. Part of VerifyStore.
//
//   HourVerifier verifier(survey, hour);
//   RETURN_IF_ERROR(verifier.Run());      // findings go to the survey
//
// Threads: one.
//
// Keeps promise 5: chains, counts and frames of an hour.
#ifndef HOURGLASS_RECOVERY_VERIFY_HOUR_H_
#define HOURGLASS_RECOVERY_VERIFY_HOUR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "recovery/salvage_hour.h"
#include "recovery/survey.h"
#include "wheel/hour_ledger.h"

namespace hourglass {

class HourVerifier {
 public:
  HourVerifier(StoreSurvey* survey, Hour hour);
  ~HourVerifier();

  absl::Status Run();
  uint64_t pending_messages() const { return pending_; }

 private:
  struct Loss;  // records side by side that suffer the same

  bool WouldBeRemoved() const;
  void CheckFiles();
  void CheckFile(bool is_index, bool there, const std::string& why,
                 uint64_t bytes, uint64_t expected);
  absl::Status Visit(const SalvagedRecord& record);
  void CheckMessage(const SalvagedRecord& record);
  void CheckTombstone(const SalvagedRecord& record);
  void CheckChain(const SalvagedRecord& record);
  void CheckNotForgotten(const SalvagedRecord& record);
  void Digest(const SalvagedRecord& record);
  void Judge(const SalvagedRecord& record);
  bool LogHas(RecordNumber number) const;

  void LoadHeads();
  void CheckHeads();
  void CheckCounts();
  void CheckDigest();

  void AddLoss(Loss loss);
  void FlushLoss();
  void Report(bool is_index, std::optional<RecordNumber> number,
              std::string what, std::string means);
  std::string FileName(bool is_index) const;

  StoreSurvey* const survey_;
  const Hour hour_;
  const std::optional<HourFacts> facts_;
  const HourTrace* const trace_;
  std::unique_ptr<HourSalvage> files_;

  std::array<uint32_t, kSlotsPerHour> chain_{};  // newest record of each slot
  bool chain_broken_ = false;  // an index record is unreadable
  NumberSet cancelled_, tombstones_, tombstoned_;
  std::optional<SlotHeads> heads_;
  RecordNumber heads_upto_;
  uint64_t next_location_ = kHourHeaderBytes;
  uint64_t digest_ = 0;
  bool digest_complete_ = true;
  uint64_t messages_ = 0, tombstone_count_ = 0, message_bytes_ = 0;
  uint64_t pending_ = 0;
  uint64_t index_damages_ = 0, log_damages_ = 0;
  std::unique_ptr<Loss> loss_;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_VERIFY_HOUR_H_
