// The whole front in one process, called with bare stubs: what no client
// library would send.
#include "broker/front/front_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "broker/front/certificate.h"
#include "broker/front/proto.h"
#include "broker/front/proto_time.h"
#include "broker/topics/topic_catalog.h"
#include "service.grpc.pb.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using Stub = proto::MessagingService::Stub;

constexpr std::chrono::seconds kPatience(20);

class FrontServerTest : public ::testing::Test {
 protected:
  FrontServerTest() {
    box_.options.clock = RealClock();
    box_.options.threads = true;
    config_.port = 0;
    config_.options.body_bytes_max = 16u << 10;
    config_.options.delay_ms_max = 3'600'000;
    config_.options.settings_again_ms = 50;
    config_.options.transaction_check_ms = 400;
    config_.options.drain_ms = 2000;
  }

  void SetUp() override {
    box_.Open();
    auto certificate = MakeCertificate(RealClock(), {});
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    config_.certificate = *certificate;
    Start();
  }

  void Start() {
    auto server = FrontServer::Start(box_.store.get(), RealClock(), config_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = proto::MessagingService::NewStub(
        grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials()));
  }

  std::string Address() const {
    return "127.0.0.1:" + std::to_string(server_->port());
  }

  struct Context : grpc::ClientContext {
    explicit Context(const char* id = "client-1",
                     const char* language = "JAVA") {
      if (*id != '\0') AddMetadata("x-mq-client-id", id);
      AddMetadata("x-mq-language", language);
      set_deadline(std::chrono::system_clock::now() + kPatience);
    }
  };

  static proto::Message MessageOf(const std::string& id,
                                  const std::string& body = "body") {
    proto::Message message;
    message.mutable_topic()->set_name("t");
    message.mutable_system_properties()->set_message_id(id);
    message.set_body(body);
    return message;
  }

