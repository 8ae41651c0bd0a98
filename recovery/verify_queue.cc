#include "recovery/verify_queue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "recovery/store_state.h"
#include "storage/queue_format.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr QueueIndex kAll = QueueIndex::Max();

absl::StatusOr<std::vector<QueueIndex>> ListFirsts(FileSystem* fs,
                                                   const Path& dir) {
  std::vector<QueueIndex> firsts;
  const auto names = fs->List(dir);
  if (absl::IsNotFound(names.status())) return firsts;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (const auto first = ParseQueueFileName(name); first.ok()) {
      firsts.push_back(*first);
    }
  }
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

// One topic: its files, the checkpoint and the log side by side.
class QueueVerifier {
 public:
  QueueVerifier(StoreSurvey* survey, const std::string& topic)
      : survey_(survey),
        topic_(topic),
        dir_(absl::StrCat(kQueuesDirName, "/", QueueDirName(topic))),
        trace_(survey->log.FindTopic(topic)) {
    if (!survey->checkpoint) return;
    const auto at = survey->checkpoint->queues.find(topic);
    if (at != survey->checkpoint->queues.end()) facts_ = at->second;
  }

  absl::Status Run() {
    // Recovery removes what the checkpoint does not know.
    if (survey_->checkpoint && !facts_) return absl::OkStatus();
    QueueSalvage queue(survey_->source, survey_->id, topic_);
    RETURN_IF_ERROR(queue.Scan(
        facts_ ? facts_->first : QueueIndex(), facts_ ? facts_->next : kAll,
        [this](QueueIndex i, const QueueEntry& e) { Visit(i, e); }));
    for (const auto& damage : queue.damage()) Report(damage);
    for (const auto& file : queue.files()) {
      FileReport report{file.file, "queue", file.bytes, file.entries};
      for (const auto& damage : queue.damage()) {
        report.damaged += damage.file == file.file;
      }
      survey_->files.push_back(std::move(report));
    }
    if (queue.damage().empty()) CompareWithLog();
    ReportUnreadable();
    return absl::OkStatus();
  }

 private:
  void Visit(QueueIndex index, const QueueEntry& entry) {
    if (entry.offset <= last_offset_ && entries_ > 0) {
      Report({dir_, index, std::nullopt,
              "points before the entry that precedes it"});
    }
    last_offset_ = entry.offset;
    ++entries_;
    if (entry.offset < survey_->log_start) return;  // removed by retention
    ++in_log_;
    digest_ ^= ReadyDigest(entry.offset, entry.size, entry.tag_hash);
    for (const DamagedRange& range : survey_->log.damage()) {
      in_damage_ += entry.offset >= range.from && entry.offset < range.to;
    }
  }

  void Report(const QueueSalvage::Damage& damage) {
    Finding finding;
    finding.file = damage.file;
    if (damage.index) finding.record = damage.index->value();
    finding.offset = damage.offset;
    finding.what = damage.what;
    finding.means = "no message is lost; consumers of topic \"" + topic_ +
                    "\" do not get past it before a repair";
    survey_->findings.Add(std::move(finding));
  }

  void CompareWithLog() {
    if (!facts_ || !survey_->log.damage().empty()) return;
    const TopicTrace none;
    const TopicTrace& log = trace_ == nullptr ? none : *trace_;
    if (log.ready_applied == in_log_ && log.digest == digest_) return;
    Report({dir_, std::nullopt, std::nullopt,
            absl::StrCat("the queue has ", in_log_,
                         " messages of the commit log, which has ",
                         log.ready_applied,
                         log.ready_applied == in_log_ ? " others" : "")});
  }

  // Ready messages whose records are in a damaged part of the log.
  void ReportUnreadable() {
    const uint64_t saved = trace_ == nullptr ? 0 : trace_->ready_saved;
    if (in_damage_ <= saved) return;
    Finding finding;
    finding.file = dir_;
    finding.messages = in_damage_ - saved;
    finding.what = "the commit log is damaged where it points to";
    finding.means =
        absl::StrCat(finding.messages, " ready messages of topic \"", topic_,
                     "\" cannot be read by consumers that have not had them; "
                     "repair saves those that their hours still have");
    survey_->findings.Add(std::move(finding));
  }

