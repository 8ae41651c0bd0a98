// File: client_table.h
//
// Which clients live: who sent a heartbeat lately, and in which queues each
// has leases that its heartbeats renew.
//
//   clients.Seen("c1", queue);               // a receive counts as a heartbeat
//   if (!clients.IsAlive("c1")) ...          // silent for too long, or gone
//   for (GroupQueue* queue : clients.Gone("c1")) queue->ClientGone("c1");
//
// Memory: a client that fell silent is forgotten after a while.
//
// Threads: any.
//
// Serves promise 2: a lease ends when nobody can hold it any more.
#ifndef HOURGLASS_BROKER_GROUPS_CLIENT_TABLE_H_
#define HOURGLASS_BROKER_GROUPS_CLIENT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hourglass/clock.h"
#include "storage/mutex.h"

namespace hourglass {

class GroupQueue;

class ClientTable {
 public:
  ClientTable(Clock* clock, int64_t silence_max_ms)
      : clock_(clock), silence_max_ns_(silence_max_ms * 1'000'000) {}

  // `queue`: null for a heartbeat.
  void Seen(std::string_view id, GroupQueue* queue);
  bool IsAlive(std::string_view id);
  // It is gone. The queues it received from.
  std::vector<GroupQueue*> Gone(std::string_view id);
  size_t size();

 private:
  struct Client {
    int64_t seen_ns = 0;
    absl::flat_hash_set<GroupQueue*> queues;
  };
  void ForgetSilent(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  const int64_t silence_max_ns_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Client> clients_ ABSL_GUARDED_BY(mu_);
  int64_t swept_ns_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_CLIENT_TABLE_H_
