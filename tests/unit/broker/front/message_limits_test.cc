#include "broker/front/message_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "broker/front/digest.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNowMs = 1'795'230'000'000;

proto::Message Good() {
  proto::Message message;
  message.mutable_system_properties()->set_message_id("01ABC");
  message.set_body("body");
  return message;
}

FrontOptions SmallLimits() {
  FrontOptions options;
  options.body_bytes_max = 10;
  options.delay_ms_max = 1000;
  options.user_properties_max = 2;
  options.user_properties_bytes_max = 20;
  return options;
}

struct Fault {
  const char* name;
  proto::Code code;
  std::function<void(proto::Message*)> make;
};

std::function<void(proto::Message*)> Property(std::string name,
                                              std::string value = "v") {
  return
      [=](proto::Message* m) { (*m->mutable_user_properties())[name] = value; };
}

std::vector<Fault> Faults() {
  using M = proto::Message*;
  const auto system = [](M m) { return m->mutable_system_properties(); };
  return {
      {"no id", proto::ILLEGAL_MESSAGE_ID,
       [=](M m) { system(m)->clear_message_id(); }},
      {"long id", proto::ILLEGAL_MESSAGE_ID,
       [=](M m) { system(m)->set_message_id(std::string(256, 'a')); }},
      {"empty body", proto::MESSAGE_BODY_EMPTY, [](M m) { m->clear_body(); }},
      {"large body", proto::MESSAGE_BODY_TOO_LARGE,
       [](M m) { m->set_body(std::string(11, 'x')); }},
      {"tag with |", proto::ILLEGAL_MESSAGE_TAG,
       [=](M m) { system(m)->set_tag("a|b"); }},
      {"blank tag", proto::ILLEGAL_MESSAGE_TAG,
       [=](M m) { system(m)->set_tag(" "); }},
      {"blank key", proto::ILLEGAL_MESSAGE_KEY,
       [=](M m) { system(m)->add_keys(""); }},
      {"key with control character", proto::ILLEGAL_MESSAGE_KEY,
       [=](M m) { system(m)->add_keys("a\nb"); }},
      {"blank group", proto::ILLEGAL_MESSAGE_GROUP,
       [=](M m) { system(m)->set_message_group(""); }},
      {"long group", proto::ILLEGAL_MESSAGE_GROUP,
       [=](M m) { system(m)->set_message_group(std::string(64, 'g')); }},
      {"reserved property", proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
       Property("TIMER_DELIVER_MS")},
      {"our own property", proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
       Property("__hg.topic")},
      {"message group as a property", proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
       Property("__SHARDINGKEY")},
      {"property with control character", proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
       Property("a\x01")},
      {"blank property", proto::ILLEGAL_MESSAGE_PROPERTY_KEY, Property("")},
      {"large property", proto::MESSAGE_PROPERTIES_TOO_LARGE,
       Property("name", std::string(17, 'v'))},
      {"too distant", proto::ILLEGAL_DELIVERY_TIME,
       [=](M m) {
         *system(m)->mutable_delivery_timestamp() =
             TimestampOfMs(kNowMs + 1001);
       }},
      {"absurdly distant", proto::ILLEGAL_DELIVERY_TIME,
       [=](M m) {
         system(m)->mutable_delivery_timestamp()->set_seconds(INT64_MAX);
       }},
      {"delayed transaction", proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
       [=](M m) {
         system(m)->set_message_type(proto::TRANSACTION);
         *system(m)->mutable_delivery_timestamp() = TimestampOfMs(kNowMs);
       }},
      {"lite", proto::ILLEGAL_LITE_TOPIC,
       [=](M m) { system(m)->set_lite_topic("x"); }},
      {"wrong digest", proto::MESSAGE_CORRUPTED,
       [=](M m) {
         system(m)->mutable_body_digest()->set_type(proto::MD5);
         system(m)->mutable_body_digest()->set_checksum("00");
       }},
  };
}

