// File: ready_writer.h
//
// From ready messages to lines: the half of `hourglass pipe` that writes.
// Reads every topic (or one) as a consumer group and writes in the order in
// which the messages became ready. A message counts as consumed only after
// its line was written (promise 2): what could not be written comes again.
//
//   ReadyWriter writer(store, out, say, options);
//   absl::Status status = writer.WriteReady();   // all there is now
//   ...                                          // WaitReady, again
//   status = writer.CommitAll();                 // progress is durable
//
// Progress is committed by a thread of its own: a commit waits for the disk,
// and messages that are due should not.
//
// A message that cannot be read (damage) is said on stderr and passed by, so
// that it does not hold up those behind it (promise 6); damaged() counts.
//
// Threads: one.
#ifndef HOURGLASS_BROKER_PROGRAM_READY_WRITER_H_
#define HOURGLASS_BROKER_PROGRAM_READY_WRITER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/program/console.h"
#include "hourglass/delay_store.h"
#include "storage/mutex.h"

namespace hourglass {

// Commits a consumer group's newest progress, always the newest only.
class ProgressCommitter {
 public:
  ProgressCommitter(DelayStore* store, std::string group);
  ~ProgressCommitter();

  // Everything before `next` was consumed.
  void Note(const std::string& topic, QueueIndex next);
  // Waits until all noted is durable; the first error, if there was one.
  absl::Status Finish();

 private:
  void Loop();

  DelayStore* const store_;
  const std::string group_;
  Mutex mu_;
  CondVar changed_;
  std::map<std::string, QueueIndex> noted_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

struct ReadyWriterOptions {
  std::string group = "pipe";
  std::string topic;  // "" = every topic
  size_t batch_messages_max = 4096;
  size_t read_bytes_max = 32u << 20;    // held in memory over all topics
  size_t write_bytes_max = 256u << 10;  // handed to `out` at once
};

class ReadyWriter {
 public:
  ReadyWriter(DelayStore* store, const Console& console,
              Diagnostics* diagnostics, const ReadyWriterOptions& options);

  // Writes until nothing more is ready, or we are asked to stop.
  absl::Status WriteReady();
  absl::Status CommitAll() { return committer_.Finish(); }

  uint64_t written() const { return written_; }
  uint64_t damaged() const { return damaged_; }

 private:
  struct Topic {
    QueueIndex next;  // index to read next
    std::deque<ReadyMessage> messages;
    bool more = true;   // the last read may have left some behind
    int passed_by = 0;  // damaged ones in a row
  };

  void FindTopics();
  absl::Status FillAll();
  absl::Status Fill(const std::string& name, Topic* topic);
  absl::Status FillAfterError(const std::string& name, Topic* topic,
                              const absl::Status& error);
  Topic* Oldest(const std::string** name);
  absl::Status WriteBatch(bool* wrote);

  DelayStore* const store_;
  const Console console_;
  Diagnostics* const diagnostics_;
  const ReadyWriterOptions options_;
  ProgressCommitter committer_;
  std::map<std::string, Topic> topics_;
  std::string buffer_;
  uint64_t written_ = 0;
  uint64_t damaged_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_READY_WRITER_H_
