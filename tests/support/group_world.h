// File: group_world.h
//
// Consumer groups over a whole store in memory, both without threads, under a
// clock that the test turns.
//
//   GroupWorld world;
//   world.Open();
//   world.Put("a");
//   auto leases = world.Receive();             // a short poll
//   EXPECT_TRUE(world.Ack(leases[0]).ok());
//   world.Pass(10'000);
//   world.Restart();                           // power is lost in between
//
// Threads: none.
#ifndef HOURGLASS_TESTS_SUPPORT_GROUP_WORLD_H_
#define HOURGLASS_TESTS_SUPPORT_GROUP_WORLD_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/groups/consumer_groups.h"
#include "tests/support/test_store.h"

namespace hourglass {

struct GroupWorld {
  using Received = absl::StatusOr<std::vector<Lease>>;

  GroupWorld() {
    group_options.threads = false;
    settings.attempts_max = 3;
    settings.backoff_ms = {1000, 5000};
  }
  ~GroupWorld() { groups.reset(); }

  void Open() {
    box.Open();
    Begin();
  }
  void Begin() {
    groups = std::make_unique<ConsumerGroups>(box.store.get(), &box.clock,
                                              group_options);
    groups->Configure("g", settings);
  }
  void Restart(int keep_percent = 0) {
    groups.reset();
    box.Crash(keep_percent);
    Open();
  }

  void Settle() {
    for (bool more = true; more;) {
      more = box.store->Step();
      more |= groups->Step();
    }
  }
  void Pass(int64_t ms) {
    while (ms > 0) {
      const int64_t step = std::min<int64_t>(ms, 100);
      box.clock.AdvanceMs(step);
      ms -= step;
      Settle();
    }
  }
  // At once; `message_group`: of a FIFO message.
  void Put(const std::string& body, const std::string& message_group = "") {
    MessageView view = TestStore::View(body, kDueNow);
    if (!message_group.empty()) {
      view.properties.emplace_back(kMessageGroupProperty, message_group);
    }
    const auto put = box.store->Put(view);
    EXPECT_TRUE(put.ok()) << put.status();
    Settle();
  }

  ReceiveRequest Request() {
    ReceiveRequest request;
    request.topic = "t";
    request.group = "g";
    request.lease_ms = 10'000;
    return request;
  }
  // Does not wait.
  Received TryReceive(ReceiveRequest request) {
    std::optional<Received> answer;
    groups->Receive(std::move(request),
                    [&](Received leases) { answer = std::move(leases); });
    Settle();
    return answer ? *std::move(answer) : absl::UnknownError("not answered");
  }
  std::vector<Lease> Receive(size_t count_max = 32) {
    ReceiveRequest request = Request();
    request.count_max = count_max;
    auto leases = TryReceive(std::move(request));
    EXPECT_TRUE(leases.ok()) << leases.status();
    return leases.ok() ? *std::move(leases) : std::vector<Lease>();
  }
  absl::Status Ack(const std::string& receipt) {
    std::optional<absl::Status> answer;
    groups->Ack("t", "g", receipt,
                [&](absl::Status status) { answer = std::move(status); });
    Settle();
    return answer.value_or(absl::UnknownError("not answered"));
  }
  absl::Status Ack(const Lease& lease) { return Ack(lease.receipt); }
  absl::StatusOr<std::string> Change(const Lease& lease, int64_t lease_ms) {
    absl::StatusOr<std::string> answer = absl::UnknownError("not answered");
    groups->ChangeLease(
        "t", "g", lease.receipt, lease_ms,
        [&](absl::StatusOr<std::string> text) { answer = std::move(text); });
    Settle();
    return answer;
  }
  absl::Status ToDeadLetter(const Lease& lease) {
    std::optional<absl::Status> answer;
    groups->ToDeadLetter("t", "g", lease.receipt, [&](absl::Status status) {
      answer = std::move(status);
    });
    Settle();
    return answer.value_or(absl::UnknownError("not answered"));
  }
  GroupState State() {
    for (const GroupState& state : groups->List()) {
      if (state.topic == "t" && state.group == "g") return state;
    }
    return {};
  }

  TestStore box;
  GroupOptions group_options;
  GroupSettings settings;
  std::unique_ptr<ConsumerGroups> groups;
};

// "a", "b": the bodies of what was received.
inline std::vector<std::string> Bodies(const std::vector<Lease>& leases) {
  std::vector<std::string> bodies;
  for (const Lease& lease : leases) {
    bodies.push_back(lease.message.message.body);
  }
  return bodies;
}

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_GROUP_WORLD_H_
