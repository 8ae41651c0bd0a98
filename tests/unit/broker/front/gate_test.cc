// The front with an access file, called with bare stubs: every call, with
// good, wrong and no credentials, with and without the right.
#include "broker/front/gate.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "broker/access/access_control.h"
#include "broker/front/digest.h"
#include "broker/front/front_server.h"
#include "broker/front/proto_time.h"
#include "service.grpc.pb.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUsers[] = R"(
[users.producer]
secret = "secret of it"
publish = ["t"]

[users.consumer]
secret = "secret of it"
subscribe = ["t"]
groups = ["g"]

[users.stranger]
secret = "secret of it"
publish = ["other"]
subscribe = ["other", "t"]
groups = ["other"]
)";
constexpr char kTime[] = "20261121T030000Z";

TEST(HmacSha1, AsInItsDefinition) {
  // The second test case of RFC 2202.
  EXPECT_EQ(HmacSha1Hex("Jefe", "what do ya want for nothing?"),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
}

class GateTest : public ::testing::Test {
 protected:
  struct Context : grpc::ClientContext {
    explicit Context(const std::string& key,
                     const std::string& secret = "secret of it") {
      AddMetadata("x-mq-client-id", "client-1");
      AddMetadata("x-mq-language", "JAVA");
      AddMetadata("x-mq-date-time", kTime);
      set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
      if (key.empty()) return;
      std::string hmac = HmacSha1Hex(secret, kTime);
      // As Java writes it.
      for (char& c : hmac) c = static_cast<char>(std::toupper(c));
      AddMetadata(
          "authorization",
          "MQv2-HMAC-SHA1 Credential=" + key +
              "/cn/RocketMQ, SignedHeaders=x-mq-date-time, Signature=" + hmac);
    }
  };
  // One call, and what it was answered.
  using Call = std::function<proto::Status(Context*)>;

  GateTest() {
    box_.options.clock = RealClock();
    box_.options.threads = true;
    config_.port = 0;
    config_.options.body_bytes_max = 16u << 10;
    config_.options.drain_ms = 500;
  }

  void SetUp() override {
    box_.Open();
    files_.SetContent("/access", kUsers);
    auto access = AccessControl::Open(&files_, "/access");
    ASSERT_TRUE(access.ok()) << access.status();
    access_ = *std::move(access);
    config_.access = access_.get();
    Start();
  }
  void Start() {
    auto server = FrontServer::Start(box_.store.get(), RealClock(), config_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = proto::MessagingService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->port()),
                            grpc::InsecureChannelCredentials()));
  }

  template <typename Request, typename Response>
  Call Unary(grpc::Status (proto::MessagingService::Stub::*method)(
                 grpc::ClientContext*, const Request&, Response*),
             const Request& request) {
    return [this, method, request](Context* context) {
      Response response;
      EXPECT_TRUE((stub_.get()->*method)(context, request, &response).ok());
      return response.status();
    };
  }
  Call Receive() {
    return [this](Context* context) {
      proto::ReceiveMessageRequest request;
      request.mutable_group()->set_name("g");
      request.mutable_message_queue()->mutable_topic()->set_name("t");
      *request.mutable_invisible_duration() = DurationOfMs(30'000);
      *request.mutable_long_polling_timeout() = DurationOfMs(0);
      auto reader = stub_->ReceiveMessage(context, request);
      proto::ReceiveMessageResponse first, rest;
      EXPECT_TRUE(reader->Read(&first));
      while (reader->Read(&rest)) {
      }
      EXPECT_TRUE(reader->Finish().ok());
      return first.status();
    };
  }
  // The first answer on a stream to these Settings. A refused stream ends.
  Call Say(const proto::Settings& settings) {
    return [this, settings](Context* context) {
      auto stream = stub_->Telemetry(context);
      proto::TelemetryCommand command;
      *command.mutable_settings() = settings;
      EXPECT_TRUE(stream->Write(command));
      EXPECT_TRUE(stream->Read(&command));
      if (command.status().code() != proto::OK) {
        proto::TelemetryCommand more;
        EXPECT_FALSE(stream->Read(&more));
      }
      context->TryCancel();
      stream->Finish();
      return command.status();
    };
  }

  static proto::SendMessageRequest SendRequest() {
    proto::SendMessageRequest request;
    proto::Message* const message = request.add_messages();
    message->mutable_topic()->set_name("t");
    message->mutable_system_properties()->set_message_id("id-1");
    message->set_body("body");
    return request;
  }
  template <typename Request>
  static Request OfTopic() {
    Request request;
    request.mutable_topic()->set_name("t");
    return request;
  }
  template <typename Request>
  static Request OfGroup() {
    Request request = OfTopic<Request>();
    request.mutable_group()->set_name("g");
    return request;
  }
  static proto::Settings ProducerSettings() {
    proto::Settings settings;
    settings.set_client_type(proto::PRODUCER);
    settings.mutable_publishing()->add_topics()->set_name("t");
    return settings;
  }
  static proto::Settings ConsumerSettings() {
    proto::Settings settings;
    settings.set_client_type(proto::SIMPLE_CONSUMER);
    settings.mutable_subscription()->mutable_group()->set_name("g");
    settings.mutable_subscription()
        ->add_subscriptions()
        ->mutable_topic()
        ->set_name("t");
    return settings;
  }

  using Stub = proto::MessagingService::Stub;
  std::vector<std::pair<std::string, Call>> ProducerCalls() {
    return {
        {"send", Unary(&Stub::SendMessage, SendRequest())},
        {"recall",
         Unary(&Stub::RecallMessage, OfTopic<proto::RecallMessageRequest>())},
        {"end",
         Unary(&Stub::EndTransaction, OfTopic<proto::EndTransactionRequest>())},
        {"settings", Say(ProducerSettings())},
    };
  }
  std::vector<std::pair<std::string, Call>> ConsumerCalls() {
    return {
        {"receive", Receive()},
        {"assignment", Unary(&Stub::QueryAssignment,
                             OfGroup<proto::QueryAssignmentRequest>())},
        {"ack", Unary(&Stub::AckMessage, OfGroup<proto::AckMessageRequest>())},
        {"change", Unary(&Stub::ChangeInvisibleDuration,
                         OfGroup<proto::ChangeInvisibleDurationRequest>())},
        {"dead letter",
         Unary(&Stub::ForwardMessageToDeadLetterQueue,
               OfGroup<proto::ForwardMessageToDeadLetterQueueRequest>())},
        {"settings", Say(ConsumerSettings())},
    };
  }
  std::vector<std::pair<std::string, Call>> OpenCalls() {
    return {
        {"route",
         Unary(&Stub::QueryRoute, OfTopic<proto::QueryRouteRequest>())},
        {"heartbeat", Unary(&Stub::Heartbeat, proto::HeartbeatRequest())},
        {"goodbye", Unary(&Stub::NotifyClientTermination,
                          proto::NotifyClientTerminationRequest())},
    };
  }
  std::vector<std::pair<std::string, Call>> AllCalls() {
    auto calls = ProducerCalls();
    for (auto& call : ConsumerCalls()) calls.push_back(std::move(call));
    for (auto& call : OpenCalls()) calls.push_back(std::move(call));
    return calls;
  }

  proto::Status Ask(const Call& call, const std::string& key,
                    const std::string& secret = "secret of it") {
    Context context(key, secret);
    return call(&context);
  }

  TestStore box_;
  MemoryFileSystem files_;
  std::unique_ptr<AccessControl> access_;
  FrontServerConfig config_;
  std::unique_ptr<FrontServer> server_;
  std::unique_ptr<Stub> stub_;
};

