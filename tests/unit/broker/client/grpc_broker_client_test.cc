// The client against a whole front in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "broker/client/broker_client.h"
#include "broker/front/front_server.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

class GrpcBrokerClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.options.clock = RealClock();
    box_.options.threads = true;
    box_.Open();
    config_.port = 0;
    auto certificate = MakeCertificate(RealClock(), {});
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    config_.certificate = *certificate;
    auto server = FrontServer::Start(box_.store.get(), RealClock(), config_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    options_.endpoint = "127.0.0.1:" + std::to_string(server_->port());
    options_.clock = RealClock();
    options_.timeout_ms = 5000;
    Connect();
  }

  void Connect() {
    auto client = ConnectBroker(options_);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  static OutgoingMessage Outgoing(const std::string& id, int64_t due_ms = 0) {
    OutgoingMessage outgoing;
    outgoing.message.topic = "t";
    outgoing.message.id = id;
    outgoing.message.body = "body of " + id;
    outgoing.message.due_ms = due_ms;
    return outgoing;
  }
  static ReceiveQuery Query(int64_t wait_ms) {
    ReceiveQuery query;
    query.topic = "t";
    query.group = "g";
    query.wait_ms = wait_ms;
    return query;
  }

  TestStore box_;
  FrontServerConfig config_;
  BrokerClientOptions options_;
  std::unique_ptr<FrontServer> server_;
  std::unique_ptr<BrokerClient> client_;
};

TEST_F(GrpcBrokerClientTest, SentReceivedAcknowledged) {
  OutgoingMessage full = Outgoing("A");
  full.message.tag = "g";
  full.message.keys = {"k1", "k2"};
  full.message.properties = {{"p", "v"}, {"q", "w"}};
  full.message_group = "m";
  const auto sent = client_->Send({&full, 1});
  ASSERT_TRUE(sent.ok()) << sent.status();
  ASSERT_TRUE((*sent)[0].refusal.ok()) << (*sent)[0].refusal.text;
  EXPECT_EQ((*sent)[0].recall_handle, "");
  const auto got = client_->Receive(Query(5000));
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->messages.size(), 1u);
  const IncomingMessage& one = got->messages[0];
  EXPECT_EQ(one.message.body, "body of A");
  EXPECT_EQ(one.message.tag, "g");
  EXPECT_EQ(one.message.keys, full.message.keys);
  EXPECT_EQ(one.message_group, "m");
  EXPECT_EQ(one.attempt, 1);
  EXPECT_EQ(one.message.due_ms, kDueNow);
  EXPECT_GT(one.message.stored_ms, 0);
  // The server adds the message group under a name of its own.
  ASSERT_EQ(one.message.properties.size(), 3u);
  EXPECT_EQ(one.message.properties[1].first, "p");
  EXPECT_EQ(one.message.properties[2].second, "w");
  const auto acked = client_->Ack("t", "g", got->messages);
  ASSERT_TRUE(acked.ok()) << acked.status();
  EXPECT_TRUE((*acked)[0].ok());
  const auto again = client_->Ack("t", "g", got->messages);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE((*again)[0].ok());
}

// Of a message group one batch is out: the group has heard that a simple
// consumer takes from it.
TEST_F(GrpcBrokerClientTest, MessageGroupsKeepTheirOrder) {
  std::vector<OutgoingMessage> two = {Outgoing("A"), Outgoing("B")};
  for (OutgoingMessage& one : two) one.message_group = "m";
  ASSERT_TRUE(client_->Send(two).ok());
  ReceiveQuery query = Query(5000);
  query.count_max = 1;
  auto got = client_->Receive(query);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->messages.size(), 1u);
  EXPECT_EQ(got->messages[0].message.id, "A");
  got = client_->Receive(Query(0));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->messages.empty());
}

TEST_F(GrpcBrokerClientTest, ARecallHasATrueAnswer) {
  const OutgoingMessage later = Outgoing("A", RealClock()->NowMs() + 3'600'000);
  const auto sent = client_->Send({&later, 1});
  ASSERT_TRUE(sent.ok()) << sent.status();
  const std::string handle = (*sent)[0].recall_handle;
  ASSERT_NE(handle, "");
  EXPECT_TRUE(client_->Recall("t", handle)->ok());
  const auto other = client_->Recall("u", handle);
  EXPECT_TRUE(other->is_not_found()) << other->code;
  EXPECT_FALSE(client_->Recall("t", "nonsense")->ok());
}

TEST_F(GrpcBrokerClientTest, ARefusalIsPassedOn) {
  OutgoingMessage empty = Outgoing("A");
  empty.message.body.clear();
  const auto sent = client_->Send({&empty, 1});
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_THAT((*sent)[0].refusal.text, HasSubstr("body"));
  ReceiveQuery query = Query(0);
  query.topic = "no such/topic";
  EXPECT_FALSE(client_->Receive(query)->refusal.ok());
}

TEST_F(GrpcBrokerClientTest, AStopEndsTheWait) {
  std::atomic<int> looks{0};
  ReceiveQuery query = Query(60'000);
  query.stop = [&] { return ++looks >= 3; };
  const auto got = client_->Receive(query);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->messages.empty());
}

TEST_F(GrpcBrokerClientTest, TlsWithTheServersOwnCertificate) {
  options_.tls = true;
  options_.timeout_ms = 2000;
  Connect();
  const OutgoingMessage one = Outgoing("A");
  EXPECT_TRUE(absl::IsUnavailable(client_->Send({&one, 1}).status()));
  options_.ca_pem = config_.certificate->chain_pem;
  Connect();
  const auto sent = client_->Send({&one, 1});
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_TRUE((*sent)[0].refusal.ok());
}

TEST_F(GrpcBrokerClientTest, NobodyThereIsSaidWithTheAddress) {
  server_->Stop();
  const OutgoingMessage one = Outgoing("A");
  for (const absl::Status& status : {client_->Send({&one, 1}).status(),
                                     client_->Receive(Query(60'000)).status(),
                                     client_->Recall("t", "x").status()}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(options_.endpoint));
    EXPECT_THAT(std::string(status.message()), HasSubstr("hourglass serve"));
  }
}

}  // namespace
}  // namespace hourglass
