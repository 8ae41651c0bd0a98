#include "recovery/store_state.h"

#include <algorithm>
#include <utility>

#include "storage/checksum.h"

namespace hourglass {
namespace {

ApplierOptions ApplierOptionsOf(const StoreOptions& options) {
  ApplierOptions out;
  out.hours.open_segments_max = options.open_segments_max;
  out.hours.buffer_bytes_max = options.append_buffer_bytes_max;
  out.queues.open_topics_max = options.open_topics_max;
  return out;
}

HandOptions HandOptionsOf(const StoreOptions& options) {
  // An entry is 24 bytes; while a load is sorted it is held twice, and a
  // deque and a heap keep some room.
  constexpr size_t kBytesPerEntry = 64;
  HandOptions out;
  out.entries_max =
      std::max<size_t>(options.preload_bytes_max / kBytesPerEntry, 16);
  out.preload_ahead_ms = options.preload_ahead_ms;
  return out;
}

}  // namespace

StoreState::StoreState(const Path& store_dir, const StoreOptions& opts,
                       const StoreId& store_id, HourTable::LoadHeads load_heads)
    : dir(store_dir),
      options(opts),
      id(store_id),
      salt(HashBytes(store_id.view())),
      applier(opts.file_system, store_dir, store_id, ApplierOptionsOf(opts),
              std::move(load_heads)),
      hand(HandOptionsOf(opts), &hour_wheel, &ledger) {}

void StoreState::Arrived(const PlacedMessage& placed, LogOffset offset) {
  hour_wheel.Add(HourOf(placed.due_ms));
  hand.Arrive({placed.due_ms, placed.location, placed.number, placed.size},
              offset);
}

}  // namespace hourglass
