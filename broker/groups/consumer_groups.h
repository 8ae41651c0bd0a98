// File: consumer_groups.h
//
// Consumer groups over the ready messages of a store: who has which message
// leased until when, what was acknowledged, what comes again and when, and
// what goes to the dead letters. Knows no network: the protocol front calls
// it with plain structs.
//
//   ConsumerGroups groups(store.get(), clock, options);
//   ReceiveRequest request{.topic = "orders", .group = "billing"};
//   groups.Receive(request, [](absl::StatusOr<std::vector<Lease>> leases) {
//     ...                     // at once, when one arrives, or at the deadline
//   });
//   groups.Ack("orders", "billing", lease.receipt, [](absl::Status) { ... });
//
// A message is in one of these states, for each group:
//
//   ready -> leased -> acknowledged (durable; never seen again)
//     ^         |-> lease ran out, or handed back: ready again, attempt + 1
//     +---------+-> attempts used up: put into "%DLQ%<group>" and
//                   acknowledged, in one group of the log
//
// What is durable is in the store's log (acknowledged indexes and counted
// attempts of each topic and group); leases are memory. After a restart what
// was leased is ready again: at-least-once, as the protocol defines.
//
// Order: shared consumption hands out by index. A FIFO group has one batch
// outstanding for each message group (property kMessageGroupProperty).
//
// Ownership: store and clock are the caller's and outlive this. Threads: all
// methods from any thread; callbacks run on the store's or the timers' thread
// or on the caller's, exactly once, and must not block.
//
// Errors: NOT_FOUND (a receipt that is used up or ran out: the protocol's
// INVALID_RECEIPT_HANDLE), INVALID_ARGUMENT (a receipt that is none),
// RESOURCE_EXHAUSTED (names the option), what the store answers.
//
// Keeps promise 2: an acknowledgement that was answered is durable.
#ifndef HOURGLASS_BROKER_GROUPS_CONSUMER_GROUPS_H_
#define HOURGLASS_BROKER_GROUPS_CONSUMER_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"

namespace hourglass {

// Property of a message that belongs to a FIFO message group.
inline constexpr std::string_view kMessageGroupProperty = "__SHARDINGKEY";
inline constexpr std::string_view kDeadLetterPrefix = "%DLQ%";

// Where a group begins that the store has never seen.
enum class GroupStart { kFirstKept, kNewest };

// What a message waits before its next attempt that the server took back from
// a client (after push_lease_max_ms) or that was handed back without a time:
// the n-th element after attempt n, the last one after all later ones. A lease
// whose length the client chose says itself when the message comes again.
using Backoff = std::vector<int64_t>;  // ms

struct GroupSettings {
  int attempts_max = 16;
  Backoff backoff_ms;  // empty: GroupOptions::backoff_ms
  bool fifo = false;
};

struct GroupOptions {
  GroupStart start = GroupStart::kFirstKept;
  // RocketMQ's retry levels: 10 s, 30 s, 1 min, ... 2 h.
  Backoff backoff_ms;
  int64_t push_lease_ms = 60'000;  // renewed while the client lives
  int64_t push_lease_max_ms = 3LL * 3'600'000;
  // Of one group in one topic: messages handed out and not acknowledged,
  // those that wait for a retry among them; of a FIFO group also those that
  // wait for their message group. When it is reached nothing new is read.
  size_t leased_per_group_max = 100'000;
  size_t waiting_receives_max = 100'000;
  int64_t client_silence_max_ms = 30'000;  // without heartbeat: gone
  size_t groups_max = 1u << 20;            // pairs of topic and group in use
  // False: no thread. Whoever owns the groups calls Step().
  bool threads = true;
};

// True: the group wants this message. Others are acknowledged unseen.
using MessageFilter = std::function<bool(const Message&)>;

struct ReceiveRequest {
  std::string topic;
  std::string group;
  std::string client_id;  // whose heartbeat renews the leases
  MessageFilter filter;   // null: all
  size_t count_max = 32;
  size_t bytes_max = 4u << 20;
  int64_t lease_ms = 0;  // 0: push_lease_ms, and auto_renew
  bool auto_renew = false;
  int64_t poll_until_ms = 0;  // answer with nothing at this time (UTC ms)
  std::string attempt_id;     // FIFO: the same id gets the same batch again
};

struct Lease {
  ReadyMessage message;
  std::string receipt;  // opaque, printable
  int attempt = 1;
  int64_t until_ms = 0;
};
using ReceiveCallback =
    absl::AnyInvocable<void(absl::StatusOr<std::vector<Lease>>)>;
using DoneCallback = absl::AnyInvocable<void(absl::Status)>;
using ReceiptCallback = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

struct GroupState {  // for the admin front
  std::string topic, group;
  QueueIndex next;   // all before is acknowledged
  uint64_t lag = 0;  // ready, not acknowledged
  uint64_t leased = 0;
  uint64_t waiting_retry = 0;
  uint64_t dead_letters = 0;  // since the start of the program
};

class ConsumerGroups {
 public:
  ConsumerGroups(DelayStore* store, Clock* clock, GroupOptions options);
  ~ConsumerGroups();  // answers every waiting receive, with UNAVAILABLE

  // How the group consumes; until it is set, GroupSettings' defaults.
  void Configure(std::string_view group, GroupSettings settings);

  // `done` runs with messages, with none at poll_until_ms, or with an error.
  // Returns a number for CancelReceive; 0 if `done` has run already.
  uint64_t Receive(ReceiveRequest request, ReceiveCallback done);
  // The caller is gone: `done` runs with CANCELLED, nothing is leased.
  void CancelReceive(uint64_t id);

  // Runs `done` when durable.
  void Ack(std::string_view topic, std::string_view group,
           std::string_view receipt, DoneCallback done);
  // The lease ends at now + lease_ms (0: the backoff of the attempt; then it
  // is ready again). The answer is the new receipt; the old one is dead.
  void ChangeLease(std::string_view topic, std::string_view group,
                   std::string_view receipt, int64_t lease_ms,
                   ReceiptCallback done);
  void ToDeadLetter(std::string_view topic, std::string_view group,
                    std::string_view receipt, DoneCallback done);

  // A heartbeat, and its end (leases that were to be renewed run out soon).
  void ClientAlive(std::string_view client_id);
  void ClientGone(std::string_view client_id);

  std::vector<GroupState> List();

  // With StoreOptions::threads == false: what is due at the clock's time.
  bool Step();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_CONSUMER_GROUPS_H_
