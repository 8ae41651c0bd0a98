#include "broker/program/store_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

namespace hourglass {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;

class StoreWatchTest : public ::testing::Test {
 protected:
  StoreWatchTest() { look_.free_bytes = 1000; }

  // What a look says, `seconds` after the one before.
  std::vector<std::string> Look(int64_t seconds = 1) {
    now_ns_ += seconds * kSecondNs;
    watch_.Look(look_, now_ns_);
    log_.Flush();
    std::lock_guard lock(mu_);
    return std::exchange(lines_, {});
  }

  VirtualClock clock_{1'795'230'000'000};
  std::mutex mu_;
  std::vector<std::string> lines_;
  EventLog log_{&clock_, {}, [this](std::string_view line) {
                  std::lock_guard lock(mu_);
                  lines_.emplace_back(line);
                }};
  StoreWatch watch_{&log_,
                    {.checkpoint_slow_ms = 60'000, .disk_reserve_bytes = 100}};
  StoreLook look_;
  int64_t now_ns_ = 0;
};

TEST_F(StoreWatchTest, EachNoticeIsSaidOnce) {
  look_.stats.notices = {"one", "two"};
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("store_notice what=one"),
                                  HasSubstr("store_notice what=two")));
  EXPECT_THAT(Look(), IsEmpty());
  look_.stats.notices.push_back("three");
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("what=three")));
}

TEST_F(StoreWatchTest, LostMessagesAreAnError) {
  EXPECT_THAT(Look(), IsEmpty());
  look_.stats.lost_messages = 3;
  EXPECT_THAT(Look(),
              ElementsAre(HasSubstr("error   messages_lost count=3 in_all=3")));
  look_.stats.lost_messages = 4;
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("count=1 in_all=4")));
  look_.stats.rescued_records = 2;
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("records_rescued count=2")));
}

TEST_F(StoreWatchTest, TopicsThatWereThereAreNotNew) {
  look_.topics = {"old"};
  EXPECT_THAT(Look(), IsEmpty());
  look_.topics = {"new", "old"};
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("topic_new topic=new")));
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(StoreWatchTest, ASlowCheckpointIsSaidOnceAndSoIsItsEnd) {
  EXPECT_THAT(Look(), IsEmpty());
  look_.stats.log_end = LogOffset(1u << 20);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(Look(59), IsEmpty());
  EXPECT_THAT(Look(1), ElementsAre(HasSubstr("checkpoint_slow")));
  EXPECT_THAT(Look(100), IsEmpty());
  look_.stats.checkpoints = 1;
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("checkpoint_done")));
  EXPECT_THAT(Look(100), IsEmpty());
}

TEST_F(StoreWatchTest, AnIdleStoreNeedsNoCheckpoint) {
  look_.stats.log_end = LogOffset(1u << 20);
  EXPECT_THAT(Look(), IsEmpty());
  // The record of the checkpoint itself.
  look_.stats.log_end = LogOffset((1u << 20) + 512);
  EXPECT_THAT(Look(1), IsEmpty());
  EXPECT_THAT(Look(1000), IsEmpty());
}

TEST_F(StoreWatchTest, AFullDiskAndItsEnd) {
  EXPECT_THAT(Look(), IsEmpty());
  look_.free_bytes = 99;
  EXPECT_THAT(Look(),
              ElementsAre(HasSubstr("error   disk_full free_bytes=99")));
  EXPECT_THAT(Look(), IsEmpty());
  look_.free_bytes = std::nullopt;
  EXPECT_THAT(Look(), IsEmpty());
  look_.free_bytes = 100;
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("disk_has_room")));
  EXPECT_THAT(Look(), IsEmpty());
  look_.free_bytes = 0;
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("disk_full")));
}

}  // namespace
}  // namespace hourglass
