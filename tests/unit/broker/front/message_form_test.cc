#include "broker/front/message_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/front/digest.h"
#include "broker/front/proto_time.h"

namespace hourglass {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kNowMs = 1'795'230'000'000;

proto::Message FullMessage() {
  proto::Message message;
  message.mutable_topic()->set_name("orders");
  (*message.mutable_user_properties())["colour"] = "red";
  proto::SystemProperties* const system = message.mutable_system_properties();
  system->set_tag("a");
  system->add_keys("k1");
  system->add_keys("k2");
  system->set_message_id("01ABC");
  system->set_body_encoding(proto::GZIP);
  *system->mutable_born_timestamp() = TimestampOfMs(kNowMs - 5);
  system->set_born_host("client-1");
  system->set_message_group("customer-7");
  system->set_trace_context("trace");
  message.set_body("body");
  return message;
}

// As a consumer would get it.
proto::Message ThereAndBack(const proto::Message& message) {
  StoredForm stored(message, "orders");
  Lease lease;
  lease.message.index = QueueIndex(7);
  lease.message.message = Message::From(stored.view());
  lease.message.message.stored_ms = kNowMs;
  lease.receipt = "receipt";
  lease.attempt = 3;
  return ToProto(lease, {&message.topic(), "server", 60'000});
}

TEST(MessageForm, WhatWasSentIsWhatArrives) {
  const proto::Message sent = FullMessage();
  const proto::Message got = ThereAndBack(sent);
  const proto::SystemProperties& system = got.system_properties();
  EXPECT_EQ(got.topic().name(), "orders");
  EXPECT_EQ(got.body(), "body");
  EXPECT_EQ(got.user_properties().at("colour"), "red");
  EXPECT_EQ(system.tag(), "a");
  EXPECT_THAT(system.keys(), ElementsAre("k1", "k2"));
  EXPECT_EQ(system.message_id(), "01ABC");
  EXPECT_EQ(system.body_encoding(), proto::GZIP);
  EXPECT_EQ(MsOf(system.born_timestamp()), kNowMs - 5);
  EXPECT_EQ(system.born_host(), "client-1");
  EXPECT_EQ(system.message_group(), "customer-7");
  EXPECT_EQ(system.trace_context(), "trace");
  EXPECT_EQ(system.message_type(), proto::FIFO);
}

TEST(MessageForm, WhatTheServerAddsIsThere) {
  const proto::Message got = ThereAndBack(FullMessage());
  const proto::SystemProperties& system = got.system_properties();
  EXPECT_EQ(MsOf(system.store_timestamp()), kNowMs);
  EXPECT_EQ(system.store_host(), "server");
  EXPECT_EQ(system.receipt_handle(), "receipt");
  EXPECT_EQ(system.queue_offset(), 7);
  EXPECT_EQ(MsOf(system.invisible_duration()), 60'000);
  EXPECT_EQ(system.delivery_attempt(), 3);
  EXPECT_EQ(system.body_digest().type(), proto::MD5);
  EXPECT_EQ(system.body_digest().checksum(),
            "841A2D689AD86BD1611447453C22C6FC");  // md5sum of "body"
}

TEST(MessageForm, OurOwnPropertiesAreNotShown) {
  const proto::Message got = ThereAndBack(FullMessage());
  for (const auto& [name, value] : got.user_properties()) {
    EXPECT_FALSE(name.starts_with(kOwnPrefix)) << name;
  }
  // The message group is: applications read it there.
  EXPECT_EQ(got.user_properties().at("__SHARDINGKEY"), "customer-7");
}

TEST(MessageForm, AnUnspecifiedEncodingBecomesIdentity) {
  proto::Message message = FullMessage();
  message.mutable_system_properties()->clear_body_encoding();
  EXPECT_EQ(ThereAndBack(message).system_properties().body_encoding(),
            proto::IDENTITY);
}

TEST(MessageForm, ANormalMessageHasNothingToKeep) {
  proto::Message message;
  message.set_body("b");
  StoredForm stored(message, "t");
  EXPECT_TRUE(stored.view().properties.empty());
  EXPECT_EQ(stored.view().due_ms, kDueNow);
}

TEST(MessageForm, ADeliveryTimeIsKept) {
  proto::Message message = FullMessage();
  *message.mutable_system_properties()->mutable_delivery_timestamp() =
      TimestampOfMs(kNowMs + 1234);
  StoredForm stored(message, "t");
  EXPECT_EQ(stored.view().due_ms, kNowMs + 1234);
  const proto::Message got = ThereAndBack(message);
  EXPECT_EQ(got.system_properties().message_type(), proto::DELAY);
  EXPECT_EQ(MsOf(got.system_properties().delivery_timestamp()), kNowMs + 1234);
}

TEST(MessageForm, APastDeliveryTimeIsNoAbsenceOfOne) {
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    proto::Message message = FullMessage();
    message.mutable_system_properties()
        ->mutable_delivery_timestamp()
        ->set_seconds(seconds);
    StoredForm stored(message, "t");
    EXPECT_EQ(stored.view().due_ms, 1) << seconds;
  }
}

TEST(MessageForm, KindIsByContent) {
  proto::Message message;
  EXPECT_EQ(KindOf(message), proto::NORMAL);
  message.mutable_system_properties()->set_message_type(proto::DELAY);
  EXPECT_EQ(KindOf(message), proto::NORMAL);
  message.mutable_system_properties()->set_message_group("g");
  EXPECT_EQ(KindOf(message), proto::FIFO);
  message.mutable_system_properties()->mutable_delivery_timestamp();
  EXPECT_EQ(KindOf(message), proto::DELAY);
  message.mutable_system_properties()->set_message_type(proto::TRANSACTION);
  EXPECT_EQ(KindOf(message), proto::TRANSACTION);
}

TEST(ProtoTime, APartOfAMillisecondIsRoundedUp) {
  google::protobuf::Timestamp time;
  time.set_seconds(2);
  time.set_nanos(1'000'000);
  EXPECT_EQ(MsOf(time), 2001);
  time.set_nanos(1'000'001);
  EXPECT_EQ(MsOf(time), 2002);
}

TEST(ProtoTime, AbsurdTimesAreBounded) {
  google::protobuf::Timestamp time;
  time.set_seconds(INT64_MAX);
  time.set_nanos(INT32_MAX);
  EXPECT_EQ(MsOf(time), kProtoMsMax);
  time.set_seconds(INT64_MIN);
  time.set_nanos(INT32_MIN);
  EXPECT_EQ(MsOf(time), -kProtoMsMax);
}

TEST(ProtoTime, ThereAndBack) {
  for (const int64_t ms : {int64_t{0}, int64_t{1}, kNowMs, int64_t{-1}}) {
    EXPECT_EQ(MsOf(TimestampOfMs(ms)), ms);
  }
}

}  // namespace
}  // namespace hourglass
