// What an observer is told of the calls of a whole front.
#include "broker/front/call_observer.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "broker/front/front_server.h"
#include "broker/front/proto.h"
#include "broker/front/proto_time.h"
#include "service.grpc.pb.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Told final : public CallObserver {
 public:
  void OnConnected(const CallOrigin& origin) override {
    Add("connected " + origin.client_id + " " + origin.language);
  }
  void OnGone(const CallOrigin& origin) override {
    Add("gone " + origin.client_id);
  }
  void OnRefused(const CallOrigin& origin, std::string_view call,
                 std::string_view code, std::string_view why) override {
    EXPECT_FALSE(why.empty());
    EXPECT_FALSE(origin.peer.empty());
    Add(std::string(call) + " " + std::string(code) + " " + origin.client_id);
  }
  std::vector<std::string> Take() {
    std::lock_guard lock(mu_);
    return std::exchange(events_, {});
  }
  // Until there is something, or ten seconds are over.
  std::vector<std::string> Wait() {
    for (int i = 0; i < 1000; ++i) {
      auto events = Take();
      if (!events.empty()) return events;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }

 private:
  void Add(std::string event) {
    std::lock_guard lock(mu_);
    events_.push_back(std::move(event));
  }
  std::mutex mu_;
  std::vector<std::string> events_;
};

class CallObserverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.options.clock = RealClock();
    box_.options.threads = true;
    box_.Open();
    FrontServerConfig config;
    config.port = 0;
    config.observer = &told_;
    auto server = FrontServer::Start(box_.store.get(), RealClock(), config);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = proto::MessagingService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->port()),
                            grpc::InsecureChannelCredentials()));
  }

  struct Context : grpc::ClientContext {
    explicit Context(const char* id = "c1") {
      if (*id != '\0') AddMetadata("x-mq-client-id", id);
      AddMetadata("x-mq-language", "CPP");
      set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    }
  };

  void Send(const std::string& topic, const char* client = "c1") {
    Context context(client);
    proto::SendMessageRequest request;
    auto* const message = request.add_messages();
    message->mutable_topic()->set_name(topic);
    message->mutable_system_properties()->set_message_id("id");
    message->set_body("x");
    proto::SendMessageResponse response;
    EXPECT_TRUE(stub_->SendMessage(&context, request, &response).ok());
  }
  void Receive(const std::string& filter) {
    Context context;
    proto::ReceiveMessageRequest request;
    request.mutable_group()->set_name("g");
    request.mutable_message_queue()->mutable_topic()->set_name("empty");
    request.mutable_filter_expression()->set_type(filter == "*" ? proto::TAG
                                                                : proto::SQL);
    request.mutable_filter_expression()->set_expression(filter);
    *request.mutable_invisible_duration() = DurationOfMs(30'000);
    *request.mutable_long_polling_timeout() = DurationOfMs(0);
    const auto reader = stub_->ReceiveMessage(&context, request);
    proto::ReceiveMessageResponse frame;
    while (reader->Read(&frame)) {
    }
    EXPECT_TRUE(reader->Finish().ok());
  }

  TestStore box_;
  Told told_;
  std::unique_ptr<FrontServer> server_;
  std::unique_ptr<proto::MessagingService::Stub> stub_;
};

TEST_F(CallObserverTest, RefusalsAreToldAndAnswersAreNot) {
  Send("good");
  Receive("*");
  Context context;
  proto::RecallMessageRequest request;
  request.mutable_topic()->set_name("t");
  request.set_recall_handle("nonsense");
  proto::RecallMessageResponse response;
  EXPECT_TRUE(stub_->RecallMessage(&context, request, &response).ok());
  EXPECT_THAT(told_.Take(), ElementsAre("RecallMessage BAD_REQUEST c1"));
  Send("no such/topic");
  EXPECT_THAT(told_.Take(), ElementsAre("SendMessage ILLEGAL_TOPIC c1"));
  Send("good", "");
  EXPECT_THAT(told_.Take(), ElementsAre("SendMessage CLIENT_ID_REQUIRED "));
  Receive("a >");
  EXPECT_THAT(told_.Take(),
              ElementsAre("ReceiveMessage ILLEGAL_FILTER_EXPRESSION c1"));
}

TEST_F(CallObserverTest, ClientsComeAndGo) {
  Context context("c2");
  const auto stream = stub_->Telemetry(&context);
  proto::TelemetryCommand command;
  command.mutable_settings()->set_client_type(proto::PRODUCER);
  command.mutable_settings()->mutable_publishing();
  ASSERT_TRUE(stream->Write(command));
  EXPECT_THAT(told_.Wait(), ElementsAre("connected c2 CPP"));
  EXPECT_THAT(told_.Take(), IsEmpty());
  context.TryCancel();
  EXPECT_THAT(told_.Wait(), ElementsAre("gone c2"));
}

TEST_F(CallObserverTest, AStopEndsTheStreams) {
  Context context("c3");
  const auto stream = stub_->Telemetry(&context);
  EXPECT_THAT(told_.Wait(), ElementsAre("connected c3 CPP"));
  server_->Stop();
  EXPECT_THAT(told_.Wait(), ElementsAre("gone c3"));
}

}  // namespace
}  // namespace hourglass
