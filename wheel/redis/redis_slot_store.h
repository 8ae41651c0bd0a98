// File: redis_slot_store.h
//
// The slots of hourglass/timers/slot_wheel.h in Redis, so that producers and
// driver may be different services.
//
//   auto url = RedisUrl::Parse("redis://localhost:6379");
//   RedisSlotStore store(*url, "reminders");
//   SlotProducer producer(&store, clock, name);
//
// Keys, all beginning with `{prefix}:`
//   slot:<second>        list: the tasks of that second
//   done                 the last completed second
//   claim                list: the tasks of the slot that was taken
//   claim:at, :number, :done   its second, its number, how many are confirmed
//   lease                "<token>/<owner>", expires by itself
//   tokens, claims       counters
//   pending              tasks that are not confirmed
//   producer:<name>      the number of its last push, for a day
//
// Every call is one script, so it is atomic and runs at one moment of the
// server. What Redis keeps over a restart is Redis's affair: with
// `appendonly yes` and `appendfsync always` it is everything that was
// answered; with its defaults the last second or minutes may be lost.
//
// Limitations: one server (the scripts make up names of keys, which a cluster
// does not allow). A claimed slot and a slot of a second are in Redis's
// memory, however long they are.
//
// Threads: one at a time; each thread has its own.
//
// Keeps promise 2 as far as Redis keeps its data.
#ifndef HOURGLASS_WHEEL_REDIS_REDIS_SLOT_STORE_H_
#define HOURGLASS_WHEEL_REDIS_REDIS_SLOT_STORE_H_

#include <string>
#include <string_view>
#include <vector>

#include "hourglass/timers/slot_store.h"
#include "wheel/redis/redis_connection.h"

namespace hourglass {

class RedisSlotStore final : public SlotStore {
 public:
  RedisSlotStore(RedisUrl url, std::string_view prefix,
                 int64_t timeout_ms = RedisConnection::kTimeoutMs);

  absl::StatusOr<Second> Push(Second second, Second now, std::string_view task,
                              const Stamp& stamp) override;
  absl::StatusOr<uint64_t> Pending() override;
  absl::StatusOr<Lease> Acquire(const std::string& owner,
                                int64_t ttl_ms) override;
  absl::Status Renew(const Lease& lease, int64_t ttl_ms) override;
  absl::Status Release(const Lease& lease) override;
  absl::StatusOr<Position> Skip(const Lease& lease, Second until) override;
  absl::StatusOr<Claim> Take(const Lease& lease, Second second,
                             size_t count_max) override;
  absl::Status Confirm(const Lease& lease, uint64_t claim,
                       size_t count) override;

 private:
  // A script that begins by looking at the lease.
  absl::StatusOr<RedisReply> Led(const char* script, const Lease& lease,
                                 std::vector<std::string> arguments);

  RedisConnection redis_;
  const std::string prefix_;
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_REDIS_REDIS_SLOT_STORE_H_
