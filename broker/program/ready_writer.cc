#include "broker/program/ready_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/crash_point.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// After so many unreadable messages in a row a topic is left alone: then it
// is its queue that is damaged, and there is no end to find by trying.
constexpr int kPassedByMax = 1000;
constexpr size_t kReadBytesMin = 64 << 10;

}  // namespace

ProgressCommitter::ProgressCommitter(DelayStore* store, std::string group)
    : store_(store), group_(std::move(group)), thread_([this] { Loop(); }) {}

ProgressCommitter::~ProgressCommitter() {
  if (thread_.joinable()) Finish().IgnoreError();
}

void ProgressCommitter::Note(const std::string& topic, QueueIndex next) {
  MutexLock lock(&mu_);
  noted_[topic] = next;
  changed_.SignalAll();
}

absl::Status ProgressCommitter::Finish() {
  {
    MutexLock lock(&mu_);
    finishing_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(&mu_);
  return failure_;
}

void ProgressCommitter::Loop() {
  while (true) {
    std::map<std::string, QueueIndex> batch;
    {
      MutexLock lock(&mu_);
      while (noted_.empty() && !finishing_) changed_.Wait(&mu_);
      if (noted_.empty()) return;
      batch.swap(noted_);
    }
    for (const auto& [topic, next] : batch) {
      const absl::Status status = store_->CommitProgress(topic, group_, next);
      MutexLock lock(&mu_);
      failure_.Update(status);
    }
  }
}

ReadyWriter::ReadyWriter(DelayStore* store, const Console& console,
                         Diagnostics* diagnostics,
                         const ReadyWriterOptions& options)
    : store_(store),
      console_(console),
      diagnostics_(diagnostics),
      options_(options),
      committer_(store, options.group) {}

void ReadyWriter::FindTopics() {
  for (std::string& name : store_->Topics()) {
    if (!options_.topic.empty() && name != options_.topic) continue;
    const auto [at, is_new] = topics_.try_emplace(std::move(name));
    if (!is_new) continue;
    at->second.next = store_->Progress(at->first, options_.group);
  }
}

absl::Status ReadyWriter::Fill(const std::string& name, Topic* topic) {
  const size_t bytes_max =
      std::max(options_.read_bytes_max / topics_.size(), kReadBytesMin);
  auto batch = store_->ReadReady(name, topic->next, options_.batch_messages_max,
                                 bytes_max);
  // Reading on from damage one by one finds out which message it is.
  if (absl::IsDataLoss(batch.status())) {
    batch = store_->ReadReady(name, topic->next, 1, bytes_max);
  }
  if (!batch.ok()) return FillAfterError(name, topic, batch.status());
  topic->more = !batch->empty();
  if (batch->empty()) return absl::OkStatus();
  topic->passed_by = 0;
  topic->next = batch->back().index + 1;
  for (ReadyMessage& ready : *batch) {
    topic->messages.push_back(std::move(ready));
  }
  return absl::OkStatus();
}

absl::Status ReadyWriter::FillAfterError(const std::string& name, Topic* topic,
                                         const absl::Status& error) {
  if (absl::IsOutOfRange(error)) {
    const QueueIndex first = store_->FirstReady(name);
    if (first <= topic->next) return error;
    diagnostics_->Say(
        Concat("hourglass: topic ", Quoted(name), ": ", first - topic->next,
               " messages were removed by retention before they were read"));
    topic->next = first;
    return absl::OkStatus();
  }
  if (!absl::IsDataLoss(error)) return error;
  diagnostics_->Say(Concat("hourglass: topic ", Quoted(name), ": message ",
                           topic->next.value(),
                           " is passed by: ", MessageOf(error)));
  ++damaged_;
  ++topic->next;
  if (++topic->passed_by < kPassedByMax) return absl::OkStatus();
  diagnostics_->Say(Concat("hourglass: topic ", Quoted(name),
                           ": too much damage, is left alone"));
  topic->more = false;
  return absl::OkStatus();
}

absl::Status ReadyWriter::FillAll() {
  for (auto& [name, topic] : topics_) {
    while (topic.messages.empty() && topic.more) {
      RETURN_IF_ERROR(Fill(name, &topic));
    }
  }
  return absl::OkStatus();
}

// The topic whose next message became ready first; null if none has one.
ReadyWriter::Topic* ReadyWriter::Oldest(const std::string** name) {
  Topic* oldest = nullptr;
  for (auto& [topic_name, topic] : topics_) {
    if (topic.messages.empty()) continue;
    if (oldest == nullptr ||
        topic.messages.front().offset < oldest->messages.front().offset) {
      oldest = &topic;
      *name = &topic_name;
    }
  }
  return oldest;
}

absl::Status ReadyWriter::WriteBatch(bool* wrote) {
  buffer_.clear();
  uint64_t count = 0;
  std::map<std::string, QueueIndex> progress;
  RETURN_IF_ERROR(FillAll());
  const std::string* name = nullptr;
  while (buffer_.size() < options_.write_bytes_max) {
    Topic* topic = Oldest(&name);
    if (topic == nullptr) break;
    AppendReadyLine(topic->messages.front(), &buffer_);
    progress[*name] = topic->messages.front().index + 1;
    topic->messages.pop_front();
    ++count;
    // Its next message may be older than those of all others.
    while (topic->messages.empty() && topic->more) {
      RETURN_IF_ERROR(Fill(*name, topic));
    }
  }
  *wrote = count > 0;
  RETURN_IF_ERROR(console_.out->Write(buffer_));
  CrashPoint("consume.shown_not_committed");
  written_ += count;
  for (const auto& [topic, next] : progress) committer_.Note(topic, next);
  return absl::OkStatus();
}

absl::Status ReadyWriter::WriteReady() {
  FindTopics();
  for (auto& [name, topic] : topics_) {
    topic.more = topic.passed_by < kPassedByMax;
  }
  bool wrote = true;
  while (wrote && !console_.stop->requested()) {
    RETURN_IF_ERROR(WriteBatch(&wrote));
  }
  return absl::OkStatus();
}

}  // namespace hourglass
