#include "recovery/pending_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/damaged_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAreArray;

class PendingScanTest : public testing::Test {
 protected:
  std::vector<std::string> Pending(const PendingFilter& filter = {}) {
    std::vector<std::string> bodies;
    auto report =
        ScanPending(box_.Source(), filter, [&](const FoundMessage& found) {
          bodies.emplace_back(found.message.body);
          return absl::OkStatus();
        });
    EXPECT_TRUE(report.ok()) << report.status();
    if (report.ok()) report_ = *std::move(report);
    return bodies;
  }
  static std::vector<std::string> All() {
    std::vector<std::string> all = {"moved"};
    for (int i = 0; i < 6; ++i) {
      all.push_back("pending" + std::to_string(i));
      all.push_back("next hour" + std::to_string(i));
    }
    return all;
  }

  DamagedStore box_;
  PendingScanReport report_;
};

TEST_F(PendingScanTest, GivesWhatIsPendingAndChangesNothing) {
  box_.Fill();
  const auto before = box_.Image();
  EXPECT_THAT(Pending(), UnorderedElementsAreArray(All()));
  EXPECT_TRUE(box_.Image() == before);
  EXPECT_EQ(report_.messages, 13u);
  EXPECT_EQ(report_.unreadable, 0u);
}

TEST_F(PendingScanTest, FiltersByTimeAndTopic) {
  box_.Fill();
  PendingFilter filter;
  filter.to_ms = StartMs(HourOf(box_.clock.NowMs()) + 2);
  EXPECT_EQ(Pending(filter).size(), 6u);
  filter = {};
  filter.from_ms = StartMs(HourOf(box_.clock.NowMs()) + 2) + 700;
  filter.to_ms = filter.from_ms + 701;
  EXPECT_THAT(Pending(filter), ElementsAre("pending1", "pending2"));
  filter = {};
  filter.topic = "another";
  EXPECT_THAT(Pending(filter), ElementsAre());
}

TEST_F(PendingScanTest, ReadsADamagedStore) {
  box_.Fill();
  box_.RemoveAll(box_.dir / "checkpoint");
  EXPECT_THAT(Pending(), UnorderedElementsAreArray(All()));
  for (const Path& file : box_.Ending(".delayindex")) box_.Remove(file);
  EXPECT_THAT(Pending(), UnorderedElementsAreArray(All()));
  box_.RemoveAll(box_.dir / "hours");
  EXPECT_THAT(Pending(), UnorderedElementsAreArray(All())) << "from the log";
}

TEST_F(PendingScanTest, AfterACrashTheLogHasWhatTheFilesHaveNot) {
  box_.Open();
  box_.Put("one", box_.InMs(3'600'000));
  box_.Crash(/*keep_percent=*/0);
  EXPECT_THAT(Pending(), ElementsAre("one"));
}

TEST_F(PendingScanTest, CountsWhatCannotBeRead) {
  box_.Fill();
  const Path file = box_.Ending(".delaylog").back();
  box_.Flip(file, box_.fs->Content(file).find("pending3"));
  box_.RemoveAll(box_.dir / "commitlog");
  EXPECT_THAT(Pending(), Not(testing::Contains("pending3")));
  EXPECT_EQ(report_.unreadable, 1u);
}

}  // namespace
}  // namespace hourglass
