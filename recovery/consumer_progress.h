// File: consumer_progress.h
//
// How far consumers were, and what they acknowledged behind that, carried over
// to a log in which their topics begin at index 0 again. What a consumer has
// read is told by log offsets, which the old queue's entries hold; where a
// queue is gone, by counting.
//
//   ConsumerProgress progress(survey);
//   RETURN_IF_ERROR(progress.FindAnchors(&findings));
//   progress.OnDamage(range);                        // in log order,
//   progress.OnReady(topic, offset, /*kept=*/true);  // each ready record
//   for (const auto& [consumer, next] : progress.Result(&findings)) ...
//
// Behind damage nobody knows how many ready records are missing: there a
// consumer counts as not having read, so it reads again and misses nothing.
//
// Single acknowledgements and attempts are carried over message by message, by
// counting from the same anchor.
//
// Threads: none of its own.
//
// Keeps promise 2: what a group acknowledged stays acknowledged.
#ifndef HOURGLASS_RECOVERY_CONSUMER_PROGRESS_H_
#define HOURGLASS_RECOVERY_CONSUMER_PROGRESS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "recovery/finding.h"
#include "recovery/survey.h"

namespace hourglass {

class ConsumerProgress {
 public:
  explicit ConsumerProgress(const StoreSurvey* survey);

  absl::Status FindAnchors(FindingList* findings);
  void OnDamage(const DamagedRange& range);
  // `kept`: the record is in the new log as well.
  void OnReady(std::string_view topic, LogOffset offset, bool kept);
  GroupProgressMap Result(FindingList* findings) const;

 private:
  // An entry of the old queue that is known to stand at `offset`: what the
  // log has before it comes before it in the queue.
  struct Consumer {
    std::string group;
    GroupProgress old;  // in the old queue
    QueueIndex end;     // of what is known of it there
    bool anchored = false;
    QueueIndex index;  // of the anchor; then of the next ready record
    LogOffset offset;  // of the anchor
    bool broken = false;
    GroupProgress made;  // in the new queue
  };
  struct Topic {
    std::vector<Consumer> consumers;
    QueueIndex written;  // in the new queue
  };
  static void OnReady(Consumer* consumer, const Topic& topic, LogOffset offset,
                      bool kept);
  void AnchorByLog(const std::string& name, Consumer* consumer) const;

  const StoreSurvey* const survey_;
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_CONSUMER_PROGRESS_H_