  StoreSurvey* const survey_;
  const std::string topic_;
  const std::string dir_;
  const TopicTrace* const trace_;
  std::optional<QueueFacts> facts_;
  LogOffset last_offset_;
  uint64_t entries_ = 0, in_log_ = 0, in_damage_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace

QueueSalvage::QueueSalvage(const SalvageSource& source, const StoreId& id,
                           std::string topic)
    : source_(source),
      id_(id),
      topic_(std::move(topic)),
      dir_(absl::StrCat(kQueuesDirName, "/", QueueDirName(topic_))) {}

absl::Status QueueSalvage::Scan(QueueIndex from, QueueIndex to,
                                const Visit& visit) {
  ASSIGN_OR_RETURN(const auto firsts,
                   ListFirsts(source_.fs, source_.dir / dir_));
  QueueIndex next = from;
  for (size_t i = 0; i < firsts.size(); ++i) {
    const QueueIndex first = firsts[i];
    const QueueIndex end = i + 1 < firsts.size() ? firsts[i + 1] : to;
    if (end <= from || first >= to) continue;
    if (to != kAll && first > next) {
      damage_.push_back({dir_, next, std::nullopt,
                         absl::StrCat("entries up to ", first.value() - 1,
                                      " are missing: no file has them")});
    }
    RETURN_IF_ERROR(
        ScanFile(first, std::max(from, first), std::min(end, to), visit));
    next = end;
  }
  if (to != kAll && next < to) {
    damage_.push_back({dir_, next, std::nullopt,
                       absl::StrCat("entries up to ", to.value() - 1,
                                    " are missing: no file has them")});
  }
  return absl::OkStatus();
}

absl::Status QueueSalvage::ScanFile(QueueIndex first, QueueIndex from,
                                    QueueIndex to, const Visit& visit) {
  FileFacts facts{absl::StrCat(dir_, "/", QueueFileName(first)), first};
  auto file = SalvageFile::Open(source_, source_.dir / facts.file);
  if (!file.ok()) {
    damage_.push_back({facts.file, std::nullopt, std::nullopt,
                       std::string(file.status().message())});
    return absl::OkStatus();
  }
  facts.bytes = (*file)->size();
  std::string header((*file)->View(0, kQueueHeaderBytes));
  if (auto found = DecodeQueueHeader(header);
      absl::IsFailedPrecondition(found.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(facts.file, ": ", found.status().message()));
  }
  const absl::Status good = CheckQueueHeader(header, {id_, topic_, first});
  if (!good.ok()) {
    damage_.push_back(
        {facts.file, std::nullopt, 0, std::string(good.message())});
  }
  const QueueSeal seal(id_, topic_);
  const uint64_t room =
      facts.bytes > kQueueHeaderBytes
          ? (facts.bytes - kQueueHeaderBytes) / kQueueEntryBytes
          : 0;
  for (QueueIndex i = from; i < to; i = i + 1) {
    if (i - first >= room) {
      if (to != kAll) {
        damage_.push_back(
            {facts.file, i, facts.bytes,
             absl::StrCat("the file ends before entry ", to.value() - 1)});
      }
      break;
    }
    const uint64_t at = kQueueHeaderBytes + kQueueEntryBytes * (i - first);
    QueueEntry entry;
    if (DecodeQueueEntry(seal, i, (*file)->View(at, kQueueEntryBytes).data(),
                         &entry)) {
      ++facts.entries;
      visit(i, entry);
    } else {
      damage_.push_back({facts.file, i, at, "the entry's checksum is wrong"});
    }
  }
  files_.push_back(std::move(facts));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListTopics(const SalvageSource& source,
                                                    FindingList* findings) {
  std::vector<std::string> topics;
  const Path dir = source.dir / kQueuesDirName;
  const auto names = source.fs->List(dir);
  if (absl::IsNotFound(names.status())) return topics;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!source.fs->IsDirectory(dir / name).value_or(false)) continue;
    ASSIGN_OR_RETURN(const auto firsts, ListFirsts(source.fs, dir / name));
    bool known = firsts.empty();
    for (const QueueIndex first : firsts) {
      const auto bytes = ReadWhole(source.fs, dir / name / QueueFileName(first),
                                   kQueueHeaderBytes);
      if (!bytes.ok()) continue;
      const auto header = DecodeQueueHeader(*bytes);
      if (absl::IsFailedPrecondition(header.status())) {
        return absl::FailedPreconditionError(absl::StrCat(
            kQueuesDirName, "/", name, ": ", header.status().message()));
      }
      if (!header.ok() || QueueDirName(header->topic) != name) continue;
      topics.push_back(header->topic);
      known = true;
      break;
    }
    if (!known && findings != nullptr) {
      findings->Damage(absl::StrCat(kQueuesDirName, "/", name),
                       "no file in it says which topic it is of",
                       "no message is lost: queues are built from the log");
    }
  }
  return topics;
}

absl::Status VerifyQueues(StoreSurvey* survey) {
  ASSIGN_OR_RETURN(
      const auto found,
      ListTopics(survey->source,
                 survey->checkpoint ? nullptr : &survey->findings));
  std::set<std::string> topics(found.begin(), found.end());
  if (survey->checkpoint) {
    for (const auto& [topic, facts] : survey->checkpoint->queues) {
      topics.insert(topic);
    }
  }
  for (const std::string& topic : topics) {
    RETURN_IF_ERROR(QueueVerifier(survey, topic).Run());
  }
  return absl::OkStatus();
}

}  // namespace hourglass
