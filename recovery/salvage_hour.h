// File: salvage_hour.h
//
// One hour's two files, read side by side for everything that is still intact
// in either: a frame carries number and content by itself, so a lost index
// costs no message, and an index record tells when and how large a message
// was whose frame is damaged.
//
//   ASSIGN_OR_RETURN(auto hour, HourSalvage::Open(source, id, hour, facts));
//   RETURN_IF_ERROR(hour->Scan(first, last, [](const SalvagedRecord& r) {
//     if (r.kind == SalvagedKind::kMessage) Use(r.payload);
//     return absl::OkStatus();
//   }));
//
// Both files are read forward once, so a scan runs at the disk's speed; memory
// does not depend on the hour's size, but for Cancelled() (a bit a record).
//
// Errors: FAILED_PRECONDITION if a file is of another version, and what the
// visitor returns. Everything else is data.
//
// Threads: one.
//
// Keeps promise 6: index and DelayLog each make up for the other.
#ifndef HOURGLASS_RECOVERY_SALVAGE_HOUR_H_
#define HOURGLASS_RECOVERY_SALVAGE_HOUR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "recovery/salvage_file.h"
#include "storage/hour_format.h"
#include "storage/hour_segment.h"
#include "wheel/hour_ledger.h"

namespace hourglass {

enum class SalvagedKind {
  kMessage,
  kTombstone,
  kLost,  // unreadable
};

struct SalvagedRecord {
  RecordNumber number;
  SalvagedKind kind = SalvagedKind::kLost;
  std::optional<IndexRecord> index;  // if that is intact
  // Of a message whose frame is intact:
  std::string_view payload;
  uint64_t payload_hash = 0;
  uint64_t location = 0;      // of its frame
  RecordNumber target;        // of a tombstone
  uint32_t ms_into_hour = 0;  // ... and when that is due
  // Of a lost message, from what is left of its frame; "" if nothing proves
  // it. The index record's hash of it does.
  std::string id;
  std::string index_why;  // why there is no index record
  std::string frame_why;  // why there is no frame, or it is out of place

  bool damaged() const { return !index_why.empty() || !frame_why.empty(); }
  // The due time as far as it is known: at least the hour is.
  int64_t DueMs(Hour hour) const;
};

// How much of the files counts.
enum class HourBound {
  kFacts,      // what the checkpoint knows: recovery would cut the rest
  kWholeFile,  // all there is
};

class HourSalvage {
 public:
  using Visit = std::function<absl::Status(const SalvagedRecord&)>;

  // `facts`: the checkpoint's, if there is one.
  static absl::StatusOr<std::unique_ptr<HourSalvage>> Open(
      const SalvageSource& source, const StoreId& id, Hour hour,
      const std::optional<HourFacts>& facts, HourBound bound);

  // Why the file or its header cannot be used; "" if it can.
  const std::string& log_why() const { return log_.why; }
  const std::string& index_why() const { return index_.why; }
  bool has_log() const { return log_.file != nullptr; }
  bool has_index() const { return index_.file != nullptr; }
  uint64_t log_bytes() const { return log_.size; }
  uint64_t index_bytes() const { return index_.size; }
  // Both headers are good and say different things.
  bool headers_disagree() const { return headers_disagree_; }

  RecordNumber base() const { return base_; }
  // The newest record that the index has room for, or the facts know.
  RecordNumber last_known() const { return last_; }

  // Gives the records first..last in order, each once. With `last` beyond
  // what is known it goes on as long as there are frames.
  absl::Status Scan(RecordNumber first, RecordNumber last, const Visit& visit);

  // The targets of all tombstones that can be read in either file.
  absl::Status Cancelled(NumberSet* targets);

  // Where the frames of the last Scan ended, and how many bytes between them
  // belong to none.
  uint64_t frames_end() const { return frames_end_; }
  uint64_t junk_bytes() const { return junk_bytes_; }

 private:
  struct OneFile {
    std::unique_ptr<SalvageFile> file;
    std::optional<HourHeader> header;
    std::string why;
    uint64_t size = 0;  // of what counts
  };
  struct Frame {
    RecordNumber number;
    uint64_t location = 0;
    uint32_t size = 0;
    std::optional<IndexRecord> cancel;  // if it is one
  };
  class Frames;

  HourSalvage(const SalvageSource& source, const StoreId& id, Hour hour);
  absl::Status OpenFile(const StoreId& id, bool is_index, OneFile* out);
  void Bound(const std::optional<HourFacts>& facts, HourBound bound);
  bool ReadIndex(RecordNumber number, IndexRecord* record, std::string* why);
  void ReadByIndex(Frames* frames, SalvagedRecord* record);
  bool TakeFrame(const Frames& frames, SalvagedRecord* record);
  static void TakeCancel(const Frame& frame, SalvagedRecord* record);
  bool TakeStray(SalvagedRecord* record);
  void GuessId(SalvagedRecord* record);
  uint64_t StartOfFrames(RecordNumber first);

  const SalvageSource source_;
  const Hour hour_;
  const uint64_t salt_;
  OneFile log_, index_;
  bool headers_disagree_ = false;
  RecordNumber base_, last_;
  uint32_t index_records_ = 0;
  uint64_t frames_end_ = 0;
  uint64_t junk_bytes_ = 0;
  // Intact frames out of order; looked for when one is missed.
  std::map<RecordNumber, Frame> strays_;
  bool looked_for_strays_ = false;
};

// Hours that have at least one file.
absl::StatusOr<std::vector<Hour>> ListHours(FileSystem* fs, const Path& dir);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_SALVAGE_HOUR_H_
