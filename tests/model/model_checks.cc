#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "storage/hour_format.h"
#include "tests/model/model_run.h"

namespace hourglass {
namespace {

constexpr size_t kBytesMax = 1u << 20;

bool Before(const ReadyMessage& a, const ReadyMessage& b) {
  return std::pair(a.message.due_ms, a.key.number) <
         std::pair(b.message.due_ms, b.key.number);
}

}  // namespace

// --- ready messages ---

void ModelRun::ReadTopic(const std::string& topic) {
  while (!failed()) {
    const QueueIndex from(model_.ready_count(topic));
    const size_t count_max = 1 + Upto(200);
    const auto read = store_->ReadReady(topic, from, count_max, kBytesMax);
    if (!read.ok()) {
      if (!faulty_) Fail("ReadReady: " + read.status().ToString());
      return;
    }
    if (read->size() > count_max) return Fail("ReadReady gave too many");
    for (const ReadyMessage& ready : *read) {
      std::string wrong = model_.Ready(topic, ready, highest_ms_);
      if (!wrong.empty()) return Fail(std::move(wrong));
      if (ready.key.number != RecordNumber()) shown_.push_back(ready);
    }
    totals_.delivered += read->size();
    if (read->size() < count_max) return;
  }
}

void ModelRun::ReadReady() {
  shown_.clear();
  const uint64_t version = store_->ReadyVersion();
  // Nothing new is what it says; look all the same now and then.
  if (version == ready_version_ && !Chance(5)) return;
  const bool same = version == ready_version_;
  ready_version_ = version;
  highest_ms_ = std::max(highest_ms_, now_ms());
  const uint64_t before = totals_.delivered;
  for (const std::string& topic : topics_) ReadTopic(topic);
  if (failed() || faulty_) return;
  highest_ms_ = now_ms();
  if (same && totals_.delivered != before) {
    return Fail("ReadyVersion did not tell of new messages");
  }
  if (!model_.due_at_once().empty()) {
    return Fail(*model_.due_at_once().begin() +
                " was put at once, and is lost");
  }
}

// By due time, then arrival. When it is three seconds or more behind, the hand
// delivers from two stretches in turn, what was due before that second and
// what is due from it on; each keeps the order. It may be behind when the store
// is opened, and again at the first Step. Late messages are a stretch of their
// own: where the clock was stepped back only equal milliseconds are compared.
void ModelRun::CheckOrder(bool strict) {
  if (shown_.size() < 2) return;
  std::sort(shown_.begin(), shown_.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::map<int64_t, RecordNumber> last_of_ms;
  for (const ReadyMessage& ready : shown_) {
    RecordNumber& last = last_of_ms[ready.message.due_ms];
    if (ready.key.number < last) {
      return Fail(ready.message.id + " did not keep the order of arrival");
    }
    last = ready.key.number;
  }
  if (stepped_back_) return;
  const auto sorted = std::is_sorted(shown_.begin(), shown_.end(), Before);
  if (sorted) return;
  if (!strict && IsSortedInStretches()) return;
  for (size_t i = 1; i < shown_.size(); ++i) {
    if (Before(shown_[i - 1], shown_[i])) continue;
    return Fail(absl::StrCat("order: ", shown_[i].message.id, " due ",
                             shown_[i].message.due_ms, " came after ",
                             shown_[i - 1].message.id, " due ",
                             shown_[i - 1].message.due_ms));
  }
}

bool ModelRun::IsSortedInStretches() {
  const int64_t begin_ms = StartMs(SecondOf(now_ms()));
  const int64_t opened_ms = StartMs(SecondOf(opened_ms_));
  std::vector<ReadyMessage> stretches[3];
  for (const ReadyMessage& ready : shown_) {
    const int64_t due_ms = ready.message.due_ms;
    stretches[(due_ms < begin_ms ? 0 : 1) + (due_ms < opened_ms ? 0 : 1)]
        .push_back(ready);
  }
  return std::all_of(
      std::begin(stretches), std::end(stretches), [](const auto& stretch) {
        return std::is_sorted(stretch.begin(), stretch.end(), Before);
      });
}

// What was read once must be there for ever, unless retention took it.
void ModelRun::ReadAgain() {
  for (const std::string& topic : topics_) {
    const uint64_t first = store_->FirstReady(topic).value();
    const uint64_t end = model_.ready_count(topic);
    const uint64_t length = Chance(10) ? end : std::min<uint64_t>(end, 300);
    const std::string wrong = model_.StillReadable(
        store_.get(), topic, std::max(first, end - length));
    if (!wrong.empty()) return Fail(wrong);
  }
}

void ModelRun::CheckFirstReady() {
  for (const std::string& topic : topics_) {
    const QueueIndex first = store_->FirstReady(topic);
    const uint64_t end = model_.ready_count(topic);
    if (first.value() > end) return Fail("FirstReady is beyond the end");
    if (first.value() == end) continue;
    const auto read = store_->ReadReady(topic, first, 1, kBytesMax);
    if (!read.ok() || read->size() != 1) {
      return Fail(
          absl::StrCat("FirstReady of ", topic, " is ", first.value(),
                       ", which cannot be read: ", read.status().ToString()));
    }
    if (!options_.retain_for_groups) continue;
    for (const char* group : {"g", "other group"}) {
      const auto at = progress_.find({topic, group});
      // A group that never acknowledged anything is owed nothing.
      if (at == progress_.end() || at->second == 0) continue;
      const uint64_t owed = std::max(at->second, not_owed_[{topic, group}]);
      if (owed < first.value() && retained_all_along_) {
        return Fail(absl::StrCat(topic, " lost what ", group, " is owed"));
      }
    }
  }
}

void ModelRun::CheckProgress() {
  for (const auto& [key, next] : progress_) {
    const uint64_t found = store_->Progress(key.first, key.second).value();
    const auto maybe = progress_maybe_.find(key);
    if (found != next &&
        (maybe == progress_maybe_.end() || found != maybe->second)) {
      return Fail(absl::StrCat("progress of ", key.first, "/", key.second,
                               " is ", found, " instead of ", next));
    }
  }
}

// --- numbers ---

void ModelRun::CheckStats() {
  const StoreStats stats = store_->Stats();
  if (!stats.failure.ok()) return Fail(stats.failure.ToString());
  if (stats.lost_messages != 0) {
    return Fail("messages were set aside: " + stats.notices.back());
  }
  if (stats.pending_messages != model_.pending().size()) {
    return Fail(absl::StrCat("Stats: ", stats.pending_messages,
                             " are pending; expected ",
                             model_.pending().size()));
  }
  uint64_t late = 0;
  for (auto it = model_.pending().begin();
       it != model_.pending().end() && SecondOf(it->first) < stats.cursor;
       ++it) {
    ++late;
  }
  totals_.late = std::max(totals_.late, late);
  // Late ones are kept beside the window; so are those between the cursor and
  // a clock that was stepped back.
  const uint64_t window =
      std::max<uint64_t>(options_.preload_bytes_max / 64, 16);
  if (!stepped_back_ && stats.window_entries > window + late) {
    return Fail(absl::StrCat("the window holds ", stats.window_entries,
                             "; bound ", window));
  }
  if (stats.open_segments > options_.open_segments_max + 4) {
    return Fail(absl::StrCat(stats.open_segments, " segments are open"));
  }
  const int64_t next_ms = store_->NextStepMs();
  if (!model_.pending().empty() && next_ms > model_.pending().begin()->first) {
    return Fail(absl::StrCat("NextStepMs ", next_ms, " is after ",
                             model_.pending().begin()->second, " is due"));
  }
  if (stats.checkpoints != checkpoints_seen_) {
    totals_.checkpoints += stats.checkpoints - checkpoints_seen_;
    checkpoints_seen_ = stats.checkpoints;
    totals_.log_files_removed += stats.log_start.value() > 512 ? 1 : 0;
    CheckFiles();
    if (!failed() && Chance(20)) CheckFirstReady();
  }
}

void ModelRun::ListHourFiles(std::map<Hour, int>* files) {
  const auto names = fs_->List("/store/hours");
  if (!names.ok()) {
    if (!faulty_) Fail(names.status().ToString());
    return;
  }
  for (const std::string& name : *names) {
    const auto file = ParseHourFileName(name);
    if (!file.ok()) return Fail("a strange file: " + name);
    ++(*files)[file->hour];
  }
}

// Files are there for every hour with pending messages, and gone two
// checkpoints after an hour was seen to be done.
void ModelRun::CheckFiles() {
  std::map<Hour, int> files;
  ListHourFiles(&files);
  std::set<Hour> wanted;
  for (const auto& [due_ms, id] : model_.pending()) {
    wanted.insert(HourOf(due_ms));
  }
  for (const Hour hour : wanted) {
    if (files[hour] != 2) {
      return Fail(absl::StrCat("hour ", hour.value(), " has ", files[hour],
                               " files, and pending messages"));
    }
  }
  NoteRemoved(files);
  const Hour now = HourOf(store_->Stats().cursor);
  for (const auto& [hour, count] : files) {
    if (count == 0 || hour >= now || wanted.contains(hour)) {
      done_since_.erase(hour);
    } else if (done_since_.try_emplace(hour, checkpoints_seen_).first->second +
                   2 <=
               checkpoints_seen_) {
      return Fail(absl::StrCat("hour ", hour.value(),
                               " is done since two checkpoints and has files"));
    }
  }
}

void ModelRun::NoteRemoved(const std::map<Hour, int>& files) {
  for (const auto& [hour, last] : model_.last_numbers()) {
    const auto at = files.find(hour);
    if (at != files.end() && at->second > 0) continue;
    if (removed_upto_[hour] != last) ++totals_.hours_removed;
    removed_upto_[hour] = last;
    done_since_.erase(hour);
  }
}

// --- listings ---

void ModelRun::ComparePending(
    const std::vector<PendingMessage>& listed,
    const std::vector<const ModelMessage*>& expected) {
  for (size_t i = 0; i < std::min(listed.size(), expected.size()); ++i) {
    const PendingMessage& found = listed[i];
    const ModelMessage& known = *expected[i];
    if (found.handle != known.handle) {
      return Fail(absl::StrCat("listing[", i, "]: ", found.message.id, " ",
                               Describe(found.handle), " instead of ",
                               known.message.id, " ", Describe(known.handle)));
    }
    const std::string differs = Differs(known.message, found.message);
    if (!differs.empty()) return Fail("the listing has another " + differs);
  }
  if (listed.size() != expected.size()) {
    Fail(absl::StrCat("the listing has ", listed.size(), " messages; expected ",
                      expected.size()));
  }
}

void ModelRun::CheckPending() {
  PendingQuery query;
  if (Chance(50)) query.topic = topics_[Upto(topics_.size() - 1)];
  if (Chance(50)) {
    query.from_ms = now_ms() + static_cast<int64_t>(Upto(kMsPerHour));
    query.to_ms = query.from_ms + static_cast<int64_t>(Upto(5 * kMsPerHour));
  }
  query.count_max = OneOf<size_t>({7, 50, 1000});
  Note(absl::StrCat("list ", query.from_ms, " ", query.to_ms));
  std::vector<PendingMessage> listed;
  ListPending(query, &listed);
  if (failed() || faulty_) return;
  ComparePending(
      listed, model_.PendingBetween(query.from_ms, query.to_ms, query.topic));
}

void ModelRun::CheckForecast() {
  Hour hour = HourOf(now_ms()) + static_cast<int32_t>(Upto(1));
  if (!model_.pending().empty() && Chance(50)) {
    hour = HourOf(model_.pending().begin()->first);
  }
  Note(absl::StrCat("forecast ", hour.value()));
  const auto forecast = store_->GetForecast(hour);
  if (!forecast.ok()) {
    if (!faulty_) Fail(forecast.status().ToString());
    return;
  }
  if (faulty_) return;
  std::map<int64_t, ForecastBucket> hours;
  std::map<int64_t, ForecastBucket> seconds;
  for (const ModelMessage* known : model_.PendingBetween(0, INT64_MAX, "")) {
    const int64_t due_ms = known->message.due_ms;
    const auto add = [&](ForecastBucket* bucket) {
      ++bucket->messages;
      bucket->bytes += Model::StoredBytes(*known);
    };
    add(&hours[StartMs(HourOf(due_ms))]);
    if (HourOf(due_ms) == hour) add(&seconds[StartMs(SecondOf(due_ms))]);
  }
  const auto compare = [this](const std::vector<ForecastBucket>& found,
                              const std::map<int64_t, ForecastBucket>& known,
                              const char* what) {
    if (found.size() != known.size()) {
      return Fail(absl::StrCat("forecast: ", found.size(), " ", what,
                               "; expected ", known.size()));
    }
    for (const ForecastBucket& bucket : found) {
      const auto at = known.find(bucket.start_ms);
      if (at == known.end() || at->second.messages != bucket.messages ||
          at->second.bytes != bucket.bytes) {
        return Fail(absl::StrCat(
            "forecast: ", what, " at ", bucket.start_ms, " has ",
            bucket.messages, " messages, ", bucket.bytes, " bytes; expected ",
            at == known.end() ? 0 : at->second.messages, ", ",
            at == known.end() ? 0 : at->second.bytes));
      }
    }
  };
  compare(forecast->hours, hours, "hour");
  if (!failed()) compare(forecast->seconds, seconds, "second");
}

}  // namespace hourglass
