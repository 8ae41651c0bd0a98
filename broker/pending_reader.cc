#include "broker/pending_reader.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "broker/sequencer.h"
#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"
#include "storage/text.h"
#include "wheel/slot_loader.h"

namespace hourglass {
namespace {

// Enough entries a sweep that a topic filter does not sweep too often.
constexpr size_t kEntriesPerSweep = 65536;
// Bodies are read for this many entries at a time.
constexpr size_t kEntriesPerRead = 1024;

std::string PageToken(DueKey key) {
  return absl::StrCat(key.due_ms, ".", key.number.value());
}

absl::StatusOr<DueKey> ParsePageToken(const std::string& token) {
  DueKey key;
  uint32_t number = 0;
  int used = 0;
  if (std::sscanf(token.c_str(), "%" SCNd64 ".%" SCNu32 "%n", &key.due_ms,
                  &number, &used) != 2 ||
      static_cast<size_t>(used) != token.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("after: \"", token, "\"; expected PendingPage::next"));
  }
  key.number = RecordNumber(number);
  return key;
}

}  // namespace

PendingReader::PendingReader(StoreState* state) : state_(state) {}

absl::StatusOr<std::vector<DueEntry>> PendingReader::NextEntries(
    DueKey after, DueKey until, size_t count_max, DueKey* covered) {
  LoadRequest request;
  request.after = after;
  request.entries_max = count_max;
  {
    MutexLock lock(&state_->mu);
    const bool whole_ms = after == DueKey::EndOf(after.due_ms);
    const int64_t from_ms = after.due_ms + (whole_ms ? 1 : 0);
    const auto hour = state_->hour_wheel.NextFrom(HourOf(from_ms));
    if (!hour || DueKey::Before(StartMs(*hour)) >= until) {
      *covered = until;
      return std::vector<DueEntry>();
    }
    ASSIGN_OR_RETURN(request.segment, state_->applier.hours().ForRead(*hour));
    RETURN_IF_ERROR(request.segment->Flush());
    request.upto = request.segment->facts().last;
    request.until = std::min(until, DueKey::EndOf(*hour));
  }
  LoadResult result = ForwardSweep(request);
  RETURN_IF_ERROR(result.status);
  *covered = result.end;
  MutexLock lock(&state_->mu);
  std::erase_if(result.entries, [this](const DueEntry& entry) {
    const bool past = SecondOf(entry.due_ms) < state_->hand.cursor() &&
                      !state_->hand.IsLate(entry.key());
    return past || state_->ledger.IsClaimed(entry.hour(), entry.number) ||
           state_->ledger.IsCancelled(entry.hour(), entry.number);
  });
  return std::move(result.entries);
}

absl::Status PendingReader::AddMessages(const std::vector<DueEntry>& entries,
                                        const PendingQuery& query,
                                        PendingPage* page) {
  // What cannot be read is left out here and reported when it is due.
  BodyReader reader(state_, [](const DueEntry&, const absl::Status&) {});
  for (size_t i = 0; i < entries.size(); i += kEntriesPerRead) {
    const size_t end = std::min(entries.size(), i + kEntriesPerRead);
    const auto batch =
        reader.Read({entries.begin() + static_cast<ptrdiff_t>(i),
                     entries.begin() + static_cast<ptrdiff_t>(end)});
    for (const DeliveredBatch::Item& item : batch->items) {
      const PeekedMessage peeked = PeekMessage(item.payload);
      if (!query.topic.empty() && peeked.topic != query.topic) continue;
      if (page->messages.size() == query.count_max) {
        // One more than fits: the next page begins behind the last one.
        page->next = PageToken({page->messages.back().handle.due_ms(),
                                page->messages.back().handle.number});
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const MessageView view, DecodeMessage(item.payload));
      PendingMessage pending;
      pending.handle.hour = item.entry.hour();
      pending.handle.number = item.entry.number;
      pending.handle.ms_into_hour = MsIntoHour(item.entry.due_ms);
      pending.handle.id_hash = IdHash(view.id);
      pending.handle.seal = HandleSeal(state_->salt, pending.handle);
      pending.message = Message::From(view);
      page->messages.push_back(std::move(pending));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PendingPage> PendingReader::Page(const PendingQuery& query) {
  if (query.count_max == 0) {
    return absl::InvalidArgumentError("count_max: 0; expected at least 1");
  }
  PendingPage page;
  DueKey after = DueKey::Before(std::max<int64_t>(query.from_ms, 0));
  if (!query.after.empty()) {
    ASSIGN_OR_RETURN(const DueKey token, ParsePageToken(query.after));
    after = std::max(after, token);
  }
  const DueKey until =
      DueKey::Before(std::min<int64_t>(query.to_ms, kDueMsMax + 1));
  while (after < until && page.next.empty()) {
    const size_t wanted = query.topic.empty()
                              ? query.count_max - page.messages.size() + 1
                              : kEntriesPerSweep;
    DueKey covered;
    ASSIGN_OR_RETURN(const auto entries,
                     NextEntries(after, until, wanted, &covered));
    RETURN_IF_ERROR(AddMessages(entries, query, &page));
    after = covered;
  }
  return page;
}

absl::Status PendingReader::CountSeconds(Hour hour, Forecast* forecast) {
  std::map<int64_t, ForecastBucket> seconds;
  const DueKey until = DueKey::EndOf(hour);
  DueKey after = DueKey::Before(StartMs(hour));
  while (after < until) {
    DueKey covered;
    ASSIGN_OR_RETURN(const auto entries,
                     NextEntries(after, until, 1u << 20, &covered));
    for (const DueEntry& entry : entries) {
      ForecastBucket& bucket = seconds[SecondOf(entry.due_ms).value()];
      bucket.start_ms = StartMs(SecondOf(entry.due_ms));
      ++bucket.messages;
      bucket.bytes += entry.size;
    }
    after = covered;
  }
  for (const auto& [second, bucket] : seconds) {
    forecast->seconds.push_back(bucket);
  }
  return absl::OkStatus();
}

absl::StatusOr<Forecast> PendingReader::GetForecast(Hour seconds_of) {
  Forecast forecast;
  {
    MutexLock lock(&state_->mu);
    for (const auto& [hour, unused] : state_->applier.hours().AllFacts()) {
      const HourFacts facts = state_->applier.Facts(hour);
      if (facts.retired || facts.pending() == 0) continue;
      forecast.hours.push_back(
          {StartMs(hour), facts.pending(), facts.pending_bytes()});
    }
  }
  RETURN_IF_ERROR(CountSeconds(seconds_of, &forecast));
  return forecast;
}

}  // namespace hourglass
