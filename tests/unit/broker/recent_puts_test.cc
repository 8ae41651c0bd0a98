#include "broker/recent_puts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RecentPutsTest : public testing::Test {
 protected:
  struct Seen {
    std::string body;
    PutResult put;
    int64_t written_ms = 0;
  };

  std::vector<Seen> Read(int64_t since_ms = 0, uint64_t bytes_max = 1u << 30) {
    RecentPutsQuery query{box_.fs.get(), box_.dir, since_ms, bytes_max,
                          box_.store->Stats().log_durable};
    std::vector<Seen> seen;
    const absl::Status status =
        ReadRecentPuts(query, [&](const MessageView& message,
                                  const PutResult& put, int64_t written_ms) {
          seen.push_back({std::string(message.body), put, written_ms});
        });
    EXPECT_TRUE(status.ok()) << status;
    return seen;
  }
  std::vector<std::string> Bodies(int64_t since_ms = 0) {
    std::vector<std::string> bodies;
    for (const Seen& seen : Read(since_ms)) bodies.push_back(seen.body);
    return bodies;
  }

  TestStore box_;
};

TEST_F(RecentPutsTest, SeesWhatWasPutAndNothingElse) {
  box_.Open();
  EXPECT_THAT(Bodies(), IsEmpty());
  const auto later = box_.TryPut("later", box_.InMs(700));
  const auto now = box_.TryPut("now", kDueNow);
  const auto never = box_.TryPut("never", box_.InMs(90'000));
  ASSERT_TRUE(later.ok() && now.ok() && never.ok());
  EXPECT_EQ(box_.Cancel(never->handle), CancelAnswer::kCancelled);
  box_.Advance(2000);  // "later" is delivered: the log has it once more
  const auto seen = Read();
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT(Bodies(), ElementsAre("later", "now", "never"));
  EXPECT_EQ(seen[0].put.handle, later->handle);
  EXPECT_EQ(seen[0].put.offset, later->offset);
  EXPECT_EQ(seen[0].put.id, later->id);
  EXPECT_TRUE(seen[1].put.handle.IsNone());
  EXPECT_EQ(seen[1].put.offset, now->offset);
  EXPECT_EQ(seen[2].put.handle, never->handle);
}

TEST_F(RecentPutsTest, LeavesOutWhatIsOlder) {
  box_.Open();
  box_.Put("old", box_.InMs(3'600'000));
  box_.Advance(5000);
  const int64_t since_ms = box_.clock.NowMs();
  box_.Put("new", box_.InMs(3'600'000));
  EXPECT_THAT(Bodies(since_ms), ElementsAre("new"));
  EXPECT_THAT(Bodies(since_ms + 1), IsEmpty());
}

// From whatever place on, in the middle of a group or of a file's end: every
// put behind it is seen, and the one around it may be.
TEST_F(RecentPutsTest, ReadsTheEndOfTheLogFromAnyPlace) {
  box_.Open();
  std::map<uint64_t, std::string> at;  // by offset
  for (int i = 0; i < 60; ++i) {
    const std::string body = std::to_string(i) + std::string(15'000, 'x');
    const auto put = box_.TryPut(body, box_.InMs(3'600'000));
    ASSERT_TRUE(put.ok());
    at[put->offset.value()] = body;
  }
  const StoreStats stats = box_.store->Stats();
  ASSERT_GT(stats.log_durable.value(), 3u * (256u << 10)) << "several files";
  const uint64_t end = stats.log_durable.value();
  for (uint64_t back = 1; back < end; back += 2999) {
    const auto seen = Read(0, back);
    size_t behind = 0;
    for (const auto& [offset, body] : at) behind += offset >= end - back;
    EXPECT_GE(seen.size(), behind) << back;
    EXPECT_LE(seen.size(), behind + 2) << back << ": far more than asked";
    if (seen.empty()) continue;
    EXPECT_EQ(seen.back().body, at.rbegin()->second);
  }
}

TEST_F(RecentPutsTest, StopsWhereItWasTold) {
  box_.Open();
  box_.Put("durable", box_.InMs(3'600'000));
  const LogOffset until = box_.store->Stats().log_durable;
  box_.Put("behind", box_.InMs(3'600'000));
  RecentPutsQuery query{box_.fs.get(), box_.dir, 0, 1u << 30, until};
  std::vector<std::string> bodies;
  ASSERT_TRUE(ReadRecentPuts(query, [&](const MessageView& message,
                                        const PutResult&, int64_t) {
                bodies.emplace_back(message.body);
              }).ok());
  EXPECT_THAT(bodies, ElementsAre("durable"));
}

TEST_F(RecentPutsTest, HandlesAreTheStoresAfterARestart) {
  box_.Open();
  box_.Put("kept", box_.InMs(90'000));
  box_.Crash(0);
  box_.Open();
  const auto seen = Read();
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(box_.Cancel(seen[0].put.handle), CancelAnswer::kCancelled);
}

TEST_F(RecentPutsTest, DamageIsReported) {
  box_.Open();
  box_.Put("damaged", box_.InMs(90'000));
  const LogOffset until = box_.store->Stats().log_durable;
  const Path log = box_.dir / "commitlog" / "00000000000000000000.log";
  std::string bytes = box_.fs->Content(log);
  bytes[bytes.find("damaged")] ^= 1;
  box_.fs->SetContent(log, bytes);
  RecentPutsQuery query{box_.fs.get(), box_.dir, 0, 1u << 30, until};
  int visited = 0;
  const absl::Status status = ReadRecentPuts(
      query, [&](const MessageView&, const PutResult&, int64_t) { ++visited; });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(visited, 0);
}

}  // namespace
}  // namespace hourglass