TEST_F(GateTest, NoCallWithoutCredentials) {
  for (const auto& [name, call] : AllCalls()) {
    const proto::Status status = Ask(call, "");
    EXPECT_EQ(status.code(), proto::UNAUTHORIZED) << name;
    EXPECT_THAT(status.message(), HasSubstr("expects credentials")) << name;
  }
}

TEST_F(GateTest, NoCallWithAWrongSecretOrKey) {
  for (const auto& [name, call] : AllCalls()) {
    for (const char* key : {"producer", "consumer"}) {
      const proto::Status status = Ask(call, key, "secret of others");
      EXPECT_EQ(status.code(), proto::UNAUTHORIZED) << name;
      EXPECT_THAT(status.message(), HasSubstr(key)) << name;
    }
    const proto::Status status = Ask(call, "nobody", "nobody");
    EXPECT_EQ(status.code(), proto::UNAUTHORIZED) << name;
    EXPECT_THAT(status.message(), HasSubstr("\"nobody\"")) << name;
  }
}

TEST_F(GateTest, EachRightOpensItsOwnCalls) {
  for (const auto& [name, call] : ProducerCalls()) {
    EXPECT_NE(Ask(call, "producer").code(), proto::FORBIDDEN) << name;
    EXPECT_EQ(Ask(call, "consumer").code(), proto::FORBIDDEN) << name;
    EXPECT_EQ(Ask(call, "stranger").code(), proto::FORBIDDEN) << name;
  }
  for (const auto& [name, call] : ConsumerCalls()) {
    EXPECT_EQ(Ask(call, "producer").code(), proto::FORBIDDEN) << name;
    EXPECT_NE(Ask(call, "consumer").code(), proto::FORBIDDEN) << name;
    // Has the topic, and not the group.
    const proto::Status status = Ask(call, "stranger");
    EXPECT_EQ(status.code(), proto::FORBIDDEN) << name;
    EXPECT_THAT(status.message(), HasSubstr("consumer group \"g\"")) << name;
    EXPECT_THAT(status.message(), HasSubstr("[users.stranger]")) << name;
  }
  for (const char* user : {"producer", "consumer", "stranger"}) {
    for (const auto& [name, call] : OpenCalls()) {
      EXPECT_EQ(Ask(call, user).code(), proto::OK) << user << " " << name;
    }
  }
}

