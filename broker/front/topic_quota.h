// File: topic_quota.h
//
// How much may wait in one topic: messages with a due time ahead, and the
// bytes of their bodies.
//
//   TopicQuota quota(options);
//   RETURN_IF_ERROR(quota.Take(topic, due_ms, body.size(), now_ms));
//   // RESOURCE_EXHAUSTED: topic orders: 1000 messages pending; expected
//   // less than 1000 (topic_pending_messages_max)
//   ...                       // the put failed:
//   quota.GiveBack(topic, due_ms, body.size());
//   quota.Recalled(topic, handle);
//   quota.AddFound(store, before_ms, &stop);   // what waited at the start
//
// What is counted: a message from its put until its due time, or until it is
// recalled. The store counts only what waits in all; here it is kept by topic
// and by the minute (beyond two hours: by the hour) that it is due in, so that
// what is due needs nobody to say so: a count may be too large by what became
// due within that minute (or hour), and heals by itself.
//
// Limitations: only what comes through the protocol front, and what was there
// at the start, is counted. What an operator puts is not; what one cancels or
// moves counts until its old due time. A recalled message's bytes are the
// average of its minute's. The recalls that are remembered, so that the same
// one counts once, are bounded; beyond, and while AddFound runs, a recalled
// message counts until it would have been due. Half messages do not count.
//
// Threads: any.
//
// Keeps promise 7: one topic cannot take all the room there is.
#ifndef HOURGLASS_BROKER_FRONT_TOPIC_QUOTA_H_
#define HOURGLASS_BROKER_FRONT_TOPIC_QUOTA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "broker/front/front_options.h"
#include "hourglass/delay_store.h"
#include "hourglass/message.h"
#include "storage/mutex.h"

namespace hourglass {

class TopicQuota {
 public:
  explicit TopicQuota(const FrontOptions& options,
                      size_t recalls_max = 1u << 20)
      : messages_max_(options.topic_pending_messages_max),
        bytes_max_(options.topic_pending_bytes_max),
        recalls_max_(recalls_max) {}

  // False: nothing is counted, and every Take is granted.
  bool on() const { return messages_max_ > 0 || bytes_max_ > 0; }

  absl::Status Take(std::string_view topic, int64_t due_ms, size_t bytes,
                    int64_t now_ms);
  void GiveBack(std::string_view topic, int64_t due_ms, size_t bytes);
  // The same handle counts once.
  void Recalled(std::string_view topic, const Handle& handle);

  // Counts what was put before `before_ms` and still waits: reads all of it,
  // page by page, until it is through or told to stop.
  absl::Status AddFound(DelayStore* store, int64_t before_ms,
                        const std::atomic<bool>* stop);

  struct Usage {
    uint64_t messages = 0;
    uint64_t bytes = 0;
  };
  Usage Get(std::string_view topic, int64_t now_ms);

 private:
  struct Bucket : Usage {
    std::set<RecordNumber> recalled;
  };
  struct Topic : Usage {
    std::map<int64_t, Bucket> by_end_ms;  // of the minute or the hour
  };

  // Null if nothing is there to be taken off.
  static Bucket* BucketOf(Topic* topic, int64_t due_ms);
  static void Remove(Topic* topic, Bucket* bucket, size_t bytes);
  void SetFinding(bool finding);
  void AddPage(const PendingPage& page, int64_t before_ms);
  void Add(Topic* topic, int64_t due_ms, size_t bytes, int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(Topic* topic, int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint64_t messages_max_;
  const uint64_t bytes_max_;
  const size_t recalls_max_;

  Mutex mu_;
  bool finding_ ABSL_GUARDED_BY(mu_) = false;
  size_t recalls_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Topic, std::less<>> topics_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_TOPIC_QUOTA_H_
