// File: verify_queue.h
//
// The consume queues, checked entry by entry and against the commit log.
// Part of VerifyStore; repair reads positions with the same class.
//
//   RETURN_IF_ERROR(VerifyQueues(survey));   // findings go to the survey
//
//   QueueSalvage queue(source, id, "orders");
//   RETURN_IF_ERROR(queue.Scan([](QueueIndex i, const QueueEntry& e) {...}));
//
// Threads: one.
//
// Keeps promise 5: every entry against the log.
#ifndef HOURGLASS_RECOVERY_VERIFY_QUEUE_H_
#define HOURGLASS_RECOVERY_VERIFY_QUEUE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "recovery/survey.h"
#include "storage/consume_queue.h"

namespace hourglass {

// The intact entries of one topic's directory, in order.
class QueueSalvage {
 public:
  struct Damage {
    std::string file;
    std::optional<QueueIndex> index;
    std::optional<uint64_t> offset;
    std::string what;
  };
  struct FileFacts {
    std::string file;
    QueueIndex first;
    uint64_t bytes = 0;
    uint64_t entries = 0;  // intact
  };

  QueueSalvage(const SalvageSource& source, const StoreId& id,
               std::string topic);

  using Visit = std::function<void(QueueIndex, const QueueEntry&)>;
  // Entries [from, to); damaged ones are left out and noted. Errors:
  // FAILED_PRECONDITION if a file is of another version.
  absl::Status Scan(QueueIndex from, QueueIndex to, const Visit& visit);

  const std::vector<Damage>& damage() const { return damage_; }
  const std::vector<FileFacts>& files() const { return files_; }

 private:
  absl::Status ScanFile(QueueIndex first, QueueIndex from, QueueIndex to,
                        const Visit& visit);

  const SalvageSource source_;
  const StoreId id_;
  const std::string topic_;
  const std::string dir_;  // below the store's
  std::vector<Damage> damage_;
  std::vector<FileFacts> files_;
};

// Topics that have a directory, from the headers of its files.
absl::StatusOr<std::vector<std::string>> ListTopics(const SalvageSource& source,
                                                    FindingList* findings);

absl::Status VerifyQueues(StoreSurvey* survey);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_VERIFY_QUEUE_H_