TEST_F(GateTest, ARouteNeedsSomeRightToItsTopic) {
  proto::QueryRouteRequest request;
  request.mutable_topic()->set_name("secret");
  const proto::Status status =
      Ask(Unary(&Stub::QueryRoute, request), "consumer");
  EXPECT_EQ(status.code(), proto::FORBIDDEN);
  EXPECT_THAT(status.message(), HasSubstr("topic \"secret\""));
}

TEST_F(GateTest, ARefusedSendStandsAtBothLevels) {
  Context context("consumer");
  proto::SendMessageResponse response;
  ASSERT_TRUE(stub_->SendMessage(&context, SendRequest(), &response).ok());
  EXPECT_EQ(response.status().code(), proto::FORBIDDEN);
  ASSERT_EQ(response.entries_size(), 1);
  EXPECT_EQ(response.entries(0).status().code(), proto::FORBIDDEN);
  EXPECT_EQ(box_.store->Stats().put_messages, 0u);
}

// The right is asked of the first message's topic: so all must be of it.
TEST_F(GateTest, ASecondTopicIsNotSmuggledIn) {
  proto::SendMessageRequest request = SendRequest();
  *request.add_messages() = request.messages(0);
  request.mutable_messages(1)->mutable_topic()->set_name("other");
  request.mutable_messages(1)->mutable_system_properties()->set_message_id("b");
  EXPECT_EQ(Ask(Unary(&Stub::SendMessage, request), "producer").code(),
            proto::MESSAGE_CORRUPTED);
  EXPECT_EQ(box_.store->Stats().put_messages, 0u);
}

TEST_F(GateTest, SentReceivedWithGoodCredentials) {
  const Call send = Unary(&Stub::SendMessage, SendRequest());
  EXPECT_EQ(Ask(send, "producer").code(), proto::OK);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  proto::Code code = proto::MESSAGE_NOT_FOUND;
  while (code == proto::MESSAGE_NOT_FOUND &&
         std::chrono::steady_clock::now() < until) {
    code = Ask(Receive(), "consumer").code();
  }
  EXPECT_EQ(code, proto::OK);
}