  proto::SendMessageResponse Send(const proto::SendMessageRequest& request) {
    Context context;
    proto::SendMessageResponse response;
    const grpc::Status status =
        stub_->SendMessage(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  proto::SendMessageResponse SendOne(const proto::Message& message) {
    proto::SendMessageRequest request;
    *request.add_messages() = message;
    return Send(request);
  }

  static proto::ReceiveMessageRequest Asking(int64_t poll_ms) {
    proto::ReceiveMessageRequest request;
    request.mutable_group()->set_name("g");
    request.mutable_message_queue()->mutable_topic()->set_name("t");
    request.set_batch_size(32);
    *request.mutable_invisible_duration() = DurationOfMs(30'000);
    *request.mutable_long_polling_timeout() = DurationOfMs(poll_ms);
    return request;
  }

  // The first frame must be a status, the last one a time.
  std::vector<proto::Message> Receive(
      const proto::ReceiveMessageRequest& request, proto::Code expected,
      Context* given = nullptr) {
    Context own;
    auto reader =
        stub_->ReceiveMessage(given == nullptr ? &own : given, request);
    std::vector<proto::ReceiveMessageResponse> frames;
    proto::ReceiveMessageResponse frame;
    while (reader->Read(&frame)) frames.push_back(frame);
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<proto::Message> messages;
    if (frames.size() < 2) {
      ADD_FAILURE() << frames.size() << " frames";
      return messages;
    }
    EXPECT_TRUE(frames.front().has_status());
    EXPECT_EQ(frames.front().status().code(), expected)
        << frames.front().status().message();
    EXPECT_TRUE(frames.back().has_delivery_timestamp());
    for (size_t i = 1; i + 1 < frames.size(); ++i) {
      EXPECT_TRUE(frames[i].has_message());
      messages.push_back(frames[i].message());
    }
    return messages;
  }

  proto::AckMessageResponse Ack(const std::vector<std::string>& receipts) {
    Context context;
    proto::AckMessageRequest request;
    request.mutable_group()->set_name("g");
    request.mutable_topic()->set_name("t");
    for (const std::string& receipt : receipts) {
      request.add_entries()->set_receipt_handle(receipt);
    }
    proto::AckMessageResponse response;
    EXPECT_TRUE(stub_->AckMessage(&context, request, &response).ok());
    return response;
  }

  proto::RecallMessageResponse Recall(const std::string& handle,
                                      const char* language = "JAVA",
                                      const char* topic = "t") {
    Context context("client-1", language);
    proto::RecallMessageRequest request;
    request.mutable_topic()->set_name(topic);
    request.set_recall_handle(handle);
    proto::RecallMessageResponse response;
    EXPECT_TRUE(stub_->RecallMessage(&context, request, &response).ok());
    return response;
  }

  TestStore box_;
  FrontServerConfig config_;
  std::unique_ptr<FrontServer> server_;
  std::unique_ptr<Stub> stub_;
};

// The answer was lost with the server; the client tries again after that.
TEST_F(FrontServerTest, ASendIsKnownAcrossARestart) {
  proto::Message message = MessageOf("A-1");
  const int64_t due_ms = RealClock()->NowMs() + 600'000;
  *message.mutable_system_properties()->mutable_delivery_timestamp() =
      TimestampOfMs(due_ms);
  const auto first = SendOne(message);
  ASSERT_EQ(first.status().code(), proto::OK);
  server_->Stop();
  ASSERT_TRUE(box_.store->Close().ok());
  box_.Open();
  config_.file_system = box_.fs.get();
  config_.store_dir = box_.dir;
  Start();
  EXPECT_TRUE(server_->restored().ok()) << server_->restored();
  const auto again = SendOne(message);
  EXPECT_EQ(again.entries(0).recall_handle(), first.entries(0).recall_handle());
  EXPECT_EQ(box_.store->Stats().pending_messages, 1u);
  EXPECT_EQ(Recall(again.entries(0).recall_handle()).status().code(),
            proto::OK);
  // Another topic's message may have the same id.
  message.mutable_topic()->set_name("u");
  EXPECT_EQ(SendOne(message).status().code(), proto::OK);
  EXPECT_EQ(box_.store->Stats().pending_messages, 1u);
}

TEST_F(FrontServerTest, SentReceivedAcknowledged) {
  const auto sent = SendOne(MessageOf("id-1"));
  EXPECT_EQ(sent.status().code(), proto::OK);
  ASSERT_EQ(sent.entries_size(), 1);
  EXPECT_EQ(sent.entries(0).message_id(), "id-1");
  EXPECT_EQ(sent.entries(0).transaction_id(), "id-1");
  EXPECT_EQ(sent.entries(0).recall_handle(), "");
  const auto got = Receive(Asking(5000), proto::OK);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].body(), "body");
  const std::string receipt = got[0].system_properties().receipt_handle();
  EXPECT_EQ(Ack({receipt}).status().code(), proto::OK);
  EXPECT_EQ(Ack({receipt}).status().code(), proto::INVALID_RECEIPT_HANDLE);
  EXPECT_TRUE(Receive(Asking(0), proto::MESSAGE_NOT_FOUND).empty());
}

TEST_F(FrontServerTest, AcksThatDisagree) {
  SendOne(MessageOf("id-1"));
  const auto got = Receive(Asking(5000), proto::OK);
  ASSERT_EQ(got.size(), 1u);
  const auto response =
      Ack({got[0].system_properties().receipt_handle(), "nonsense"});
  EXPECT_EQ(response.status().code(), proto::MULTIPLE_RESULTS);
  ASSERT_EQ(response.entries_size(), 2);
  EXPECT_EQ(response.entries(0).status().code(), proto::OK);
  EXPECT_EQ(response.entries(1).status().code(), proto::INVALID_RECEIPT_HANDLE);
  EXPECT_EQ(Ack({}).status().code(), proto::BAD_REQUEST);
}

TEST_F(FrontServerTest, OneWrongMessageRefusesAllAtBothLevels) {
  proto::SendMessageRequest request;
  *request.add_messages() = MessageOf("id-1");
  *request.add_messages() = MessageOf("id-2", "");
  const auto response = Send(request);
  EXPECT_EQ(response.status().code(), proto::MESSAGE_BODY_EMPTY);
  ASSERT_EQ(response.entries_size(), 2);
  EXPECT_EQ(response.entries(0).status().code(), proto::MESSAGE_BODY_EMPTY);
  EXPECT_TRUE(Receive(Asking(0), proto::MESSAGE_NOT_FOUND).empty());
}

TEST_F(FrontServerTest, SendsThatMakeNoSense) {
  EXPECT_EQ(Send({}).status().code(), proto::MESSAGE_CORRUPTED);
  proto::SendMessageRequest two_topics;
  *two_topics.add_messages() = MessageOf("a");
  *two_topics.add_messages() = MessageOf("b");
  two_topics.mutable_messages(1)->mutable_topic()->set_name("u");
  EXPECT_EQ(Send(two_topics).status().code(), proto::MESSAGE_CORRUPTED);
  proto::SendMessageRequest empty;
  empty.add_messages();
  EXPECT_EQ(Send(empty).status().code(), proto::ILLEGAL_TOPIC);
  proto::SendMessageRequest many;
  for (int i = 0; i < 1025; ++i) {
    *many.add_messages() = MessageOf(std::to_string(i));
  }
  EXPECT_EQ(Send(many).status().code(), proto::MESSAGE_CORRUPTED);
}

TEST_F(FrontServerTest, TheSameIdIsPutOnce) {
  const auto first = SendOne(MessageOf("id-1"));
  const auto second = SendOne(MessageOf("id-1", "again"));
  EXPECT_EQ(second.status().code(), proto::OK);
  EXPECT_EQ(second.entries(0).offset(), first.entries(0).offset());
  EXPECT_EQ(Receive(Asking(5000), proto::OK).size(), 1u);
  EXPECT_TRUE(Receive(Asking(0), proto::MESSAGE_NOT_FOUND).empty());
}

TEST_F(FrontServerTest, RecallTellsTheTruth) {
  proto::Message message = MessageOf("id-1");
  const int64_t now_ms = RealClock()->NowMs();
  *message.mutable_system_properties()->mutable_delivery_timestamp() =
      TimestampOfMs(now_ms + 600'000);
  const std::string handle = SendOne(message).entries(0).recall_handle();
  ASSERT_NE(handle, "");
  EXPECT_EQ(Recall(handle, "JAVA", "u").status().code(),
            proto::MESSAGE_NOT_FOUND);
  const auto recalled = Recall(handle);
  EXPECT_EQ(recalled.status().code(), proto::OK);
  EXPECT_EQ(recalled.message_id(), "id-1");
  EXPECT_EQ(Recall("nonsense").status().code(), proto::BAD_REQUEST);
  EXPECT_EQ(Recall("").status().code(), proto::BAD_REQUEST);
  EXPECT_EQ(Recall(handle, "JAVA", "").status().code(), proto::ILLEGAL_TOPIC);
}

TEST_F(FrontServerTest, ARecallThatComesTooLate) {
  proto::Message message = MessageOf("id-1");
  *message.mutable_system_properties()->mutable_delivery_timestamp() =
      TimestampOfMs(RealClock()->NowMs() + 1000);
  const std::string handle = SendOne(message).entries(0).recall_handle();
  ASSERT_FALSE(handle.empty()) << "a second was not enough for a send";
  EXPECT_EQ(Receive(Asking(10'000), proto::OK).size(), 1u);
  EXPECT_EQ(Recall(handle).status().code(), proto::MESSAGE_NOT_FOUND);
  // This client takes MESSAGE_NOT_FOUND for a success.
  EXPECT_EQ(Recall(handle, "PYTHON").status().code(), proto::NOT_FOUND);
}

TEST_F(FrontServerTest, NeverEarly) {
  proto::Message message = MessageOf("id-1");
  const int64_t due_ms = RealClock()->NowMs() + 300;
  *message.mutable_system_properties()->mutable_delivery_timestamp() =
      TimestampOfMs(due_ms);
  SendOne(message);
  const auto got = Receive(Asking(10'000), proto::OK);
  EXPECT_GE(RealClock()->NowMs(), due_ms);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(MsOf(got[0].system_properties().delivery_timestamp()), due_ms);
}

TEST_F(FrontServerTest, WithoutAClientId) {
  Context route_context("");
  proto::QueryRouteResponse route;
  ASSERT_TRUE(stub_->QueryRoute(&route_context, {}, &route).ok());
  EXPECT_EQ(route.status().code(), proto::CLIENT_ID_REQUIRED);
  Context receive_context("");
  Receive(Asking(0), proto::CLIENT_ID_REQUIRED, &receive_context);
}

TEST_F(FrontServerTest, EmptyRequests) {
  const auto call = [this](auto method, auto request, auto response) {
    Context context;
    EXPECT_TRUE((stub_.get()->*method)(&context, request, &response).ok());
    return response.status().code();
  };
  EXPECT_EQ(call(&Stub::QueryRoute, proto::QueryRouteRequest(),
                 proto::QueryRouteResponse()),
            proto::ILLEGAL_TOPIC);
  EXPECT_EQ(call(&Stub::QueryAssignment, proto::QueryAssignmentRequest(),
                 proto::QueryAssignmentResponse()),
            proto::ILLEGAL_TOPIC);
  EXPECT_EQ(call(&Stub::AckMessage, proto::AckMessageRequest(),
                 proto::AckMessageResponse()),
            proto::ILLEGAL_TOPIC);
  EXPECT_EQ(call(&Stub::EndTransaction, proto::EndTransactionRequest(),
                 proto::EndTransactionResponse()),
            proto::ILLEGAL_TOPIC);
  EXPECT_EQ(call(&Stub::Heartbeat, proto::HeartbeatRequest(),
                 proto::HeartbeatResponse()),
            proto::OK);
  EXPECT_EQ(call(&Stub::NotifyClientTermination,
                 proto::NotifyClientTerminationRequest(),
                 proto::NotifyClientTerminationResponse()),
            proto::OK);
  Receive({}, proto::ILLEGAL_TOPIC);
}

TEST_F(FrontServerTest, AbsurdReceives) {
  auto request = Asking(0);
  request.set_batch_size(INT32_MIN);
  Receive(request, proto::MESSAGE_NOT_FOUND);
  request.set_batch_size(INT32_MAX);
  Receive(request, proto::MESSAGE_NOT_FOUND);
  request.mutable_invisible_duration()->set_seconds(INT64_MAX);
  Receive(request, proto::ILLEGAL_INVISIBLE_TIME);
  request.mutable_invisible_duration()->set_seconds(-1);
  Receive(request, proto::ILLEGAL_INVISIBLE_TIME);
  request = Asking(0);
  request.mutable_filter_expression()->set_expression("||");
  Receive(request, proto::ILLEGAL_FILTER_EXPRESSION);
}

TEST_F(FrontServerTest, APollEndsBeforeItsCaller) {
  Context context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(700));
  Receive(Asking(60'000), proto::MESSAGE_NOT_FOUND, &context);
}

TEST_F(FrontServerTest, ACallerThatGoesAwayLeavesNothingLeased) {
  {
    grpc::ClientContext context;
    context.AddMetadata("x-mq-client-id", "gone");
    auto reader = stub_->ReceiveMessage(&context, Asking(30'000));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    context.TryCancel();
    reader->Finish();
  }
  SendOne(MessageOf("id-1"));
  const auto got = Receive(Asking(5000), proto::OK);
  ASSERT_EQ(got.size(), 1u);
  // The message may have been on its way when the server saw that the caller
  // was gone; but then it is back at once.
  EXPECT_LE(got[0].system_properties().delivery_attempt(), 2);
}

TEST_F(FrontServerTest, ARefusalOfTheStoreStandsAtBothLevels) {
  proto::Message message = MessageOf("id-1");
  // More than this store takes, less than the protocol does.
  (*message.mutable_user_properties())["large"] = std::string(8u << 10, 'x');
  const auto response = SendOne(message);
  EXPECT_EQ(response.status().code(), proto::BAD_REQUEST);
  EXPECT_EQ(response.entries(0).status().code(), proto::BAD_REQUEST);
  EXPECT_THAT(response.status().message(), HasSubstr("properties_bytes_max"));
}

TEST_F(FrontServerTest, ATopicThatIsFullRefusesWhatIsNew) {
  server_->Stop();
  config_.options.topic_pending_messages_max = 2;
  Start();
  const auto delayed = [](const std::string& id) {
    proto::Message message = MessageOf(id);
    *message.mutable_system_properties()->mutable_delivery_timestamp() =
        TimestampOfMs(RealClock()->NowMs() + 3'000'000);
    return message;
  };
  const auto first = SendOne(delayed("id-1"));
  EXPECT_EQ(first.status().code(), proto::OK);
  EXPECT_EQ(SendOne(delayed("id-2")).status().code(), proto::OK);
  const auto full = SendOne(delayed("id-3"));
  EXPECT_EQ(full.status().code(), proto::TOO_MANY_REQUESTS);
  EXPECT_EQ(full.entries(0).status().code(), proto::TOO_MANY_REQUESTS);
  EXPECT_THAT(full.status().message(), HasSubstr("topic t"));
  EXPECT_THAT(full.status().message(), HasSubstr("topic_pending_messages_max"));
  // One that is there already is answered as before; one that is not delayed
  // does not wait.
  EXPECT_EQ(SendOne(delayed("id-2")).status().code(), proto::OK);
  EXPECT_EQ(SendOne(MessageOf("id-4")).status().code(), proto::OK);
  // Also after a restart, from what is found in the store.
  server_->Stop();
  Start();
  proto::Code code = proto::OK;
  std::string last = first.entries(0).recall_handle();
  for (int i = 0; i < 200 && code == proto::OK; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto sent = SendOne(delayed("again-" + std::to_string(i)));
    code = sent.status().code();
    if (code == proto::OK) Recall(sent.entries(0).recall_handle());
  }
  EXPECT_EQ(code, proto::TOO_MANY_REQUESTS);
  // A recall makes room.
  EXPECT_EQ(Recall(last).status().code(), proto::OK);
  EXPECT_EQ(SendOne(delayed("id-5")).status().code(), proto::OK);
  EXPECT_EQ(SendOne(delayed("id-6")).status().code(), proto::TOO_MANY_REQUESTS);
}

// The store's own bounds: clients wait and try again.
TEST_F(FrontServerTest, AFullDiskIsTooManyRequests) {
  box_.fs->SetCapacity(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto full = SendOne(MessageOf("id-1"));
  EXPECT_EQ(full.status().code(), proto::TOO_MANY_REQUESTS)
      << full.status().message();
  EXPECT_EQ(full.entries(0).status().code(), proto::TOO_MANY_REQUESTS);
  EXPECT_THAT(full.status().message(), HasSubstr("disk_reserve_bytes"));
}

TEST_F(FrontServerTest, RouteEchoesWhereItWasAsked) {
  Context context;
  proto::QueryRouteRequest request;
  request.mutable_topic()->set_name("t");
  request.mutable_endpoints()->set_scheme(proto::DOMAIN_NAME);
  proto::Address* const address = request.mutable_endpoints()->add_addresses();
  address->set_host("queue.example");
  address->set_port(4711);
  proto::QueryRouteResponse response;
  ASSERT_TRUE(stub_->QueryRoute(&context, request, &response).ok());
  ASSERT_EQ(response.message_queues_size(), 1);
  const proto::MessageQueue& queue = response.message_queues(0);
  EXPECT_EQ(queue.id(), 0);
  EXPECT_EQ(queue.permission(), proto::READ_WRITE);
  EXPECT_EQ(queue.broker().id(), 0);
  EXPECT_EQ(queue.broker().endpoints().addresses(0).host(), "queue.example");
  EXPECT_EQ(queue.broker().endpoints().scheme(), proto::DOMAIN_NAME);
  EXPECT_EQ(queue.accept_message_types_size(), 4);
}

// What an operator changes counts from the next call on.
TEST_F(FrontServerTest, ACatalogueThatChanges) {
  server_->Stop();
  TopicCatalogOptions options;
  options.auto_create = false;
  const auto catalog = *TopicCatalog::InMemory(options);
  config_.topics = catalog.get();
  Start();
  const auto kinds_of_route = [this] {
    Context context;
    proto::QueryRouteRequest request;
    request.mutable_topic()->set_name("t");
    proto::QueryRouteResponse route;
    EXPECT_TRUE(stub_->QueryRoute(&context, request, &route).ok());
    std::vector<int> kinds;
    if (route.status().code() != proto::OK) return kinds;
    for (const int kind : route.message_queues(0).accept_message_types()) {
      kinds.push_back(kind);
    }
    return kinds;
  };
  EXPECT_EQ(SendOne(MessageOf("a")).status().code(), proto::TOPIC_NOT_FOUND);
  EXPECT_TRUE(kinds_of_route().empty());
  ASSERT_TRUE(catalog->Put("t", *TopicKinds::Parse("NORMAL")).ok());
  EXPECT_EQ(SendOne(MessageOf("a")).status().code(), proto::OK);
  EXPECT_EQ(kinds_of_route(), std::vector<int>{proto::NORMAL});
  ASSERT_TRUE(catalog->Put("t", *TopicKinds::Parse("DELAY+FIFO")).ok());
  const auto refused = SendOne(MessageOf("b")).status();
  EXPECT_EQ(refused.code(), proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE);
  EXPECT_THAT(refused.message(), HasSubstr("expected DELAY, FIFO"));
  EXPECT_EQ(kinds_of_route(), (std::vector<int>{proto::DELAY, proto::FIFO}));
  ASSERT_TRUE(catalog->Forget("t").ok());
  EXPECT_EQ(SendOne(MessageOf("c")).status().code(), proto::TOPIC_NOT_FOUND);
  server_->Stop();  // before the catalogue goes
}

TEST_F(FrontServerTest, SettingsAreAnsweredAndSaidAgain) {
  grpc::ClientContext context;
  context.AddMetadata("x-mq-client-id", "client-1");
  // One client allows its stream sixty years.
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::hours(24 * 365 * 60));
  auto stream = stub_->Telemetry(&context);
  proto::TelemetryCommand asked, answer;
  asked.mutable_settings()->set_client_type(proto::PRODUCER);
  ASSERT_TRUE(stream->Write(asked));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->Read(&answer)) << i;
    EXPECT_EQ(answer.status().code(), proto::OK);
    EXPECT_TRUE(answer.settings().has_publishing());
  }
  // Later ones are answered once each.
  ASSERT_TRUE(stream->Write(asked));
  ASSERT_TRUE(stream->Read(&answer));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(FrontServerTest, AStreamThatSaysNothingOfUse) {
  grpc::ClientContext context;
  context.AddMetadata("x-mq-client-id", "client-1");
  auto stream = stub_->Telemetry(&context);
  proto::TelemetryCommand odd;
  ASSERT_TRUE(stream->Write(odd));
  odd.mutable_verify_message_result()->set_nonce("nobody asked");
  ASSERT_TRUE(stream->Write(odd));
  odd.mutable_settings()->set_client_type(proto::PULL_CONSUMER);
  ASSERT_TRUE(stream->Write(odd));
  proto::TelemetryCommand answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.status().code(), proto::UNRECOGNIZED_CLIENT_TYPE);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Some clients say their Settings only minutes after the server's restart.
TEST_F(FrontServerTest, AGroupWhoseSettingsWereNeverSaid) {
  server_.reset();
  config_.options.attempts_max = 1;
  Start();
  proto::Message message = MessageOf("id-1");
  message.mutable_system_properties()->set_message_group("in order");
  SendOne(message);
  message.mutable_system_properties()->set_message_id("id-2");
  SendOne(message);
  proto::ReceiveMessageRequest request = Asking(5000);
  request.set_batch_size(1);
  *request.mutable_invisible_duration() = DurationOfMs(1000);
  ASSERT_EQ(Receive(request, proto::OK).size(), 1u);
  *request.mutable_long_polling_timeout() = DurationOfMs(100);
  EXPECT_TRUE(Receive(request, proto::MESSAGE_NOT_FOUND).empty());

  proto::ReceiveMessageRequest dead = Asking(10'000);
  dead.mutable_message_queue()->mutable_topic()->set_name("%DLQ%g");
  const auto letters = Receive(dead, proto::OK);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].system_properties().message_id(), "id-1");
}

TEST_F(FrontServerTest, ATransactionsEnds) {
  proto::Message half = MessageOf("id-1", "half");
  half.mutable_system_properties()->set_message_type(proto::TRANSACTION);
  *half.mutable_system_properties()
       ->mutable_orphaned_transaction_recovery_duration() =
      DurationOfMs(600'000);
  const auto sent = SendOne(half);
  EXPECT_EQ(sent.entries(0).recall_handle(), "");
  proto::EndTransactionRequest end;
  end.mutable_topic()->set_name("t");
  end.set_message_id("id-1");
  end.set_transaction_id(sent.entries(0).transaction_id());
  end.set_resolution(proto::COMMIT);
  const auto answer = [&] {
    Context context;
    proto::EndTransactionResponse response;
    EXPECT_TRUE(stub_->EndTransaction(&context, end, &response).ok());
    return response.status().code();
  };
  end.set_message_id("id-2");
  EXPECT_EQ(answer(), proto::INVALID_TRANSACTION_ID);
  end.set_message_id("id-1");
  EXPECT_TRUE(Receive(Asking(0), proto::MESSAGE_NOT_FOUND).empty());
  EXPECT_EQ(answer(), proto::OK);
  const auto got = Receive(Asking(5000), proto::OK);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].body(), "half");
  EXPECT_EQ(got[0].user_properties().count("__transactionId__"), 1u);
  // Committed once.
  EXPECT_EQ(answer(), proto::INVALID_TRANSACTION_ID);
}

TEST_F(FrontServerTest, AForgottenTransactionIsAskedFor) {
  grpc::ClientContext context;
  context.AddMetadata("x-mq-client-id", "client-1");
  auto stream = stub_->Telemetry(&context);
  proto::TelemetryCommand command;
  command.mutable_settings()->set_client_type(proto::PRODUCER);
  command.mutable_settings()->mutable_publishing()->add_topics()->set_name("t");
  ASSERT_TRUE(stream->Write(command));
  proto::Message half = MessageOf("id-1", "half");
  half.mutable_system_properties()->set_message_type(proto::TRANSACTION);
  const auto sent = SendOne(half);
  do {
    ASSERT_TRUE(stream->Read(&command));
  } while (!command.has_recover_orphaned_transaction_command());
  const auto& question = command.recover_orphaned_transaction_command();
  EXPECT_EQ(question.message().body(), "half");
  EXPECT_EQ(question.message().topic().name(), "t");
  proto::EndTransactionRequest end;
  end.mutable_topic()->set_name("t");
  end.set_message_id("id-1");
  // By its first id, which is no more where the half message is.
  end.set_transaction_id(sent.entries(0).transaction_id());
  end.set_resolution(proto::COMMIT);
  Context end_context;
  proto::EndTransactionResponse response;
  ASSERT_TRUE(stub_->EndTransaction(&end_context, end, &response).ok());
  EXPECT_EQ(response.status().code(), proto::OK) << response.status().message();
  EXPECT_EQ(Receive(Asking(5000), proto::OK).size(), 1u);
  EXPECT_TRUE(Receive(Asking(700), proto::MESSAGE_NOT_FOUND).empty());
  context.TryCancel();
}

TEST_F(FrontServerTest, TlsOnTheSamePort) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = config_.certificate->chain_pem;
  stub_ = proto::MessagingService::NewStub(
      grpc::CreateChannel(Address(), grpc::SslCredentials(tls)));
  EXPECT_EQ(SendOne(MessageOf("id-1")).status().code(), proto::OK);
}

TEST_F(FrontServerTest, AStopAnswersWhoWaits) {
  std::thread waiter(
      [this] { Receive(Asking(15'000), proto::MESSAGE_NOT_FOUND); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto began = std::chrono::steady_clock::now();
  server_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  waiter.join();
}

TEST_F(FrontServerTest, TooLargeACallIsRefusedByGrpc) {
  server_->Stop();
  config_.options.request_bytes_max = 64u << 10;
  Start();
  Context context;
  proto::SendMessageRequest request;
  *request.add_messages() = MessageOf("id-1", std::string(65u << 10, 'x'));
  proto::SendMessageResponse response;
  const grpc::Status status = stub_->SendMessage(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace hourglass
