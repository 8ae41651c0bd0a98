#include "broker/front/settings.h"

#include <gtest/gtest.h>

#include "broker/front/proto_time.h"

namespace hourglass {
namespace {

proto::Settings Producer() {
  proto::Settings settings;
  settings.set_client_type(proto::PRODUCER);
  settings.mutable_publishing()->add_topics()->set_name("orders");
  return settings;
}

proto::Settings Consumer(proto::ClientType type, int64_t poll_ms) {
  proto::Settings settings;
  settings.set_client_type(type);
  settings.mutable_subscription()->mutable_group()->set_name("billing");
  *settings.mutable_subscription()->mutable_long_polling_timeout() =
      DurationOfMs(poll_ms);
  return settings;
}

// What each of the four clients does not start without, or does wrong.
TEST(Settings, AProducerGetsWhatSomeDoNotStartWithout) {
  for (const Dialect dialect : {Dialect::kJava, Dialect::kGo, Dialect::kPython,
                                Dialect::kNode, Dialect::kOther}) {
    const auto answer = AnswerSettings(Producer(), dialect, FrontOptions());
    ASSERT_TRUE(answer.has_publishing());
    EXPECT_EQ(answer.publishing().topics(0).name(), "orders");
    EXPECT_EQ(answer.publishing().max_body_size(), 4 << 20);
    const proto::RetryPolicy& policy = answer.backoff_policy();
    EXPECT_GE(policy.max_attempts(), 1);
    ASSERT_TRUE(policy.has_exponential_backoff());
    EXPECT_GT(MsOf(policy.exponential_backoff().initial()), 0);
    EXPECT_GT(MsOf(policy.exponential_backoff().max()), 0);
    EXPECT_GT(policy.exponential_backoff().multiplier(), 0);
    EXPECT_TRUE(answer.has_metric());
    EXPECT_FALSE(answer.metric().on());
  }
}

TEST(Settings, AProducersOwnBackoffDoesNotStay) {
  proto::Settings asked = Producer();
  asked.mutable_backoff_policy()->mutable_customized_backoff();
  const auto answer = AnswerSettings(asked, Dialect::kJava, FrontOptions());
  EXPECT_TRUE(answer.backoff_policy().has_exponential_backoff());
}

TEST(Settings, AConsumerGetsWhatSomeDoNotStartWithout) {
  for (const auto type : {proto::PUSH_CONSUMER, proto::SIMPLE_CONSUMER}) {
    const auto answer =
        AnswerSettings(Consumer(type, 0), Dialect::kJava, FrontOptions());
    ASSERT_TRUE(answer.has_subscription());
    EXPECT_GT(answer.subscription().receive_batch_size(), 0);
    EXPECT_GT(MsOf(answer.subscription().long_polling_timeout()), 0);
    const proto::RetryPolicy& policy = answer.backoff_policy();
    EXPECT_EQ(policy.max_attempts(), FrontOptions().attempts_max);
    EXPECT_EQ(policy.customized_backoff().next_size(), 18);
    EXPECT_EQ(MsOf(policy.customized_backoff().next(0)), 1000);
  }
}

TEST(Settings, ASimpleConsumerWaitsAsItSays) {
  const auto poll_ms = [](proto::ClientType type, int64_t asked_ms) {
    const auto answer =
        AnswerSettings(Consumer(type, asked_ms), Dialect::kGo, FrontOptions());
    return MsOf(answer.subscription().long_polling_timeout());
  };
  EXPECT_EQ(poll_ms(proto::SIMPLE_CONSUMER, 5000), 5000);
  EXPECT_EQ(poll_ms(proto::SIMPLE_CONSUMER, 1 << 30), 60'000);
  EXPECT_EQ(poll_ms(proto::PUSH_CONSUMER, 5000), 20'000);
}

TEST(Settings, FifoGroupsAreNamed) {
  FrontOptions options;
  const auto fifo = [&options] {
    return AnswerSettings(Consumer(proto::PUSH_CONSUMER, 0), Dialect::kJava,
                          options)
        .subscription()
        .fifo();
  };
  EXPECT_FALSE(fifo());
  options.fifo_groups = {"other", "bill*"};
  EXPECT_TRUE(fifo());
}

TEST(Settings, WhoKeepsTheOrderOfMessageGroups) {
  FrontOptions options;
  EXPECT_TRUE(KeepsOrder("bills", true, options));  // simple consumers ask
  EXPECT_FALSE(KeepsOrder("bills", false, options));
  options.unordered_groups = {"bill*"};
  EXPECT_FALSE(KeepsOrder("bills", true, options));
  EXPECT_TRUE(KeepsOrder("orders", true, options));
  options.fifo_groups = {"bills"};
  EXPECT_FALSE(KeepsOrder("bills", true, options));  // it is the stronger word
}

TEST(Settings, KindsThatAreNotServedAreRefused) {
  proto::Settings settings;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.set_client_type(proto::LITE_PUSH_CONSUMER);
  EXPECT_EQ(CheckSettings(settings).code, proto::UNRECOGNIZED_CLIENT_TYPE);
  settings.set_client_type(static_cast<proto::ClientType>(4711));
  EXPECT_EQ(CheckSettings(settings).code, proto::UNRECOGNIZED_CLIENT_TYPE);
}

}  // namespace
}  // namespace hourglass