// "client-1" of one user says goodbye; that of another keeps its lease.
TEST_F(GateTest, AClientsNameIsItsUsers) {
  proto::ReceiveMessageRequest request;
  request.mutable_group()->set_name("g");
  request.mutable_message_queue()->mutable_topic()->set_name("t");
  request.set_auto_renew(true);
  *request.mutable_long_polling_timeout() = DurationOfMs(10'000);
  EXPECT_EQ(Ask(Unary(&Stub::SendMessage, SendRequest()), "producer").code(),
            proto::OK);
  Context context("consumer");
  auto reader = stub_->ReceiveMessage(&context, request);
  proto::ReceiveMessageResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  ASSERT_EQ(frame.status().code(), proto::OK);
  while (reader->Read(&frame)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  const Call goodbye = Unary(&Stub::NotifyClientTermination,
                             proto::NotifyClientTerminationRequest());
  const auto leased = [this] { return server_->Groups().at(0).leased; };
  EXPECT_EQ(Ask(goodbye, "stranger").code(), proto::OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(leased(), 1u);
  EXPECT_EQ(Ask(goodbye, "consumer").code(), proto::OK);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (leased() != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(leased(), 0u);
}

TEST_F(GateTest, AChangedFileCountsForOpenStreamsToo) {
  Context context("producer");
  auto stream = stub_->Telemetry(&context);
  proto::TelemetryCommand asked, answer;
  *asked.mutable_settings() = ProducerSettings();
  ASSERT_TRUE(stream->Write(asked));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.status().code(), proto::OK);
  files_.SetContent("/access", "[users.other]\nsecret = \"secret of it\"\n");
  access_->Look();
  ASSERT_EQ(access_->Look().size(), 1u);
  const Call send = Unary(&Stub::SendMessage, SendRequest());
  EXPECT_EQ(Ask(send, "producer").code(), proto::UNAUTHORIZED);
  ASSERT_TRUE(stream->Write(asked));
  do {  // the first answer may be said again meanwhile
    ASSERT_TRUE(stream->Read(&answer));
  } while (answer.status().code() == proto::OK);
  EXPECT_EQ(answer.status().code(), proto::UNAUTHORIZED);
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GateTest, AnOldSignatureIsRefusedIfAsked) {
  VirtualClock clock(1'795'230'000'000);  // 2026-11-21T03:00:00Z
  FrontOptions options;
  Caller caller;
  caller.client_id = "client-1";
  const auto admit = [&](const std::string& date_time, int64_t skew_ms_max) {
    options.signature_skew_ms_max = skew_ms_max;
    caller.signature = Signature{
        "producer", HmacSha1Hex("secret of it", date_time), date_time};
    return Gate(access_.get(), &clock, options).Admit(&caller);
  };
  EXPECT_TRUE(admit("whenever", 0).ok());
  EXPECT_EQ(admit("whenever", 1).code, proto::UNAUTHORIZED);
  EXPECT_TRUE(admit("20261121T030000Z", 1).ok());
  EXPECT_TRUE(admit("20261121T040000Z", 3'600'000).ok());
  EXPECT_TRUE(admit("20261121T020000Z", 3'600'000).ok());
  for (const char* far :
       {"20261121T040001Z", "20261121T015959Z", "19700101T000000Z",
        "99991231T235959Z", "", "2026-11-21T03:00:00Z", "20261321T030000Z",
        "2026112TT030000Z"}) {
    const Verdict verdict = admit(far, 3'600'000);
    EXPECT_EQ(verdict.code, proto::UNAUTHORIZED) << far;
    EXPECT_THAT(verdict.text, HasSubstr("x-mq-date-time")) << far;
  }
}

TEST_F(GateTest, NoAnswerTellsASecret) {
  for (const auto& [name, call] : AllCalls()) {
    for (const char* secret : {"secret of it", "wrong"}) {
      const proto::Status status = Ask(call, "stranger", secret);
      EXPECT_THAT(status.message(), Not(HasSubstr("secret of it"))) << name;
    }
  }
}

}  // namespace
}  // namespace hourglass
