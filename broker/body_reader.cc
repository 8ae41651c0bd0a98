#include "broker/body_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// Frames this close together are read with one call: reading a gap of a page
// costs less than another call.
constexpr uint64_t kGapBytesMax = 4096;
constexpr uint64_t kRunBytesMax = 1u << 20;

}  // namespace

BodyReader::BodyReader(StoreState* state, Lost lost)
    : state_(state), lost_(std::move(lost)) {}

absl::StatusOr<std::shared_ptr<HourSegment>> BodyReader::OpenSegment(
    Hour hour, RecordNumber upto) {
  MutexLock lock(&state_->mu);
  unwritten_ = false;
  ASSIGN_OR_RETURN(auto segment, state_->applier.hours().ForRead(hour));
  if (upto > segment->flushed()) {
    const absl::Status flushed = segment->Flush();
    unwritten_ = !flushed.ok();
    // Now, not when the next checkpoint meets it: messages that could be read
    // would come before those of their millisecond that could not.
    if (unwritten_ && !absl::IsResourceExhausted(flushed) &&
        state_->failure.ok()) {
      state_->failure = absl::UnavailableError(
          absl::StrCat("the store stopped: ", flushed.message()));
    }
    RETURN_IF_ERROR(flushed);
  }
  return segment;
}

std::unique_ptr<DeliveredBatch> BodyReader::Read(
    const std::vector<DueEntry>& entries, std::vector<DueEntry>* later,
    bool retry) {
  later_ = later;
  retry_ = retry;
  auto batch = std::make_unique<DeliveredBatch>();
  batch->items.resize(entries.size());
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&entries](size_t a, size_t b) {
    return std::pair(entries[a].hour(), entries[a].location) <
           std::pair(entries[b].hour(), entries[b].location);
  });
  for (size_t i = 0; i < entries.size(); ++i) {
    batch->items[i].entry = entries[i];
  }
  absl::StatusOr<std::shared_ptr<HourSegment>> segment;
  for (size_t begin = 0; begin < order.size();) {
    const DueEntry& first = entries[order[begin]];
    if (begin == 0 || first.hour() != entries[order[begin - 1]].hour()) {
      // Locations rise with the numbers: the hour's last entry is its newest.
      size_t end = begin + 1;
      while (end < order.size() && entries[order[end]].hour() == first.hour()) {
        ++end;
      }
      segment = OpenSegment(first.hour(), entries[order[end - 1]].number);
    }
    Run run{begin, begin + 1, first.location, first.size};
    while (run.end < order.size()) {
      const DueEntry& next = entries[order[run.end]];
      const uint64_t reach = next.location + next.size - run.offset;
      if (next.hour() != first.hour() || reach > kRunBytesMax ||
          next.location > run.offset + run.bytes + kGapBytesMax) {
        break;
      }
      run.bytes = reach;
      ++run.end;
    }
    if (segment.ok()) {
      ReadRun(**segment, run, order, batch.get());
    } else {
      for (size_t i = run.begin; i < run.end; ++i) {
        LeaveOut(entries[order[i]], segment.status());
      }
    }
    begin = run.end;
  }
  // What could not be read has no payload.
  std::erase_if(batch->items, [](const DeliveredBatch::Item& item) {
    return item.payload.data() == nullptr;
  });
  return batch;
}

void BodyReader::ReadRun(const HourSegment& segment, const Run& run,
                         const std::vector<size_t>& order,
                         DeliveredBatch* batch) {
  std::string& bytes = batch->arena.emplace_back();
  bytes.resize(run.bytes);
  const auto read = segment.ReadDelayLog(run.offset, run.bytes, bytes.data());
  for (size_t i = run.begin; i < run.end; ++i) {
    DeliveredBatch::Item& item = batch->items[order[i]];
    const uint64_t at = item.entry.location - run.offset;
    absl::Status status = read.status();
    if (read.ok() && at + item.entry.size > *read) {
      status = absl::DataLossError("the file ends before the message does");
    }
    if (status.ok()) {
      const auto payload = segment.VerifyFrame(
          item.entry.number,
          std::string_view(bytes).substr(at, item.entry.size),
          &item.payload_hash);
      status = payload.status();
      if (payload.ok() && PeekMessage(*payload).topic.empty()) {
        status = absl::DataLossError("the bytes are sound but no message");
      }
      if (status.ok()) item.payload = *payload;
    }
    if (status.ok()) {
      batch->payload_bytes += item.payload.size();
    } else {
      LeaveOut(item.entry, status);
    }
  }
}

void BodyReader::LeaveOut(const DueEntry& entry, const absl::Status& why) {
  // Damage stays, and so does a file that is not there.
  const bool for_good = absl::IsDataLoss(why) || absl::IsNotFound(why);
  // What is not in the file is whole in the buffer, or in the log.
  if (later_ != nullptr && (unwritten_ || (retry_ && !for_good))) {
    later_->push_back(entry);
  } else {
    Report(entry, why);
  }
}

void BodyReader::Report(const DueEntry& entry, const absl::Status& why) {
  lost_(entry,
        absl::DataLossError(absl::StrCat(
            DelayLogName(entry.hour()), ": message ", entry.number.value(),
            " at offset ", entry.location, ": ", why.message())));
}

}  // namespace hourglass