TEST(MessageLimits, EachFaultHasItsCode) {
  for (const Fault& fault : Faults()) {
    proto::Message message = Good();
    fault.make(&message);
    EXPECT_EQ(CheckMessage(message, SmallLimits(), kNowMs).code, fault.code)
        << fault.name;
  }
}

TEST(MessageLimits, TheLimitsThemselvesAreGood) {
  proto::Message message = Good();
  proto::SystemProperties* const system = message.mutable_system_properties();
  system->set_message_id(std::string(255, 'i'));
  message.set_body(std::string(10, 'x'));
  system->set_message_group(std::string(63, 'g'));
  (*message.mutable_user_properties())["name"] = std::string(15, 'v');
  (*message.mutable_user_properties())["b"] = "";
  *system->mutable_delivery_timestamp() = TimestampOfMs(kNowMs + 1000);
  system->mutable_body_digest()->set_type(proto::MD5);
  system->mutable_body_digest()->set_checksum(Md5Hex(message.body()));
  const Verdict verdict = CheckMessage(message, SmallLimits(), kNowMs);
  EXPECT_TRUE(verdict.ok()) << verdict.text;
  (*message.mutable_user_properties())["c"] = "";
  EXPECT_EQ(CheckMessage(message, SmallLimits(), kNowMs).code,
            proto::MESSAGE_PROPERTIES_TOO_LARGE);
}

TEST(MessageLimits, ADigestMayBeInLowerCase) {
  proto::Message message = Good();
  proto::Digest* const digest =
      message.mutable_system_properties()->mutable_body_digest();
  digest->set_type(proto::MD5);
  digest->set_checksum("841a2d689ad86bd1611447453c22c6fc");
  EXPECT_TRUE(CheckMessage(message, SmallLimits(), kNowMs).ok());
}

TEST(MessageLimits, ThePastIsNoFault) {
  for (const int64_t due_ms : {int64_t{-kProtoMsMax}, int64_t{0}, kNowMs}) {
    EXPECT_TRUE(CheckDeliveryTime(due_ms, SmallLimits(), kNowMs).ok());
  }
}

TEST(MessageLimits, TheLimitIsNamed) {
  const Verdict verdict =
      CheckDeliveryTime(kNowMs + 1001, SmallLimits(), kNowMs);
  EXPECT_THAT(verdict.text, HasSubstr("max is 1000 ms (delay_ms_max)"));
}

TEST(Names, TopicsAndGroups) {
  FrontOptions options;
  const auto code = [&](const std::string& name) {
    proto::Resource topic;
    topic.set_name(name);
    return CheckTopicName(topic, options).code;
  };
  EXPECT_EQ(code("orders_EU-1"), proto::OK);
  EXPECT_EQ(code("%DLQ%billing"), proto::OK);
  EXPECT_EQ(code(std::string(127, 'a')), proto::OK);
  EXPECT_EQ(code(std::string(128, 'a')), proto::ILLEGAL_TOPIC);
  EXPECT_EQ(code(""), proto::ILLEGAL_TOPIC);
  EXPECT_EQ(code("a b"), proto::ILLEGAL_TOPIC);
  EXPECT_EQ(code("a\nb"), proto::ILLEGAL_TOPIC);
  EXPECT_EQ(code("%HALF%"), proto::ILLEGAL_TOPIC);
  proto::Resource group;
  group.set_name("bad group");
  EXPECT_EQ(CheckGroupName(group, options).code, proto::ILLEGAL_CONSUMER_GROUP);
}

TEST(Names, ANamespaceBelongsToTheName) {
  proto::Resource topic;
  topic.set_name("orders");
  EXPECT_EQ(StoreName(topic), "orders");
  topic.set_resource_namespace("eu");
  EXPECT_EQ(StoreName(topic), "eu%orders");
}

}  // namespace
}  // namespace hourglass
