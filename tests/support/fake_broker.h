// File: fake_broker.h
//
// A broker, and an admin API, of strings for the commands that speak to one.
//
//   FakeBroker broker;
//   console.connect = broker.Connector();
//   broker.ready.push_back(message);
//   console.Run({"receive", "t", "--group", "g"});
//   EXPECT_EQ(broker.acked.size(), 1u);
#ifndef HOURGLASS_TESTS_SUPPORT_FAKE_BROKER_H_
#define HOURGLASS_TESTS_SUPPORT_FAKE_BROKER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/program/console.h"

namespace hourglass {

struct FakeBroker {
  BrokerClientOptions options;  // as it was connected
  std::vector<ReceiveQuery> queries;
  std::vector<std::vector<std::string>> calls;  // ids, by send
  std::vector<OutgoingMessage> stored;
  std::vector<std::string> acked;  // ids
  std::deque<IncomingMessage> ready;

  // Why a message is not stored; one that is refused refuses its call.
  std::function<Refusal(const OutgoingMessage&)> verdict =
      [](const OutgoingMessage&) { return Refusal(); };
  std::function<absl::Status()> send_status = [] { return absl::OkStatus(); };
  std::function<absl::Status()> receive_status = [] {
    return absl::OkStatus();
  };
  Refusal receive_refusal, ack_refusal;
  std::map<std::string, Refusal> recalls;  // by handle

  BrokerConnector Connector();
};

class FakeBrokerClient final : public BrokerClient {
 public:
  explicit FakeBrokerClient(FakeBroker* broker) : broker_(broker) {}

  absl::StatusOr<std::vector<SendAnswer>> Send(
      absl::Span<const OutgoingMessage> messages) override {
    std::vector<std::string>& call = broker_->calls.emplace_back();
    for (const auto& message : messages) call.push_back(message.message.id);
    const absl::Status status = broker_->send_status();
    if (!status.ok()) return status;
    std::vector<SendAnswer> answers;
    Refusal fault;
    for (const OutgoingMessage& message : messages) {
      const Refusal refusal = broker_->verdict(message);
      answers.push_back({refusal, message.message.id, ""});
      if (!refusal.ok() && !refusal.is_throttled()) fault = refusal;
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      if (!fault.ok()) answers[i].refusal = fault;
      if (!answers[i].refusal.ok()) continue;
      if (messages[i].message.due_ms != kDueNow) {
        answers[i].recall_handle = "hg1-" + messages[i].message.id;
      }
      broker_->stored.push_back(messages[i]);
    }
    return answers;
  }

  absl::StatusOr<ReceiveAnswer> Receive(const ReceiveQuery& query) override {
    broker_->queries.push_back(query);
    const absl::Status status = broker_->receive_status();
    if (!status.ok()) return status;
    ReceiveAnswer answer{broker_->receive_refusal, {}};
    while (!broker_->ready.empty() &&
           static_cast<int>(answer.messages.size()) < query.count_max) {
      answer.messages.push_back(broker_->ready.front());
      broker_->ready.pop_front();
    }
    return answer;
  }

  absl::StatusOr<std::vector<Refusal>> Ack(
      const std::string&, const std::string&,
      absl::Span<const IncomingMessage> messages) override {
    for (const auto& message : messages) {
      broker_->acked.push_back(message.message.id);
    }
    return std::vector<Refusal>(messages.size(), broker_->ack_refusal);
  }

  absl::StatusOr<Refusal> Recall(const std::string&,
                                 const std::string& handle) override {
    const auto found = broker_->recalls.find(handle);
    if (found == broker_->recalls.end()) {
      return absl::UnavailableError("no broker answers at nowhere");
    }
    return found->second;
  }

 private:
  FakeBroker* const broker_;
};

inline BrokerConnector FakeBroker::Connector() {
  return [this](const BrokerClientOptions& given)
             -> absl::StatusOr<std::unique_ptr<BrokerClient>> {
    options = given;
    return std::make_unique<FakeBrokerClient>(this);
  };
}

// Answers by path, changes by method and path; what is not there is
// UNAVAILABLE.
struct FakeAdmin {
  AdminClientOptions options;
  std::map<std::string, std::string> pages;
  std::function<void()> on_get = [] {};
  std::vector<std::string> changes;  // "PUT /v1/topics/t"

  AdminConnector Connector();
};

class FakeAdminClient final : public AdminClient {
 public:
  explicit FakeAdminClient(FakeAdmin* admin) : admin_(admin) {}
  absl::StatusOr<std::string> Get(const std::string& path) override {
    admin_->on_get();
    return Page(path);
  }
  absl::StatusOr<std::string> Put(const std::string& path) override {
    return Change("PUT " + path);
  }
  absl::StatusOr<std::string> Delete(const std::string& path) override {
    return Change("DELETE " + path);
  }

 private:
  absl::StatusOr<std::string> Page(const std::string& path) const {
    const auto found = admin_->pages.find(path);
    if (found != admin_->pages.end()) return found->second;
    return absl::UnavailableError("no admin API answers at nowhere: " + path);
  }
  absl::StatusOr<std::string> Change(const std::string& what) const {
    admin_->changes.push_back(what);
    return Page(what);
  }

  FakeAdmin* const admin_;
};

inline AdminConnector FakeAdmin::Connector() {
  return [this](const AdminClientOptions& given)
             -> absl::StatusOr<std::unique_ptr<AdminClient>> {
    options = given;
    return std::make_unique<FakeAdminClient>(this);
  };
}

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_FAKE_BROKER_H_
