// File: pending_reader.h
//
// Looks at what is pending: pages of messages by due time, and how many are
// due when. Reads the hour segments as they are on disk; memory does not
// depend on how much is pending.
//
// Threads: any; takes the state lock for short moments.
//
// Keeps promise 7: a listing holds one page.
#ifndef HOURGLASS_BROKER_PENDING_READER_H_
#define HOURGLASS_BROKER_PENDING_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/body_reader.h"
#include "hourglass/delay_store.h"
#include "recovery/store_state.h"
#include "wheel/due_entry.h"

namespace hourglass {

class PendingReader {
 public:
  explicit PendingReader(StoreState* state);

  absl::StatusOr<PendingPage> Page(const PendingQuery& query);
  absl::StatusOr<Forecast> GetForecast(Hour seconds_of);

 private:
  // The next entries after `after`, at most `count_max`, that are still
  // pending; `covered` gets the key up to which nothing was left out.
  absl::StatusOr<std::vector<DueEntry>> NextEntries(DueKey after, DueKey until,
                                                    size_t count_max,
                                                    DueKey* covered);
  absl::Status AddMessages(const std::vector<DueEntry>& entries,
                           const PendingQuery& query, PendingPage* page);
  absl::Status CountSeconds(Hour hour, Forecast* forecast);

  StoreState* const state_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PENDING_READER_H_
